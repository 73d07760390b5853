-- The rows that ledger.account_rows.identify reads: a key and its account. Whether the key is in force
-- is decided in Python.
-- KEYS: keys, accounts. ARGV: digest. Reply: nothing, or the key's row, account id, account's row.
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return {} end
local account = cjson.decode(key)['account']
return {key, account, redis.call('HGET', KEYS[2], account)}
