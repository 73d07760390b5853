"""The frame of pages, the assets, the files of crawlers, and errors as pages."""

import hashlib
import re
import struct
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from quota import credentials
from quota.errors import StoreUnavailable
from quota.store.lmdb_store import LmdbStore
from serve.access.call import Response
from serve.access.store_holder import StoreHolder
from serve.config import EditorSettings
from serve.surfaces.site import page_request
from serve.surfaces.site.page_request import PageRequest, pages_of
from serve.surfaces.site.pages import ASSETS, asset_paths
from tests.serve.access.test_unavailable import Faulty
from tests.serve.client import Served, serving
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, address, member

PAGES = ["/", "/?q=lab", "/chiffres?q=lab", "/societes/FR/552100554", "/tarifs", "/inscription",
         "/connexion", "/statut", "/sources", "/rapprochement", "/rien"]  # fmt: skip
# What the policy would stop anyway: styles and scripts within a page, assets of other hosts.
FORBIDDEN = re.compile(r"style=|<script>|<style| on[a-z]+=|https?://[^\"'<]*\.(js|css)")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("lang", "word"), [("fr", "Source"), ("en", "Sources")])
def test_every_page_credits_its_sources(served: Served, path: str, lang: str, word: str) -> None:
    """X9: the attributions stand in the footer, with a link to all sources"""
    footer = Visitor(served, {"Accept-Language": lang}).get(path).html.partition("<footer>")[2]

    end = "Cie" if lang == "fr" else "Co"
    for name in ("lei", "fr-registre", "fr-comptes", "uk-registre", "ee-registre"):
        assert footer.count(f"{name} &amp; {end}") == 1
    assert footer.count('rel="license"') == 5
    assert '<a href="/sources">' in footer


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/html", "text/html"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/json, text/html;q=0.5", "application/json"),
    ],
)
def test_an_error_is_a_page_for_who_would_rather_read_one(
    served: Served, accept: str, kind: str
) -> None:
    seen = Visitor(served).get("/rien", Accept=accept)

    assert (seen.status, seen.headers["Content-Type"].partition(";")[0]) == (404, kind)


def test_an_error_page_shows_who_is_logged_in(served: Served) -> None:
    inside, _ = member(served)

    seen = [inside.get(path) for path in ("/rien", "/societes/FR/absente")]

    assert all("Mon compte" in one.text and "Créer un compte" not in one.text for one in seen)
    assert "Créer un compte" in Visitor(served).get("/rien").text


def test_under_the_api_an_error_is_always_json(served: Served) -> None:
    for path in ("/api/v1/rien", "/api/v1/societes?x=1", "/api", "/healthz/x"):
        seen = Visitor(served).get(path)

        assert seen.headers["Content-Type"].startswith("application/json") == path.startswith(
            "/api/"
        )


def test_errors_are_in_the_language_of_the_visitor(served: Served) -> None:
    french, english = Visitor(served), Visitor(served, {"Accept-Language": "en"})

    assert "Il n’y a pas de page à cette adresse" in french.get("/rien").text
    assert "There is no page at this address" in english.get("/rien").text
    assert english.get("/rien").headers["Content-Language"] == "en"


@pytest.mark.parametrize(("path", "allowed"), [
    ("/", "GET, HEAD"), ("/compte/cles", "POST"), ("/tarifs", "GET, HEAD, POST"),
])  # fmt: skip
def test_a_page_that_is_not_used_so_says_how(served: Served, path: str, allowed: str) -> None:
    for method in ("DELETE", "PUT", "OPTIONS"):
        seen = Visitor(served).get(path, method=method)

        assert (seen.status, seen.headers["Allow"]) == (405, allowed)


def test_without_data_there_is_a_page_that_says_so(tmp_path: Path) -> None:
    """G9"""
    data = tmp_path / "data"
    data.mkdir()
    editor = EditorSettings(
        "Żabka & Cie", "1 rue X", "zoé@b.fr", "Hôte", confidentialite="Un\n\nDeux"
    )
    with serving(data, editeur=editor) as served:
        for path in ("/", "/?q=a", "/chiffres?q=a", "/societes/FR/1", "/statut"):
            seen = Visitor(served).get(path)
            assert (seen.status, seen.headers["Retry-After"]) == (503, "5")
            assert "Momentanément indisponible" in seen.text
        prices = Visitor(served).get("/tarifs")
        assert prices.status == 200
        assert (
            prices.html.count('href="mailto:zoé@b.fr">Écrire à zoé@b.fr</a>') == 6
        )  # and the pack
        assert 'name="offre"' not in prices.html  # a button would only lead to a refusal
        legal = Visitor(served).get("/mentions-legales")
        assert "Żabka & Cie" in legal.text
        assert '<a href="mailto:zoé@b.fr">' in legal.html
        assert "<p>Un</p><p>Deux</p>" in legal.html
        assert "[editeur]" not in legal.text
        for cookie, days in (("visite", 180), ("session", 14), ("appareil", 180)):
            assert re.search(rf"<code>{cookie}</code></dt><dd>[^<]+\. {days} jours", legal.html)
        assert "Invitations : 7 jours ; liens de mot de passe : 1 jour" in legal.text


@pytest.fixture
def faulty(data_of_its_own: Path) -> Iterator[Served]:
    with serving(data_of_its_own, opener=Faulty) as server:
        yield server


def test_without_the_store_visitors_are_served_and_accounts_are_told(faulty: Served) -> None:
    """G9"""
    visitor, _ = member(faulty)
    assert isinstance(faulty.store, Faulty)
    faulty.store.writes_fail = True

    assert visitor.get("/?q=lab").status == 503
    assert visitor.get("/").status == 200
    assert Visitor(faulty).get("/?q=lab").status == 200


def test_a_person_is_shown_as_logged_in_where_the_store_cannot_tell(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cookie is signed by this server; a forged one shows nothing"""
    visitor, _ = member(served)
    cookies = {name: f"{value[:-1]}-" for name, value in visitor.cookies.items()}
    forged = Visitor(served, cookies=cookies)

    def no_store(_: StoreHolder) -> LmdbStore:
        raise StoreUnavailable("no store")

    with monkeypatch.context() as broken:
        broken.setattr(StoreHolder, "store", property(no_store))
        known, unknown = visitor.get("/?q=lab"), forged.get("/?q=lab")

    assert (known.status, "Mon compte" in known.text) == (503, True)
    assert "Mon compte" not in unknown.text


def test_an_error_of_the_server_shows_who_is_logged_in(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _ = member(served)

    async def broken(_: PageRequest) -> Response:
        raise RuntimeError("broken")

    pages = vars(page_request.pages_of(served.context.product))["_plain"]
    monkeypatch.setitem(pages, "/statut", page_request.WebRoute("/statut", "statut", broken))
    seen = visitor.get("/statut")

    assert (seen.status, "Mon compte" in seen.text) == (500, True)


def test_every_page_is_small_whole_and_of_one_language(served: Served) -> None:
    inside, _ = member(served)
    for path in [*PAGES, "/compte"]:
        for lang in ("fr", "en"):
            seen = (inside if path == "/compte" else Visitor(served)).get(
                f"{path}{'&' if '?' in path else '?'}lang={lang}"
            )

            assert len(seen.html.encode()) <= 60_000
            assert f'<html lang="{lang}">' in seen.html
            assert seen.html.rstrip().endswith("</html>")
            assert len(re.findall(r"<h1", seen.html)) == 1, path
            assert not FORBIDDEN.search(seen.html)


def test_an_asset_is_kept_for_ever_under_the_digest_of_its_bytes(served: Served) -> None:
    html = Visitor(served).get("/").html + Visitor(served).get("/rapprochement").html
    style = served.ask(asset_paths()["style.css"]).body.decode()

    for path in asset_paths().values():
        assert path in html + style
        seen = served.ask(path)
        assert (seen.status, "immutable" in seen.headers["Cache-Control"]) == (200, True)
        assert hashlib.sha256(seen.body).hexdigest()[:8] == path.rpartition("/")[2][:8]
        assert Visitor(served).get(path.replace("-", "0-")).status == 404
    sizes = {path.name: path.stat().st_size for path in ASSETS.iterdir()}
    assert sizes.pop("inter-latin.woff2") < 50_000
    for letters in ("latin-ext", "greek", "cyrillic"):  # only pages with such letters load them
        assert sizes.pop(f"inter-{letters}.woff2") < 90_000
    del sizes["inter-LICENSE.txt"]
    assert sizes.pop("share.png") < 50_000  # no page loads it
    assert sizes.pop("match.js") < 8_000  # the page of lists alone
    assert sum(sizes.values()) < 52_000


@pytest.mark.parametrize("name", ["../seals.py", "..%2fseals.py", "%2e%2e/seals.py", ""])
def test_nothing_but_the_assets_is_sent(served: Served, name: str) -> None:
    assert Visitor(served).get(f"/assets/{name}").status == 404


@pytest.mark.parametrize(
    "path", ["/assets/none.css", "/assets/", "/sitemap/pages.txt", "/sitemap/"]
)
def test_a_file_that_is_not_there_is_no_page(served: Served, path: str) -> None:
    """It has no methods, and counts as an address where nothing is."""
    html = {"Accept": "text/html"}

    assert [
        served.ask(path, method, headers=html).status for method in ("GET", "POST", "OPTIONS")
    ] == [404] * 3
    assert pages_of(served.context.product).resolve(path) is None


def test_a_request_for_a_page_is_logged_without_what_a_form_held(served: Served) -> None:
    """G11"""
    email = address()
    Visitor(served).sign_up(email)
    visitor = Visitor(served)
    visitor.log_in(email)
    visitor.get("/?q=lab")

    logged = b"".join(served.lines)
    assert b'"route":"connexion"' in logged
    assert b'"route":"explorateur"' in logged
    for secret in (email, PASSWORD, visitor.cookies["session"], credentials.NOBODY):
        assert secret.encode() not in logged


def test_a_page_can_be_shared(served: Served) -> None:
    """Description, Open Graph, canonical address and both languages; nothing of it where it is personal"""
    origin = f"http://127.0.0.1:{served.port}"
    inside, _ = member(served)

    record = Visitor(served).get("/societes/FR/552100554?lang=en").html
    search = Visitor(served).get("/?q=lab&pays=FR").html
    closed = [Visitor(served).get("/rien").html, inside.get("/compte").html]

    assert f'<link rel="canonical" href="{origin}/societes/FR/552100554">' in record
    assert f'hreflang="fr" href="{origin}/societes/FR/552100554?lang=fr"' in record
    assert '<meta property="og:title" content="Société Générale d&#39;Orléans">' in record
    assert 'content="Société Générale d&#39;Orléans (552100554), Orléans, France, ' in record
    assert f'href="{origin}/?q=lab&amp;pays=FR&amp;lang=en"' in search
    (picture,) = set(re.findall(rf'property="og:image" content="{origin}([^"]+)"', record + search))
    shared = served.ask(picture)
    assert shared.headers["Content-Type"] == "image/png"
    assert struct.unpack(">II", shared.body[16:24]) == (1200, 630)
    assert len(shared.body) < 60_000
    assert all('<meta name="robots" content="noindex">' in html for html in closed)
    assert not any("canonical" in html for html in closed)


def test_every_kind_of_page_says_what_it_is_and_in_which_languages(served: Served) -> None:
    kinds = [*PAGES[:2], *PAGES[3:6], "/statut", "/sources", "/rapprochement", "/docs", "/docs?q=x",
             "/docs/guides/erreurs", "/docs/routes/suggest", "/docs/objets/Societe"]  # fmt: skip
    pages = {path: Visitor(served).get(path).html for path in kinds}

    for path, html in pages.items():
        assert html.count('rel="canonical"') == html.count('property="og:image"') == 1, path
        assert set(re.findall(r'hreflang="(fr|en|x-default)" href', html)) == {
            "fr",
            "en",
            "x-default",
        }
    told = [
        re.findall(r'<meta name="description" content="([^"]+)">', html) for html in pages.values()
    ]
    assert all(len(one) == 1 for one in told)
    assert len({text for (text,) in told}) == len(kinds) - 1  # that of /docs and of its search


@pytest.mark.parametrize(
    "path", ["/robots.txt", "/sitemap.xml", "/sitemap/pages.xml", "/sitemap/FR.xml"]
)
def test_what_names_the_host_of_the_caller_is_kept_by_nobody(served: Served, path: str) -> None:
    """A cache would give the next crawler the addresses of another site."""
    seen = served.ask(path, headers={"Host": "evil.example"})

    assert b"http://evil.example/" in seen.body
    assert seen.headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("contact", "line"),
    [
        ("secours@exemple.fr", "Contact: mailto:secours@exemple.fr"),
        ("https://exemple.fr/signaler", "Contact: https://exemple.fr/signaler"),
        ("tel:+33123456789", "Contact: tel:+33123456789"),
        ("12 rue du Port, Orléans", None),
        (None, None),
    ],
)
def test_weaknesses_are_reported_to_the_operator(
    data: Path, contact: str | None, line: str | None
) -> None:
    """RFC 9116"""
    with serving(data, contact=contact, now=Clock("2026-11-30T12:00:00")) as served:
        reply = served.ask("/.well-known/security.txt")

    if line is None:
        assert reply.status == 404
        return
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.body.decode().splitlines() == [
        line,
        "Expires: 2027-05-29T12:00:00+00:00",
        "Preferred-Languages: fr, en",
    ]


def test_crawlers_find_the_searches_of_each_country(served: Served) -> None:
    """The sitemap protocol: an index, and every address of it answers"""
    visitor = Visitor(served)
    origin = f"http://127.0.0.1:{served.port}"

    robots = visitor.get("/robots.txt").html
    parts = re.findall(r"<loc>([^<]+)</loc>", visitor.get("/sitemap.xml").html)
    places = [
        unescape(place)
        for part in parts
        for place in re.findall(r"<loc>([^<]+)</loc>", visitor.get(part.removeprefix(origin)).html)
    ]

    assert f"Sitemap: {origin}/sitemap.xml" in robots
    assert "Disallow: /compte\n" in robots
    assert [part.rpartition("/")[2] for part in parts] == [
        "pages.xml", "FR.xml", "UK.xml", "DE.xml", "EE.xml"
    ]  # fmt: skip
    assert f"{origin}/?pays=DE&secteur=industries-alimentaires" in places
    assert {visitor.get(place.removeprefix(origin)).status for place in places} == {200}
    assert visitor.get("/sitemap/XX.xml").status == 404
    assert visitor.get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"
