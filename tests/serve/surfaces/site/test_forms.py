"""Protection of forms: foreign forms, forged sessions, too many attempts, redirects to other sites."""

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
from serve.access.burst_gate import FORM_PAGE_BYTES
from serve.features.account import login_throttle
from serve.surfaces.site import cookies
from tests.serve.client import UNREACHABLE_LIMITS, Server, run_server
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, new_email, sign_up_member

# Paths to which a visitor, or only a member who is logged in, sends forms.
PUBLIC_FORMS = ["/inscription", "/connexion"]
MEMBER_FORMS = ["/deconnexion", "/compte/cles", "/compte/cles/revocation", "/compte/mot-de-passe",
          "/compte/adresses", "/compte/adresses/revocation", "/compte/confirmation"]  # fmt: skip
STANDING_CLOCK = Clock("2026-11-21T12:00:00")  # no limit recovers during a test


@pytest.mark.parametrize("path", PUBLIC_FORMS + MEMBER_FORMS)
@pytest.mark.parametrize("token", ["", "x" * 43, "é"])
def test_a_form_without_our_token_is_refused(server: Server, path: str, token: str) -> None:
    visitor, account = sign_up_member(server) if path in MEMBER_FORMS else (Visitor(server), "")
    visitor.get("/compte" if path in MEMBER_FORMS else path)

    page = visitor.send(path, {"jeton": token, "email": new_email(), "mot_de_passe": PASSWORD})

    assert page.status == 403
    assert "formulaire_refuse" in page.html
    assert not account or len(server.store.read(account_rows.keys_of, account).result()) == 1


def test_the_token_of_another_browser_is_refused(server: Server) -> None:
    mine, theirs = Visitor(server), Visitor(server)
    mine.get("/connexion")
    theirs.get("/connexion")
    mine.token = theirs.token

    assert mine.send("/connexion", {"email": new_email(), "mot_de_passe": PASSWORD}).status == 403


def test_a_token_from_before_the_log_in_is_refused_after_it(server: Server) -> None:
    """A stranger could have planted the token and its cookie before the log-in"""
    visitor = Visitor(server)
    visitor.get("/connexion")
    token_before_log_in = visitor.token
    logged_in, _ = sign_up_member(server)
    logged_in.cookies |= visitor.cookies
    logged_in.token = token_before_log_in

    assert logged_in.send("/compte/cles", {"connues": "1"}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://mal.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"},
    ],
)  # fmt: skip
def test_a_form_from_another_site_is_refused(server: Server, headers: dict[str, str]) -> None:
    visitor, _ = sign_up_member(server)
    visitor.get("/compte")

    assert visitor.send("/deconnexion", None, **headers).status == 403
    assert visitor.send("/deconnexion", Origin=f"http://127.0.0.1:{server.port}").status == 303


def test_a_forged_session_is_ignored(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    person, token, signature = visitor.cookies["session"].split(".")
    forged = [
        f"{person}.{token}.{signature[:-1]}x",
        f"{person}.{'0' * 64}.{signature}",
        f"p_000000000000.{token}.{signature}",
        f"{person}.{token}",
        "",
        "x" * 5_000,
    ]

    for value in forged:
        assert Visitor(server, cookies={"session": value}).get("/compte").status == 303


def test_a_session_expires(separate_data: Path) -> None:
    """After 14 days, when the page leads to the log-in (303)"""
    clock = Clock("2026-11-21T12:00:00")
    with run_server(separate_data, now=clock) as server:
        visitor, _ = sign_up_member(server)
        assert visitor.get("/compte").status == 200

        clock.advance(timedelta(days=14, seconds=1).total_seconds())

        assert visitor.get("/compte").status == 303


def test_the_session_cookie_gives_no_access_to_the_api(server: Server) -> None:
    """A12: a caller with the cookie alone is a visitor there"""
    visitor, account = sign_up_member(server)
    cookie = {"Cookie": f"session={visitor.cookies['session']}"}

    assert server.ask("/api/v1/compte", headers=cookie).status == 401
    assert server.ask("/api/v1/societes", headers=cookie).json["plan"] == "visiteur"
    assert server.ask("/api/v1/export", headers=cookie).code == "compte_requis"
    assert server.store.read(account_rows.account_of, account).result().plan == "free"


def test_a_key_gives_no_access_to_pages(server: Server) -> None:
    """A12"""
    customer = server.customer("data")

    assert server.ask("/compte", headers=customer.headers).status == 303
    assert "Aperçu" in Visitor(server).get("/?q=a", **customer.headers).text


@pytest.mark.parametrize(
    "suite",
    ["https://mal.example/", "//mal.example", "/\\mal.example", "javascript:alert(1)", "\t//x",
     "compte", "/a\r\nSet-Cookie: x=1", "/é"],
)  # fmt: skip
def test_a_log_in_does_not_redirect_to_another_site(server: Server, suite: str) -> None:
    visitor, account = sign_up_member(server)
    (person,) = server.store.read(people.people_of, account).result()
    visitor.get("/compte")
    visitor.send("/deconnexion")

    assert visitor.log_in(person.email, suite=suite).headers["Location"] == "/compte"


def test_a_personal_page_redirects_to_the_log_in_and_back(server: Server) -> None:
    assert Visitor(server).get("/compte").headers["Location"] == "/connexion?suite=/compte"


@pytest.fixture
def strict(separate_data: Path) -> Iterator[Server]:
    """A server with low limits of log-ins, sign-ups and searches."""
    debit = replace(UNREACHABLE_LIMITS, connexions=3, inscriptions_jour=2, visiteur=2)
    with run_server(separate_data, debit=debit) as server:
        yield server


def test_tries_of_a_password_are_limited_by_address(strict: Server) -> None:
    statuses = [Visitor(strict).log_in(new_email()).status for _ in range(4)]

    assert statuses == [403, 403, 403, 429]


def test_tries_of_a_password_are_limited_by_account(separate_data: Path) -> None:
    """The attempts come from several addresses of one network (a proxy names them), the owner from another network"""
    with server_behind_a_proxy(separate_data, connexions=3) as server:
        email = new_email()
        pages = [
            Visitor(server, {"X-Forwarded-For": f"192.0.2.{number}"}).log_in(email.upper())
            for number in range(5)
        ]
        owner = Visitor(server, {"X-Forwarded-For": "198.51.100.7"})
        owner.sign_up(email)
        page_of_owner = owner.log_in(email)

    assert [page.status for page in pages] == [403, 403, 403, 429, 429]
    assert int(pages[-1].headers["Retry-After"]) > 0
    assert page_of_owner.status in (200, 303)


@pytest.mark.parametrize("section", ["cles", "adresses"])
def test_a_key_over_the_daily_limit_is_refused_by_the_page(
    server: Server, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    visitor, account = sign_up_member(server)
    monkeypatch.setattr(
        login_throttle, "KEYS", 1
    )  # a limit that the key of the first log-in has reached
    keys_before = server.store.read(account_rows.keys_of, account).result()
    visitor.get("/compte")

    page = visitor.send(f"/compte/{section}", {"connues": "1" if section == "cles" else "0"})

    assert (page.status, int(page.headers["Retry-After"]) > 0) == (429, True)
    assert server.store.read(account_rows.keys_of, account).result() == keys_before
    assert not server.store.read(account_rows.keys_of, account, ADDRESSES).result()


def test_a_long_list_counts_by_its_size_and_a_refused_list_does_not_count(
    separate_data: Path,
) -> None:
    """D1"""
    debit = replace(UNREACHABLE_LIMITS, pages=20)
    long_list = b"nom;pays\n" + b"x" * (10 * FORM_PAGE_BYTES)
    with run_server(separate_data, debit=debit, now=STANDING_CLOCK) as server:
        visitor = Visitor(server)
        visitor.get("/rapprochement")  # the first of 20 pages
        first_page = visitor.upload("/rapprochement", long_list)  # 10 by its size, and its page
        # 8 of 20 pages are left, and a long list counts as 10.
        long_lists = [visitor.upload("/rapprochement", long_list).status for _ in range(2)]
        short_lists = [
            visitor.upload("/rapprochement", b"nom;pays\nLab;EE\n").status for _ in range(9)
        ]

    assert first_page.status != 429
    assert long_lists == [429, 429]
    # Each counts twice: for the form, and for the page of its list.
    assert short_lists == [200] * 4 + [429] * 5


@contextmanager
def server_behind_a_proxy(data: Path, **debit: int) -> Iterator[Server]:
    """A server with these burst limits that trusts the addresses in X-Forwarded-For."""
    limits, trusted = replace(UNREACHABLE_LIMITS, **debit), [ip_network("127.0.0.0/8")]
    with run_server(data, debit=limits, trusted=trusted, now=STANDING_CLOCK) as server:
        yield server


def test_sign_ups_are_limited_by_address(strict: Server) -> None:
    assert [Visitor(strict).sign_up(new_email()).status for _ in range(3)] == [200, 200, 429]


def test_searches_and_pages_have_burst_limits(separate_data: Path) -> None:
    """D7: a search counts as a page too"""
    with server_behind_a_proxy(separate_data, visiteur=2, pages=7) as server:
        searches = [Visitor(server).get("/?q=lab").status for _ in range(3)]
        front_pages = [Visitor(server).get("/").status for _ in range(5)]

    assert searches == [200, 200, 429]
    assert front_pages == [200, 200, 200, 200, 429]


def test_searches_for_numbers_are_limited_like_public_lists(separate_data: Path) -> None:
    """The number of a company redirects to its page: that is not a search, so the limit of public lists applies"""
    debit = replace(UNREACHABLE_LIMITS, visiteur=2, listes=4)
    with run_server(separate_data, debit=debit, now=STANDING_CLOCK) as server:
        numbers = [Visitor(server).get("/?q=552100554").status for _ in range(6)]

    assert numbers == [303] * 4 + [429] * 2


def test_too_many_waiting_log_ins_are_503_with_retry_after(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_throttle, "MOST_WAITING", 0)

    page = Visitor(server).log_in(new_email())

    assert page.status == 503
    assert "Retry-After" in page.headers


def test_every_page_has_strict_security_headers(server: Server) -> None:
    for path in ("/", "/?q=lab", "/societes/FR/552100554", "/tarifs", "/connexion", "/rien"):
        headers = Visitor(server).get(path).headers

        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


def test_cookies_have_the_host_prefix_and_are_secure(separate_data: Path) -> None:
    with run_server(separate_data, "https://societes.example") as server:
        email, visitor = new_email(), Visitor(server, {"Origin": "https://societes.example"})
        visitor.sign_up(email)
        welcome = visitor.log_in(email)
        visitor.send("/deconnexion")
        page = visitor.log_in(email)

    cookie = page.headers["Set-Cookie"]
    assert cookie.startswith("__Host-session=p_")
    assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")
    assert set(visitor.cookies) == {"__Host-session", "__Host-visite", "__Host-appareil"}
    assert "https://societes.example/api/v1/societes" in welcome.html


def test_a_browser_that_has_logged_in_before_is_not_blocked_by_attempts_from_other_browsers(
    separate_data: Path,
) -> None:
    """Two log-ins are allowed; the cookie `appareil` tells a known browser"""
    debit = replace(UNREACHABLE_LIMITS, connexions=2)
    with run_server(separate_data, debit=debit) as server:
        email, owner = new_email(), Visitor(server)
        owner.sign_up(email)
        owner.log_in(email)
        owner.send("/deconnexion")
        other_person = new_email()
        guesses = [Visitor(server).log_in(email, "devinez").status for _ in range(3)]

        stranger = Visitor(server).log_in(email)
        with_copied_cookie = Visitor(server, cookies={"appareil": owner.cookies["appareil"]})
        for_another_person = with_copied_cookie.log_in(other_person, "devinez")
        owner_again = owner.log_in(email)

    assert guesses[-1] == 429
    assert stranger.status == 429  # the right password, from an unknown browser
    assert for_another_person.status == 429  # the cookie is valid for one person
    assert owner_again.status == 303


def test_a_visitor_without_a_form_gets_no_cookie(server: Server) -> None:
    for path in ("/", "/?q=lab", "/tarifs", "/statut", "/societes/FR/552100554"):
        assert "Set-Cookie" not in Visitor(server).get(path).headers


def test_pages_of_an_account_are_not_cached(server: Server) -> None:
    visitor, _ = sign_up_member(server)

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
def test_a_body_that_is_not_a_form_is_refused(
    server: Server, kind: str, body: bytes, status: int
) -> None:
    reply = server.ask("/connexion", "POST", {"Content-Type": kind}, body=body)

    assert reply.status == status


def test_the_secret_is_created_once_and_is_private(tmp_path: Path) -> None:
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


def test_a_password_is_neither_logged_nor_stored(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    visitor.get("/compte?mot_de_passe=" + PASSWORD.replace(" ", "%20"))

    assert not [line for line in server.lines if PASSWORD.encode() in line]
    assert credentials.hash_password(PASSWORD).startswith("$argon2id$")
