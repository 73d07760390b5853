-- ledger.calls.take: count one call of the day if the limit allows.
-- KEYS: meta, calls of the day. ARGV: floor, account, limit. Reply: granted (0 or 1), calls used.
local used = number(redis.call('HGET', KEYS[2], account))
if used >= tonumber(ARGV[3]) then return {0, used} end
redis.call('HSET', KEYS[2], account, pack(used + 1))
return {1, used + 1}
