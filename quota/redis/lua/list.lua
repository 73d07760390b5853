-- All fields of a hash, and the fields of other hashes that they name: the keys of an account, say, and their last use.
-- KEYS: the hash, others. ARGV: for each other whether a 'field' names its fields, or a 'value'.
-- Reply: fields and values in turns; then for each other a list of values, in the same order, nothing where there is none.
local listed = redis.call('HGETALL', KEYS[1])
local reply = {listed}
for n, by in ipairs(ARGV) do
  local found = {}
  for i = by == 'field' and 1 or 2, #listed, 2 do
    found[#found + 1] = redis.call('HGET', KEYS[n + 1], listed[i])
  end
  reply[n + 1] = found
end
return reply
