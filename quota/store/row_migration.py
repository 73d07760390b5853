"""The rows that version 2 adds to a store of version 1: people and tickets by account, and agendas.

A store is brought to this version when a process of it opens it first, as a command before the server is restarted. A
server of version 1 that still runs then goes on: a person whom it adds is listed with the next log-in.
"""

import orjson

from quota.ledger import agenda, people, row_format, tickets
from quota.ledger.people import Person
from quota.ledger.transaction import WriteTransaction


def migrate(txn: WriteTransaction) -> None:
    """Add the rows to a store of version 1, and leave any other alone."""
    if txn.get(row_format.FORMAT) != row_format.UNINDEXED:
        return
    for _, stored in list(txn.scan(row_format.PERSON)):
        people.index(txn, Person(**orjson.loads(stored)))
    _index_tickets(txn)
    for key, stored in list(txn.scan(row_format.SEALED)):
        name = key.removeprefix(row_format.SEALED).hex()
        agenda.enter(txn, agenda.SEALED, row_format.read_last_used(stored)[0], name)
    txn.put(row_format.FORMAT, row_format.VERSION)


def _index_tickets(txn: WriteTransaction) -> None:
    """Give each ticket its links; one for an address that nobody has is dropped, since it leads nowhere."""
    links: dict[str, list[bytes]] = {}
    for key, name in list(txn.scan(row_format.TOKEN)):
        links.setdefault(name.decode(), []).append(key)
    for key, stored in list(txn.scan(row_format.TICKET)):
        ticket = tickets.load(stored)
        rows = links.pop(ticket.id, [])
        if ticket.account:
            tickets.adopt(txn, ticket, [row[len(row_format.TOKEN) :] for row in rows])
        else:
            links[ticket.id] = rows
            txn.delete(key)
    for rows in links.values():
        for row in rows:
            txn.delete(row)
