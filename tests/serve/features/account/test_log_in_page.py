"""Sign-up, log-in, log-out (contract A12): no response reveals whether an account exists."""

import re
from urllib.parse import urlencode

import pytest

from quota import credentials
from quota.ledger import account_rows, people
from quota.new_values import new_person
from tests.serve.client import PLANS, Served
from tests.serve.surfaces.site.visitor import FORM, PASSWORD, Visitor, address, member


def test_a_sign_up_and_a_log_in_show_the_first_key_once(served: Served) -> None:
    visitor, email = Visitor(served), address()

    signed_up = visitor.sign_up(email)
    welcome = visitor.log_in(email)
    again = visitor.get("/compte")

    assert signed_up.status == 200
    assert "soc_live_" not in signed_up.html
    headers = {"Authorization": f"Bearer {welcome.key}"}
    assert served.ask("/api/v1/compte", headers=headers).json["plan"] == "free"
    assert f"-H &#34;Authorization: Bearer {welcome.key}&#34;" in welcome.html
    assert welcome.key not in again.html
    assert welcome.key[-4:] in again.html


def test_a_reload_of_the_page_with_the_key_says_that_it_was_shown(served: Served) -> None:
    visitor, email = Visitor(served), address()
    visitor.sign_up(email)
    visitor.get("/connexion")
    form = {"jeton": visitor.token, "email": email, "mot_de_passe": PASSWORD}
    kept = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())

    reply = served.ask(
        "/connexion", "POST", {"Cookie": kept, "Content-Type": FORM}, body=urlencode(form).encode()
    )
    visitor.cookies["session"] = reply.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
    target = reply.headers["Location"].partition("#")[0]
    stranger = Visitor(served).get(target)
    head = visitor.get(target, "HEAD")
    first, second = visitor.get(target), visitor.get(target)

    assert (reply.status, b"soc_live_" in reply.body) == (303, False)
    assert stranger.status == 303
    assert head.status == 200
    assert len(first.key) == 47
    assert second.status == 200
    assert "La clé a été montrée une fois" in second.text
    assert first.key not in second.html
    assert len(served.store.read(account_rows.keys_of, _account(served, email)).result()) == 1


def test_who_is_logged_in_is_shown_so_by_errors_too(served: Served) -> None:
    visitor, _ = member(served)

    for seen in (visitor.get("/absent"), visitor.send("/compte/cles", {"jeton": "faux"})):
        assert seen.status in (403, 404)
        assert "Mon compte" in seen.text
        assert "Créer un compte" not in seen.text
        assert seen.headers["Cache-Control"] == "no-store"


def test_a_sign_up_does_not_tell_whether_the_address_is_known(served: Served) -> None:
    email = address()
    answers = []
    for organisation in ("Première", "Seconde"):
        seen = Visitor(served).sign_up(email, organisation=organisation)
        shown = re.sub(r'value="[A-Za-z0-9_-]{43}"', "", seen.html)
        names = sorted(set(seen.headers) - {"Date", "X-Request-Id"})
        answers.append((seen.status, names, shown))

    assert answers[0] == answers[1]


def test_a_second_sign_up_takes_nothing_from_the_first(served: Served) -> None:
    email = address()
    Visitor(served).sign_up(email)

    Visitor(served).sign_up(email.upper(), password="un autre mot de passe")

    assert Visitor(served).log_in(email, "un autre mot de passe").status == 403
    assert Visitor(served).log_in(email).status == 200


def test_a_wrong_password_and_an_unknown_address_are_one_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _ = member(served)
    email = re.search(r"[^\s<>]+@exemple\.fr", visitor.get("/compte").text)
    assert email
    looked_at: list[str | None] = []
    real = credentials.is_right_password

    def is_right(password: str, stored: str | None) -> bool:
        looked_at.append(stored)
        return real(password, stored)

    monkeypatch.setattr(credentials, "is_right_password", is_right)

    pages = []
    for known in (email[0], address()):
        seen = Visitor(served).log_in(known, "pas le bon du tout")
        pages.append(re.sub(r'value="[^"]*"', "", seen.html))
        assert (seen.status, "session" in seen.headers.get("Set-Cookie", "")) == (403, False)

    assert pages[0] == pages[1]
    assert [bool(stored) for stored in looked_at] == [True, False]  # for nobody as well


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("organisation", ""), ("organisation", "x" * 121), ("organisation", "a\x00b"),
        ("email", ""), ("email", "zoé"), ("email", "a@b"), ("email", "a b@c.fr"),
        ("email", f"{'x' * 260}@c.fr"), ("mot_de_passe", "court"), ("mot_de_passe", "a" * 20),
        ("mot_de_passe", "x" * 150 + "yz" * 100),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_told_beside_its_field(
    served: Served, field: str, value: str
) -> None:
    visitor = Visitor(served)
    visitor.get("/inscription")
    form = {"organisation": "Ψυχή", "email": address(), "mot_de_passe": PASSWORD, field: value}

    seen = visitor.send("/inscription", form)

    assert seen.status == 422
    assert seen.html.count('aria-invalid="true"') == 1
    assert f'id="{field}-dit"' in seen.html
    assert PASSWORD not in seen.html


def test_a_password_may_be_typed_on_any_keyboard(served: Served) -> None:
    """One Unicode form: `é` is one character or two."""
    email = address()
    Visitor(served).sign_up(email, password="très bel été à Orléans")

    assert (
        Visitor(served).log_in(email, "tre\u0300s bel e\u0301te\u0301 a\u0300 Orle\u0301ans").status
        == 200
    )


def test_a_log_out_ends_the_session_for_whoever_kept_the_cookie(served: Served) -> None:
    visitor, _ = member(served)
    visitor.get("/compte")
    thief = Visitor(served, cookies=dict(visitor.cookies))
    assert thief.get("/compte").status == 200

    left = visitor.send("/deconnexion")

    assert (left.status, left.headers["Location"]) == (303, "/")
    assert "session" not in visitor.cookies
    assert thief.get("/compte").status == 303


def test_another_password_ends_the_other_sessions(served: Served) -> None:
    visitor, account = member(served)
    visitor.get("/compte")
    elsewhere = Visitor(served, cookies=dict(visitor.cookies))
    (person,) = served.store.read(people.people_of, account).result()

    wrong = visitor.send("/compte/mot-de-passe", {"actuel": "non", "nouveau": "x y z 1 2 3 4"})
    short = visitor.send("/compte/mot-de-passe", {"actuel": PASSWORD, "nouveau": "court"})
    changed = visitor.send(
        "/compte/mot-de-passe", {"actuel": PASSWORD, "nouveau": "un nouveau mot de passe"}
    )

    assert (wrong.status, short.status, changed.status) == (403, 422, 303)
    assert "Mot de passe changé" in visitor.get(changed.headers["Location"].partition("#")[0]).text
    assert elsewhere.get("/compte").status == 303
    assert visitor.get("/compte").status == 200
    assert Visitor(served).log_in(person.email).status == 403
    assert Visitor(served).log_in(person.email, "un nouveau mot de passe").status == 303


def test_a_second_log_in_makes_no_second_key(served: Served) -> None:
    visitor, account = member(served)
    (person,) = served.store.read(people.people_of, account).result()

    visitor.send("/deconnexion")

    again = visitor.log_in(person.email)

    assert (again.status, again.headers["Location"]) == (303, "/compte")
    assert len(served.store.read(account_rows.keys_of, account).result()) == 1


def test_a_person_added_by_the_operator_gets_in(served: Served) -> None:
    customer = served.customer("data")
    email = address()
    hashed = credentials.hash_password(PASSWORD)
    served.store.submit(
        people.add_person, new_person(customer.account, email, hashed, served.context.now())
    ).result(10)
    visitor = Visitor(served)

    visitor.log_in(email)

    assert PLANS["data"].nom in visitor.get("/compte").text


def test_who_is_logged_in_is_not_asked_again(served: Served) -> None:
    visitor, _ = member(served)

    assert visitor.get("/inscription").headers["Location"] == "/compte"
    assert visitor.get("/connexion?suite=/statut").headers["Location"] == "/statut"


def _account(served: Served, email: str) -> str:
    person = served.store.read(people.by_email, email).result()
    assert person
    return person.account
