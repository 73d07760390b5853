-- ledger.calls.give_back: undo a call.
-- KEYS: meta, calls of the day. ARGV: floor, account. Reply: 0.
local used = number(redis.call('HGET', KEYS[2], account))
if used > 0 then redis.call('HSET', KEYS[2], account, pack(used - 1)) end
return {0}
