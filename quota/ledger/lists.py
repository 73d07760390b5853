"""Matched lists: the lines that a person sent, with verdicts and choices, stored for LASTS_S (extensions X5).

A list has a head (`MatchedList`), its lines in chunks of CHUNK_LINES, and *marks*: two bytes per line, for the
verdict and the chosen candidate. Lines are bytes that only the pages read. A list belongs to an account, or to a
visitor, who opens it with its code; of a visitor's code the store contains only the SHA-256. Creating a list deletes
some expired lists; `compact` deletes the others. A visitor's list beyond VISITOR_LISTS deletes the visitors' list
that expires first.
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

LASTS_S: Final = 30 * 86_400  # seconds from the creation of a list to its expiry
CHUNK_LINES: Final = 100  # the lines of a list in one row
NO_CHOICE: Final = 255  # in place of the number of a chosen candidate

# The most that an account may have at one time: lists, lines, and bytes of their rows.
LISTS_MOST: Final = 100
LINES_MOST: Final = 200_000
BYTES_MOST: Final = 32 << 20
# The most lists of all visitors together, and the most bytes of one of these lists.
VISITOR_LISTS: Final = 10_000
VISITOR_BYTES: Final = 16 << 10
LONGEST_NAME: Final = 100  # characters in the name of a list

# The most expired lists of each kind that a new list deletes, so that expired lists do not accumulate.
_EXPIRED_DELETED: Final = 2
_MARK_BYTES: Final = 2  # the bytes of the marks of one line: its verdict and its choice


@dataclass(frozen=True, slots=True)
class MatchedList:
    """The head of a list.

    Attributes:
        id: the SHA-256 of its code, hex.
        account: "" for a list of a visitor.
        code: the code in the address of its page; "" for a list of a visitor, whose code is a secret.
        created, expires: seconds since 1970.
        size: the bytes of its table, lines and marks.
        verdicts: the number of lines with each verdict, by its letter.
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
    """The total size of some lists: their number, their lines, and the bytes that they store."""

    lists: int
    lines: int
    bytes: int


class ListRows(NamedTuple):
    """The rows of a list that a page needs.

    Attributes:
        table: how the list was parsed, as bytes that only the pages read.
        marks: the marks of all lines, as in `ListPart`.
    """

    head: MatchedList
    table: bytes
    marks: bytes


@dataclass(frozen=True, slots=True)
class ListPart:
    """Lines that are added to a list.

    Attributes:
        chunks: CHUNK_LINES lines each; the last chunk can be shorter.
        marks: for each line, the letter of its verdict and the number of the chosen candidate or NO_CHOICE.
    """

    chunks: Sequence[bytes]
    marks: bytes

    @property
    def lines(self) -> int:
        """The number of lines, each with marks of _MARK_BYTES bytes."""
        return len(self.marks) // _MARK_BYTES

    @property
    def size(self) -> int:
        """The bytes of the lines and marks, as they count in `MatchedList.size`."""
        return sum(map(len, self.chunks)) + len(self.marks)


def check_room(txn: ReadTransaction, account: str, added: ListSize, now: int) -> None:
    """Check that the limits of an account leave room for `added`.

    Raises:
        NotAllowedError: the lists would exceed a limit; the message says which.
    """
    lists = lists_of(txn, account, now)
    stored = ListSize(
        len(lists), sum(head.lines for head in lists), sum(head.size for head in lists)
    )
    limits = ListSize(LISTS_MOST, LINES_MOST, BYTES_MOST)
    for name, count, added_count, limit in zip(
        ListSize._fields, stored, added, limits, strict=True
    ):
        if count + added_count > limit:
            raise NotAllowedError(
                f"the lists of {account} have {count} {name}, {limit} at most; delete a list first"
            )


def create(txn: WriteTransaction, head: MatchedList, table: bytes, part: ListPart) -> MatchedList:
    """Store a new list with its first lines; delete some expired lists, and for a visitor's list perhaps another one.

    Args:
        table: how the list was parsed, as bytes that only the pages read.

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
    drop_expired(txn, head.created, _EXPIRED_DELETED)
    if not head.account:
        _make_room_for_visitor(txn, head.expires)
    agenda.add_entry(txn, _agenda_kind(head), head.expires, head.id)
    txn.put(_table_key(head.id), table)
    if head.account:
        txn.put(row_format.join(row_format.LIST_OF, head.account, head.id), b"1")
    return _add_part(txn, replace(head, size=len(table)), part)


def append(
    txn: WriteTransaction, list_id: str, account: str, first_line: int, part: ListPart, now: int
) -> MatchedList:
    """Add lines to a list of an account, from line `first_line` of the list (counted from 0).

    Raises:
        UnknownError: as `list_of_account`.
        NotAllowedError: as `check_follows` and `check_room`.
    """
    head = list_of_account(txn, list_id, account, now)
    check_follows(head, first_line)
    check_room(txn, account, ListSize(0, part.lines, part.size), now)
    return _add_part(txn, head, part)


def check_follows(head: MatchedList, first_line: int) -> None:
    """Raise NotAllowedError unless line `first_line` follows the last line of the list, and the last chunk is full."""
    if first_line != head.lines or head.lines % CHUNK_LINES:
        raise NotAllowedError(
            f"line {first_line + 1} cannot be added to a list of {head.lines} lines; send the list again"
        )


def _add_part(txn: WriteTransaction, head: MatchedList, part: ListPart) -> MatchedList:
    """Store the lines and marks (the verdict and the choice of each line) of a part after those of the list.

    Returns the new head, with the added numbers of lines, bytes and verdicts.
    """
    for number, lines in enumerate(part.chunks, head.lines // CHUNK_LINES):
        txn.put(_chunk_key(head.id, number), lines)
    marks_before = marks_of(txn, head.id) if head.lines else b""
    txn.put(row_format.join(row_format.LIST_MARKS, head.id), marks_before + part.marks)
    verdicts = Counter(head.verdicts) + Counter(part.marks[::_MARK_BYTES].decode())
    return _store_head(
        txn,
        replace(
            head,
            lines=head.lines + part.lines,
            size=head.size + part.size,
            verdicts=dict(verdicts),
        ),
    )


def find(txn: ReadTransaction, list_id: str, now: int) -> MatchedList | None:
    """The list with this id, of any account; None if it does not exist or has expired."""
    stored = txn.get(row_format.join(row_format.LIST, list_id))
    head = None if stored is None else _load_head(stored)
    return head if head and head.expires > now else None


def list_of_account(txn: ReadTransaction, list_id: str, account: str, now: int) -> MatchedList:
    """The list with this id, if it belongs to this account or to a visitor.

    Raises:
        UnknownError: there is no such list.
    """
    head = find(txn, list_id, now)
    if head is None or head.account not in ("", account):
        raise UnknownError(
            f"there is no list {list_id[:8]}…; it was deleted, or has expired; send it again"
        )
    return head


def lists_of(txn: ReadTransaction, account: str, now: int) -> Sequence[MatchedList]:
    """The lists of an account that have not expired, the newest first."""
    table = row_format.join(row_format.LIST_OF, account, "")
    txn.expect([table, row_format.LIST])
    ids = [key[len(table) :].decode() for key, _ in txn.scan(table)]
    heads = (find(txn, list_id, now) for list_id in ids)
    return sorted((head for head in heads if head), key=lambda head: (-head.created, head.id))


def rows_of(txn: ReadTransaction, list_id: str, now: int) -> ListRows | None:
    """The list with this id, of any account, with its table and marks; None if it does not exist or has expired."""
    table, marks = _table_key(list_id), row_format.join(row_format.LIST_MARKS, list_id)
    txn.expect([row_format.join(row_format.LIST, list_id), table, marks])
    head = find(txn, list_id, now)
    return None if head is None else ListRows(head, txn.get(table) or b"", marks_of(txn, list_id))


def marks_of(txn: ReadTransaction, list_id: str) -> bytes:
    """The marks of a list: the letter of the verdict, and the number of the chosen candidate, of each line."""
    return txn.get(row_format.join(row_format.LIST_MARKS, list_id)) or b""


def chunks_of(txn: ReadTransaction, list_id: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
    """The chunks of a list with these numbers; chunks that were deleted meanwhile are left out."""
    keys = [_chunk_key(list_id, number) for number in numbers]
    txn.expect(keys)
    stored = zip(numbers, map(txn.get, keys), strict=True)
    return {number: lines for number, lines in stored if lines is not None}


def choose(
    txn: WriteTransaction, list_id: str, account: str, choices: Mapping[int, int], now: int
) -> MatchedList:
    """Store choices: by line (counted from 0), the number of the chosen candidate, or NO_CHOICE.

    Raises:
        UnknownError: as `list_of_account`; or the list has no such line.
    """
    head = list_of_account(txn, list_id, account, now)
    marks = bytearray(marks_of(txn, list_id))
    for line, candidate in choices.items():
        if not 0 <= line < head.lines:
            raise UnknownError(f"a list of {head.lines} lines has no line {line + 1}; name another")
        marks[_MARK_BYTES * line + 1] = candidate
    txn.put(row_format.join(row_format.LIST_MARKS, list_id), bytes(marks))
    return head


def rename(txn: WriteTransaction, list_id: str, account: str, name: str, now: int) -> MatchedList:
    """Give a list another name. Raises UnknownError as `list_of_account`."""
    return _store_head(
        txn, replace(list_of_account(txn, list_id, account, now), name=name[:LONGEST_NAME])
    )


def delete(txn: WriteTransaction, list_id: str, account: str, now: int) -> None:
    """Delete a list with all its rows. Raises UnknownError as `list_of_account`."""
    _delete_list(txn, list_of_account(txn, list_id, account, now))


def delete_all(txn: WriteTransaction, account: str) -> None:
    """Delete the lists of an account that is removed."""
    for head in lists_of(txn, account, 0):  # at the moment 0 no list has expired
        _delete_list(txn, head)


def drop_expired(txn: WriteTransaction, now: int, at_most: int) -> int:
    """Delete expired lists, at most `at_most` of each kind; returns their number."""
    dropped = 0
    for kind in (agenda.LISTS, agenda.VISITOR_LISTS):
        for entry in agenda.due_entries(txn, kind, now, at_most):
            _delete_list_of_entry(txn, kind, entry)
            dropped += 1
    return dropped


def _make_room_for_visitor(txn: WriteTransaction, expires: int) -> None:
    """Count a new list of a visitor, which expires at `expires`.

    If there are VISITOR_LISTS already, the visitors' list that expires first is deleted.
    """
    if row_format.unpack_number(txn.get(row_format.VISITOR_LISTS)) >= VISITOR_LISTS:
        for entry in agenda.due_entries(txn, agenda.VISITOR_LISTS, expires, 1):
            _delete_list_of_entry(txn, agenda.VISITOR_LISTS, entry)
    count = row_format.unpack_number(txn.get(row_format.VISITOR_LISTS))
    txn.put(row_format.VISITOR_LISTS, row_format.pack_number(count + 1))


def _delete_list_of_entry(txn: WriteTransaction, kind: str, entry: agenda.Entry) -> None:
    """Delete the list of an entry of the agenda, and the entry."""
    stored = txn.get(row_format.join(row_format.LIST, entry.name))
    if stored is None:
        agenda.delete_entry(txn, kind, entry.moment, entry.name)
    else:
        _delete_list(txn, _load_head(stored))


def _delete_list(txn: WriteTransaction, head: MatchedList) -> None:
    """Delete all rows of the list with this head, and its entry in the agenda; for a visitor's list, count one less."""
    chunk_count = -(-head.lines // CHUNK_LINES)  # rounded up
    keys = [
        row_format.join(row_format.LIST, head.id),
        row_format.join(row_format.LIST_MARKS, head.id),
        _table_key(head.id),
        *(_chunk_key(head.id, number) for number in range(chunk_count)),
    ]
    if head.account:
        keys.append(row_format.join(row_format.LIST_OF, head.account, head.id))
    for key in keys:
        txn.delete(key)
    agenda.delete_entry(txn, _agenda_kind(head), head.expires, head.id)
    if not head.account:
        count = row_format.unpack_number(txn.get(row_format.VISITOR_LISTS))
        txn.put(row_format.VISITOR_LISTS, row_format.pack_number(max(0, count - 1)))


def _agenda_kind(head: MatchedList) -> str:
    """The kind of the entry in the agenda at which a list expires."""
    return agenda.LISTS if head.account else agenda.VISITOR_LISTS


def _table_key(list_id: str) -> bytes:
    """The key of the row that says how a list was parsed."""
    return row_format.join(row_format.LIST_LINES, list_id, "table")


def _chunk_key(list_id: str, number: int) -> bytes:
    """The key of the row with chunk `number` (from 0) of the lines of a list."""
    return row_format.join(row_format.LIST_LINES, list_id, f"{number:04}")


def _store_head(txn: WriteTransaction, head: MatchedList) -> MatchedList:
    """Store the head of a list, and return it."""
    txn.put(row_format.join(row_format.LIST, head.id), orjson.dumps(asdict(head)))
    return head


def _load_head(stored: bytes) -> MatchedList:
    """The head of a list from its row."""
    return MatchedList(**orjson.loads(stored))
