-- The beginning of take, give_back, charge and move (scripts.py puts this file before each of these scripts).
-- KEYS[1]: meta. ARGV[1]: floor. ARGV[2]: account.

-- row_format.unpack_number, unpack_pair, pack_number, pack_pair: unsigned, 8 bytes, big-endian; 0 without a row.
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

-- ledger.calls.clamp_to_floor: the caller computed the names of its periods with the floor that it had.
-- If the floor has moved, reply with the new floor and change nothing. A server without an identity has
-- lost its rows; another command of the same pipeline reports that to the caller (connection.py).
local meta = redis.call('HMGET', KEYS[1], 'floor', 'identity')
local floor = meta[1] or ''
if floor ~= ARGV[1] or not meta[2] then return {'floor', floor} end
local account = ARGV[2]
