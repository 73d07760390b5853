"""The form for lost passwords, against a real mail server: how many mails, and what they take from others (X10)."""

import asyncio
from datetime import timedelta
from email.message import Message
from typing import Any

import pytest

from quota.bursts import BurstLimiter, Wait
from quota.ledger import account_rows, people, tickets
from quota.periods import seconds
from serve.access import burst_gate
from serve.config import BurstLimits
from serve.contract.errors import ApiError
from serve.features.account import login_throttle
from tests.serve.client import Served
from tests.serve.features.account.conftest import MailServer, awaited
from tests.serve.features.account.test_outbox import link
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, address, member

OTHER = "un nouveau mot de passe"
LOST = login_throttle.LoginThrottle.count_lost_password


def asked(served: Served, email: str) -> str:
    visitor = Visitor(served)
    visitor.get("/mot-de-passe")
    seen = visitor.send("/mot-de-passe", {"email": email})
    assert seen.status == 200
    return seen.text.replace(email, "")


def person_of(served: Served, account: str) -> str:
    (person,) = served.store.read(people.people_of, account).result()
    return person.email


def text_of(mail: Message) -> str:
    return mail.get_payload(decode=True).decode()  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def _no_limit_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests ask from one address."""
    monkeypatch.setattr(login_throttle.LoginThrottle, "count_lost_password", lambda *_: None)


def test_one_person_gets_three_mails_an_hour_and_every_link_works(
    equipped: Served, mail_server: MailServer
) -> None:
    _, account = member(equipped)
    email, unknown = person_of(equipped, account), address()
    answers = set()

    for number in range(1, 7):
        answers |= {asked(equipped, email), asked(equipped, unknown)}
        awaited(lambda: len(mail_server.to(email)) >= min(number, 3))  # noqa: B023
        awaited(
            lambda: (
                not equipped.store.read(tickets.is_due, seconds(equipped.context.now())).result()
            )
        )

    mails = mail_server.to(email)
    assert len(answers) == 1
    assert len(mails) == 3
    assert not [one for one in mail_server.mails if one["X-RcptTo"] == unknown]
    links = [link(text_of(mail)) for mail in mails]
    assert len({*links}) == 3
    visitor = Visitor(equipped)
    assert [visitor.get(one).status for one in links] == [200, 200, 200]
    assert visitor.send(links[0], {"mot_de_passe": OTHER}).status == 303
    assert [visitor.get(one).status for one in links] == [404, 404, 404]


def test_a_mailed_link_dies_with_a_changed_password(
    equipped: Served, mail_server: MailServer
) -> None:
    visitor, account = member(equipped)
    email = person_of(equipped, account)
    asked(equipped, email)
    (mail,) = mail_server.to(email)
    path = link(text_of(mail))
    assert Visitor(equipped).get(path).status == 200

    visitor.get("/compte")
    form = {"actuel": PASSWORD, "nouveau": OTHER}
    assert visitor.send("/compte/mot-de-passe", form).status == 303

    assert Visitor(equipped).get(path).status == 404


def test_questions_for_a_password_take_nothing_from_log_ins(
    equipped: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, account = member(equipped)
    email = person_of(equipped, account)

    counted: list[str] = []
    allow = BurstLimiter.allow

    def noted(limiter: BurstLimiter, who: str, *limits: Any) -> Wait:
        counted.append(who)
        return allow(limiter, who, *limits)

    monkeypatch.setattr(BurstLimiter, "allow", noted)
    asked(equipped, email)
    assert not [who for who in counted if who.startswith("connexion")]
    assert Visitor(equipped).log_in(email).status == 303


@pytest.mark.parametrize(
    "email",
    ["=?utf-8?q?x?=@b.fr", "a..b@c.fr", ".a@b.fr", "a.@b.fr", "a@-b.fr", "a@b-.fr", "a@b..fr",
     "a,b@c.fr", "<a@b.fr>", "a(b)@c.fr", '"a b"@c.fr', "a@[127.0.0.1]", "a;b@c.fr", "a:b@c.fr",
     "a" * 65 + "@b.fr", "a@" + "b" * 64 + ".fr", "a\u200b@b.fr", "a\\@b.fr"],
)  # fmt: skip
def test_what_is_no_address_is_told_so(equipped: Served, email: str) -> None:
    visitor = Visitor(equipped)
    visitor.get("/mot-de-passe")

    assert visitor.send("/mot-de-passe", {"email": email}).status == 422


@pytest.mark.parametrize(
    "email", ["zoé@exemple.fr", "o'brien+x=1@a-b.co.uk", "Ψυχή@παράδειγμα.ελ", "a_b.c@x1.museum"]
)
def test_the_addresses_of_people_are_addresses(equipped: Served, email: str) -> None:
    asked(equipped, email)


def test_networks_and_the_host_have_limits_of_their_own(served: Served) -> None:
    throttle = login_throttle.LoginThrottle(served.context.gate.limiter, BurstLimits())
    few, now = BurstLimits().inscriptions_jour, served.context.now()
    minutes = iter(range(10_000))

    def allowed(places: list[str]) -> int:
        count = 0
        for place in places:
            try:
                # Some seconds apart: the limit of the host by the minute is not met.
                LOST(throttle, place, now + timedelta(seconds=next(minutes)))
                count += 1
            except ApiError as error:
                assert error.status == 429
        return count

    one = [f"2001:db8:1:1::{number:x}" for number in range(1, 3 * few)]
    beside = [f"2001:db8:1:{number:x}::1" for number in range(2, 3 * few)]

    assert allowed(one) == few
    assert allowed(beside) == login_throttle.NETWORK_TIMES * few - few
    assert allowed(["2001:db8:2::1"]) == 1


def test_an_account_page_has_a_limit_per_person(served: Served) -> None:
    visitor, _ = member(served)
    other, _ = member(served)

    seen = [visitor.get("/compte/membres").status for _ in range(burst_gate.ACCOUNT_PAGES + 5)]

    assert seen.count(200) >= burst_gate.ACCOUNT_PAGES - 5
    assert seen[-1] == 429
    assert other.get("/compte").status == 200


def test_a_free_organisation_invites_few_people_a_day(served: Served) -> None:
    visitor, account = member(served)
    visitor.get("/compte/membres")

    def invited(email: str) -> int:
        form = {"geste": "invitation", "email": email, "role": "membre"}
        return visitor.send("/compte/membres", form).status

    sent = [invited(address()) for _ in range(login_throttle.FREE_INVITATIONS)]
    served.store.submit(account_rows.set_plan, account, "data", served.context.plans).result()
    paid = [invited(address()) for _ in range(login_throttle.FREE_INVITATIONS)]

    few = login_throttle.FREE_INVITATIONS // 2
    assert sent == [200] * few + [429] * few
    assert set(paid) == {200}


def test_one_address_is_mailed_few_invitations_whoever_invites(
    equipped: Served, mail_server: MailServer
) -> None:
    email, form = address(), {"geste": "invitation", "role": "membre"}
    found = []
    for _ in range(login_throttle.RECIPIENT_INVITATIONS + 2):
        visitor, _ = member(equipped)
        visitor.get("/compte/membres")
        found.append(visitor.send("/compte/membres", form | {"email": email}).status)

    assert found == [303] * login_throttle.RECIPIENT_INVITATIONS + [429] * 2
    asyncio.run(asyncio.sleep(0.2))
    assert len(mail_server.to(email)) <= login_throttle.RECIPIENT_INVITATIONS
