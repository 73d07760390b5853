"""People, roles and one-time links in any order, against a model; rules of `machine.py`."""

from datetime import datetime, timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from quota.credentials import secret_digest
from quota.errors import NotAllowedError, QuotaError
from quota.ledger import people, tickets
from quota.ledger.people import ADMINISTRATOR, MEMBER, ROLES
from quota.periods import seconds
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.filling import accept, ask_for_password, invite

ADDRESSES = ["zoé@exemple.fr", "bob@exemple.fr", "Ψυχή@exemple.gr"]
# The days for which a link is valid, by its kind.
_VALID_DAYS = {tickets.INVITATION: 7, tickets.PASSWORD: 1}

account_indexes = st.integers(0, 2)
addresses = st.sampled_from(ADDRESSES)


class Link(NamedTuple):
    """A link that was issued; its account is "" if the link leads nowhere."""

    kind: str
    account: str
    email: str
    role: str
    end: datetime


class PeopleAgainstModel(RuleBasedStateMachine):
    """The model: a person is (account, role, password) by address; a link can be used once, until it expires."""

    store: LmdbStore | RedisStore
    now: datetime
    names: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.people: dict[str, tuple[str, str, str]] = {}
        # By token. An invitation replaces an invitation of the same account and address; links for a password all
        # work; at most one link leads nowhere.
        self.links: dict[str, Link] = {}
        self.issued: list[tuple[str, str]] = []  # kind and token of every link, also of used links

    @rule(index=account_indexes, email=addresses, role=st.sampled_from(ROLES))
    def invite(self, index: int, email: str, role: str) -> None:
        """Invite an address to an account; one of its people cannot be invited."""
        account = self.names[index]
        is_member = self.people.get(email, ("",))[0] == account

        future = invite(self.store, account, email.upper(), role, self.now, mail=False)

        if is_member:
            assert isinstance(future.exception(), NotAllowedError)
        else:
            self._add_link(tickets.INVITATION, account, email, role, future.result()[1])

    @rule(email=addresses)
    def ask_for_a_password(self, email: str) -> None:
        """Ask for a link; an unknown address gets a link that does nothing."""
        _, token = ask_for_password(self.store, email, self.now, mail=False).result()

        account = self.people[email][0] if email in self.people else ""
        self._add_link(tickets.PASSWORD, account, email, "", token)

    @precondition(lambda self: self.issued)
    @rule(index=st.integers(0, 99), password=st.sampled_from("αβγ"))
    def use_a_link(self, index: int, password: str) -> None:
        """Follow a mailed link: an invitation makes its person a member, another link sets the password.

        A used, replaced or expired link does nothing, and an invited person who has an account is refused.
        """
        kind, token = self.issued[index % len(self.issued)]
        link = self.links.get(token)
        is_usable = link is not None and int(self.now.timestamp()) < int(link.end.timestamp())
        outcome = (
            accept(self.store, token, password, self.now)
            if kind == tickets.INVITATION
            else self.store.submit(
                tickets.set_password, secret_digest(token), password, seconds(self.now)
            )
        )

        if not is_usable or link is None:
            assert outcome.result() is None
            return
        _, account, email, role, _ = link
        if kind == tickets.INVITATION and email in self.people:
            assert isinstance(outcome.exception(), NotAllowedError)
            return
        self._end_links(kind, email, token)
        if kind == tickets.INVITATION:
            self.people[email] = account, role, password
            assert outcome.result()
        elif self.people.get(email, ("", "", ""))[0] == account != "":
            self.people[email] = (*self.people[email][:2], password)
            assert outcome.result()

    @rule(email=addresses, role=st.sampled_from(ROLES))
    def set_role(self, email: str, role: str) -> None:
        """Give a person another role; the last administrator of an account stays an administrator."""
        if person := self.store.read(people.find_by_email, email).result():
            account, _, password = self.people[email]
            changed = self.store.submit(people.set_role, account, person.id, role)
            if role == MEMBER and self._is_last_administrator(email):
                assert isinstance(changed.exception(), NotAllowedError)
            else:
                assert changed.result().role == role
                self.people[email] = account, role, password

    @rule(email=addresses)
    def remove_person(self, email: str) -> None:
        """Remove a person, whose links for a password then do nothing; the last administrator is not removed."""
        if person := self.store.read(people.find_by_email, email).result():
            account = self.people[email][0]
            removed = self.store.submit(tickets.remove_person, account, person.id)
            if self._is_last_administrator(email):
                assert isinstance(removed.exception(), NotAllowedError)
            else:
                removed.result()
                del self.people[email]
                # A link for a new password names a person, who was removed.
                self._end_links(tickets.PASSWORD, email)

    @rule(email=addresses, password=st.sampled_from("δεζ"))
    def change_a_password(self, email: str, password: str) -> None:
        """A new password ends the links for a password of this person."""
        if person := self.store.read(people.find_by_email, email).result():
            self.store.submit(tickets.replace_password, person.id, password).result()
            self.people[email] = (*self.people[email][:2], password)
            self._end_links(tickets.PASSWORD, email)

    @rule(index=account_indexes)
    def nobody_of_another_organisation_is_removed(self, index: int) -> None:
        """An account cannot remove people of other accounts."""
        for email, (account, _, _) in self.people.items():
            if account != self.names[index]:
                person = self.store.read(people.find_by_email, email).result()
                assert person
                removed = self.store.submit(tickets.remove_person, self.names[index], person.id)
                assert isinstance(removed.exception(), QuotaError)

    @rule(index=account_indexes)
    def people_are_those_of_the_model(self, index: int) -> None:
        """The stored people of an account have the addresses, roles and passwords of the model."""
        account = self.names[index]
        stored = {
            person.email.casefold(): (person.account, person.role, person.password)
            for person in self.store.read(people.people_of, account).result()
        }

        assert stored == {
            email.casefold(): person
            for email, person in self.people.items()
            if person[0] == account
        }

    def _is_last_administrator(self, email: str) -> bool:
        """Whether this person is the only administrator of the account."""
        account, role, _ = self.people[email]
        others = [person for address, person in self.people.items() if address != email]
        return role == ADMINISTRATOR and (account, ADMINISTRATOR) not in [
            person[:2] for person in others
        ]

    def _end_links(self, kind: str, email: str, token: str = "") -> None:
        """End the link of this token; if it is for a password, also all links for a password of this person."""
        self.links = {
            link_token: link
            for link_token, link in self.links.items()
            if link_token != token
            and (
                kind != tickets.PASSWORD
                or not link.account
                or (link.kind, link.email) != (kind, email)
            )
        }

    def _add_link(self, kind: str, account: str, email: str, role: str, token: str) -> None:
        """Add a link to the model, in place of an invitation or a link to nowhere that it replaces."""
        # Expired links are deleted here, because they must stay invalid if the clock steps back.
        moment = int(self.now.timestamp())
        self.links = {
            link_token: link
            for link_token, link in self.links.items()
            if int(link.end.timestamp()) > moment
            and ((account and kind == tickets.PASSWORD) or link[:3] != (kind, account, email))
            and (account or link.account)
        }
        end = self.now + timedelta(days=_VALID_DAYS[kind])
        self.links[token] = Link(kind, account, email, role, end)
        self.issued.append((kind, token))
