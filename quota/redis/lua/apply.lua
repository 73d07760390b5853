-- The commit of a transaction (transaction.py): if all rows that it read are unchanged, write its
-- rows; otherwise change nothing.
-- KEYS: the hashes. ARGV: msgpack of three lists, in which a number stands for a hash of KEYS:
--   seen     {hash, field, value or false}   rows that were read
--   listed   {hash, number of fields}        hashes of which all fields were read
--   written  {hash, field, value or false}   rows to write; false: to delete
-- Reply: 1 if written, 0 if another transaction changed one of the rows.
local seen, listed, written = unpack(cmsgpack.unpack(ARGV[1]))
for _, it in ipairs(seen) do
  if redis.call('HGET', KEYS[it[1]], it[2]) ~= it[3] then return 0 end
end
for _, it in ipairs(listed) do
  if redis.call('HLEN', KEYS[it[1]]) ~= it[2] then return 0 end
end
for _, it in ipairs(written) do
  if it[3] then redis.call('HSET', KEYS[it[1]], it[2], it[3])
  else redis.call('HDEL', KEYS[it[1]], it[2]) end
end
return 1
