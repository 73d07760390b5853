"""Matched lists: the lines of a reader with their verdicts and choices, for LASTS_S (extensions X5).

A list has a head, its lines in chunks of CHUNK_LINES, and two bytes a line: its verdict, and the candidate that is
chosen. Lines are bytes that only the pages read. A list belongs to an account, or to whoever has its code: then the
store has no more than the SHA-256 of that code. Each list that is created drops some that have expired; `compact` drops
the others. A visitor's list beyond VISITOR_LISTS drops the one that ends first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, NamedTuple

import orjson

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import agenda, row_format
from quota.ledger.account_rows import account_of
from quota.ledger.row_format import ReadTransaction, WriteTransaction

LASTS_S: Final = 30 * 86_400
CHUNK_LINES: Final = 100
NO_CHOICE: Final = 255  # in place of the number of a candidate

# The most that an account may have at one time: lists, lines, and bytes of their rows.
LISTS_MOST: Final = 100
LINES_MOST: Final = 200_000
BYTES_MOST: Final = 32 << 20
# The most lists of visitors together, and bytes of one.
VISITOR_LISTS: Final = 10_000
VISITOR_BYTES: Final = 16 << 10
LONGEST_NAME: Final = 100

# Expired lists that are dropped with each one that is created: more than are created.
_DROPPED: Final = 2
_LINE_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class MatchedList:
    """The head of a list.

    Attributes:
        id: the SHA-256 of its code, hex.
        account: "" for a list of a visitor.
        code: of its address; "" for a list of a visitor, whose code is a capability.
        created, expires: seconds since 1970.
        size: bytes of its rows.
        verdicts: how many lines have each verdict, by its letter.
    """

    id: str
    account: str
    code: str
    name: str
    created: int
    expires: int
    lines: int = 0
    size: int = 0
    verdicts: Mapping[str, int] = field(default_factory=dict)


class ListSize(NamedTuple):
    """How much lists are together."""

    lists: int
    lines: int
    bytes: int


class ListRows(NamedTuple):
    """The rows of a list that a page needs.

    Attributes:
        table: how the list was read, bytes that only the pages read.
        marks: as `ListPart.marks`, of all lines.
    """

    head: MatchedList
    table: bytes
    marks: bytes


@dataclass(frozen=True, slots=True)
class ListPart:
    """Lines that are added to a list.

    Attributes:
        chunks: of CHUNK_LINES each, but for the last one.
        marks: of each line the letter of its verdict, and the number of the chosen candidate or NO_CHOICE.
    """

    chunks: Sequence[bytes]
    marks: bytes

    @property
    def lines(self) -> int:
        return len(self.marks) // _LINE_BYTES

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks)) + len(self.marks)


def check_room(txn: ReadTransaction, account: str, wanted: ListSize, now: int) -> None:
    """Check that an account may keep so much more.

    Raises:
        NotAllowedError: the message says of which there are too many.
    """
    lists = of_account(txn, account, now)
    there = ListSize(len(lists), sum(one.lines for one in lists), sum(one.size for one in lists))
    most = ListSize(LISTS_MOST, LINES_MOST, BYTES_MOST)
    for name, count, more, limit in zip(ListSize._fields, there, wanted, most, strict=True):
        if count + more > limit:
            raise NotAllowedError(
                f"the lists of {account} have {count} {name}, {limit} at most; delete a list first"
            )


def create(txn: WriteTransaction, head: MatchedList, table: bytes, part: ListPart) -> MatchedList:
    """Store a new list with its first lines.

    Args:
        table: how the list was read, bytes that only the pages read.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: as `check_room`; or a visitor's list is longer than VISITOR_BYTES.
    """
    size = len(table) + part.size
    if head.account:
        account_of(txn, head.account)
        check_room(txn, head.account, ListSize(1, part.lines, size), head.created)
    elif size > VISITOR_BYTES:
        raise NotAllowedError(
            f"a list without an account has {VISITOR_BYTES} bytes at most, not {size}; use an account"
        )
    drop_expired(txn, head.created, _DROPPED)
    if not head.account:
        _make_room_for_visitor(txn, head.expires)
    agenda.enter(txn, _agenda_of(head), head.expires, head.id)
    txn.put(_table_key(head.id), table)
    if head.account:
        txn.put(row_format.join(row_format.LIST_OF, head.account, head.id), b"1")
    return _add(txn, replace(head, size=len(table)), part)


def append(
    txn: WriteTransaction, list_id: str, account: str, first: int, part: ListPart, now: int
) -> MatchedList:
    """Add lines to a list of an account, of which they begin with line `first` (0 for the first one of all).

    Raises:
        UnknownError: the account has no such list.
        NotAllowedError: as `check_next` and `check_room`.
    """
    head = own(txn, list_id, account, now)
    check_next(head, first)
    check_room(txn, account, ListSize(0, part.lines, part.size), now)
    return _add(txn, head, part)


def check_next(head: MatchedList, first: int) -> None:
    """Raise NotAllowedError if line `first` is not the next one, or the last chunk of the list is not full."""
    if first != head.lines or head.lines % CHUNK_LINES:
        raise NotAllowedError(
            f"line {first + 1} cannot be added to a list of {head.lines} lines; send the list again"
        )


def _add(txn: WriteTransaction, head: MatchedList, part: ListPart) -> MatchedList:
    for number, lines in enumerate(part.chunks, head.lines // CHUNK_LINES):
        txn.put(_chunk_key(head.id, number), lines)
    before = marks_of(txn, head.id) if head.lines else b""
    txn.put(row_format.join(row_format.LIST_MARKS, head.id), before + part.marks)
    counts = Counter(head.verdicts) + Counter(part.marks[::_LINE_BYTES].decode())
    return _put(
        txn,
        replace(
            head,
            lines=head.lines + part.lines,
            size=head.size + part.size,
            verdicts=dict(counts),
        ),
    )


def find(txn: ReadTransaction, list_id: str, now: int) -> MatchedList | None:
    """The list of this id, whoever may open it; None if there is none, or it has expired."""
    stored = txn.get(row_format.join(row_format.LIST, list_id))
    head = None if stored is None else _load(stored)
    return head if head and head.expires > now else None


def own(txn: ReadTransaction, list_id: str, account: str, now: int) -> MatchedList:
    """The list of this id, if it is of this account, or of no account.

    Raises:
        UnknownError: there is none such.
    """
    head = find(txn, list_id, now)
    if head is None or head.account not in ("", account):
        raise UnknownError(
            f"there is no list {list_id[:8]}…; it was deleted, or has expired; send it again"
        )
    return head


def of_account(txn: ReadTransaction, account: str, now: int) -> Sequence[MatchedList]:
    """The lists of an account that have not expired, the newest first."""
    table = row_format.join(row_format.LIST_OF, account, "")
    txn.expect([table, row_format.LIST])
    ids = [key[len(table) :].decode() for key, _ in txn.scan(table)]
    heads = (find(txn, list_id, now) for list_id in ids)
    return sorted((head for head in heads if head), key=lambda head: (-head.created, head.id))


def rows_of(txn: ReadTransaction, list_id: str, now: int) -> ListRows | None:
    """The list of this id with its marks, whoever may open it; None as `find`."""
    table, marks = _table_key(list_id), row_format.join(row_format.LIST_MARKS, list_id)
    txn.expect([row_format.join(row_format.LIST, list_id), table, marks])
    head = find(txn, list_id, now)
    return None if head is None else ListRows(head, txn.get(table) or b"", marks_of(txn, list_id))


def marks_of(txn: ReadTransaction, list_id: str) -> bytes:
    """The verdict and the choice of each line."""
    return txn.get(row_format.join(row_format.LIST_MARKS, list_id)) or b""


def chunks_of(txn: ReadTransaction, list_id: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
    """These chunks of a list by their number, without those that were deleted meanwhile."""
    keys = [_chunk_key(list_id, number) for number in numbers]
    txn.expect(keys)
    stored = zip(numbers, map(txn.get, keys), strict=True)
    return {number: lines for number, lines in stored if lines is not None}


def choose(
    txn: WriteTransaction, list_id: str, account: str, choices: Mapping[int, int], now: int
) -> MatchedList:
    """Store the number of the chosen candidate, or NO_CHOICE, of lines by their place (0 for the first one).

    Raises:
        UnknownError: as `own`; or the list has no such line.
    """
    head = own(txn, list_id, account, now)
    marks = bytearray(marks_of(txn, list_id))
    for place, candidate in choices.items():
        if not 0 <= place < head.lines:
            raise UnknownError(
                f"a list of {head.lines} lines has no line {place + 1}; name another"
            )
        marks[_LINE_BYTES * place + 1] = candidate
    txn.put(row_format.join(row_format.LIST_MARKS, list_id), bytes(marks))
    return head


def rename(txn: WriteTransaction, list_id: str, account: str, name: str, now: int) -> MatchedList:
    """Give a list another name. Raises UnknownError as `own`."""
    return _put(txn, replace(own(txn, list_id, account, now), name=name[:LONGEST_NAME]))


def delete(txn: WriteTransaction, list_id: str, account: str, now: int) -> None:
    """Delete a list with all its rows. Raises UnknownError as `own`."""
    _drop(txn, own(txn, list_id, account, now))


def delete_all(txn: WriteTransaction, account: str) -> None:
    """Delete the lists of an account that is removed."""
    for head in of_account(txn, account, 0):
        _drop(txn, head)


def drop_expired(txn: WriteTransaction, now: int, at_most: int) -> int:
    """Delete lists that have expired, at most so many of each kind; returns how many."""
    dropped = 0
    for kind in (agenda.LISTS, agenda.VISITOR_LISTS):
        for entry in agenda.due_entries(txn, kind, now, at_most):
            _drop_entry(txn, kind, entry)
            dropped += 1
    return dropped


def _make_room_for_visitor(txn: WriteTransaction, last: int) -> None:
    """Count one more list of a visitor; where there are VISITOR_LISTS, the one that ends first goes."""
    if row_format.number(txn.get(row_format.VISITOR_LISTS)) >= VISITOR_LISTS:
        for entry in agenda.due_entries(txn, agenda.VISITOR_LISTS, last, 1):
            _drop_entry(txn, agenda.VISITOR_LISTS, entry)
    count = row_format.number(txn.get(row_format.VISITOR_LISTS))
    txn.put(row_format.VISITOR_LISTS, row_format.pack(count + 1))


def _drop_entry(txn: WriteTransaction, kind: str, entry: agenda.Entry) -> None:
    stored = txn.get(row_format.join(row_format.LIST, entry.name))
    if stored is None:
        agenda.strike(txn, kind, entry.moment, entry.name)
    else:
        _drop(txn, _load(stored))


def _drop(txn: WriteTransaction, head: MatchedList) -> None:
    chunks = range(-(-head.lines // CHUNK_LINES))
    keys = [
        row_format.join(row_format.LIST, head.id),
        row_format.join(row_format.LIST_MARKS, head.id),
        _table_key(head.id),
        *(_chunk_key(head.id, number) for number in chunks),
    ]
    if head.account:
        keys.append(row_format.join(row_format.LIST_OF, head.account, head.id))
    for key in keys:
        txn.delete(key)
    agenda.strike(txn, _agenda_of(head), head.expires, head.id)
    if not head.account:
        count = row_format.number(txn.get(row_format.VISITOR_LISTS))
        txn.put(row_format.VISITOR_LISTS, row_format.pack(max(0, count - 1)))


def _agenda_of(head: MatchedList) -> str:
    return agenda.LISTS if head.account else agenda.VISITOR_LISTS


def _table_key(list_id: str) -> bytes:
    return row_format.join(row_format.LIST_LINES, list_id, "table")


def _chunk_key(list_id: str, number: int) -> bytes:
    return row_format.join(row_format.LIST_LINES, list_id, f"{number:04}")


def _put(txn: WriteTransaction, head: MatchedList) -> MatchedList:
    txn.put(row_format.join(row_format.LIST, head.id), orjson.dumps(asdict(head)))
    return head


def _load(stored: bytes) -> MatchedList:
    return MatchedList(**orjson.loads(stored))
