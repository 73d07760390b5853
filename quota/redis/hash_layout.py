"""The place of each row of the ledger on a Redis or Valkey server: a hash and a field of it.

Keys and values are those of `ledger/row_format.py`. Rows that are listed together (the keys of an
account) or dropped together (the calls of a day) are the fields of one hash, and a single row is
found by its field in one step.
"""

from typing import Final

from quota.ledger import row_format

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
