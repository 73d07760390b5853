-- The beginning of take, give_back, charge and move (scripts.py puts it before each of them).
-- KEYS[1]: meta. ARGV[1]: floor. ARGV[2]: account.

-- row_format.number, pair, pack, pack_pair: unsigned, 8 bytes, big-endian; 0 if never written.
local function number(stored)
  if stored then return (struct.unpack('>I8', stored)) end
  return 0
end
local function pair(stored)
  if stored then return struct.unpack('>I8I8', stored) end
  return 0, 0
end
local function pack(value) return struct.pack('>I8', value) end
local function pack_pair(a, b) return struct.pack('>I8I8', a, b) end

-- ledger.calls.kept: the caller computed the names of its periods with the floor that it knew. If
-- the floor has moved, reply with the new one and change nothing. A server without an identity has
-- lost its rows, which the caller finds by another command of the same pipeline (connection.py).
local meta = redis.call('HMGET', KEYS[1], 'floor', 'identity')
local floor = meta[1] or ''
if floor ~= ARGV[1] or not meta[2] then return {'floor', floor} end
local account = ARGV[2]
