"""Moments at which something is to be done: mails to send, rows to drop, in the order of time.

An entry is a row named after its moment, so those that are due are the first rows of a table. The hour
stands before the moment: a server of several hosts keeps the entries of an hour in one hash, and reads
no other. `agenda/<kind>` is the first hour that may have an entry, so that hours that are over are not
looked at again.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

from quota.ledger import row_format
from quota.ledger.row_format import ReadTransaction, WriteTransaction

# The kinds: the next attempts to send a mail; ends of tickets, of sealed keys, of lists of accounts and of visitors.
MAILS: Final = "m"
TICKETS: Final = "t"
SEALED: Final = "s"
LISTS: Final = "l"
VISITOR_LISTS: Final = "v"

_HOUR: Final = 3_600
# Hours without an entry that are read again and again; after those a writer moves the first one.
_BEHIND: Final = 24
_VALUE: Final = b"1"  # a value without bytes is no value to a script of a server


class Entry(NamedTuple):
    """Something to do from `moment` (s since 1970) on."""

    moment: int
    name: str


def enter(txn: WriteTransaction, kind: str, moment: int, name: str) -> None:
    """Write an entry down; a second time changes nothing."""
    txn.put(_key(kind, moment, name), _VALUE)
    first = _first_hour(txn, kind)
    if first is None or moment // _HOUR < first:
        _begin_at(txn, kind, moment // _HOUR)


def strike(txn: WriteTransaction, kind: str, moment: int, name: str) -> None:
    """Delete an entry, if there is one."""
    key = _key(kind, moment, name)
    if txn.get(key) is not None:
        txn.delete(key)


def is_due(txn: ReadTransaction, kind: str, now: int) -> bool:
    """Whether `due_entries` has something to do."""
    first = _first_hour(txn, kind)
    if first is None:
        return False
    hours = range(first, now // _HOUR + 1)
    return len(hours) > _BEHIND or any(_due_in_hour(txn, kind, hour, now, 1) for hour in hours)


def due_entries(txn: WriteTransaction, kind: str, now: int, at_most: int) -> Sequence[Entry]:
    """The first entries that are due, at most so many; hours before them are over."""
    first, last = _first_hour(txn, kind), now // _HOUR
    found: list[Entry] = []
    if first is None or first > last:
        return found
    for hour in range(first, last + 1):
        found += _due_in_hour(txn, kind, hour, now, at_most - len(found))
        if len(found) == at_most:
            break
    begin = found[0].moment // _HOUR if found else last
    if begin != first:
        _begin_at(txn, kind, begin)
    return found


def count(txn: ReadTransaction, kind: str, until: int) -> int:
    """The entries, due or not, up to the hour of the moment `until`."""
    first = _first_hour(txn, kind)
    if first is None:
        return 0
    hours = range(first, until // _HOUR + 1)
    return sum(1 for hour in hours for _ in _of_hour(txn, kind, hour))


def _due_in_hour(
    txn: ReadTransaction, kind: str, hour: int, now: int, at_most: int
) -> Sequence[Entry]:
    early = takewhile(lambda entry: entry.moment <= now, _of_hour(txn, kind, hour))
    return list(islice(early, at_most))


def _of_hour(txn: ReadTransaction, kind: str, hour: int) -> Iterator[Entry]:
    for key, _ in txn.scan(row_format.join(row_format.AGENDA, f"{kind}{hour:08}", "")):
        _, moment, name = key[len(row_format.AGENDA) :].decode().split("/", 2)
        yield Entry(int(moment), name)


def _key(kind: str, moment: int, name: str) -> bytes:
    return row_format.join(row_format.AGENDA, f"{kind}{moment // _HOUR:08}", f"{moment:012}", name)


def _first_hour(txn: ReadTransaction, kind: str) -> int | None:
    stored = txn.get(row_format.join(row_format.AGENDA_FROM, kind))
    return None if stored is None else row_format.number(stored)


def _begin_at(txn: WriteTransaction, kind: str, hour: int) -> None:
    txn.put(row_format.join(row_format.AGENDA_FROM, kind), row_format.pack(hour))
