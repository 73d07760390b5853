"""Sign-up, log-in, log-out (contract A12): no response reveals whether an account exists."""

import re
from urllib.parse import urlencode

import pytest

from quota import credentials
from quota.ledger import account_rows, people
from quota.new_values import new_person
from tests.serve.client import PLANS, Server
from tests.serve.surfaces.site.visitor import FORM, PASSWORD, Visitor, new_email, sign_up_member


def test_a_sign_up_and_a_log_in_show_the_first_key_once(server: Server) -> None:
    visitor, email = Visitor(server), new_email()

    signed_up = visitor.sign_up(email)
    welcome = visitor.log_in(email)
    second_view = visitor.get("/compte")

    assert signed_up.status == 200
    assert "soc_live_" not in signed_up.html
    headers = {"Authorization": f"Bearer {welcome.key}"}
    assert server.ask("/api/v1/compte", headers=headers).json["plan"] == "free"
    assert f"-H &#34;Authorization: Bearer {welcome.key}&#34;" in welcome.html
    assert welcome.key not in second_view.html
    assert welcome.key[-4:] in second_view.html


def test_a_reload_of_the_page_with_the_key_says_that_it_was_shown(server: Server) -> None:
    """A stranger with its path does not see it, and a HEAD does not use up the one view"""
    visitor, email = Visitor(server), new_email()
    visitor.sign_up(email)
    visitor.get("/connexion")
    form = {"jeton": visitor.token, "email": email, "mot_de_passe": PASSWORD}
    cookies = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())

    reply = server.ask(
        "/connexion",
        "POST",
        {"Cookie": cookies, "Content-Type": FORM},
        body=urlencode(form).encode(),
    )
    visitor.cookies["session"] = reply.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
    key_page_path = reply.headers["Location"].partition("#")[0]
    stranger = Visitor(server).get(key_page_path)
    head_reply = visitor.get(key_page_path, "HEAD")
    first_view, reload = visitor.get(key_page_path), visitor.get(key_page_path)

    assert (reply.status, b"soc_live_" in reply.body) == (303, False)
    assert stranger.status == 303
    assert head_reply.status == 200
    assert len(first_view.key) == 47  # `soc_live_` and 38 random characters
    assert reload.status == 200
    assert "La clé a été montrée une fois" in reload.text
    assert first_view.key not in reload.html
    assert len(server.store.read(account_rows.keys_of, _account_of(server, email)).result()) == 1


def test_error_pages_show_that_a_person_is_logged_in(server: Server) -> None:
    visitor, _ = sign_up_member(server)

    for page in (visitor.get("/absent"), visitor.send("/compte/cles", {"jeton": "faux"})):
        assert page.status in (403, 404)
        assert "Mon compte" in page.text
        assert "Créer un compte" not in page.text
        assert page.headers["Cache-Control"] == "no-store"


def test_a_sign_up_does_not_reveal_whether_the_address_is_known(server: Server) -> None:
    email = new_email()
    answers = []
    for organisation in ("Première", "Seconde"):
        page = Visitor(server).sign_up(email, organisation=organisation)
        html_without_tokens = re.sub(r'value="[A-Za-z0-9_-]{43}"', "", page.html)
        header_names = sorted(set(page.headers) - {"Date", "X-Request-Id"})
        answers.append((page.status, header_names, html_without_tokens))

    assert answers[0] == answers[1]


def test_a_second_sign_up_does_not_change_the_first_account(server: Server) -> None:
    """The address is the same in capitals; only the first password opens the account"""
    email = new_email()
    Visitor(server).sign_up(email)

    Visitor(server).sign_up(email.upper(), password="un autre mot de passe")

    assert Visitor(server).log_in(email, "un autre mot de passe").status == 403
    assert Visitor(server).log_in(email).status == 200


def test_a_wrong_password_and_an_unknown_address_get_the_same_page(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nobody can find out which addresses have an account"""
    visitor, _ = sign_up_member(server)
    email = re.search(r"[^\s<>]+@exemple\.fr", visitor.get("/compte").text)
    assert email
    checked_hashes: list[str | None] = []
    real_check = credentials.is_right_password

    def note_hash(password: str, stored_hash: str | None) -> bool:
        """Note the stored hash, or None for an unknown address, and check the password as usual."""
        checked_hashes.append(stored_hash)
        return real_check(password, stored_hash)

    monkeypatch.setattr(credentials, "is_right_password", note_hash)

    pages = []
    for login_email in (email[0], new_email()):
        page = Visitor(server).log_in(login_email, "pas le bon du tout")
        pages.append(re.sub(r'value="[^"]*"', "", page.html))
        assert (page.status, "session" in page.headers.get("Set-Cookie", "")) == (403, False)

    assert pages[0] == pages[1]
    # A hash is computed for an unknown address, too, so that the reply takes as long.
    assert [bool(stored_hash) for stored_hash in checked_hashes] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("organisation", ""), ("organisation", "x" * 121), ("organisation", "a\x00b"),
        ("email", ""), ("email", "zoé"), ("email", "a@b"), ("email", "a b@c.fr"),
        ("email", f"{'x' * 260}@c.fr"), ("mot_de_passe", "court"), ("mot_de_passe", "a" * 20),
        ("mot_de_passe", "x" * 150 + "yz" * 100),
    ],
)  # fmt: skip
def test_an_invalid_value_has_its_error_at_its_field(
    server: Server, field: str, value: str
) -> None:
    visitor = Visitor(server)
    visitor.get("/inscription")
    form = {"organisation": "Ψυχή", "email": new_email(), "mot_de_passe": PASSWORD, field: value}

    page = visitor.send("/inscription", form)

    assert page.status == 422
    assert page.html.count('aria-invalid="true"') == 1
    assert f'id="{field}-dit"' in page.html
    assert PASSWORD not in page.html


def test_a_password_may_be_typed_on_any_keyboard(server: Server) -> None:
    """Keyboards send `é` as one Unicode character or as two; both spellings of a password are equal."""
    email = new_email()
    Visitor(server).sign_up(email, password="très bel été à Orléans")

    assert (
        Visitor(server).log_in(email, "tre\u0300s bel e\u0301te\u0301 a\u0300 Orle\u0301ans").status
        == 200
    )


def test_a_log_out_ends_the_session_for_a_copied_cookie(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    visitor.get("/compte")
    thief = Visitor(server, cookies=dict(visitor.cookies))
    assert thief.get("/compte").status == 200

    redirect = visitor.send("/deconnexion")

    assert (redirect.status, redirect.headers["Location"]) == (303, "/")
    assert "session" not in visitor.cookies
    assert thief.get("/compte").status == 303


def test_a_new_password_ends_the_other_sessions(server: Server) -> None:
    """Not the session that changed it; a wrong or a short password changes nothing"""
    visitor, account = sign_up_member(server)
    visitor.get("/compte")
    other_session = Visitor(server, cookies=dict(visitor.cookies))
    (person,) = server.store.read(people.people_of, account).result()

    wrong_current = visitor.send(
        "/compte/mot-de-passe", {"actuel": "non", "nouveau": "x y z 1 2 3 4"}
    )
    too_short = visitor.send("/compte/mot-de-passe", {"actuel": PASSWORD, "nouveau": "court"})
    changed = visitor.send(
        "/compte/mot-de-passe", {"actuel": PASSWORD, "nouveau": "un nouveau mot de passe"}
    )

    assert (wrong_current.status, too_short.status, changed.status) == (403, 422, 303)
    assert "Mot de passe changé" in visitor.get(changed.headers["Location"].partition("#")[0]).text
    assert other_session.get("/compte").status == 303
    assert visitor.get("/compte").status == 200
    assert Visitor(server).log_in(person.email).status == 403
    assert Visitor(server).log_in(person.email, "un nouveau mot de passe").status == 303


def test_a_second_log_in_creates_no_second_key(server: Server) -> None:
    """The sign-up created the only key"""
    visitor, account = sign_up_member(server)
    (person,) = server.store.read(people.people_of, account).result()

    visitor.send("/deconnexion")

    redirect = visitor.log_in(person.email)

    assert (redirect.status, redirect.headers["Location"]) == (303, "/compte")
    assert len(server.store.read(account_rows.keys_of, account).result()) == 1


def test_a_person_added_by_the_operator_can_log_in(server: Server) -> None:
    customer = server.customer("data")
    email = new_email()
    hashed = credentials.hash_password(PASSWORD)
    server.store.submit(
        people.add_person, new_person(customer.account, email, hashed, server.context.now())
    ).result()
    visitor = Visitor(server)

    visitor.log_in(email)

    assert PLANS["data"].nom in visitor.get("/compte").text


def test_log_in_and_sign_up_redirect_a_logged_in_person(server: Server) -> None:
    visitor, _ = sign_up_member(server)

    assert visitor.get("/inscription").headers["Location"] == "/compte"
    assert visitor.get("/connexion?suite=/statut").headers["Location"] == "/statut"


def _account_of(server: Server, email: str) -> str:
    """The id of the account of the person with this address."""
    person = server.store.read(people.find_by_email, email).result()
    assert person
    return person.account
