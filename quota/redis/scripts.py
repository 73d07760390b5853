"""The place of each row on a Redis or Valkey server, and the Lua scripts of every request.

A row of the ledger is a field of a hash; keys and values are those of `ledger/row_format.py`. Rows that are listed
together (the keys of an account) or dropped together (the calls of a day) are the fields of one hash, and a single row
is reached by its field in one step.

A script runs on the server while no other command runs, in one round trip. `lua/` has the sources.
A script does the same as the function of the ledger with its name; tests/quota/machine.py tests both.
All other operations run the ledger itself, in a transaction over the server (`transaction.py`).

The clock is the caller's. A script gets the names of its periods, and the floor (the first month
that is kept) with which the caller computed them. If the server has another floor, the script changes
nothing and replies with FLOOR_MOVED and that floor.

One script uses hashes of several accounts and periods, so all of them must be on one server, which
excludes a cluster.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from hashlib import sha1
from importlib import resources
from typing import Any, Final, NamedTuple

from quota.ledger import row_format
from quota.ledger.activity import KEPT_DAYS
from quota.ledger.calls import KEPT_OPENINGS, Charge, Meter, Purchase, charge_key, clamp_to_floor
from quota.periods import day, month

PREFIX: Final = b"societes:"  # of the names of all hashes
META: Final = PREFIX + b"meta"  # the hash of the rows that are in no table, such as the floor

# Tables whose rows are all in one hash (`societes:a`).
_TABLES_OF_ONE_HASH: Final = (
    row_format.ACCOUNT, row_format.KEY, row_format.KEY_ID, row_format.ADDRESS, row_format.PACKS,
    row_format.PERSON, row_format.EMAIL, row_format.LAST, row_format.TICKET, row_format.TOKEN,
    row_format.SEALED, row_format.PAID, row_format.LAST_EXPORTS, row_format.UNAPPLIED,
    row_format.MATCHED, row_format.LIST, row_format.LIST_MARKS,
)  # fmt: skip
# Tables with one hash per account, person or period (`societes:d/2026-11-21`).
_TABLES_OF_MANY_HASHES: Final = (
    row_format.KEY_OF, row_format.ADDRESS_OF, row_format.RESERVED, row_format.SESSION,
    row_format.KEY_CALLS, row_format.PAYMENT, row_format.MEMBER_OF, row_format.TICKET_OF, row_format.AGENDA,
    row_format.LIST_OF, row_format.LIST_LINES,
    *row_format.PERIODIC,
)  # fmt: skip
# A list names rows of a table. Lists of rows of these tables name them in the fields of their hash, such as the person
# of U/<account>/<person>; lists of keys, addresses or tickets name them in the values of their hash.
_NAMED_BY_FIELD: Final = (row_format.PERSON, row_format.LAST, row_format.LIST)

# How long the moves of a day are kept, in seconds since the last move. A move that is repeated even later is performed
# again, but then changes only the counter of a past day.
MOVES_KEPT_S: Final = 3 * 86_400

# The first item of the reply of a script if the floor in Redis is not the floor that the caller knows; the second item
# is the floor in Redis.
FLOOR_MOVED: Final = b"floor"

Command = tuple[Any, ...]  # the words of a Redis command
Reply = Sequence[Any]


# -- the place of a row --------------------------------------------------------------


def place(key: bytes) -> tuple[bytes, bytes]:
    """The hash and the field of a row.

    >>> place(b"d/2026-11-21/a_1"), place(b"a/a_1"), place(b"floor")
    ((b'societes:d/2026-11-21', b'a_1'), (b'societes:a', b'a_1'), (b'societes:meta', b'floor'))
    """
    table = key[:2]
    if table in _TABLES_OF_ONE_HASH:
        return PREFIX + table[:1], key[2:]
    if table in _TABLES_OF_MANY_HASHES:
        hash_part, _, field = key[2:].partition(b"/")
        return PREFIX + table + hash_part, field
    return META, key


def row_key(name: bytes, field: bytes) -> bytes:
    """The key of the row in a field of the hash `name`: the inverse of `place`.

    >>> row_key(b"societes:d/2026-11-21", b"a_1"), row_key(b"societes:a", b"a_1"), row_key(META, b"floor")
    (b'd/2026-11-21/a_1', b'a/a_1', b'floor')
    """
    if name == META:
        return field
    return name.removeprefix(PREFIX) + b"/" + field


def is_list(prefix: bytes) -> bool:
    """Whether a prefix names one hash of a table with many hashes, and not a table of one hash.

    >>> is_list(b"o/a_1/"), is_list(b"k/")
    (True, False)
    """
    return prefix[:2] in _TABLES_OF_MANY_HASHES


def names_by_field(name: bytes) -> bool:
    """Whether the fields of a list, and not its values, refer to rows in the hash `name`.

    >>> names_by_field(b"societes:u"), names_by_field(b"societes:k")
    (True, False)
    """
    return name.removeprefix(PREFIX) + b"/" in _NAMED_BY_FIELD


def period_hash(table: bytes, period: str) -> bytes:
    """The hash of all rows of a table in one period.

    >>> period_hash(row_format.CALLS, "2026-11-21")
    b'societes:d/2026-11-21'
    """
    return PREFIX + table + period.encode()


# -- the scripts ---------------------------------------------------------------------


class LuaScript(NamedTuple):
    """A script, and the SHA-1 by which the server finds the script once it is loaded."""

    source: str
    sha: str


class ScriptCall(NamedTuple):
    """A command that runs a script, and the function that interprets its reply."""

    command: Command
    parse: Callable[[Reply], Any]


def _load_script(*names: str) -> LuaScript:
    """The script whose source is the text of these files of `lua/`, in this order."""
    folder = resources.files("quota.redis") / "lua"
    source = "".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return LuaScript(source, sha1(source.encode(), usedforsecurity=False).hexdigest())


# `prelude.lua` has the functions of the scripts that count. It also compares the floor, the first month whose counters
# are kept, with the floor that the caller knows.
_TAKE: Final = _load_script("prelude", "take")
_GIVE_BACK: Final = _load_script("prelude", "give_back")
_CHARGE: Final = _load_script("prelude", "charge")
_MOVE: Final = _load_script("prelude", "move")
_IDENTIFY: Final = _load_script("identify")
_LIST: Final = _load_script("list")
_APPLY: Final = _load_script("apply")
_KEY_CALLS: Final = _load_script("key_calls")
_RAISE_FLOOR: Final = _load_script("raise_floor")

# All scripts, which each new connection loads.
SCRIPTS: Final = (
    _TAKE, _GIVE_BACK, _CHARGE, _MOVE, _IDENTIFY, _LIST, _APPLY, _KEY_CALLS, _RAISE_FLOOR,
)  # fmt: skip
# The scripts that change no row.
_READING_SCRIPTS: Final = (_IDENTIFY.sha, _LIST.sha)


def take(floor: bytes, account: str, limit: int, now: datetime) -> ScriptCall:
    """The script call that counts one call of the day, by the rules of `ledger.calls.take`."""
    today = day(clamp_to_floor(now, floor))
    hashes = META, period_hash(row_format.CALLS, today.key)

    def parse(reply: Reply) -> Meter:
        """The counter from the reply of `lua/take.lua`: 1 if granted, and the calls of the day."""
        granted, used = reply
        return Meter("appels_jour", limit, used, bool(granted), today.end)

    return ScriptCall(_evalsha(_TAKE, hashes, floor, account, limit), parse)


def give_back(floor: bytes, account: str, counted_at: datetime) -> ScriptCall:
    """The script call that undoes a call whose response failed, by the rules of `ledger.calls.give_back`."""
    hashes = META, period_hash(row_format.CALLS, day(clamp_to_floor(counted_at, floor)).key)
    return ScriptCall(_evalsha(_GIVE_BACK, hashes, floor, account), lambda reply: None)


def take_and_charge(
    floor: bytes, purchase: Purchase, now: datetime, *, count_call: bool
) -> ScriptCall:
    """The script call that counts one call and charges credits, by the rules of `ledger.calls.take_and_charge`.

    Without `count_call` the script only charges, by the rules of `ledger.calls.charge`; the limit of the meter is 0.

    Raises:
        NotAllowedError: the company's identifier is too long for a store.
    """
    moment = clamp_to_floor(now, floor)
    today, period = day(moment), month(moment)
    charge_key(period, purchase.account, purchase.company)  # raises as the ledger does
    hashes = (
        META,
        period_hash(row_format.CALLS, today.key),
        period_hash(row_format.GRANT, period.key),
        period_hash(row_format.CHARGE, period.key),
        place(row_format.PACKS)[0],
        period_hash(row_format.TRIALS, period.key),
        period_hash(row_format.OPENED, period.key),
    )
    limit = purchase.call_limit if count_call else 0
    command = _evalsha(
        _CHARGE, hashes, floor, purchase.account, limit if count_call else "",
        purchase.company, purchase.cost, purchase.grant,
        "" if purchase.trials is None else purchase.trials,
        int(moment.timestamp()), KEPT_OPENINGS,
    )  # fmt: skip

    def parse(reply: Reply) -> tuple[Meter, Charge | None]:
        """The counter and the charge from the reply of `lua/charge.lua`; no charge for a refused call."""
        granted, used, *charged = reply
        meter = Meter("appels_jour", limit, used, bool(granted), today.end)
        if not granted:
            return meter, None
        outcome, left = charged[0].decode(), charged[1]
        cost = purchase.cost if outcome == "charged" else 0
        return meter, Charge(outcome, cost, left, period.end)

    return ScriptCall(command, parse)


def move(
    floor: bytes, account: str, name: str, calls: int, limit: int, parts: int, today: str
) -> ScriptCall:
    """The script call that lends calls of the day `today` to an edge, or takes calls back (negative `calls`).

    The reply is parsed to (calls moved, calls used). `name` identifies the move (`edge/leases.py`); a block is
    at most 1/`parts` of the calls left.
    """
    hashes = META, period_hash(row_format.CALLS, today), period_hash(row_format.MOVES, today)
    command = _evalsha(_MOVE, hashes, floor, account, name, calls, limit, parts, MOVES_KEPT_S)
    return ScriptCall(command, tuple)


def identify(key: bytes) -> Command:
    """The command that reads the row of a key, an address or a person, and its account's row (`lua/identify.lua`).

    The reply is empty, or (row, account id, row of the account).
    """
    name, field = place(key)
    return _evalsha(_IDENTIFY, (name, place(row_format.ACCOUNT)[0]), field)


def list_hash(name: bytes, referenced_hashes: Sequence[bytes]) -> Command:
    """The command that reads the hash `name`, and the rows in other hashes to which it refers (`lua/list.lua`).

    The reply is a list of alternating fields and values, and for each of `referenced_hashes` a list of values.
    """
    references = ["field" if names_by_field(other) else "value" for other in referenced_hashes]
    return _evalsha(_LIST, (name, *referenced_hashes), *references)


def add_key_calls(calls: Sequence[tuple[bytes, int]], day: date) -> Command:
    """The command that adds the calls of many keys on a day to their statistics (`ledger.activity.add_key_calls`).

    Statistics need no transaction, so the calls of many keys can be split into several commands.
    """
    hashes = place(row_format.KEY)[0], place(row_format.LAST)[0]
    first_kept_day = day - timedelta(days=KEPT_DAYS)
    digests_and_counts = [part for pair in calls for part in pair]
    hash_prefix = period_hash(row_format.KEY_CALLS, "")
    return _evalsha(
        _KEY_CALLS,
        hashes,
        hash_prefix,
        day.isoformat(),
        first_kept_day.isoformat(),
        *digests_and_counts,
    )


def raise_floor(first_month: str) -> Command:
    """The command that raises the first month whose counters are kept; it works even if the server's memory is full."""
    return _evalsha(_RAISE_FLOOR, (META,), first_month)


def writes(command: Command) -> bool:
    """Whether the command runs a script that can change rows."""
    return bool(command[0] == "EVALSHA" and command[1] not in _READING_SCRIPTS)


def apply(names: Sequence[bytes], rows: bytes) -> Command:
    """The command that commits a transaction over the hashes `names`; the reply is 1, or 0 for a conflict.

    `rows` has the rows that were read and the rows to write (`RedisTransaction.apply`).
    """
    return _evalsha(_APPLY, names, rows)


def _evalsha(script: LuaScript, names: Sequence[bytes], *values: object) -> Command:
    """The command that runs a loaded script with the names of the hashes that it uses, and its other arguments."""
    return ("EVALSHA", script.sha, len(names), *names, *values)
