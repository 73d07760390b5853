"""The agenda: work that is due at a moment (mails to send, rows to delete), in the order of the moments.

The key of an entry contains its moment, so the entries that are due are the first rows of their kind. The hour
comes before the moment: on Redis the entries of an hour are one hash, which is read without the other
hours. The row `agenda/<kind>` has the first hour that can have an entry, so that past hours are not read again.
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

_HOUR_S: Final = 3_600  # seconds
# The most hours that `is_due` reads. If more hours have passed, it returns True without reading, and `due_entries` then
# advances the first hour.
_HOURS_READ: Final = 24
# Not empty, because a transaction on Redis treats an empty value as an absent row.
_ENTRY_VALUE: Final = b"1"


class Entry(NamedTuple):
    """Work that is due from `moment` (s since 1970) on, for the mail, ticket, key or list `name`."""

    moment: int
    name: str


def add_entry(txn: WriteTransaction, kind: str, moment: int, name: str) -> None:
    """Add work that is due at `moment` (s since 1970), and lower the first hour to it if necessary.

    Adding the same entry again changes nothing.
    """
    txn.put(_entry_key(kind, moment, name), _ENTRY_VALUE)
    first_hour = _first_hour(txn, kind)
    if first_hour is None or moment // _HOUR_S < first_hour:
        _set_first_hour(txn, kind, moment // _HOUR_S)


def delete_entry(txn: WriteTransaction, kind: str, moment: int, name: str) -> None:
    """Delete an entry, if there is one."""
    key = _entry_key(kind, moment, name)
    if txn.get(key) is not None:
        txn.delete(key)


def is_due(txn: ReadTransaction, kind: str, now: int) -> bool:
    """Whether `due_entries` would return an entry, or should advance the first hour."""
    first_hour = _first_hour(txn, kind)
    if first_hour is None:
        return False
    hours = range(first_hour, now // _HOUR_S + 1)
    return len(hours) > _HOURS_READ or any(_due_in_hour(txn, kind, hour, now, 1) for hour in hours)


def due_entries(txn: WriteTransaction, kind: str, now: int, at_most: int) -> Sequence[Entry]:
    """The first entries of `kind` that are due at `now`, at most `at_most`.

    The stored first hour, at which the next search begins, advances to the hour of the first entry.
    """
    first_hour, this_hour = _first_hour(txn, kind), now // _HOUR_S
    entries: list[Entry] = []
    if first_hour is None or first_hour > this_hour:
        return entries
    for hour in range(first_hour, this_hour + 1):
        entries += _due_in_hour(txn, kind, hour, now, at_most - len(entries))
        if len(entries) == at_most:
            break
    new_first = entries[0].moment // _HOUR_S if entries else this_hour
    if new_first != first_hour:
        _set_first_hour(txn, kind, new_first)
    return entries


def count_entries(txn: ReadTransaction, kind: str, until: int) -> int:
    """The number of entries of a kind, such as mails to send, in the hours up to that of the moment `until`."""
    first_hour = _first_hour(txn, kind)
    if first_hour is None:
        return 0
    hours = range(first_hour, until // _HOUR_S + 1)
    return sum(1 for hour in hours for _ in _hour_entries(txn, kind, hour))


def _due_in_hour(
    txn: ReadTransaction, kind: str, hour: int, now: int, at_most: int
) -> Sequence[Entry]:
    """The first entries of an hour that are due, at most `at_most`."""
    due = takewhile(lambda entry: entry.moment <= now, _hour_entries(txn, kind, hour))
    return list(islice(due, at_most))


def _hour_entries(txn: ReadTransaction, kind: str, hour: int) -> Iterator[Entry]:
    """All entries of an hour (hours since 1970), due or not, in the order of their moments."""
    for key, _ in txn.scan(row_format.join(row_format.AGENDA, f"{kind}{hour:08}", "")):
        _, moment, name = key[len(row_format.AGENDA) :].decode().split("/", 2)
        yield Entry(int(moment), name)


def _entry_key(kind: str, moment: int, name: str) -> bytes:
    """The key of an entry: its kind and hour (hours since 1970), its moment (s since 1970), its name."""
    return row_format.join(
        row_format.AGENDA, f"{kind}{moment // _HOUR_S:08}", f"{moment:012}", name
    )


def _first_hour(txn: ReadTransaction, kind: str) -> int | None:
    """The first hour (hours since 1970) that can have an entry; None without any entry so far."""
    stored = txn.get(row_format.join(row_format.AGENDA_FROM, kind))
    return None if stored is None else row_format.unpack_number(stored)


def _set_first_hour(txn: WriteTransaction, kind: str, hour: int) -> None:
    """Store the first hour (hours since 1970) that can have an entry of this kind."""
    txn.put(row_format.join(row_format.AGENDA_FROM, kind), row_format.pack_number(hour))
