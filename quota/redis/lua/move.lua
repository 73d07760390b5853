-- The centre's side of a move of edge/leases.py: lend a block of calls to an edge, or take one back.
-- A move is done once per name: a repeated move changes nothing and gets the same reply. Of the moves
-- that got no calls, only the last of each process is stored (the first 8 characters of a name).
-- A move that takes a block back has the name of the block and a dash, so the block comes back once.
-- KEYS: meta, calls of the day, moves of the day.
-- ARGV: floor, account, move, calls (negative: taken back), limit, parts, seconds to keep the moves.
-- Reply: calls moved, calls used.
local move, calls, limit = account .. '/' .. ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local used = number(redis.call('HGET', KEYS[2], account))
local before = redis.call('HGET', KEYS[3], move)
if before then return {tonumber(before), used} end
local refused = account .. '/' .. string.sub(ARGV[3], 1, 8)
if redis.call('HGET', KEYS[3], refused) == ARGV[3] then return {0, used} end
local lent = redis.call('HEXISTS', KEYS[3], account .. '/' .. string.sub(ARGV[3], 1, -2)) == 1
local moved = lent and math.max(-used, calls) or 0
if calls > 0 then
  local left = math.max(0, limit - used)
  moved = math.min(calls, left, math.max(1, math.floor(left / tonumber(ARGV[6]))))
end
if moved ~= 0 then
  redis.call('HSET', KEYS[2], account, pack(used + moved))
  redis.call('HSET', KEYS[3], move, moved)
else
  redis.call('HSET', KEYS[3], refused, ARGV[3])
end
redis.call('EXPIRE', KEYS[3], ARGV[7])
return {moved, used + moved}
