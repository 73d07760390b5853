"""The form for lost passwords, with a real mail server: limits of mails, links, and effects on log-ins (X10)."""

import asyncio
from datetime import timedelta
from email.message import Message
from typing import Any

import pytest

from quota.bursts import BurstDecision, BurstLimiter
from quota.ledger import account_rows, people, tickets
from quota.periods import seconds
from serve.access import burst_gate
from serve.config import BurstLimits
from serve.contract.errors import ApiError
from serve.features.account import login_throttle
from tests.serve.client import Server
from tests.serve.features.account.conftest import MailServer, wait_until
from tests.serve.features.account.test_outbox import path_in_mail
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, new_email, sign_up_member

NEW_PASSWORD = "un nouveau mot de passe"
# The real method, because a fixture replaces it during each test.
COUNT_LOST_PASSWORD = login_throttle.LoginThrottle.count_lost_password


def request_password_link(server: Server, email: str) -> str:
    """Send the form for a lost password; return the text of the page without the address."""
    visitor = Visitor(server)
    visitor.get("/mot-de-passe")
    page = visitor.send("/mot-de-passe", {"email": email})
    assert page.status == 200
    return page.text.replace(email, "")


def email_of(server: Server, account: str) -> str:
    """The address of the only person of an account."""
    (person,) = server.store.read(people.people_of, account).result()
    return person.email


def mail_text(mail: Message) -> str:
    """The decoded body of a mail."""
    return mail.get_payload(decode=True).decode()  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def _no_limit_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off the limit of forms for lost passwords by network, because all tests send from one address."""
    monkeypatch.setattr(login_throttle.LoginThrottle, "count_lost_password", lambda *_: None)


def test_one_person_gets_three_mails_an_hour_and_every_link_works(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """Six requests; the links end together when one of them is used"""
    _, account = sign_up_member(mail_and_payment_server)
    email, unknown = email_of(mail_and_payment_server, account), new_email()
    pages = set()

    for number in range(1, 7):
        pages |= {
            request_password_link(mail_and_payment_server, email),
            request_password_link(mail_and_payment_server, unknown),
        }
        wait_until(lambda: len(mail_server.mails_to(email)) >= min(number, 3))  # noqa: B023
        wait_until(
            lambda: (
                not mail_and_payment_server.store.read(
                    tickets.is_due, seconds(mail_and_payment_server.context.now())
                ).result()
            )
        )

    mails = mail_server.mails_to(email)
    assert len(pages) == 1  # the page does not show whether the address is known
    assert len(mails) == 3
    assert not [mail for mail in mail_server.mails if mail["X-RcptTo"] == unknown]
    links = [path_in_mail(mail_text(mail)) for mail in mails]
    assert len({*links}) == 3
    visitor = Visitor(mail_and_payment_server)
    assert [visitor.get(path).status for path in links] == [200, 200, 200]
    assert visitor.send(links[0], {"mot_de_passe": NEW_PASSWORD}).status == 303
    assert [visitor.get(path).status for path in links] == [404, 404, 404]


def test_a_mailed_link_ends_when_the_password_is_changed(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    visitor, account = sign_up_member(mail_and_payment_server)
    email = email_of(mail_and_payment_server, account)
    request_password_link(mail_and_payment_server, email)
    (mail,) = mail_server.mails_to(email)
    path = path_in_mail(mail_text(mail))
    assert Visitor(mail_and_payment_server).get(path).status == 200

    visitor.get("/compte")
    form = {"actuel": PASSWORD, "nouveau": NEW_PASSWORD}
    assert visitor.send("/compte/mot-de-passe", form).status == 303

    assert Visitor(mail_and_payment_server).get(path).status == 404


def test_requests_for_a_new_password_do_not_count_as_log_ins(
    mail_and_payment_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of log-ins are counted under names that begin with `connexion`"""
    _, account = sign_up_member(mail_and_payment_server)
    email = email_of(mail_and_payment_server, account)

    counted_subjects: list[str] = []
    allow = BurstLimiter.allow

    def allow_and_note(limiter: BurstLimiter, subject: str, *limits: Any) -> BurstDecision:
        """Note whose limit is counted, such as a network, and count as usual."""
        counted_subjects.append(subject)
        return allow(limiter, subject, *limits)

    monkeypatch.setattr(BurstLimiter, "allow", allow_and_note)
    request_password_link(mail_and_payment_server, email)
    assert not [subject for subject in counted_subjects if subject.startswith("connexion")]
    assert Visitor(mail_and_payment_server).log_in(email).status == 303


@pytest.mark.parametrize(
    "email",
    ["=?utf-8?q?x?=@b.fr", "a..b@c.fr", ".a@b.fr", "a.@b.fr", "a@-b.fr", "a@b-.fr", "a@b..fr",
     "a,b@c.fr", "<a@b.fr>", "a(b)@c.fr", '"a b"@c.fr', "a@[127.0.0.1]", "a;b@c.fr", "a:b@c.fr",
     "a" * 65 + "@b.fr", "a@" + "b" * 64 + ".fr", "a\u200b@b.fr", "a\\@b.fr"],
)  # fmt: skip
def test_an_invalid_address_is_422(mail_and_payment_server: Server, email: str) -> None:
    visitor = Visitor(mail_and_payment_server)
    visitor.get("/mot-de-passe")

    assert visitor.send("/mot-de-passe", {"email": email}).status == 422


@pytest.mark.parametrize(
    "email", ["zoé@exemple.fr", "o'brien+x=1@a-b.co.uk", "Ψυχή@παράδειγμα.ελ", "a_b.c@x1.museum"]
)
def test_unusual_valid_addresses_are_accepted(mail_and_payment_server: Server, email: str) -> None:
    request_password_link(mail_and_payment_server, email)


def test_a_network_and_its_larger_network_have_limits(server: Server) -> None:
    """A network is a /64; the larger network is a /48"""
    throttle = login_throttle.LoginThrottle(server.context.gate.limiter, BurstLimits())
    limit, now = BurstLimits().inscriptions_jour, server.context.now()
    second_numbers = iter(range(10_000))

    def count_allowed(hosts: list[str]) -> int:
        """The number of hosts whose request is not refused with 429."""
        allowed = 0
        for host in hosts:
            try:
                # Requests a second apart do not reach the limit of the host by the minute.
                COUNT_LOST_PASSWORD(throttle, host, now + timedelta(seconds=next(second_numbers)))
                allowed += 1
            except ApiError as error:
                assert error.status == 429
        return allowed

    in_one_network = [f"2001:db8:1:1::{number:x}" for number in range(1, 3 * limit)]
    in_many_networks = [f"2001:db8:1:{number:x}::1" for number in range(2, 3 * limit)]

    assert count_allowed(in_one_network) == limit
    # The networks /64 are in one larger network, whose limit the first requests have partly used.
    assert count_allowed(in_many_networks) == login_throttle.NETWORK_TIMES * limit - limit
    assert count_allowed(["2001:db8:2::1"]) == 1


def test_an_account_page_has_a_limit_per_person(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    other_person, _ = sign_up_member(server)

    # Until the first refusal: afterwards another page passes twice a second.
    pages = next(number for number in range(10_000) if visitor.get("/compte/membres").status == 429)

    assert pages >= burst_gate.ACCOUNT_PAGES - 5  # signing up has also opened pages
    assert other_person.get("/compte").status == 200


def test_a_free_organisation_has_a_lower_limit_of_invitations_a_day(server: Server) -> None:
    visitor, account = sign_up_member(server)
    visitor.get("/compte/membres")

    def invite(email: str) -> int:
        """Invite a person by the form of the page; return the status."""
        form = {"geste": "invitation", "email": email, "role": "membre"}
        return visitor.send("/compte/membres", form).status

    free_replies = [invite(new_email()) for _ in range(login_throttle.FREE_INVITATIONS)]
    server.store.submit(account_rows.set_plan, account, "data", server.context.plans).result()
    paid_replies = [invite(new_email()) for _ in range(login_throttle.FREE_INVITATIONS)]

    # One person can make half of the invitations of his organisation.
    free_limit = login_throttle.FREE_INVITATIONS // 2
    assert free_replies == [200] * free_limit + [429] * free_limit
    assert set(paid_replies) == {200}


def test_invitations_to_an_address_are_limited_across_organisations(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """Each invitation is of a new organisation; two are more than the limit"""
    email, form = new_email(), {"geste": "invitation", "role": "membre"}
    replies = []
    for _ in range(login_throttle.RECIPIENT_INVITATIONS + 2):
        visitor, _ = sign_up_member(mail_and_payment_server)
        visitor.get("/compte/membres")
        replies.append(visitor.send("/compte/membres", form | {"email": email}).status)

    assert replies == [303] * login_throttle.RECIPIENT_INVITATIONS + [429] * 2
    asyncio.run(asyncio.sleep(0.2))
    assert len(mail_server.mails_to(email)) <= login_throttle.RECIPIENT_INVITATIONS
