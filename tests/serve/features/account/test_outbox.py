"""Mails and a real mail server: a mail is sent if the mail server is up; otherwise it waits and is shown (X10)."""

import re
import socket
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quota.ledger import people, tickets
from quota.ledger.people import MEMBER
from quota.periods import seconds
from serve.config import ConfigError, read, to_toml
from tests.quota.filling import claim
from tests.serve.client import Server
from tests.serve.features.account.conftest import BASE_URL, MailServer, wait_until
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, new_email, sign_up_member


def send_invitation(admin: Visitor, email: str) -> None:
    """Invite an address by mail."""
    admin.get("/compte/membres")
    form = {"geste": "invitation", "email": email, "role": MEMBER}
    assert admin.send("/compte/membres", form).status == 303


def waiting_mails(server: Server) -> int:
    """The number of waiting mails in /metrics."""
    series = re.search(rb"^societes_mails_waiting (\d+)\.0$", server.ask("/metrics").body, re.M)
    assert series
    return int(series[1])


def path_in_mail(body: str) -> str:
    """The path of the link in a mail."""
    match = re.search(rf"{BASE_URL}(/\S+)", body)
    assert match, body
    return match[1]


def test_a_person_joins_with_a_mailed_invitation(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    admin, account = sign_up_member(mail_and_payment_server)
    email = new_email()

    send_invitation(admin, email)

    (mail,) = mail_server.mails_to(email)
    text = mail.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert "Żabka" in text
    assert mail["Auto-Submitted"] == "auto-generated"
    visitor = Visitor(mail_and_payment_server)
    visitor.get(path_in_mail(text))
    assert visitor.send(path_in_mail(text), {"mot_de_passe": PASSWORD}).status == 303
    assert email in [
        person.email
        for person in mail_and_payment_server.store.read(people.people_of, account).result()
    ]


def test_a_password_link_is_mailed_to_known_addresses_only(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    _, account = sign_up_member(mail_and_payment_server)
    (person,) = mail_and_payment_server.store.read(people.people_of, account).result()
    unknown = new_email()
    answers = []
    for email in (unknown, person.email):
        visitor = Visitor(mail_and_payment_server)
        visitor.get("/mot-de-passe")
        page = visitor.send("/mot-de-passe", {"email": email})
        answers.append((page.status, page.text.replace(email, "")))

    (mail,) = mail_server.mails_to(person.email)
    path = path_in_mail(mail.get_payload(decode=True).decode())  # type: ignore[union-attr]
    visitor = Visitor(mail_and_payment_server)
    visitor.get(path)
    visitor.send(path, {"mot_de_passe": "un nouveau mot de passe"})

    assert answers[0] == answers[1]
    assert (
        Visitor(mail_and_payment_server).log_in(person.email, "un nouveau mot de passe").status
        == 303
    )
    assert not [mail for mail in mail_server.mails if mail["X-RcptTo"] == unknown]


@pytest.mark.parametrize("fault", ["down", "slow"])
def test_an_invitation_waits_for_a_mail_server_that_is_down_or_slow(
    mail_and_payment_server: Server, mail_server: MailServer, fault: str
) -> None:
    """A slow server accepts the connection and never answers"""
    admin, account = sign_up_member(mail_and_payment_server)
    email = new_email()
    now = mail_and_payment_server.context.now()
    mail_server.stop()
    silent_server = (
        socket.create_server(("127.0.0.1", mail_server.port)) if fault == "slow" else None
    )

    waiting_before = waiting_mails(mail_and_payment_server)
    send_invitation(admin, email)
    wait_until(
        lambda: bool(
            mail_and_payment_server.store.read(tickets.valid_tickets, account, seconds(now))
            .result()[0]
            .error
        )
    )
    wait_until(lambda: waiting_mails(mail_and_payment_server) == waiting_before + 1)
    page = admin.get("/compte/membres").text
    if silent_server:
        silent_server.close()
    mail_server.start()

    (ticket,) = mail_and_payment_server.store.read(
        tickets.valid_tickets, account, seconds(now)
    ).result()
    assert (ticket.mail, ticket.attempts) == (tickets.WAITING, 1)
    assert "courriel en attente" in page
    assert "1 essai ·" in page
    assert "Un courriel n’est pas parti." in admin.get("/compte").text
    # The next attempt is a minute later. To save this minute the test makes the row due, and a new mail wakes
    # the process that sends.
    due_ticket = replace(ticket, next_attempt=0)
    mail_and_payment_server.store.submit(
        lambda txn: tickets._store_ticket(txn, ticket, due_ticket, None)
    ).result()
    send_invitation(admin, new_email())
    mail_server.mails_to(email)
    wait_until(
        lambda: (
            {
                pending.mail
                for pending in mail_and_payment_server.store.read(
                    tickets.valid_tickets, account, seconds(now)
                ).result()
            }
            == {tickets.SENT}
        )
    )
    wait_until(lambda: waiting_mails(mail_and_payment_server) == waiting_before)


def test_a_refused_recipient_is_shown_and_not_tried_again(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """550 refuses for ever, 452 for now, so only the full mailbox gets a second attempt"""
    admin, account = sign_up_member(mail_and_payment_server)
    mail_server.refusals |= {"nobody": "550 no such mailbox", "full": "452 mailbox full"}
    now = mail_and_payment_server.context.now()

    for email in ("nobody@exemple.fr", "full@exemple.fr"):
        send_invitation(admin, email)

    wait_until(
        lambda: all(
            ticket.error
            for ticket in mail_and_payment_server.store.read(
                tickets.valid_tickets, account, seconds(now)
            ).result()
        )
    )
    states = {
        ticket.email: ticket.mail
        for ticket in mail_and_payment_server.store.read(
            tickets.valid_tickets, account, seconds(now)
        ).result()
    }
    assert states == {
        "nobody@exemple.fr": tickets.REFUSED, "full@exemple.fr": tickets.WAITING,
    }  # fmt: skip
    assert "550 no such mailbox" in admin.get("/compte/membres").text
    later = now + timedelta(hours=1)
    assert claim(mail_and_payment_server.store, later).result()[0].email == "full@exemple.fr"  # type: ignore[union-attr]
    assert claim(mail_and_payment_server.store, later).result()[0] is None  # no second attempt
    mail_server.refusals.clear()


def test_a_link_can_be_shown_instead_of_a_refused_mail(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    admin, account = sign_up_member(mail_and_payment_server)
    now, email = mail_and_payment_server.context.now(), new_email()
    mail_server.refusals["zoé"] = "550 no such mailbox"
    send_invitation(admin, email)
    wait_until(
        lambda: bool(
            mail_and_payment_server.store.read(tickets.valid_tickets, account, seconds(now))
            .result()[0]
            .error
        )
    )
    (refused,) = mail_and_payment_server.store.read(
        tickets.valid_tickets, account, seconds(now)
    ).result()
    admin.get("/compte/membres")

    page_with_link = admin.send("/compte/membres", {"geste": "remise", "billet": refused.id})
    second_request = admin.send("/compte/membres", {"geste": "remise", "billet": refused.id})
    mail_server.refusals.clear()

    (ticket,) = mail_and_payment_server.store.read(
        tickets.valid_tickets, account, seconds(now)
    ).result()
    assert (ticket.email, ticket.mail, ticket.role) == (email, tickets.NO_MAIL, MEMBER)
    assert second_request.status == 404
    visitor = Visitor(mail_and_payment_server)
    visitor.get(path_in_mail(page_with_link.text))
    assert visitor.send(path_in_mail(page_with_link.text), {"mot_de_passe": PASSWORD}).status == 303


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[courriel]\nhost = 'h'", "[courriel] needs host and sender"),
        ("[courriel]\nhost = 'h'\nsender = 'a@b.fr'\ntls = 'ssl'", "tls = 'ssl'"),
        ("[courriel]\nhost = 'h'\nsender = 'a@b.fr'\nuser = 'u'", "user and password_file"),
        ("[courriel]\nhost = 'h'\nsender = 'ab.fr'", "sender = 'ab.fr'"),
        ("[courriel]\nhost = 'h'\nsender = 'a@b.fr'\nprot = 1", "'prot' in [courriel]"),
        ("courriel = 1", "[courriel]"),
        ("[paiement]\nkey_file = 'k'", "[paiement]: key_file or webhook_file is missing"),
        ("[paiement]\nkey_file = 'k'\nwebhook_file = 'w'", "[paiement] needs base_url"),
        ("[courriel]\nhost = 'h'\nsender = 'a@b.fr'", "base_url"),
    ],
)
def test_wrong_settings_of_mail_or_payment_are_named(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "serve.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        read({"config": str(path)}, {})

    assert message in str(caught.value)


def test_mail_settings_are_printed_and_read_again(tmp_path: Path) -> None:
    environment = {
        "SOCIETES_COURRIEL_HOST": "h", "SOCIETES_COURRIEL_SENDER": "a@b.fr",
        "SOCIETES_BASE_URL": "https://exemple.fr", "SOCIETES_COURRIEL_PORT": "25",
        "SOCIETES_COURRIEL_USER": "u", "SOCIETES_COURRIEL_PASSWORD_FILE": "secret",
    }  # fmt: skip
    config = read({}, environment)
    path = tmp_path / "serve.toml"
    path.write_text(to_toml(config), encoding="utf-8")

    assert read({"config": str(path)}, {}) == config
    assert config.courriel
    assert (config.courriel.port, config.courriel.password_file) == (25, Path("secret"))
