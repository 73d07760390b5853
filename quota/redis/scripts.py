"""What a Redis or Valkey server does at once, in Lua, and what its answers mean.

Rows and bytes are those of `row_format.py`; a row lies in a hash (`place`), so that the rows that are
listed or dropped together are one key, and a field is found in one step. The calls of every request
are here: one script each, in which nobody else writes, and one round trip. All else is the ledger
itself, in a transaction of `transaction.py`. Both must do the same (tests/quota/machine.py).

The clock is the caller's: a script gets the names of its periods, and the month up to which periods
were dropped that they were reckoned with. If that moved, it says so and has done nothing.

A script touches hashes of several accounts and periods, so all are on one server: no cluster.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha1
from typing import Any, Final, NamedTuple

from quota.ledger import row_format
from quota.ledger.calls import charge_key, since
from quota.periods import day, month
from quota.results import Charge, Meter

PREFIX: Final = b"societes:"
META: Final = PREFIX + b"meta"

# Tables that are one hash; of the others each account, or each period, has its own.
_WHOLE: Final = (
    row_format.ACCOUNT, row_format.KEY, row_format.KEY_ID, row_format.PACKS,
    row_format.PERSON, row_format.EMAIL, row_format.LAST,
)  # fmt: skip
_PARTED: Final = (row_format.KEY_OF, row_format.RESERVED, row_format.SESSION, *row_format.PERIODIC)

# The moves of a day are of no use once it is over: done again, they would change its past only.
KEPT_S: Final = 3 * 86_400

MOVED: Final = b"floor"  # it is another: the answer tells which, and nothing was done


def place(key: bytes) -> tuple[bytes, bytes]:
    """The hash and the field of a row.

    >>> place(b"d/2026-11-21/a_1"), place(b"a/a_1"), place(b"floor")
    ((b'societes:d/2026-11-21', b'a_1'), (b'societes:a', b'a_1'), (b'societes:meta', b'floor'))
    """
    table = key[:2]
    if table in _WHOLE:
        return PREFIX + table[:1], key[2:]
    if table in _PARTED:
        part, _, rest = key[2:].partition(b"/")
        return PREFIX + table + part, rest
    return META, key


def row(hashed: bytes, field: bytes) -> bytes:
    """The key of the row that `place` put there.

    >>> row(b"societes:d/2026-11-21", b"a_1"), row(b"societes:a", b"a_1"), row(META, b"floor")
    (b'd/2026-11-21/a_1', b'a/a_1', b'floor')
    """
    if hashed == META:
        return field
    return hashed.removeprefix(PREFIX) + b"/" + field


# -- the scripts -------------------------------------------------------------------

_NUMBERS: Final = """
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
"""
_KEPT: Final = (
    _NUMBERS
    + """
local floor = redis.call('HGET', KEYS[1], 'floor') or ''
if floor ~= ARGV[1] then return {'floor', floor} end
local account = ARGV[2]
"""
)

# KEYS: meta, calls of the day. ARGV: floor, account, limit.
TAKE: Final = (
    _KEPT
    + """
local used = number(redis.call('HGET', KEYS[2], account))
if used >= tonumber(ARGV[3]) then return {0, used} end
redis.call('HSET', KEYS[2], account, pack(used + 1))
return {1, used + 1}
"""
)

# KEYS: meta, calls of the day. ARGV: floor, account.
GIVE_BACK: Final = (
    _KEPT
    + """
local used = number(redis.call('HGET', KEYS[2], account))
if used > 0 then redis.call('HSET', KEYS[2], account, pack(used - 1)) end
return {0}
"""
)

# KEYS: meta, calls of the day, grants, charges, packs.
# ARGV: floor, account, limit (empty: the call is counted elsewhere), company, cost, grant.
CHARGE: Final = (
    _KEPT
    + """
local company, cost, grant = account .. '/' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local used = number(redis.call('HGET', KEYS[2], account))
if ARGV[3] ~= '' then
  if used >= tonumber(ARGV[3]) then return {0, used} end
  used = used + 1
  redis.call('HSET', KEYS[2], account, pack(used))
end
local of_grant = number(redis.call('HGET', KEYS[3], account))
local bought, spent = pair(redis.call('HGET', KEYS[5], account))
local granted = math.max(0, grant - of_grant)
local left = granted + bought - spent
if redis.call('HEXISTS', KEYS[4], company) == 1 then return {1, used, 'already', left} end
if left < cost then return {1, used, 'refused', left} end
local from_grant = math.min(cost, granted)
local from_packs = cost - from_grant
if from_grant > 0 then redis.call('HSET', KEYS[3], account, pack(of_grant + from_grant)) end
if from_packs > 0 then
  redis.call('HSET', KEYS[5], account, pack_pair(bought, spent + from_packs))
end
redis.call('HSET', KEYS[4], company, pack_pair(from_grant, from_packs))
return {1, used, 'charged', left - cost}
"""
)

# A block of calls for an edge, or one that comes back; the same move twice is one (leases.py). Of
# those that got nothing only the last of each process is kept: by the first 8 characters of a name.
# KEYS: meta, calls of the day, moves of the day.
# ARGV: floor, account, move, calls, limit, parts, seconds that the moves are kept.
MOVE: Final = (
    _KEPT
    + """
local move, wanted, limit = account .. '/' .. ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local used = number(redis.call('HGET', KEYS[2], account))
local before = redis.call('HGET', KEYS[3], move)
if before then return {tonumber(before), used} end
local refused = account .. '/' .. string.sub(ARGV[3], 1, 8)
if redis.call('HGET', KEYS[3], refused) == ARGV[3] then return {0, used} end
local moved = math.max(-used, wanted)
if wanted > 0 then
  local left = math.max(0, limit - used)
  moved = math.min(wanted, left, math.max(1, math.floor(left / tonumber(ARGV[6]))))
end
if moved ~= 0 then
  redis.call('HSET', KEYS[2], account, pack(used + moved))
  redis.call('HSET', KEYS[3], move, moved)
else
  redis.call('HSET', KEYS[3], refused, ARGV[3])
end
redis.call('EXPIRE', KEYS[3], ARGV[7])
return {moved, used + moved}
"""
)

# A key and the account it leads to. KEYS: keys, accounts. ARGV: digest.
IDENTIFY: Final = """
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return {} end
local account = cjson.decode(key)['account']
return {key, account, redis.call('HGET', KEYS[2], account)}
"""

# What a transaction read must still be so, then all it wrote is written. ARGV: msgpack of what was
# seen [[key, field, value or false], …], what was listed whole [[key, number of fields], …], and
# what is written [[key, field, value or false], …]; a key is its number in KEYS.
APPLY: Final = """
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
"""

SCRIPTS: Final = (TAKE, GIVE_BACK, CHARGE, MOVE, IDENTIFY, APPLY)

Command = tuple[Any, ...]
Reply = Sequence[Any]


class ScriptCall(NamedTuple):
    """A command, and what its reply means."""

    command: Command
    told: Callable[[Reply], Any]


def evaluated(script: str, names: Sequence[bytes], *values: object) -> Command:
    """The command that runs a script which the server has loaded."""
    sha = sha1(script.encode(), usedforsecurity=False).hexdigest()
    return ("EVALSHA", sha, len(names), *names, *values)


def take(floor: bytes, account: str, limit: int, now: datetime) -> ScriptCall:
    """`ledger.take`"""
    today = day(since(now, floor))
    command = evaluated(TAKE, (META, _hash(row_format.CALLS, today.key)), floor, account, limit)

    def told(reply: Reply) -> Meter:
        granted, used = reply
        return Meter("appels_jour", limit, used, bool(granted), today.end)

    return ScriptCall(command, told)


def give_back(floor: bytes, account: str, taken: datetime) -> ScriptCall:
    """`ledger.give_back`"""
    today = day(since(taken, floor))
    names = META, _hash(row_format.CALLS, today.key)
    return ScriptCall(evaluated(GIVE_BACK, names, floor, account), lambda reply: None)


def take_and_charge(
    floor: bytes,
    account: str,
    limit: int | None,
    company: str,
    cost: int,
    grant: int,
    now: datetime,
) -> ScriptCall:
    """`ledger.take_and_charge`; without a `limit` the charge only: its call is counted elsewhere.

    Raises:
        NotAllowedError: `company` is too long.
    """
    moment = since(now, floor)
    today, period = day(moment), month(moment)
    charge_key(period, account, company)  # refuses what no store could hold
    names = (
        META,
        _hash(row_format.CALLS, today.key),
        _hash(row_format.GRANT, period.key),
        _hash(row_format.CHARGE, period.key),
        place(row_format.PACKS)[0],
    )
    told_limit = "" if limit is None else limit
    values = floor, account, told_limit, company, cost, grant

    def told(reply: Reply) -> tuple[Meter, Charge | None]:
        granted, used, *charged = reply
        meter = Meter("appels_jour", limit or 0, used, bool(granted), today.end)
        if not granted:
            return meter, None
        outcome, left = charged[0].decode(), charged[1]
        return meter, Charge(outcome, cost if outcome == "charged" else 0, left, period.end)

    return ScriptCall(evaluated(CHARGE, names, *values), told)


def move(
    floor: bytes, account: str, name: str, calls: int, limit: int, parts: int, today: str
) -> ScriptCall:
    """Calls of a day to an edge, or (negative) from it; told: how many, and the calls used."""
    names = META, _hash(row_format.CALLS, today), _hash(row_format.MOVES, today)
    values = floor, account, name, calls, limit, parts, KEPT_S
    return ScriptCall(evaluated(MOVE, names, *values), tuple)


def identify(digest: bytes) -> Command:
    return evaluated(IDENTIFY, (place(row_format.KEY)[0], place(row_format.ACCOUNT)[0]), digest)


def _hash(table: bytes, period: str) -> bytes:
    return PREFIX + table + period.encode()
