"""Forms that are refused: foreign forms, forged sessions, too many attempts, links to other sites."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from quota import credentials
from quota.ledger import account_rows, people
from quota.ledger.account_rows import ADDRESSES
from serve.access.burst_gate import SENT
from serve.features.account import login_throttle
from serve.surfaces.site import cookies
from tests.serve.client import GENEROUS, Served, serving
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, address, member

FORMS = ["/inscription", "/connexion"]
INSIDE = ["/deconnexion", "/compte/cles", "/compte/cles/revocation", "/compte/mot-de-passe",
          "/compte/adresses", "/compte/adresses/revocation", "/compte/confirmation"]  # fmt: skip


@pytest.mark.parametrize("path", FORMS + INSIDE)
@pytest.mark.parametrize("token", ["", "x" * 43, "é"])
def test_a_form_without_our_token_is_refused(served: Served, path: str, token: str) -> None:
    visitor, account = member(served) if path in INSIDE else (Visitor(served), "")
    visitor.get("/compte" if path in INSIDE else path)

    seen = visitor.send(path, {"jeton": token, "email": address(), "mot_de_passe": PASSWORD})

    assert seen.status == 403
    assert "formulaire_refuse" in seen.html
    assert not account or len(served.store.read(account_rows.keys_of, account).result()) == 1


def test_the_token_of_another_browser_is_refused(served: Served) -> None:
    mine, theirs = Visitor(served), Visitor(served)
    mine.get("/connexion")
    theirs.get("/connexion")
    mine.token = theirs.token

    assert mine.send("/connexion", {"email": address(), "mot_de_passe": PASSWORD}).status == 403


def test_the_token_of_before_the_log_in_is_refused_after_it(served: Served) -> None:
    visitor = Visitor(served)
    visitor.get("/connexion")
    before = visitor.token
    inside, _ = member(served)
    inside.cookies |= visitor.cookies
    inside.token = before

    assert inside.send("/compte/cles", {"connues": "1"}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://mal.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"},
    ],
)  # fmt: skip
def test_a_form_from_elsewhere_is_refused(served: Served, headers: dict[str, str]) -> None:
    visitor, _ = member(served)
    visitor.get("/compte")

    assert visitor.send("/deconnexion", None, **headers).status == 403
    assert visitor.send("/deconnexion", Origin=f"http://127.0.0.1:{served.port}").status == 303


def test_a_session_that_we_did_not_seal_is_none(served: Served) -> None:
    visitor, _ = member(served)
    person, token, seal = visitor.cookies["session"].split(".")
    forged = [
        f"{person}.{token}.{seal[:-1]}x",
        f"{person}.{'0' * 64}.{seal}",
        f"p_000000000000.{token}.{seal}",
        f"{person}.{token}",
        "",
        "x" * 5_000,
    ]

    for value in forged:
        assert Visitor(served, cookies={"session": value}).get("/compte").status == 303


def test_a_session_ends_by_itself(data_of_its_own: Path) -> None:
    clock = Clock("2026-11-21T12:00:00")
    with serving(data_of_its_own, now=clock) as served:
        visitor, _ = member(served)
        assert visitor.get("/compte").status == 200

        clock.pass_by(timedelta(days=14, seconds=1).total_seconds())

        assert visitor.get("/compte").status == 303


def test_the_cookie_opens_no_door_of_the_api(served: Served) -> None:
    """A12"""
    visitor, account = member(served)
    cookie = {"Cookie": f"session={visitor.cookies['session']}"}

    assert served.ask("/api/v1/compte", headers=cookie).status == 401
    assert served.ask("/api/v1/societes", headers=cookie).json["plan"] == "visiteur"
    assert served.ask("/api/v1/export", headers=cookie).code == "compte_requis"
    assert served.store.read(account_rows.account_of, account).result().plan == "free"


def test_a_key_opens_no_page(served: Served) -> None:
    """A12"""
    customer = served.customer("data")

    assert served.ask("/compte", headers=customer.headers).status == 303
    assert "Aperçu" in Visitor(served).get("/?q=a", **customer.headers).text


@pytest.mark.parametrize(
    "suite",
    ["https://mal.example/", "//mal.example", "/\\mal.example", "javascript:alert(1)", "\t//x",
     "compte", "/a\r\nSet-Cookie: x=1", "/é"],
)  # fmt: skip
def test_a_log_in_leads_nowhere_else(served: Served, suite: str) -> None:
    visitor, account = member(served)
    (person,) = served.store.read(people.people_of, account).result()
    visitor.get("/compte")
    visitor.send("/deconnexion")

    assert visitor.log_in(person.email, suite=suite).headers["Location"] == "/compte"


def test_what_is_personal_sends_to_the_log_in_and_back(served: Served) -> None:
    assert Visitor(served).get("/compte").headers["Location"] == "/connexion?suite=/compte"


@pytest.fixture
def strict(data_of_its_own: Path) -> Iterator[Served]:
    debit = replace(GENEROUS, connexions=3, inscriptions_jour=2, visiteur=2)
    with serving(data_of_its_own, debit=debit) as server:
        yield server


def test_tries_of_a_password_are_limited_by_address(strict: Served) -> None:
    statuses = [Visitor(strict).log_in(address()).status for _ in range(4)]

    assert statuses == [403, 403, 403, 429]


def test_tries_of_a_password_are_limited_by_account(data_of_its_own: Path) -> None:
    """From the addresses of a network, which a proxy names: the owner is elsewhere, and is let in"""
    with behind_a_proxy(data_of_its_own, connexions=3) as served:
        email = address()
        seen = [
            Visitor(served, {"X-Forwarded-For": f"192.0.2.{number}"}).log_in(email.upper())
            for number in range(5)
        ]
        owner = Visitor(served, {"X-Forwarded-For": "198.51.100.7"})
        owner.sign_up(email)
        entered = owner.log_in(email)

    assert [one.status for one in seen] == [403, 403, 403, 429, 429]
    assert int(seen[-1].headers["Retry-After"]) > 0
    assert entered.status in (200, 303)


@pytest.mark.parametrize("what", ["cles", "adresses"])
def test_a_key_too_many_of_the_day_is_refused_by_the_page(
    served: Served, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    visitor, account = member(served)
    monkeypatch.setattr(login_throttle, "KEYS", 1)  # made by the log-in
    before = served.store.read(account_rows.keys_of, account).result()
    visitor.get("/compte")

    refused = visitor.send(f"/compte/{what}", {"connues": "1" if what == "cles" else "0"})

    assert (refused.status, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert served.store.read(account_rows.keys_of, account).result() == before
    assert not served.store.read(account_rows.keys_of, account, ADDRESSES).result()


def test_a_long_list_counts_by_its_bytes_and_nothing_where_it_is_refused(
    data_of_its_own: Path,
) -> None:
    """D1"""
    debit = replace(GENEROUS, pages=20)
    long = b"nom;pays\n" + b"x" * (10 * SENT)
    with serving(data_of_its_own, debit=debit) as served:
        visitor = Visitor(served)
        visitor.get("/rapprochement")  # 1
        first = visitor.upload("/rapprochement", long)  # 11: eight are left
        refused = [visitor.upload("/rapprochement", long).status for _ in range(2)]
        short = [visitor.upload("/rapprochement", b"nom;pays\nLab;EE\n").status for _ in range(9)]

    assert first.status != 429
    assert refused == [429, 429]
    assert short == [200] * 4 + [429] * 5  # each leads to the page of its list


@contextmanager
def behind_a_proxy(data: Path, **debit: int) -> Iterator[Served]:
    limits, trusted = replace(GENEROUS, **debit), [ip_network("127.0.0.0/8")]
    with serving(data, debit=limits, trusted=trusted) as served:
        yield served


def test_sign_ups_are_limited_by_address(strict: Served) -> None:
    assert [Visitor(strict).sign_up(address()).status for _ in range(3)] == [200, 200, 429]


def test_searches_and_pages_are_limited_as_those_of_the_api(data_of_its_own: Path) -> None:
    """D7: a search is a page too"""
    with behind_a_proxy(data_of_its_own, visiteur=2, pages=7) as served:
        searches = [Visitor(served).get("/?q=lab").status for _ in range(3)]
        fronts = [Visitor(served).get("/").status for _ in range(5)]

    assert searches == [200, 200, 429]
    assert fronts == [200, 200, 200, 200, 429]


def test_numbers_that_are_typed_are_limited_as_public_lists(data_of_its_own: Path) -> None:
    """Before: whoever had spent the searches of the day went on, and each look was made before any limit"""
    debit = replace(GENEROUS, visiteur=2, listes=4)
    with serving(data_of_its_own, debit=debit) as served:
        numbers = [Visitor(served).get("/?q=552100554").status for _ in range(6)]

    assert numbers == [303] * 4 + [429] * 2


def test_more_log_ins_than_can_be_looked_at_are_told_to_come_back(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_throttle, "WAITING", 0)

    seen = Visitor(served).log_in(address())

    assert seen.status == 503
    assert "Retry-After" in seen.headers


def test_every_page_forbids_what_it_does_not_need(served: Served) -> None:
    for path in ("/", "/?q=lab", "/societes/FR/552100554", "/tarifs", "/connexion", "/rien"):
        headers = Visitor(served).get(path).headers

        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


def test_cookies_are_for_us_alone(data_of_its_own: Path) -> None:
    with serving(data_of_its_own, "https://societes.example") as served:
        email, visitor = address(), Visitor(served, {"Origin": "https://societes.example"})
        visitor.sign_up(email)
        welcome = visitor.log_in(email)
        visitor.send("/deconnexion")
        seen = visitor.log_in(email)

    cookie = seen.headers["Set-Cookie"]
    assert cookie.startswith("__Host-session=p_")
    assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")
    assert set(visitor.cookies) == {"__Host-session", "__Host-visite", "__Host-appareil"}
    assert "https://societes.example/api/v1/societes" in welcome.html


def test_a_browser_that_has_logged_in_keeps_its_place_when_others_try_passwords(
    data_of_its_own: Path,
) -> None:
    debit = replace(GENEROUS, connexions=2)
    with serving(data_of_its_own, debit=debit) as served:
        email, owner = address(), Visitor(served)
        owner.sign_up(email)
        owner.log_in(email)
        owner.send("/deconnexion")
        other_person = address()
        tried = [Visitor(served).log_in(email, "devinez").status for _ in range(3)]

        stranger = Visitor(served).log_in(email)
        copied = Visitor(served, cookies={"appareil": owner.cookies["appareil"]})
        for_another = copied.log_in(other_person, "devinez")
        known = owner.log_in(email)

    assert tried[-1] == 429
    assert stranger.status == 429  # the right password, from a browser that nobody knows
    assert for_another.status == 429  # the cookie is good for one person
    assert known.status == 303


def test_a_visitor_without_a_form_gets_no_cookie(served: Served) -> None:
    for path in ("/", "/?q=lab", "/tarifs", "/statut", "/societes/FR/552100554"):
        assert "Set-Cookie" not in Visitor(served).get(path).headers


def test_no_cache_keeps_what_an_account_sees(served: Served) -> None:
    visitor, _ = member(served)

    for path in ("/compte", "/", "/?q=lab", "/societes/FR/552100554"):
        assert visitor.get(path).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415), ("", b"a=1", 415),
        ("application/x-www-form-urlencoded", b"a=%FF", 400),
        ("application/x-www-form-urlencoded", b"\xff", 400),
        ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 100), 400),
        ("application/x-www-form-urlencoded", b"a=" + b"x" * 70_000, 413),
    ],
)  # fmt: skip
def test_a_body_that_is_no_form_is_refused(
    served: Served, kind: str, body: bytes, status: int
) -> None:
    reply = served.ask("/connexion", "POST", {"Content-Type": kind}, body=body)

    assert reply.status == status


def test_the_secret_is_made_once_and_is_nobody_elses(tmp_path: Path) -> None:
    first = cookies.load_signer(tmp_path)
    second = cookies.load_signer(tmp_path)

    assert (tmp_path / cookies.SECRET_FILE).stat().st_mode & 0o777 == 0o600
    assert second.is_valid(first.signature("a", "b"), "a", "b")
    assert not second.is_valid(first.signature("a", "b"), "b", "a")
    assert [path.name for path in tmp_path.iterdir()] == [cookies.SECRET_FILE]


def test_a_damaged_secret_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / cookies.SECRET_FILE).write_bytes(b"court")

    with pytest.raises(OSError, match=r"has 5 bytes, not 32; delete it"):
        cookies.load_signer(tmp_path)


def test_a_password_is_neither_logged_nor_stored(served: Served) -> None:
    visitor, _ = member(served)
    visitor.get("/compte?mot_de_passe=" + PASSWORD.replace(" ", "%20"))

    assert not [line for line in served.lines if PASSWORD.encode() in line]
    assert credentials.hash_password(PASSWORD).startswith("$argon2id$")
