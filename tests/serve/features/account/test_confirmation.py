"""On a server that sends mail, some rights need a confirmed address (X10)."""

from email.message import Message

import pytest

from quota import credentials
from quota.ledger import account_rows, people
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.people import ADMINISTRATOR, MEMBER
from serve.features.account import login_throttle
from tests.quota.filling import create_key, invite
from tests.serve.client import PLANS, Server
from tests.serve.features.account.conftest import MailServer
from tests.serve.features.account.test_outbox import path_in_mail
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, new_email, sign_up_member

NEW_PASSWORD = "un nouveau mot de passe"


@pytest.fixture(autouse=True)
def _no_limit_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off limits: all tests send from the same address."""
    for name in ("count_lost_password", "count_link_use", "count_sign_up", "count_log_in"):
        monkeypatch.setattr(login_throttle.LoginThrottle, name, lambda *_: None)


def mail_text(mail: Message) -> str:
    """The decoded body of a mail."""
    return mail.get_payload(decode=True).decode()  # type: ignore[union-attr]


def sign_up_and_log_in(server: Server, email: str) -> Visitor:
    """A person with a new account and an address that nobody confirmed."""
    visitor = Visitor(server)
    visitor.sign_up(email)
    visitor.log_in(email)
    return visitor


def choose_new_password_by_mail(
    server: Server, mail_server: MailServer, email: str
) -> tuple[Visitor, str, str]:
    """Choose a new password with a mailed link.

    Returns:
        The visitor, the text of the mail, and the text of the page of the link.
    """
    visitor = Visitor(server)
    visitor.get("/mot-de-passe")
    visitor.send("/mot-de-passe", {"email": email})
    mail = mail_text(mail_server.mails_to(email)[-1])
    page = visitor.get(path_in_mail(mail)).text
    assert visitor.send(path_in_mail(mail), {"mot_de_passe": NEW_PASSWORD}).status == 303
    return visitor, mail, page


def send_invitation(visitor: Visitor, email: str, role: str = MEMBER) -> int:
    """Invite an address on the page of members; return the status of the reply."""
    visitor.get("/compte/membres")
    return visitor.send(
        "/compte/membres", {"geste": "invitation", "email": email, "role": role}
    ).status


def test_invitations_and_payments_need_a_confirmed_address(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """Refused before the mailed link is used, allowed after it; the link works once"""
    email, guest = new_email(), new_email()
    visitor = sign_up_and_log_in(mail_and_payment_server, email)

    assert send_invitation(visitor, guest) == 403
    visitor.get("/tarifs")
    assert visitor.send("/tarifs", {"offre": "data"}).status == 403
    assert "Confirmez votre adresse" in visitor.get("/compte").text

    assert visitor.send("/compte/confirmation", {}).status == 303
    path = path_in_mail(mail_text(mail_server.mails_to(email)[-1]))
    assert "Cette adresse est la mienne" in visitor.get(path).text
    assert visitor.send(path, {}).headers["Location"] == "/compte?confirmation=faite"

    assert visitor.send(path, {}).status == 404
    assert "Confirmez votre adresse" not in visitor.get("/compte").text
    assert send_invitation(visitor, guest) == 303
    visitor.get("/tarifs")
    assert visitor.send("/tarifs", {"offre": "data"}).status == 303


def test_a_link_confirms_only_the_address_of_the_person_who_is_logged_in(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """A squatter signed up with another's address: the owner of the address, who reads the mail, cannot confirm it."""
    email = new_email()
    squatter = sign_up_and_log_in(mail_and_payment_server, email)
    squatter.get("/compte")
    squatter.send("/compte/confirmation", {})
    path = path_in_mail(mail_text(mail_server.mails_to(email)[-1]))

    assert Visitor(mail_and_payment_server).get(path).status == 303  # to the log-in
    other_person, _ = sign_up_member(mail_and_payment_server)
    assert other_person.get(path).status == 404
    assert other_person.send(path, {}).status == 404

    person = mail_and_payment_server.store.read(people.find_by_email, email).result()
    assert person is not None
    assert not person.confirmed


def test_a_new_password_by_mail_takes_an_unconfirmed_account_from_other_people(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """The squatter's session, keys, address, accomplice and invitation no longer work"""
    email, accomplice = new_email(), new_email()
    squatter = sign_up_and_log_in(mail_and_payment_server, email)
    person = mail_and_payment_server.store.read(people.find_by_email, email).result()
    assert person
    now = mail_and_payment_server.context.now()
    _, address_secret = create_key(
        mail_and_payment_server.store, person.account, PLANS, now, label="x", kind=ADDRESSES
    ).result()
    # `mail=False` as on a server without mail: the squatter himself hands the link to the accomplice.
    _, accomplice_token = invite(
        mail_and_payment_server.store, person.account, accomplice, ADMINISTRATOR, now, mail=False
    ).result()
    accomplice_visitor = Visitor(mail_and_payment_server)
    accomplice_visitor.get(f"/invitation/{accomplice_token}")
    assert (
        accomplice_visitor.send(
            f"/invitation/{accomplice_token}", {"mot_de_passe": PASSWORD}
        ).status
        == 303
    )
    _, unused_token = invite(
        mail_and_payment_server.store, person.account, new_email(), MEMBER, now, mail=False
    ).result()

    owner, mail, page = choose_new_password_by_mail(mail_and_payment_server, mail_server, email)

    assert "jamais été confirmée" in mail
    assert "jamais été confirmée" in page
    assert owner.get("/compte").status == 200
    assert squatter.get("/compte").status == 303
    assert accomplice_visitor.get("/compte").status == 303
    assert [
        colleague.email
        for colleague in mail_and_payment_server.store.read(
            people.people_of, person.account
        ).result()
    ] == [email]
    assert all(
        key.revoked
        for key in mail_and_payment_server.store.read(account_rows.keys_of, person.account).result()
    )
    assert (
        mail_and_payment_server.store.identify_by(
            credentials.secret_digest(address_secret), ADDRESSES
        ).result()
        is None
    )
    assert Visitor(mail_and_payment_server).get(f"/invitation/{unused_token}").status == 404
    assert send_invitation(owner, new_email()) == 303


def test_a_new_password_by_mail_revokes_nothing_of_a_confirmed_account(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    owner, account = sign_up_member(mail_and_payment_server)
    (person,) = mail_and_payment_server.store.read(people.people_of, account).result()

    _, mail, page = choose_new_password_by_mail(mail_and_payment_server, mail_server, person.email)

    assert "jamais été confirmée" not in mail + page
    assert not any(
        key.revoked
        for key in mail_and_payment_server.store.read(account_rows.keys_of, account).result()
    )
    assert owner.get("/compte").status == 303


def test_an_address_that_nobody_confirmed_can_be_invited_elsewhere(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """The squatter loses the address, his session and his keys"""
    email = new_email()
    squatter = sign_up_and_log_in(mail_and_payment_server, email)
    person_before = mail_and_payment_server.store.read(people.find_by_email, email).result()
    admin, account = sign_up_member(mail_and_payment_server)

    assert send_invitation(admin, email) == 303
    path = path_in_mail(mail_text(mail_server.mails_to(email)[-1]))
    guest = Visitor(mail_and_payment_server)
    guest.get(path)
    assert guest.send(path, {"mot_de_passe": NEW_PASSWORD}).status == 303

    person_after = mail_and_payment_server.store.read(people.find_by_email, email).result()
    assert person_after
    assert person_before
    assert (person_after.account, person_after.confirmed) == (account, True)
    assert squatter.get("/compte").status == 303
    assert all(
        key.revoked
        for key in mail_and_payment_server.store.read(
            account_rows.keys_of, person_before.account
        ).result()
    )


def test_a_confirmed_address_cannot_join_another_organisation(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    _, first_account = sign_up_member(mail_and_payment_server)
    (person,) = mail_and_payment_server.store.read(people.people_of, first_account).result()
    admin, _ = sign_up_member(mail_and_payment_server)

    assert send_invitation(admin, person.email) == 303
    path = path_in_mail(mail_text(mail_server.mails_to(person.email)[-1]))
    guest = Visitor(mail_and_payment_server)
    guest.get(path)

    assert guest.send(path, {"mot_de_passe": NEW_PASSWORD}).status == 409


def test_a_link_shown_on_a_page_confirms_no_address(
    mail_and_payment_server: Server, mail_server: MailServer
) -> None:
    """The administrator who sees the link could use it himself, so its use does not prove that mail arrives."""
    admin, account = sign_up_member(mail_and_payment_server)
    email = new_email()
    _, token = invite(
        mail_and_payment_server.store,
        account,
        email,
        ADMINISTRATOR,
        mail_and_payment_server.context.now(),
        mail=False,
    ).result()
    guest = Visitor(mail_and_payment_server)
    guest.get(f"/invitation/{token}")
    guest.send(f"/invitation/{token}", {"mot_de_passe": PASSWORD})

    person = mail_and_payment_server.store.read(people.find_by_email, email).result()
    assert person
    assert not person.confirmed
    assert send_invitation(guest, new_email()) == 403

    choose_new_password_by_mail(mail_and_payment_server, mail_server, email)

    # The guest is not removed, because the other administrator has a confirmed address.
    assert len(mail_and_payment_server.store.read(people.people_of, account).result()) == 2
    assert admin.get("/compte").status == 200
