-- ledger.activity.add_key_calls, for some keys: add their calls of a day, note the day as that of their last use, and
-- drop the oldest days of an account with the first call of a day. A key that does not exist, or whose row cannot be
-- read, is left out.
-- KEYS: keys, days of last use. ARGV: the beginning of the names of the accounts' hashes, day, first day that is kept;
-- then for each key its digest and its calls. Reply: nothing.
local beginning, day, first = ARGV[1], ARGV[2], ARGV[3]
for n = 4, #ARGV, 2 do
  local readable, key = pcall(cjson.decode, redis.call('HGET', KEYS[1], ARGV[n]) or '')
  if readable and type(key) == 'table' and key.id and key.account then
    local last = redis.call('HGET', KEYS[2], key.id)
    if not last or last < day then redis.call('HSET', KEYS[2], key.id, day) end
    local name, field = beginning .. key.account, day .. '/' .. key.id
    local counted = redis.call('HGET', name, field)
    if not counted then
      for _, old in ipairs(redis.call('HKEYS', name)) do
        if old < first then redis.call('HDEL', name, old) end
      end
    end
    local calls = counted and struct.unpack('>I8', counted) or 0
    redis.call('HSET', name, field, struct.pack('>I8', calls + ARGV[n + 1]))
  end
end
return {}
