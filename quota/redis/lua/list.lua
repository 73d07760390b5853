-- All fields of a hash, and the rows of other hashes to which this hash refers: for example the keys of an account, and
-- the last use of each key.
-- KEYS: the hash, other hashes. ARGV: for each other hash 'field' or 'value', which names its fields.
-- Reply: alternating fields and values; then for each other a list of values in the same order, null for no value.
local listed = redis.call('HGETALL', KEYS[1])
local reply = {listed}
for n, by in ipairs(ARGV) do
  local values = {}
  for i = by == 'field' and 1 or 2, #listed, 2 do
    values[#values + 1] = redis.call('HGET', KEYS[n + 1], listed[i])
  end
  reply[n + 1] = values
end
return reply
