#!lua flags=allow-oom
-- ledger.calls.raise_floor. It is the first step of `compact`, which makes room.
-- KEYS: meta. ARGV: first month that is kept. Reply: 1.
local floor = redis.call('HGET', KEYS[1], 'floor')
if not floor or floor < ARGV[1] then redis.call('HSET', KEYS[1], 'floor', ARGV[1]) end
return 1
