"""Mails against a real mail server: sent once it is there, kept and shown while it is not (X10)."""

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
from tests.serve.client import Served
from tests.serve.features.account.conftest import BASE_URL, MailServer, awaited
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, address, member


def sent(admin: Visitor, email: str) -> None:
    admin.get("/compte/membres")
    form = {"geste": "invitation", "email": email, "role": MEMBER}
    assert admin.send("/compte/membres", form).status == 303


def waiting(served: Served) -> int:
    """The queue of mail, as /metrics tells it."""
    found = re.search(rb"^societes_mails_waiting (\d+)\.0$", served.ask("/metrics").body, re.M)
    assert found
    return int(found[1])


def link(body: str) -> str:
    found = re.search(rf"{BASE_URL}(/\S+)", body)
    assert found, body
    return found[1]


def test_an_invitation_comes_by_mail_and_opens_the_door(
    equipped: Served, mail_server: MailServer
) -> None:
    admin, account = member(equipped)
    email = address()

    sent(admin, email)

    (mail,) = mail_server.to(email)
    text = mail.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert "Żabka" in text
    assert mail["Auto-Submitted"] == "auto-generated"
    visitor = Visitor(equipped)
    visitor.get(link(text))
    assert visitor.send(link(text), {"mot_de_passe": PASSWORD}).status == 303
    assert email in [one.email for one in equipped.store.read(people.people_of, account).result()]


def test_a_lost_password_is_mailed_to_known_addresses_only(
    equipped: Served, mail_server: MailServer
) -> None:
    _, account = member(equipped)
    (person,) = equipped.store.read(people.people_of, account).result()
    unknown = address()
    answers = []
    for email in (unknown, person.email):
        visitor = Visitor(equipped)
        visitor.get("/mot-de-passe")
        seen = visitor.send("/mot-de-passe", {"email": email})
        answers.append((seen.status, seen.text.replace(email, "")))

    (mail,) = mail_server.to(person.email)
    path = link(mail.get_payload(decode=True).decode())  # type: ignore[union-attr]
    visitor = Visitor(equipped)
    visitor.get(path)
    visitor.send(path, {"mot_de_passe": "un nouveau mot de passe"})

    assert answers[0] == answers[1]
    assert Visitor(equipped).log_in(person.email, "un nouveau mot de passe").status == 303
    assert not [one for one in mail_server.mails if one["X-RcptTo"] == unknown]


@pytest.mark.parametrize("fault", ["down", "slow"])
def test_a_server_that_is_down_or_slow_loses_no_invitation(
    equipped: Served, mail_server: MailServer, fault: str
) -> None:
    admin, account = member(equipped)
    email = address()
    now = equipped.context.now()
    mail_server.stop()
    silent = socket.create_server(("127.0.0.1", mail_server.port)) if fault == "slow" else None

    before = waiting(equipped)
    sent(admin, email)
    awaited(
        lambda: bool(
            equipped.store.read(tickets.of_account, account, seconds(now)).result()[0].error
        )
    )
    awaited(lambda: waiting(equipped) == before + 1)
    page = admin.get("/compte/membres").text
    if silent:
        silent.close()
    mail_server.start()

    (ticket,) = equipped.store.read(tickets.of_account, account, seconds(now)).result()
    assert (ticket.mail, ticket.attempts) == (tickets.WAITING, 1)
    assert "courriel en attente" in page
    assert "1 essai ·" in page
    assert "Un courriel n’est pas parti." in admin.get("/compte").text
    # A minute later it is tried again: here the row is made due, and the process looks when woken.
    due = replace(ticket, next_attempt=0)
    equipped.store.submit(lambda txn: tickets._enter(txn, ticket, due, None)).result()
    sent(admin, address())
    mail_server.to(email)
    awaited(
        lambda: (
            {
                one.mail
                for one in equipped.store.read(tickets.of_account, account, seconds(now)).result()
            }
            == {tickets.SENT}
        )
    )
    awaited(lambda: waiting(equipped) == before)


def test_a_refused_recipient_is_shown_and_not_tried_again(
    equipped: Served, mail_server: MailServer
) -> None:
    admin, account = member(equipped)
    mail_server.refusals |= {"nobody": "550 no such mailbox", "full": "452 mailbox full"}
    now = equipped.context.now()

    for email in ("nobody@exemple.fr", "full@exemple.fr"):
        sent(admin, email)

    awaited(
        lambda: all(
            one.error
            for one in equipped.store.read(tickets.of_account, account, seconds(now)).result()
        )
    )
    states = {
        one.email: one.mail
        for one in equipped.store.read(tickets.of_account, account, seconds(now)).result()
    }
    assert states == {
        "nobody@exemple.fr": tickets.REFUSED, "full@exemple.fr": tickets.WAITING,
    }  # fmt: skip
    assert "550 no such mailbox" in admin.get("/compte/membres").text
    later = now + timedelta(hours=1)
    assert claim(equipped.store, later).result()[0].email == "full@exemple.fr"  # type: ignore[union-attr]
    assert claim(equipped.store, later).result()[0] is None
    mail_server.refusals.clear()


def test_a_link_is_handed_over_in_place_of_a_mail_that_does_not_go_out(
    equipped: Served, mail_server: MailServer
) -> None:
    admin, account = member(equipped)
    now, email = equipped.context.now(), address()
    mail_server.refusals["zoé"] = "550 no such mailbox"
    sent(admin, email)
    awaited(
        lambda: bool(
            equipped.store.read(tickets.of_account, account, seconds(now)).result()[0].error
        )
    )
    (refused,) = equipped.store.read(tickets.of_account, account, seconds(now)).result()
    admin.get("/compte/membres")

    shown = admin.send("/compte/membres", {"geste": "remise", "billet": refused.id})
    again = admin.send("/compte/membres", {"geste": "remise", "billet": refused.id})
    mail_server.refusals.clear()

    (ticket,) = equipped.store.read(tickets.of_account, account, seconds(now)).result()
    assert (ticket.email, ticket.mail, ticket.role) == (email, tickets.NO_MAIL, MEMBER)
    assert again.status == 404
    visitor = Visitor(equipped)
    visitor.get(link(shown.text))
    assert visitor.send(link(shown.text), {"mot_de_passe": PASSWORD}).status == 303


@pytest.mark.parametrize(
    ("text", "named"),
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
def test_settings_of_a_service_that_cannot_work_are_named(
    tmp_path: Path, text: str, named: str
) -> None:
    path = tmp_path / "serve.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        read({"config": str(path)}, {})

    assert named in str(caught.value)


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
