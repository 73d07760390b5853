-- ledger.calls.take_and_charge: count one call, and charge the record if the call is granted; a call
-- without a trial left is not counted. With an empty limit this is ledger.calls.charge: the call is
-- counted elsewhere, at an edge.
-- KEYS: meta, calls of the day, grants, charges, packs, trials, last openings.
-- ARGV: floor, account, limit or empty, company, cost, grant, trials or empty, second, openings kept.
-- Reply: granted (0 or 1), calls used, and if granted: outcome, credits left.
local company, cost, grant = account .. '/' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
-- All rows are read before the first write, because the writes of a script that fails are not undone.
local used = number(redis.call('HGET', KEYS[2], account))
local of_grant = number(redis.call('HGET', KEYS[3], account))
local bought, spent = pair(redis.call('HGET', KEYS[5], account))
local charged = redis.call('HEXISTS', KEYS[4], company) == 1
local tried = number(redis.call('HGET', KEYS[6], account))
local opened = redis.call('HGET', KEYS[7], account) or ''
-- ledger.calls.note_opening
local function note(credits)
  local lines = ARGV[8] .. ' ' .. credits .. ' ' .. ARGV[4] .. '\n'
  local noted = 1
  for line in string.gmatch(opened, '[^\n]+\n') do
    if noted < tonumber(ARGV[9]) then lines = lines .. line end
    noted = noted + 1
  end
  redis.call('HSET', KEYS[7], account, lines)
end
local granted = math.max(0, grant - of_grant)
local left = granted + bought - spent
local counted = ARGV[3] ~= ''
if counted and used >= tonumber(ARGV[3]) then return {0, used} end
if not charged and ARGV[7] ~= '' and tried >= tonumber(ARGV[7]) then
  return {1, used, 'no_trial', left}
end
if counted then
  used = used + 1
  redis.call('HSET', KEYS[2], account, pack(used))
end
if charged then return {1, used, 'already', left} end
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[6], account, pack(tried + 1))
  redis.call('HSET', KEYS[4], company, pack_pair(0, 0))
  note(0)
  return {1, used, 'tried', left}
end
if left < cost then return {1, used, 'refused', left} end
-- The grant first, then packs (D8).
local from_grant = math.min(cost, granted)
local from_packs = cost - from_grant
if from_grant > 0 then redis.call('HSET', KEYS[3], account, pack(of_grant + from_grant)) end
if from_packs > 0 then
  redis.call('HSET', KEYS[5], account, pack_pair(bought, spent + from_packs))
end
redis.call('HSET', KEYS[4], company, pack_pair(from_grant, from_packs))
note(cost)
return {1, used, 'charged', left - cost}
