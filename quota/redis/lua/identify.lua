-- The rows that ledger.account_rows.identify reads, a key and its account, or ledger.people.session, a person and its
-- account. Whether the key is in force, or the session open, is decided in Python.
-- KEYS: keys, addresses or people; accounts. ARGV: digest or person.
-- Reply: nothing, or that row, account id, account's row.
local row = redis.call('HGET', KEYS[1], ARGV[1])
if not row then return {} end
local account = cjson.decode(row)['account']
return {row, account, redis.call('HGET', KEYS[2], account)}
