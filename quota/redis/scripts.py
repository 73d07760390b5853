"""The place of each row on a Redis or Valkey server, and the Lua scripts of every request.

A row of the ledger is a field of a hash; keys and values are those of `ledger/row_format.py`. Rows that are listed
together (the keys of an account) or dropped together (the calls of a day) are the fields of one hash, and a single row
is reached by its field in one step.

A script runs on the server while no other command runs, in one round trip. `lua/` has the sources;
the script of a function does the same as that function of the ledger, which tests/quota/machine.py
checks on both. Everything that is not here is the ledger itself, in a transaction over the server
(`transaction.py`).

The clock is the caller's. A script gets the names of its periods, and the floor (the first month
that is kept) with which the caller computed them; a script that finds another floor changes nothing
and replies with MOVED and that floor.

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

PREFIX: Final = b"societes:"
META: Final = PREFIX + b"meta"

# Tables that are one hash each.
_WHOLE: Final = (
    row_format.ACCOUNT, row_format.KEY, row_format.KEY_ID, row_format.ADDRESS, row_format.PACKS,
    row_format.PERSON, row_format.EMAIL, row_format.LAST, row_format.TICKET, row_format.TOKEN,
    row_format.SEALED, row_format.PAID, row_format.LAST_EXPORTS, row_format.UNAPPLIED,
    row_format.MATCHED, row_format.LIST, row_format.LIST_MARKS,
)  # fmt: skip
# Tables with one hash per account, person or period.
_PARTED: Final = (
    row_format.KEY_OF, row_format.ADDRESS_OF, row_format.RESERVED, row_format.SESSION,
    row_format.KEY_CALLS, row_format.PAYMENT, row_format.MEMBER_OF, row_format.TICKET_OF, row_format.AGENDA,
    row_format.LIST_OF, row_format.LIST_LINES,
    *row_format.PERIODIC,
)  # fmt: skip
# Tables whose rows are named by the fields of a list, as people by U/<account>/<person>; a list of
# keys, addresses or tickets has the names as its values.
_NAMED_BY_FIELD: Final = (row_format.PERSON, row_format.LAST, row_format.LIST)

# How long the moves of a day are kept: after the day is over, a repeated move only changes its past.
KEPT_S: Final = 3 * 86_400

# The first item of the reply of a script that found another floor; the second is that floor.
MOVED: Final = b"floor"

Command = tuple[Any, ...]
Reply = Sequence[Any]


# -- the place of a row --------------------------------------------------------------


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


def row(name: bytes, field: bytes) -> bytes:
    """The key of the row in a field of the hash `name`: the inverse of `place`.

    >>> row(b"societes:d/2026-11-21", b"a_1"), row(b"societes:a", b"a_1"), row(META, b"floor")
    (b'd/2026-11-21/a_1', b'a/a_1', b'floor')
    """
    if name == META:
        return field
    return name.removeprefix(PREFIX) + b"/" + field


def is_list(prefix: bytes) -> bool:
    """Whether a key without a field is that of a hash, and not of a whole table.

    >>> is_list(b"o/a_1/"), is_list(b"k/")
    (True, False)
    """
    return prefix[:2] in _PARTED


def names_by_field(name: bytes) -> bool:
    """Whether the fields of a list, and not their values, name rows in the hash `name`.

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
    """A script and the SHA-1 by which the server knows it once it is loaded."""

    source: str
    sha: str


class ScriptCall(NamedTuple):
    """A command that runs a script, and the function that interprets its reply."""

    command: Command
    parse: Callable[[Reply], Any]


def _script(*names: str) -> LuaScript:
    folder = resources.files("quota.redis") / "lua"
    source = "".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return LuaScript(source, sha1(source.encode(), usedforsecurity=False).hexdigest())


_TAKE: Final = _script("prelude", "take")
_GIVE_BACK: Final = _script("prelude", "give_back")
_CHARGE: Final = _script("prelude", "charge")
_MOVE: Final = _script("prelude", "move")
_IDENTIFY: Final = _script("identify")
_LIST: Final = _script("list")
_APPLY: Final = _script("apply")
_KEY_CALLS: Final = _script("key_calls")
_RAISE_FLOOR: Final = _script("raise_floor")

SCRIPTS: Final = (
    _TAKE, _GIVE_BACK, _CHARGE, _MOVE, _IDENTIFY, _LIST, _APPLY, _KEY_CALLS, _RAISE_FLOOR,
)  # fmt: skip
_READ: Final = (_IDENTIFY.sha, _LIST.sha)


def take(floor: bytes, account: str, limit: int, now: datetime) -> ScriptCall:
    """The call of the script that does what `ledger.calls.take` does."""
    today = day(clamp_to_floor(now, floor))
    names = META, period_hash(row_format.CALLS, today.key)

    def parse(reply: Reply) -> Meter:
        granted, used = reply
        return Meter("appels_jour", limit, used, bool(granted), today.end)

    return ScriptCall(_evalsha(_TAKE, names, floor, account, limit), parse)


def give_back(floor: bytes, account: str, taken: datetime) -> ScriptCall:
    """The call of the script that does what `ledger.calls.give_back` does."""
    names = META, period_hash(row_format.CALLS, day(clamp_to_floor(taken, floor)).key)
    return ScriptCall(_evalsha(_GIVE_BACK, names, floor, account), lambda reply: None)


def take_and_charge(
    floor: bytes, purchase: Purchase, now: datetime, *, count_call: bool
) -> ScriptCall:
    """The call of the script that does what `ledger.calls.take_and_charge` does.

    Without `count_call` it only charges, as `ledger.calls.charge`, and the limit of the meter is 0.

    Raises:
        NotAllowedError: the company's identifier is too long for a store.
    """
    moment = clamp_to_floor(now, floor)
    today, period = day(moment), month(moment)
    charge_key(period, purchase.account, purchase.company)  # raises what the ledger raises
    names = (
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
        _CHARGE, names, floor, purchase.account, limit if count_call else "",
        purchase.company, purchase.cost, purchase.grant,
        "" if purchase.trials is None else purchase.trials,
        int(moment.timestamp()), KEPT_OPENINGS,
    )  # fmt: skip

    def parse(reply: Reply) -> tuple[Meter, Charge | None]:
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
    """Lend calls of the day `today` to an edge, or take them back (negative `calls`).

    The reply is parsed to (calls moved, calls used). `name` identifies the move; `parts` is
    `edge.leases.PARTS`.
    """
    names = META, period_hash(row_format.CALLS, today), period_hash(row_format.MOVES, today)
    command = _evalsha(_MOVE, names, floor, account, name, calls, limit, parts, KEPT_S)
    return ScriptCall(command, tuple)


def identify(key: bytes) -> Command:
    """The row of a key, an address or a person, and that of its account (`lua/identify.lua`).

    The reply is empty, or (row, account id, row of the account).
    """
    name, field = place(key)
    return _evalsha(_IDENTIFY, (name, place(row_format.ACCOUNT)[0]), field)


def list_hash(name: bytes, others: Sequence[bytes]) -> Command:
    """All fields of the hash `name`, and the fields of `others` that they name (`lua/list.lua`).

    The reply is a list of fields and values in turns, and for each of `others` a list of values.
    """
    by = ["field" if names_by_field(other) else "value" for other in others]
    return _evalsha(_LIST, (name, *others), *by)


def add_key_calls(calls: Sequence[tuple[bytes, int]], day: date) -> Command:
    """What `ledger.activity.add_key_calls` does, without a transaction: these are statistics."""
    names = place(row_format.KEY)[0], place(row_format.LAST)[0]
    first = day - timedelta(days=KEPT_DAYS)
    given = [part for one in calls for part in one]
    beginning = period_hash(row_format.KEY_CALLS, "")
    return _evalsha(_KEY_CALLS, names, beginning, day.isoformat(), first.isoformat(), *given)


def raise_floor(before: str) -> Command:
    """What `ledger.calls.raise_floor` does, also where the memory of the server is full."""
    return _evalsha(_RAISE_FLOOR, (META,), before)


def writes(command: Command) -> bool:
    """Whether the command may change rows."""
    return bool(command[0] == "EVALSHA" and command[1] not in _READ)


def apply(names: Sequence[bytes], rows: bytes) -> Command:
    """Commit a transaction over the hashes `names`; the reply is 1, or 0 for a conflict."""
    return _evalsha(_APPLY, names, rows)


def _evalsha(script: LuaScript, names: Sequence[bytes], *values: object) -> Command:
    return ("EVALSHA", script.sha, len(names), *names, *values)
