"""An address counts once it is confirmed, where the server sends mail (X10)."""

from email.message import Message

import pytest

from quota import credentials
from quota.ledger import account_rows, people
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.people import ADMINISTRATOR, MEMBER
from serve.features.account import login_throttle
from tests.quota.filling import create_key, invite
from tests.serve.client import PLANS, Served
from tests.serve.features.account.conftest import MailServer
from tests.serve.features.account.test_outbox import link
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, address, member

OTHER = "un nouveau mot de passe"


@pytest.fixture(autouse=True)
def _no_limit_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests ask from one address."""
    for name in ("count_lost_password", "use_link", "sign_up", "log_in"):
        monkeypatch.setattr(login_throttle.LoginThrottle, name, lambda *_: None)


def text_of(mail: Message) -> str:
    return mail.get_payload(decode=True).decode()  # type: ignore[union-attr]


def signed_up(served: Served, email: str) -> Visitor:
    visitor = Visitor(served)
    visitor.sign_up(email)
    visitor.log_in(email)
    return visitor


def recovered(served: Served, mail_server: MailServer, email: str) -> tuple[Visitor, str, str]:
    """The owner of an address, who chose another password by a mailed link; the mail, and the page of the link."""
    owner = Visitor(served)
    owner.get("/mot-de-passe")
    owner.send("/mot-de-passe", {"email": email})
    mail = text_of(mail_server.to(email)[-1])
    page = owner.get(link(mail)).text
    assert owner.send(link(mail), {"mot_de_passe": OTHER}).status == 303
    return owner, mail, page


def invitation(visitor: Visitor, email: str, role: str = MEMBER) -> int:
    visitor.get("/compte/membres")
    return visitor.send(
        "/compte/membres", {"geste": "invitation", "email": email, "role": role}
    ).status


def test_invitations_and_payments_need_a_confirmed_address(
    equipped: Served, mail_server: MailServer
) -> None:
    email, guest = address(), address()
    visitor = signed_up(equipped, email)

    assert invitation(visitor, guest) == 403
    visitor.get("/tarifs")
    assert visitor.send("/tarifs", {"offre": "data"}).status == 403
    assert "Confirmez votre adresse" in visitor.get("/compte").text

    assert visitor.send("/compte/confirmation", {}).status == 303
    path = link(text_of(mail_server.to(email)[-1]))
    assert "Cette adresse est la mienne" in visitor.get(path).text
    assert visitor.send(path, {}).headers["Location"] == "/compte?confirmation=faite"

    assert visitor.send(path, {}).status == 404
    assert "Confirmez votre adresse" not in visitor.get("/compte").text
    assert invitation(visitor, guest) == 303
    visitor.get("/tarifs")
    assert visitor.send("/tarifs", {"offre": "data"}).status == 303


def test_a_link_confirms_the_address_of_the_person_who_is_logged_in_alone(
    equipped: Served, mail_server: MailServer
) -> None:
    """The owner of the address reads the mail, and the other one chose the password."""
    email = address()
    squatter = signed_up(equipped, email)
    squatter.get("/compte")
    squatter.send("/compte/confirmation", {})
    path = link(text_of(mail_server.to(email)[-1]))

    assert Visitor(equipped).get(path).status == 303  # to the log-in
    other, _ = member(equipped)
    assert other.get(path).status == 404
    assert other.send(path, {}).status == 404

    person = equipped.store.read(people.by_email, email).result()
    assert person is not None
    assert not person.confirmed


def test_the_first_recovery_takes_the_account_from_whoever_was_faster(
    equipped: Served, mail_server: MailServer
) -> None:
    email, accomplice = address(), address()
    squatter = signed_up(equipped, email)
    person = equipped.store.read(people.by_email, email).result()
    assert person
    now = equipped.context.now()
    _, capability = create_key(
        equipped.store, person.account, PLANS, now, label="x", kind=ADDRESSES
    ).result(10)
    # As of a time when the server sent no mail.
    _, token = invite(
        equipped.store, person.account, accomplice, ADMINISTRATOR, now, mail=False
    ).result(10)
    friend = Visitor(equipped)
    friend.get(f"/invitation/{token}")
    assert friend.send(f"/invitation/{token}", {"mot_de_passe": PASSWORD}).status == 303
    _, pending = invite(equipped.store, person.account, address(), MEMBER, now, mail=False).result(
        10
    )

    owner, mail, page = recovered(equipped, mail_server, email)

    assert "jamais été confirmée" in mail
    assert "jamais été confirmée" in page
    assert owner.get("/compte").status == 200
    assert squatter.get("/compte").status == 303
    assert friend.get("/compte").status == 303
    assert [
        one.email for one in equipped.store.read(people.people_of, person.account).result()
    ] == [email]
    assert all(
        key.revoked for key in equipped.store.read(account_rows.keys_of, person.account).result()
    )
    assert (
        equipped.store.identify_by(credentials.key_digest(capability), ADDRESSES).result() is None
    )
    assert Visitor(equipped).get(f"/invitation/{pending}").status == 404
    assert invitation(owner, address()) == 303


def test_a_second_recovery_revokes_nothing(equipped: Served, mail_server: MailServer) -> None:
    owner, account = member(equipped)
    (person,) = equipped.store.read(people.people_of, account).result()

    _, mail, page = recovered(equipped, mail_server, person.email)

    assert "jamais été confirmée" not in mail + page
    assert not any(
        key.revoked for key in equipped.store.read(account_rows.keys_of, account).result()
    )
    assert owner.get("/compte").status == 303


def test_an_address_that_nobody_confirmed_can_be_invited_elsewhere(
    equipped: Served, mail_server: MailServer
) -> None:
    email = address()
    squatter = signed_up(equipped, email)
    before = equipped.store.read(people.by_email, email).result()
    admin, account = member(equipped)

    assert invitation(admin, email) == 303
    path = link(text_of(mail_server.to(email)[-1]))
    guest = Visitor(equipped)
    guest.get(path)
    assert guest.send(path, {"mot_de_passe": OTHER}).status == 303

    person = equipped.store.read(people.by_email, email).result()
    assert person
    assert before
    assert (person.account, person.confirmed) == (account, True)
    assert squatter.get("/compte").status == 303
    assert all(
        key.revoked for key in equipped.store.read(account_rows.keys_of, before.account).result()
    )


def test_a_confirmed_address_stays_where_it_is(equipped: Served, mail_server: MailServer) -> None:
    _, elsewhere = member(equipped)
    (person,) = equipped.store.read(people.people_of, elsewhere).result()
    admin, _ = member(equipped)

    assert invitation(admin, person.email) == 303
    path = link(text_of(mail_server.to(person.email)[-1]))
    guest = Visitor(equipped)
    guest.get(path)

    assert guest.send(path, {"mot_de_passe": OTHER}).status == 409


def test_a_link_that_was_shown_confirms_no_address(
    equipped: Served, mail_server: MailServer
) -> None:
    """An administrator who hands a link over could use it: the address is not theirs."""
    admin, account = member(equipped)
    email = address()
    _, token = invite(
        equipped.store, account, email, ADMINISTRATOR, equipped.context.now(), mail=False
    ).result(10)
    guest = Visitor(equipped)
    guest.get(f"/invitation/{token}")
    guest.send(f"/invitation/{token}", {"mot_de_passe": PASSWORD})

    person = equipped.store.read(people.by_email, email).result()
    assert person
    assert not person.confirmed
    assert invitation(guest, address()) == 403

    recovered(equipped, mail_server, email)

    assert (
        len(equipped.store.read(people.people_of, account).result()) == 2
    )  # the account is that of the other administrator
    assert admin.get("/compte").status == 200
