"""People, roles and one-time links in any order, against a model; rules of `machine.py`."""

from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from quota.errors import NotAllowedError, QuotaError
from quota.ledger import people, tickets
from quota.ledger.people import ADMINISTRATOR, MEMBER, ROLES
from quota.new_values import token_digest
from quota.periods import seconds
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.filling import accept, ask_for_password, invite

ADDRESSES = ["zoé@exemple.fr", "bob@exemple.fr", "Ψυχή@exemple.gr"]
_DAYS = {tickets.INVITATION: 7, tickets.PASSWORD: 1}

who = st.integers(0, 2)
addresses = st.sampled_from(ADDRESSES)


class PeopleAgainstModel(RuleBasedStateMachine):
    """A person is (account, role, password) by address; a link is one use until a moment."""

    store: LmdbStore | RedisStore
    now: datetime
    names: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.people: dict[str, tuple[str, str, str]] = {}
        # token -> kind, account, address, role, end; an invitation replaces that of the same three, a
        # password's links work beside each other, and of those that lead nowhere there is one
        self.links: dict[str, tuple[str, str, str, str, datetime]] = {}
        self.drawn: list[tuple[str, str]] = []

    @rule(index=who, email=addresses, role=st.sampled_from(ROLES))
    def invite(self, index: int, email: str, role: str) -> None:
        account = self.names[index]
        member = self.people.get(email, ("",))[0] == account

        made = invite(self.store, account, email.upper(), role, self.now, mail=False)

        if member:
            assert isinstance(made.exception(), NotAllowedError)
        else:
            self._enter(tickets.INVITATION, account, email, role, made.result()[1])

    @rule(email=addresses)
    def ask_for_a_password(self, email: str) -> None:
        _, token = ask_for_password(self.store, email, self.now, mail=False).result()

        account = self.people[email][0] if email in self.people else ""
        self._enter(tickets.PASSWORD, account, email, "", token)

    @precondition(lambda self: self.drawn)
    @rule(index=st.integers(0, 99), text=st.sampled_from("αβγ"))
    def use_a_link(self, index: int, text: str) -> None:
        kind, token = self.drawn[index % len(self.drawn)]
        link = self.links.get(token)
        usable = link is not None and int(self.now.timestamp()) < int(link[4].timestamp())
        used = (
            accept(self.store, token, text, self.now)
            if kind == tickets.INVITATION
            else self.store.submit(
                tickets.set_password, token_digest(token), text, seconds(self.now)
            )
        )

        if not usable or link is None:
            assert used.result() is None
            return
        _, account, email, role, _ = link
        if kind == tickets.INVITATION and email in self.people:
            assert isinstance(used.exception(), NotAllowedError)
            return
        self._end_links(kind, email, token)
        if kind == tickets.INVITATION:
            self.people[email] = account, role, text
            assert used.result()
        elif self.people.get(email, ("", "", ""))[0] == account != "":
            self.people[email] = (*self.people[email][:2], text)
            assert used.result()

    @rule(email=addresses, role=st.sampled_from(ROLES))
    def set_role(self, email: str, role: str) -> None:
        if person := self.store.read(people.by_email, email).result():
            account, _, password = self.people[email]
            changed = self.store.submit(people.set_role, account, person.id, role)
            if role == MEMBER and self._is_last(email):
                assert isinstance(changed.exception(), NotAllowedError)
            else:
                assert changed.result().role == role
                self.people[email] = account, role, password

    @rule(email=addresses)
    def remove_person(self, email: str) -> None:
        if person := self.store.read(people.by_email, email).result():
            account = self.people[email][0]
            removed = self.store.submit(tickets.remove_person, account, person.id)
            if self._is_last(email):
                assert isinstance(removed.exception(), NotAllowedError)
            else:
                removed.result()
                del self.people[email]
                # A link for another password names a person, who is gone.
                self._end_links(tickets.PASSWORD, email)

    @rule(email=addresses, text=st.sampled_from("δεζ"))
    def change_a_password(self, email: str, text: str) -> None:
        if person := self.store.read(people.by_email, email).result():
            self.store.submit(tickets.replace_password, person.id, text).result()
            self.people[email] = (*self.people[email][:2], text)
            self._end_links(tickets.PASSWORD, email)

    @rule(index=who)
    def nobody_of_another_organisation_is_removed(self, index: int) -> None:
        for email, (account, _, _) in self.people.items():
            if account != self.names[index]:
                person = self.store.read(people.by_email, email).result()
                assert person
                removed = self.store.submit(tickets.remove_person, self.names[index], person.id)
                assert isinstance(removed.exception(), QuotaError)

    @rule(index=who)
    def people_are_those_of_the_model(self, index: int) -> None:
        account = self.names[index]
        found = {
            person.email.casefold(): (person.account, person.role, person.password)
            for person in self.store.read(people.people_of, account).result()
        }

        assert found == {
            email.casefold(): known for email, known in self.people.items() if known[0] == account
        }

    def _is_last(self, email: str) -> bool:
        account, role, _ = self.people[email]
        others = [known for other, known in self.people.items() if other != email]
        return role == ADMINISTRATOR and (account, ADMINISTRATOR) not in [one[:2] for one in others]

    def _end_links(self, kind: str, email: str, token: str = "") -> None:
        """One link ends, and all those for another password of the same person."""
        self.links = {
            known: link
            for known, link in self.links.items()
            if known != token
            and (kind != tickets.PASSWORD or not link[1] or (link[0], link[2]) != (kind, email))
        }

    def _enter(self, kind: str, account: str, email: str, role: str, token: str) -> None:
        # Links that have expired at this moment are dropped, and a clock may step back.
        moment = int(self.now.timestamp())
        self.links = {
            known: link
            for known, link in self.links.items()
            if int(link[4].timestamp()) > moment
            and ((account and kind == tickets.PASSWORD) or link[:3] != (kind, account, email))
            and (account or link[1])
        }
        end = self.now + timedelta(days=_DAYS[kind])
        self.links[token] = kind, account, email, role, end
        self.drawn.append((kind, token))
