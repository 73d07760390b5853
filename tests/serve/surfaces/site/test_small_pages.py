"""The frame of pages, the assets, the files for crawlers, and error pages."""

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
from tests.serve.access.test_unavailable import FaultyStore
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import PASSWORD, Visitor, new_email, sign_up_member

PAGES = ["/", "/?q=lab", "/chiffres?q=lab", "/societes/FR/552100554", "/tarifs", "/inscription",
         "/connexion", "/statut", "/sources", "/rapprochement", "/rien"]  # fmt: skip
# Inline styles and scripts, and assets of other hosts: the Content-Security-Policy would block them.
FORBIDDEN = re.compile(r"style=|<script>|<style| on[a-z]+=|https?://[^\"'<]*\.(js|css)")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_every_page_credits_its_sources(server: Server, path: str, lang: str) -> None:
    """X9: the footer has the attributions and a link to all sources"""
    footer = Visitor(server, {"Accept-Language": lang}).get(path).html.partition("<footer>")[2]

    company_suffix = "Cie" if lang == "fr" else "Co"
    for name in ("lei", "fr-registre", "fr-comptes", "uk-registre", "ee-registre"):
        assert footer.count(f"{name} &amp; {company_suffix}") == 1
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
def test_an_error_is_a_page_if_the_caller_prefers_html(
    server: Server, accept: str, kind: str
) -> None:
    page = Visitor(server).get("/rien", Accept=accept)

    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (404, kind)


def test_an_error_page_shows_who_is_logged_in(server: Server) -> None:
    logged_in, _ = sign_up_member(server)

    pages = [logged_in.get(path) for path in ("/rien", "/societes/FR/absente")]

    assert all("Mon compte" in page.text and "Créer un compte" not in page.text for page in pages)
    assert "Créer un compte" in Visitor(server).get("/rien").text


def test_under_the_api_an_error_is_always_json(server: Server) -> None:
    for path in ("/api/v1/rien", "/api/v1/societes?x=1", "/api", "/healthz/x"):
        page = Visitor(server).get(path)

        assert page.headers["Content-Type"].startswith("application/json") == path.startswith(
            "/api/"
        )


def test_errors_are_in_the_language_of_the_visitor(server: Server) -> None:
    french, english = Visitor(server), Visitor(server, {"Accept-Language": "en"})

    assert "Il n’y a pas de page à cette adresse" in french.get("/rien").text
    assert "There is no page at this address" in english.get("/rien").text
    assert english.get("/rien").headers["Content-Language"] == "en"


@pytest.mark.parametrize(("path", "allowed"), [
    ("/", "GET, HEAD"), ("/compte/cles", "POST"), ("/tarifs", "GET, HEAD, POST"),
])  # fmt: skip
def test_a_page_refuses_other_methods_and_names_the_allowed_methods(
    server: Server, path: str, allowed: str
) -> None:
    for method in ("DELETE", "PUT", "OPTIONS"):
        page = Visitor(server).get(path, method=method)

        assert (page.status, page.headers["Allow"]) == (405, allowed)


def test_without_data_pages_say_that_the_service_is_unavailable(tmp_path: Path) -> None:
    """G9"""
    data = tmp_path / "data"
    data.mkdir()
    editor = EditorSettings(
        "Żabka & Cie", "1 rue X", "zoé@b.fr", "Hôte", confidentialite="Un\n\nDeux"
    )
    with run_server(data, editeur=editor) as server:
        for path in ("/", "/?q=a", "/chiffres?q=a", "/societes/FR/1", "/statut"):
            page = Visitor(server).get(path)
            assert (page.status, page.headers["Retry-After"]) == (503, "5")
            assert "Momentanément indisponible" in page.text
        prices = Visitor(server).get("/tarifs")
        assert prices.status == 200
        # The five plans that are not free, and the pack, have the link.
        assert prices.html.count('href="mailto:zoé@b.fr">Écrire à zoé@b.fr</a>') == 6
        assert 'name="offre"' not in prices.html  # a button would only lead to a refusal
        legal = Visitor(server).get("/mentions-legales")
        assert "Żabka & Cie" in legal.text
        assert '<a href="mailto:zoé@b.fr">' in legal.html
        assert "<p>Un</p><p>Deux</p>" in legal.html
        assert "[editeur]" not in legal.text
        for cookie, days in (("visite", 180), ("session", 14), ("appareil", 180)):
            assert re.search(rf"<code>{cookie}</code></dt><dd>[^<]+\. {days} jours", legal.html)
        assert "Invitations : 7 jours ; liens de mot de passe : 1 jour" in legal.text


@pytest.fixture
def faulty(separate_data: Path) -> Iterator[Server]:
    """A server whose store fails as soon as a test sets `writes_fail`."""
    with run_server(separate_data, opener=FaultyStore) as server:
        yield server


def test_without_the_store_visitors_are_served_and_searches_of_accounts_are_503(
    faulty: Server,
) -> None:
    """G9: only the search of an account must be counted"""
    visitor, _ = sign_up_member(faulty)
    assert isinstance(faulty.store, FaultyStore)
    faulty.store.writes_fail = True

    assert visitor.get("/?q=lab").status == 503
    assert visitor.get("/").status == 200
    assert Visitor(faulty).get("/?q=lab").status == 200


def test_a_person_is_shown_as_logged_in_even_without_the_store(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server trusts its signature of the cookie; a forged cookie has no effect"""
    visitor, _ = sign_up_member(server)
    cookies = {name: f"{value[:-1]}-" for name, value in visitor.cookies.items()}
    forged = Visitor(server, cookies=cookies)

    def no_store(_: StoreHolder) -> LmdbStore:
        """Fail as a holder whose store is not open."""
        raise StoreUnavailable("no store")

    with monkeypatch.context() as patch:
        patch.setattr(StoreHolder, "store", property(no_store))
        page, forged_page = visitor.get("/?q=lab"), forged.get("/?q=lab")

    assert (page.status, "Mon compte" in page.text) == (503, True)
    assert "Mon compte" not in forged_page.text


def test_an_error_of_the_server_shows_who_is_logged_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _ = sign_up_member(server)

    async def fail(_: PageRequest) -> Response:
        raise RuntimeError("broken")

    pages = vars(page_request.pages_of(server.context.product))["_fixed_paths"]
    monkeypatch.setitem(pages, "/statut", page_request.WebRoute("/statut", "statut", fail))
    page = visitor.get("/statut")

    assert (page.status, "Mon compte" in page.text) == (500, True)


def test_every_page_is_small_complete_and_in_one_language(server: Server) -> None:
    logged_in, _ = sign_up_member(server)
    for path in [*PAGES, "/compte"]:
        for lang in ("fr", "en"):
            page = (logged_in if path == "/compte" else Visitor(server)).get(
                f"{path}{'&' if '?' in path else '?'}lang={lang}"
            )

            assert len(page.html.encode()) <= 60_000
            assert f'<html lang="{lang}">' in page.html
            assert page.html.rstrip().endswith("</html>")
            assert len(re.findall(r"<h1", page.html)) == 1, path
            assert not FORBIDDEN.search(page.html)


def test_an_asset_is_cached_forever_under_the_digest_of_its_bytes(server: Server) -> None:
    html = Visitor(server).get("/").html + Visitor(server).get("/rapprochement").html
    style = server.ask(asset_paths()["style.css"]).body.decode()

    for path in asset_paths().values():
        assert path in html + style
        reply = server.ask(path)
        assert (reply.status, "immutable" in reply.headers["Cache-Control"]) == (200, True)
        assert hashlib.sha256(reply.body).hexdigest()[:8] == path.rpartition("/")[2][:8]
        assert Visitor(server).get(path.replace("-", "0-")).status == 404
    sizes = {path.name: path.stat().st_size for path in ASSETS.iterdir()}
    assert sizes.pop("inter-latin.woff2") < 50_000
    for subset in ("latin-ext", "greek", "cyrillic"):  # loaded by pages with such letters only
        assert sizes.pop(f"inter-{subset}.woff2") < 90_000
    del sizes["inter-LICENSE.txt"]
    assert sizes.pop("share.png") < 50_000  # no page loads it
    assert sizes.pop("match.js") < 8_000  # for the page of lists only
    assert sum(sizes.values()) < 52_000


@pytest.mark.parametrize("name", ["../seals.py", "..%2fseals.py", "%2e%2e/seals.py", ""])
def test_only_assets_are_served_from_their_folder(server: Server, name: str) -> None:
    assert Visitor(server).get(f"/assets/{name}").status == 404


@pytest.mark.parametrize(
    "path", ["/assets/none.css", "/assets/", "/sitemap/pages.txt", "/sitemap/"]
)
def test_a_missing_file_is_404_for_every_method(server: Server, path: str) -> None:
    """No route has the path, so no method is allowed"""
    html = {"Accept": "text/html"}

    assert [
        server.ask(path, method, headers=html).status for method in ("GET", "POST", "OPTIONS")
    ] == [404] * 3
    assert pages_of(server.context.product).resolve(path) is None


def test_requests_are_logged_without_the_values_of_forms(server: Server) -> None:
    """G11"""
    email = new_email()
    Visitor(server).sign_up(email)
    visitor = Visitor(server)
    visitor.log_in(email)
    visitor.get("/?q=lab")

    log = b"".join(server.lines)
    assert b'"route":"connexion"' in log
    assert b'"route":"explorateur"' in log
    for secret in (email, PASSWORD, visitor.cookies["session"], credentials.NOBODY):
        assert secret.encode() not in log


def test_a_page_can_be_shared(server: Server) -> None:
    """A page has a description, Open Graph, its canonical address and links to both languages; pages of a person and
    of errors have none of them.
    """
    origin = f"http://127.0.0.1:{server.port}"
    logged_in, _ = sign_up_member(server)

    record = Visitor(server).get("/societes/FR/552100554?lang=en").html
    search = Visitor(server).get("/?q=lab&pays=FR").html
    without_sharing = [Visitor(server).get("/rien").html, logged_in.get("/compte").html]

    assert f'<link rel="canonical" href="{origin}/societes/FR/552100554">' in record
    assert f'hreflang="fr" href="{origin}/societes/FR/552100554?lang=fr"' in record
    assert '<meta property="og:title" content="Société Générale d&#39;Orléans">' in record
    assert 'content="Société Générale d&#39;Orléans (552100554), Orléans, France, ' in record
    assert f'href="{origin}/?q=lab&amp;pays=FR&amp;lang=en"' in search
    (picture,) = set(re.findall(rf'property="og:image" content="{origin}([^"]+)"', record + search))
    image = server.ask(picture)
    assert image.headers["Content-Type"] == "image/png"
    assert struct.unpack(">II", image.body[16:24]) == (1200, 630)
    assert len(image.body) < 60_000
    assert all('<meta name="robots" content="noindex">' in html for html in without_sharing)
    assert not any("canonical" in html for html in without_sharing)


def test_every_kind_of_page_has_a_description_and_links_to_both_languages(server: Server) -> None:
    kinds = [*PAGES[:2], *PAGES[3:6], "/statut", "/sources", "/rapprochement", "/docs", "/docs?q=x",
             "/docs/guides/erreurs", "/docs/routes/suggest", "/docs/objets/Societe"]  # fmt: skip
    pages = {path: Visitor(server).get(path).html for path in kinds}

    for path, html in pages.items():
        assert html.count('rel="canonical"') == html.count('property="og:image"') == 1, path
        assert set(re.findall(r'hreflang="(fr|en|x-default)" href', html)) == {
            "fr",
            "en",
            "x-default",
        }
    descriptions = [
        re.findall(r'<meta name="description" content="([^"]+)">', html) for html in pages.values()
    ]
    assert all(len(matches) == 1 for matches in descriptions)
    # /docs and its search have the same description.
    assert len({text for (text,) in descriptions}) == len(kinds) - 1


@pytest.mark.parametrize(
    "path", ["/robots.txt", "/sitemap.xml", "/sitemap/pages.xml", "/sitemap/FR.xml"]
)
def test_files_that_name_the_host_of_the_caller_are_not_cached(server: Server, path: str) -> None:
    """A cache could give the next crawler the addresses of another site."""
    reply = server.ask(path, headers={"Host": "evil.example"})

    assert b"http://evil.example/" in reply.body
    assert reply.headers["Cache-Control"] == "private, no-store"


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
def test_security_txt_has_the_contact_of_the_operator(
    data: Path, contact: str | None, line: str | None
) -> None:
    """RFC 9116"""
    with run_server(data, contact=contact, now=Clock("2026-11-30T12:00:00")) as server:
        reply = server.ask("/.well-known/security.txt")

    if line is None:
        assert reply.status == 404
        return
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.body.decode().splitlines() == [
        line,
        "Expires: 2027-05-29T12:00:00+00:00",
        "Preferred-Languages: fr, en",
    ]


def test_the_sitemap_has_the_searches_of_each_country(server: Server) -> None:
    """The sitemap protocol: an index of sitemaps, whose addresses all answer"""
    visitor = Visitor(server)
    origin = f"http://127.0.0.1:{server.port}"

    robots = visitor.get("/robots.txt").html
    sitemaps = re.findall(r"<loc>([^<]+)</loc>", visitor.get("/sitemap.xml").html)
    addresses = [
        unescape(location)
        for sitemap in sitemaps
        for location in re.findall(
            r"<loc>([^<]+)</loc>", visitor.get(sitemap.removeprefix(origin)).html
        )
    ]

    assert f"Sitemap: {origin}/sitemap.xml" in robots
    assert "Disallow: /compte\n" in robots
    assert [sitemap.rpartition("/")[2] for sitemap in sitemaps] == [
        "pages.xml", "FR.xml", "UK.xml", "DE.xml", "EE.xml"
    ]  # fmt: skip
    assert f"{origin}/?pays=DE&secteur=industries-alimentaires" in addresses
    assert {visitor.get(address.removeprefix(origin)).status for address in addresses} == {200}
    assert visitor.get("/sitemap/XX.xml").status == 404
    assert visitor.get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"
