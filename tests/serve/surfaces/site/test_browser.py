"""The pages in Debian's Chromium, at the sizes of a computer and of a phone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Response, expect

from quota.ledger import account_rows, people
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.calls import Purchase
from serve.features.search import facet_counts
from tests.quota.filling import ask_for_password, create_key, invite
from tests.serve import world
from tests.serve.client import PLANS, Served, serving
from tests.serve.surfaces.site.browser import DESK, PHONE, window
from tests.serve.surfaces.site.visitor import PASSWORD, address, member

pytestmark = pytest.mark.slow

OPEN = ["/", "/?q=a&pays=DE", "/?q=rien+du+tout", "/?ca_min=x", "/societes/FR/552100554",
        "/tarifs", "/inscription", "/connexion", "/statut", "/chiffres?q=a", "/rapprochement", "/rien",
        "/docs", "/docs?q=pays", "/docs/guides/erreurs", "/docs/routes/searchCompanies",
        "/docs/objets/Societe", "/mentions-legales"]  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("shop") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data) as server:
        yield server


def base(shop: Served) -> str:
    return f"http://127.0.0.1:{shop.port}"


def sign_up(opened: Any) -> str:
    """A new account, logged in; its key."""
    email, page = address(), opened.page
    opened.open("/inscription")
    page.get_by_label("Organisation").fill("Żabka & Cie")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Mot de passe").fill(PASSWORD)
    page.get_by_role("button", name="Créer le compte").click()
    expect(page.get_by_label("E-mail")).to_have_value(email)
    page.get_by_label("Mot de passe").fill(PASSWORD)
    page.get_by_role("button", name="Se connecter").click()
    return str(page.locator(".made code").first.inner_text())


def test_a_search_in_place_keeps_its_address(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/?tri=ca_desc")
        page.evaluate("window.same = true")

        page.get_by_placeholder("Nom ou identifiant").fill("bäckerei")
        page.get_by_role("button", name="Chercher").click()
        expect(page.locator("#total")).to_contain_text("26")
        page.get_by_role("link", name="Société", exact=True).click()
        expect(page.locator("th[aria-sort=ascending]")).to_be_visible()
        page.get_by_text("Pays sans société ici").click()
        page.locator("input[name=pays][value=FR]").check()
        page.locator(".apply button").click()
        expect(page.locator("#total")).to_contain_text("0")
        assert page.url.endswith("/?q=b%C3%A4ckerei&tri=nom&pays=FR")
        page.get_by_role("link", name=re.compile("^France")).click()
        expect(page.locator("#total")).to_contain_text("26")
        expect(page.locator("input[name=pays][value=FR]")).not_to_be_checked()
        page.go_back()
        expect(page.locator("#total")).to_contain_text("0")

        assert page.evaluate("window.same")  # it was one page all along
        assert opened.is_calm()


def test_sub_sectors_follow_the_sectors_and_counts_the_countries(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/?tri=ca_desc")
        sector = "programmation-conseil-et-autres-activites-informatiques"

        page.locator("summary", has_text="Secteur").first.click()
        page.get_by_label("Trouver : Secteur").fill("PROGRAMMATION, conseil")
        box = page.locator(f"input[value={sector}]")
        expect(page.locator("[data-list=secteur] li:visible")).to_have_count(1)
        box.check()
        expect(page.locator("[data-list=sous_secteur] li")).to_have_count(1)
        before = page.locator(f"label:has([value={sector}]) b").inner_text()
        page.locator("input[name=pays][value=EE]").check()
        expect(page.locator(f"label:has([value={sector}]) b")).to_have_text("1")
        page.locator("[name=sous_secteur]").check()
        page.locator(".apply button").click()

        expect(page.locator("#total")).to_contain_text("1 société")
        assert before == "5"
        assert opened.is_calm()


def test_figures_come_after_the_rows_without_moving_them(
    shop: Served, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)  # as if the world were large
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.page
        page.add_init_script(
            "window.moved = 0; new PerformanceObserver(list => { for (const one of "
            "list.getEntries()) window.moved += one.value; })"
            ".observe({type: 'layout-shift', buffered: true});"
        )

        opened.open("/?q=o&ca_min=3")
        expect(page.locator("#chiffres .bars").first).to_be_visible()
        for path in ("/", "/?q=a", "/tarifs", "/statut"):
            opened.open(path)
            assert page.evaluate("window.moved") < 0.02

        assert opened.is_calm()


def test_from_sign_up_to_a_revoked_key(shop: Served, chromium: Browser) -> None:
    """Sign up → key → a call with it → the meter moves → revoke → 401."""
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.page
        key = sign_up(opened)
        headers = {"Authorization": f"Bearer {key}"}
        curl = page.locator(".made code").nth(1).inner_text()
        assert curl == (
            f"curl '{base(shop)}/api/v1/societes?limit=3' \\\n  -H \"Authorization: Bearer {key}\""
        )

        answer = shop.ask("/api/v1/societes?limit=3", headers=headers)
        opened.open("/compte")
        expect(page.locator(".meter").first).to_contain_text("1 / 50")
        expect(page.locator("#cles tbody tr")).not_to_contain_text("–")
        page.locator("#cles summary").click()
        page.get_by_role("button", name="Confirmer : révoquer").click()
        expect(page.locator("#cles tbody")).to_contain_text("révoquée le")
        page.get_by_label("Nom de la clé").fill("Seconde")
        page.get_by_role("button", name="Créer une clé").click()
        second = page.locator(".made code").first.inner_text()
        page.get_by_role("button", name="Se déconnecter").click()
        expect(page.get_by_role("link", name="Connexion")).to_be_visible()

        assert (answer.status, len(answer.json["societes"])) == (200, 3)
        assert shop.ask("/api/v1/compte", headers=headers).status == 401
        other = {"Authorization": f"Bearer {second}"}
        assert shop.ask("/api/v1/compte", headers=other).status == 200
        assert opened.is_calm()


def test_an_account_is_kept_by_the_keyboard_alone_and_without_a_script(
    shop: Served, chromium: Browser
) -> None:
    """Make an address, see it once, and end it after a question."""
    with window(chromium, base(shop), viewport=DESK, java_script_enabled=False) as opened:
        page = opened.page
        sign_up(opened)
        opened.open("/compte")
        reach(page, "#libelle-adresse")
        page.keyboard.type("OpenRefine")
        page.keyboard.press("Enter")
        expect(page.locator("#adresse code")).to_contain_text("/api/v1/reconciliation/soc_rec_")
        page.reload()
        expect(page.get_by_role("status")).to_contain_text("L’adresse a été montrée une fois")
        reach(page, "#adresses summary")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")

        expect(page.locator("#adresses tbody")).to_contain_text("révoquée le")
        assert opened.is_calm()


def reach(page: Page, selector: str) -> None:
    """Press the tabulator until the element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(f"{selector}:focus").count():
            return
    raise AssertionError(f"{selector} is not reached")


def test_every_refusal_shows_who_is_logged_in(shop: Served, chromium: Browser) -> None:
    """404, 503, 403, 402 and 429, met as people meet them"""
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.page
        account = shop.store.identify(sign_up(opened)).result()
        assert account
        met = {}

        def meet(response: Response | None) -> None:
            assert response
            inside = page.locator(".who").get_by_role("link", name="Mon compte").count()
            met[response.status] = bool(inside) and not page.get_by_text("Connexion").count()

        def press(name: str) -> None:
            with page.expect_navigation() as navigation:
                page.get_by_role("button", name=name).first.click()
            meet(navigation.value)

        meet(page.goto(f"{base(shop)}/rien"))
        opened.open("/tarifs")  # no button leads to this refusal
        with page.expect_navigation() as navigation:
            page.evaluate(
                "const form = document.createElement('form'); form.method = 'post';"
                "document.body.append(form); form.submit()"
            )
        meet(navigation.value)
        opened.open("/compte")
        page.evaluate(
            "for (const one of document.querySelectorAll('[name=jeton]')) one.value = 'x'"
        )
        press("Créer une adresse")
        now, limit = shop.context.now(), 250
        shop.store.take_and_charge(Purchase(account.id, 50, "EE/1", limit, limit), now).result()
        opened.open("/societes/FR/552100554")
        press("Afficher la fiche complète")
        for _ in range(50):
            taken = shop.store.take(account.id, 50, now)
        taken.result()
        meet(page.goto(f"{base(shop)}/?q=a"))

        assert met == dict.fromkeys((404, 503, 403, 402, 429), True)


@pytest.mark.parametrize(
    ("size", "scheme", "lang"),
    [(DESK, "light", "fr"), (PHONE, "dark", "en")],
    ids=["desk-light-fr", "phone-dark-en"],
)
def test_the_pages_of_an_account_are_for_everybody(
    shop: Served, chromium: Browser, size: Any, scheme: Any, lang: str
) -> None:
    """axe-core finds nothing at all, and no page is wider than its screen."""
    visitor, account = member(shop, "data")
    now = shop.context.now()
    shop.store.take_and_charge(Purchase(account, 9, "FR/552100554", 5, 99), now).result()
    create_key(shop.store, account, PLANS, now, kind=ADDRESSES).result()
    (person,) = shop.store.read(people.people_of, account).result()
    invitation = invite(shop.store, account, "zoé@exemple.fr", "membre", now, mail=False)
    password = ask_for_password(shop.store, person.email, now, mail=False)
    outside = [
        f"/invitation/{invitation.result()[1]}", f"/mot-de-passe/{password.result()[1]}",
        "/invitation/soc_lien_x", "/mot-de-passe", "/inscription", "/connexion", "/tarifs",
        "/mentions-legales",
    ]  # fmt: skip
    inside = ["/tarifs", "/compte?paiement=recu", "/compte/membres"]
    cookies = [
        {"name": name, "value": value, "url": base(shop)} for name, value in visitor.cookies.items()
    ]
    found = {}
    with window(chromium, base(shop), viewport=size, color_scheme=scheme) as opened:
        for path in (*outside, *inside):
            if path == inside[0]:
                opened.page.context.add_cookies(cookies)
            page = opened.open(f"{path}{'&' if '?' in path else '?'}lang={lang}")
            for one in Axe().run(page).response["violations"]:
                found[path, one["id"]] = [node["target"] for node in one["nodes"]][:3]
            if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
                found[path, "wider than the screen"] = []

    assert not found


def test_a_record_says_its_price_and_is_paid_for_by_a_button(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.page
        sign_up(opened)
        opened.open("/?q=orleans")
        page.get_by_role("link", name="Société Générale d'Orléans").click()
        page.get_by_role("button", name="Afficher la fiche complète (5 crédits)").click()

        expect(page.locator("table.statements")).to_contain_text("Total de l'actif")
        expect(page.get_by_role("status")).to_contain_text("5 crédits débités")
        assert opened.is_calm()


def test_a_long_list_is_matched_in_pieces_and_downloaded_whole(
    shop: Served, chromium: Browser
) -> None:
    text = "Firma;Land\n" + "Mueller Maschinenbau;DE\nŻabka nirgends;\n" * 600
    file = {"name": "liste.csv", "mimeType": "text/csv", "buffer": text.encode("utf-16")}
    with window(chromium, base(shop), viewport=DESK) as opened:
        page, key = opened.page, sign_up(opened)
        account = shop.store.identify(key).result()
        assert account
        shop.store.submit(account_rows.set_plan, account.id, "data", PLANS).result(10)
        opened.open("/rapprochement")

        page.get_by_label("ou choisissez un fichier").set_input_files(files=[file])
        page.get_by_role("button", name="Rapprocher").click()
        expect(page.locator("#compris")).to_contain_text("UTF-16")
        page.wait_for_url("**/listes/*", timeout=60_000)
        expect(page.locator("h1")).to_have_text("liste")
        expect(page.locator("#verdicts tbody tr")).to_have_count(50)
        expect(page.locator(".pager")).to_contain_text("Page 1 / 24")
        expect(page.locator("#bilan [data-verdict=aucun]")).to_contain_text("600")
        with page.expect_download() as download:
            page.get_by_role("link", name="Télécharger en CSV").click()
        rows = download.value.path().read_text("utf-8-sig").splitlines()
        opened.open("/compte")
        expect(page.locator(".meter").first).to_contain_text("120 /")

        assert rows[0].startswith("Firma;Land;verdict;note;")
        assert [row.count("F1103R_HRB218916") for row in rows[1:]] == [1, 0] * 600
        assert opened.is_calm()


def test_a_file_over_the_bound_is_refused_before_it_is_sent(
    shop: Served, chromium: Browser
) -> None:
    large = {"name": "l.csv", "mimeType": "text/csv", "buffer": b"nom\n" + b"x" * (4 << 20)}
    small = {"name": "l.csv", "mimeType": "text/csv", "buffer": b"nom;pays\nMueller;DE\n"}
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/rapprochement")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))

        page.get_by_label("ou choisissez un fichier").set_input_files(files=[large])
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text(
            "Ce fichier dépasse 4 Mio : ôtez-en les colonnes inutiles, ou envoyez-le en plusieurs fois."
        )
        refused = list(sent)
        page.get_by_label("ou choisissez un fichier").set_input_files(files=[small])
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        page.wait_for_url("**/listes/*")

        assert refused == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_list_is_matched_and_changed_by_keys_alone_and_in_the_dark(
    shop: Served, chromium: Browser, size: Any
) -> None:
    with window(chromium, base(shop), viewport=size, color_scheme="dark") as opened:
        page = opened.page
        sign_up(opened)
        opened.open("/rapprochement")
        page.locator("#texte").focus()
        page.keyboard.type("nom;pays\nMueller Maschinenbau;DE\nNirgends Zz;")
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.value") == "page":
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/listes/*")
        page.locator("#choix .scroll").focus()
        for _ in range(3):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        for _ in range(9):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.value") == "1:":
                break
        page.keyboard.press("Enter")
        expect(page.locator("#l1")).to_contain_text("choisi par vous")

        address = page.url.removeprefix(base(shop)).partition("#")[0]
        faults = {}
        for path in (address, "/compte", "/rapprochement", f"{address}?lang=en"):
            opened.open(path)
            for one in Axe().run(page).response["violations"]:
                if one["impact"] in ("serious", "critical"):
                    faults[path, one["id"]] = [node["target"] for node in one["nodes"]][:3]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert faults == {}


def test_columns_are_chosen_verdicts_filtered_and_another_candidate_opened(
    shop: Served, chromium: Browser
) -> None:
    """X5, with a script and without one; the list has no heading that is known."""
    lines = "Soc Generale;FR\n" * 60 + "Żabka nirgends;\n" * 60
    file = {"name": "liste.csv", "mimeType": "text/csv", "buffer": f"Wer;Wo\n{lines}".encode()}
    for scripted in (True, False):
        with window(chromium, base(shop), viewport=DESK, java_script_enabled=scripted) as opened:
            page = opened.page
            sign_up(opened)
            opened.open("/rapprochement")
            page.get_by_label("ou choisissez un fichier").set_input_files(files=[file])
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("aucune colonne de nom")
            page.locator("[name=colonne_0]").select_option("nom")
            page.locator("[name=colonne_1]").select_option("pays")
            page.get_by_role("button", name="Rapprocher de nouveau").click()
            expect(page.locator(".lead")).to_contain_text("60 aucun")
            expect(page.locator("#verdicts tbody tr")).to_have_count(50)
            expect(page.get_by_role("alert")).to_have_count(0)

            page.locator("#bilan [data-verdict=aucun]").click()
            expect(page.locator("#verdicts tbody tr .num").first).to_have_text("61")
            page.get_by_role("link", name="Suivantes").click()
            expect(page.locator("#verdicts tbody tr")).to_have_count(10)

            page.locator("#bilan a").first.click()
            row = page.locator("#l1")
            row.locator("summary").click()
            row.get_by_role("button", name="Ne choisir aucune société").click()
            expect(page.locator("#l1")).to_contain_text("choisi par vous")
            page.locator("#l2").get_by_role("link", name="Société Générale").first.click()
            page.go_back()
            expect(page.locator("#l1")).to_contain_text("choisi par vous")
            page.get_by_role("button", name="Ouvrir comme recherche").click()
            page.wait_for_url("**/?ids=*")
            expect(page.locator("tbody th a").first).to_contain_text("Société Générale")
            assert {one for one in opened.complaints if "400" not in one} == set()
            assert not opened.elsewhere


def test_without_javascript_everything_is_there(
    shop: Served, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)
    with window(chromium, base(shop), viewport=DESK, java_script_enabled=False) as opened:
        page = opened.page
        opened.open("/?tri=nom")
        page.get_by_placeholder("Nom ou identifiant").fill("o")
        page.locator("input[name=ca_min]").fill("7")  # what no other test has counted
        page.get_by_role("button", name="Chercher").click()
        expect(page.locator("#total")).to_be_visible()
        page.get_by_role("link", name="Afficher les chiffres").click()
        expect(page.locator("#chiffres .bars").first).to_be_visible()
        page.get_by_role("link", name="Retour à la recherche").click()
        sign_up(opened)
        opened.open("/compte")
        page.locator("#cles summary").click()
        page.get_by_role("button", name="Confirmer : révoquer").click()
        expect(page.locator("#cles tbody")).to_contain_text("révoquée le")
        expect(page.locator(".copy:visible")).to_have_count(0)
        opened.open("/rapprochement")
        page.get_by_label("Collez la liste").fill("Mueller Maschinenbau GmbH")
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        expect(page.locator("#verdicts tbody")).to_contain_text("Müller Maschinenbau GmbH")
        with page.expect_download() as download:
            page.get_by_role("link", name="Télécharger en CSV").click()
        assert "F1103R_HRB218916" in download.value.path().read_text("utf-8-sig")

    with window(chromium, base(shop), viewport=PHONE, java_script_enabled=False) as opened:
        page = opened.open("/?q=a")
        expect(page.locator("#filtres")).not_to_be_visible()
        page.get_by_role("link", name="Filtres").click()
        expect(page.locator("#filtres")).to_be_visible()


def test_the_keyboard_is_enough(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/?tri=nom")

        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Aller au contenu")).to_be_focused()
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "q":
                break
        page.keyboard.type("lab")
        page.keyboard.press("Enter")

        expect(page.locator("#total")).to_contain_text("2")
        expect(page.locator("#total")).to_be_focused()
        assert opened.is_calm()


def test_the_first_company_is_above_the_fold_and_few_keys_away(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/?q=a&pays=DE,FR")
        first = page.locator("tbody th a").first

        for key in ("Tab", "Tab", "Enter", "Tab"):
            page.keyboard.press(key)

        expect(first).to_be_focused()
        page.evaluate("scrollTo(0, 0)")
        box = first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 450

    with window(chromium, base(shop), viewport=PHONE) as opened:
        box = opened.open("/?q=a").locator("tbody th a").first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < PHONE["height"]


def test_proposals_are_chosen_by_keyboard(shop: Served, chromium: Browser) -> None:
    """X4; the combobox of the ARIA practices"""
    with window(chromium, base(shop), viewport=DESK) as opened:
        page = opened.open("/")
        field = page.get_by_role("combobox")

        field.press_sequentially("tarkv")
        expect(page.get_by_role("option").first).to_contain_text("Eesti Tarkvara OÜ")
        serious = [
            found["id"]
            for found in Axe().run(page).response["violations"]
            if found["impact"] in ("serious", "critical")
        ]
        page.keyboard.press("Escape")
        expect(page.get_by_role("option")).to_have_count(0)
        field.press_sequentially("a")
        expect(page.get_by_role("option").first).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("option", selected=True)).to_contain_text("Eesti Tarkvara OÜ")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Eesti Tarkvara OÜ")

        assert not serious
        assert opened.is_calm()


def test_an_example_is_chosen_with_the_keyboard_and_runs(shop: Served, chromium: Browser) -> None:
    """The JavaScript runs in the browser, with a key as `process.env.KEY` has it in Node."""
    with window(chromium, base(shop), viewport=DESK) as opened:
        key = sign_up(opened)
        page = opened.open("/docs/routes/searchCompanies")
        expect(page.locator(".panel:visible")).to_contain_text("curl")
        page.locator("#appel-curl").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".panel:visible")).to_contain_text("urlopen")
        page.keyboard.press("ArrowRight")
        code = page.locator(".panel:visible code").inner_text()
        page.evaluate(
            "async ([code, KEY]) => { const run = new Function('process', 'console',"
            "`return (async () => { ${code} })()`);"
            "await run({ env: { KEY } }, { log: (it) => { window.said = it; } }); }",
            [code, key],
        )

        assert page.evaluate("window.said.plan") == "free"
        assert page.evaluate("window.said.total") >= 0
        assert opened.is_calm()


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk-light", "phone-dark"]
)
def test_nothing_is_in_the_way_of_anybody(
    shop: Served, chromium: Browser, size: Any, scheme: Any
) -> None:
    """axe-core finds nothing serious, and no page is wider than its screen."""
    with window(chromium, base(shop), viewport=size, color_scheme=scheme) as opened:
        sign_up(opened)
        inside = ["/compte", "/?q=a&tri=nom"]
        serious = {}
        for path in [*inside, *OPEN]:
            page = opened.open(path)
            for found in Axe().run(page).response["violations"]:
                if found["impact"] in ("serious", "critical"):
                    serious[path, found["id"]] = [one["target"] for one in found["nodes"]][:3]
            if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
                serious[path, "wider than the screen"] = []
        assert not serious
        assert not opened.elsewhere


def test_a_page_and_all_that_it_needs_are_small(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport=DESK) as opened:
        sizes: dict[str, int] = {}
        opened.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))

        opened.open("/?q=a&pays=DE,FR")

        letters = sum(size for url, size in sizes.items() if url.endswith(".woff2"))
        assert len(sizes) <= 5
        assert max(sizes.values()) <= 60_000
        assert sum(sizes.values()) - letters <= 90_000
        assert letters <= 60_000  # once for all pages
