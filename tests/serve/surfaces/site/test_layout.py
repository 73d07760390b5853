"""Measured in Chromium: labels inside their pictures, verdicts inside the page, at four widths and on paper."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from quota.ledger.calls import Purchase
from serve.app import PRODUCT
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.site import browser as browsers
from tests.serve.surfaces.site.browser import PHONE, window
from tests.serve.surfaces.site.test_browser import base, sign_up
from tests.serve.surfaces.site.visitor import member

pytestmark = pytest.mark.slow

WIDTHS = (1440, 820, 390, 320)
RECORD = "/societes/FR/552100554"
# Losses and profits of hundreds of millions: the longest labels that a scale has.
YEARS = {
    2019: (614e6, -163e6), 2020: (702e6, 11e6), 2021: (798e6, 24.5e6), 2022: (655e6, -151e6),
    2023: (687e6, -12.5e6), 2024: (731e6, 101e6),
}  # fmt: skip
# Each text of an SVG that leaves its picture, each pair of texts that lie over each other, and each text of a chart or
# of the table below it that meets a bar.
MEASURE_LABELS = """selector => [...document.querySelectorAll(selector)].flatMap(svg => {
  const meet = (a, b, most) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > most
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > most;
  const own = svg.getBoundingClientRect();
  const box = one => [one.textContent, one.getBoundingClientRect()];
  const boxes = [...svg.querySelectorAll("text")].filter(one => one.checkVisibility()).map(box);
  const written = one => {
    const range = document.createRange();
    range.selectNodeContents(one.lastChild);
    return [one.textContent, range.getBoundingClientRect()];
  };
  const cells = [...svg.parentNode.querySelectorAll(".values-of-bars td, .values-of-bars th")].map(box);
  const touching = [...svg.parentNode.querySelectorAll(".values-of-bars tbody tr")].flatMap(row =>
    [...row.cells].map(written).flatMap(([text, a], i, all) => all.slice(i + 1)
      .filter(([, b]) => a.right > b.left).map(([other]) => text + " touches " + other)));
  const bars = [...svg.querySelectorAll("rect")].map(one => one.getBoundingClientRect());
  const cut = boxes.filter(([, b]) => b.left < own.left - 1 || b.top < own.top - 1 || b.right > own.right + 1
    || b.bottom > own.bottom + 1).map(([text]) => "cut " + text);
  const over = boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => meet(a, b, -1))
    .map(([other]) => text + " over " + other));
  const barred = [...boxes, ...cells].filter(([, a]) => bars.some(b => meet(a, b, 0.5)))
    .map(([text]) => text + " on a bar");
  const small = boxes.filter(([, b]) => b.height < 11).map(([text]) => text + " is too small");
  return [...cut, ...over, ...touching, ...barred, ...small, ...(boxes.length ? [] : ["no text"])];
})"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("layout") / "data"
    data.mkdir()
    lines = [
        {"etat": "compte_resultat", "code": code, "libelle": name, "valeur": value, "devise": "EUR",
         "exercice": year, "ordre": order}
        for year, values in YEARS.items()
        for order, (code, name, value) in enumerate(
            zip(("TurnoverRevenue", "ProfitLoss"), ("Chiffre d'affaires", "Résultat"), values, strict=True), 1)
    ]  # fmt: skip
    world.publish(data, comptes={world.WITH_STATEMENTS: lines})
    with serving(data) as server:
        yield server


def is_within(page: Page) -> bool:
    """Nothing slides sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_labels_of_charts_stay_inside_their_picture_at_every_width_and_on_paper(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop), viewport={"width": 1440, "height": 900}) as opened:
        page = opened.page
        visitor, account = member(shop, "data")
        now = shop.context.now()
        shop.store.take_and_charge(Purchase(account, 9, "FR/552100554", 5, 99), now).result()
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": base(shop)}
                for name, value in visitor.cookies.items()
            ]
        )
        opened.open(RECORD)
        page.locator("svg.chart").wait_for()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(MEASURE_LABELS, "svg.chart, svg.hist") == [], width
            assert is_within(page), width
        page.emulate_media(media="print")
        for width in (794, 680):  # A4 with and without margins
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(MEASURE_LABELS, "svg.chart, svg.hist") == [], width
        assert page.locator("details.export").is_hidden()


def test_verdicts_stay_on_the_page_beside_a_name_of_300_characters(
    shop: Served, chromium: Browser
) -> None:
    for width in WIDTHS:
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/rapprochement")
            page.locator("#texte").fill(f"nom;pays\n{'x' * 300};FR\nSociété Générale d'Orléans;FR")
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            page.locator("#verdicts").wait_for()
            box = page.locator("#verdicts tbody .badge").first.bounding_box()
            assert box is not None
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, width
            assert is_within(page), width


def test_a_search_for_a_long_list_stays_on_the_page(shop: Served, chromium: Browser) -> None:
    ids = ",".join(["FR:552100554", *(f"FR:{n:09}" for n in range(54))])
    for width in (1440, 820, 390):
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open(f"/?ids={ids}")
            assert page.locator(".chips a").first.is_visible()
            assert is_within(page), width


def test_columns_and_candidates_fit_a_phone(shop: Served, chromium: Browser) -> None:
    heading = ";".join(["nom", "pays", *(f"Sehr lange Überschrift {n}" for n in range(30))])
    for scripted in (True, False):
        with window(
            chromium,
            base(shop),
            viewport={"width": 360, "height": 780},
            java_script_enabled=scripted,
        ) as opened:
            page = opened.open("/rapprochement")
            page.locator("#texte").fill(f"{heading}\nSociété Générale;FR\n{'x' * 300};FR")
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            page.locator("#verdicts").wait_for()
            for summary in page.locator("#verdicts details:not([open]) > summary").all():
                if summary.is_visible():
                    summary.click()
            assert is_within(page)
            for one in page.locator("#verdicts button:visible").all():
                box = one.bounding_box()
                assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360


def test_a_select_is_no_wider_than_its_choices(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/compte/membres")
        for select in page.locator("select:visible").all():
            box = select.bounding_box()
            assert box is not None and box["width"] < 400


def test_on_a_phone_a_verdict_is_a_card_as_wide_as_the_page(
    shop: Served, chromium: Browser
) -> None:
    """Before: columns of 40 px, names one syllable a line."""
    with window(chromium, base(shop), viewport=browsers.PHONE) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill("nom;pays\nSociété Générale d'Orléans;FR")
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        row = page.locator("#verdicts tbody tr").first
        for cell in (row.locator("th"), row.locator("td").nth(2)):
            box = cell.bounding_box()
            assert box is not None and box["width"] > 300
        assert is_within(page)


def test_a_list_is_a_table_on_a_tablet_and_on_paper_which_names_the_page_of_sources(
    shop: Served, chromium: Browser
) -> None:
    """Before: cards below 832 px, on paper too, and the credits of all Europe under them."""
    tablet = {"viewport": {"width": 820, "height": 900}, "has_touch": True, "is_mobile": True}
    with window(chromium, base(shop), **tablet) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill("nom;pays\nSociété Générale d'Orléans;FR")
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        row = page.locator("#verdicts tbody tr").first
        look = "one => getComputedStyle(one).display"
        assert row.evaluate(look) == "table-row"
        assert page.locator(".change > summary").bounding_box()["height"] >= 36
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 620, "height": 900})
        assert row.evaluate(look) == "table-row"
        assert page.locator("footer").is_hidden()
        assert "/sources · " in page.locator(".prov").inner_text()


def test_sentences_are_parted_by_spaces(shop: Served, chromium: Browser) -> None:
    """Before: "Créer un compte10 000 lignes par liste"."""
    with window(chromium, base(shop)) as opened:
        said = opened.open("/rapprochement").locator("main p.note").first.inner_text()
        assert said.endswith("Créer un compte."), said
        sign_up(opened)
        said = opened.open("/rapprochement").locator("main p.note").first.inner_text()
        assert re.search(r"\)\. \d", said), said


def test_turnover_is_seen_and_a_choice_says_how_many_it_finds(
    shop: Served, chromium: Browser
) -> None:
    """Before: the button that stays in sight lay over the field, and said "Appliquer" whatever was chosen."""
    with window(chromium, base(shop), viewport=browsers.DESK) as opened:
        page = opened.open("/?q=a")
        field = page.locator("#filtres [name=ca_min]")
        box = field.bounding_box()
        assert box is not None
        at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert field.evaluate("(one, at) => document.elementFromPoint(...at) === one", at)
        total = len(shop.ask("/api/v1/societes?q=a&pays=FR").json["societes"])
        assert total
        page.locator("#filtres [name=pays][value=FR]").check()
        button = page.locator("#filtres .apply button")
        expect(button).to_have_text(re.compile(r"Voir \d+ société"))


def test_a_record_is_printed_on_few_sheets_and_its_legend_in_colour(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop)) as opened:
        page = opened.page
        visitor, account = member(shop, "data")
        now = shop.context.now()
        shop.store.take_and_charge(Purchase(account, 9, "FR/552100554", 5, 99), now).result()
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": base(shop)}
                for name, value in visitor.cookies.items()
            ]
        )
        opened.open(RECORD)
        page.emulate_media(media="print")
        adjusted = "one => getComputedStyle(one).printColorAdjust"
        assert page.locator(".values-of-bars th").first.evaluate(adjusted) == "exact"
        assert page.locator("footer").is_hidden()
        assert page.locator(".prov").is_visible()
        sheets = len(re.findall(rb"/Type ?/Page\b", page.pdf(format="A4")))
        assert sheets <= 3


_STYLES = """() => {
  const texts = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && !one.closest("svg")
    && [...one.childNodes].some(part => part.nodeType === 3 && part.data.trim()));
  const buttons = [...document.querySelectorAll("button, .button")].filter(one => one.checkVisibility());
  return [texts.map(one => getComputedStyle(one).fontSize), texts.map(one => getComputedStyle(one).fontWeight),
    buttons.map(one => Math.round(one.getBoundingClientRect().height)),
    texts.map(one => getComputedStyle(one).fontFamily.split(",")[0])].map(all => [...new Set(all)]);
}"""


def test_six_sizes_of_letters_three_weights_and_two_heights_of_buttons_are_used(
    shop: Served, chromium: Browser
) -> None:
    styles: list[set[Any]] = [set(), set(), set(), set()]
    with window(chromium, base(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        for path in (
            "/", "/?q=a&pays=DE", "/?q=rien+du+tout", RECORD, "/tarifs", "/statut", "/sources", "/compte",
            "/rapprochement", "/rien", "/mentions-legales", "/connexion", "/docs", "/docs/guides/erreurs",
        ):  # fmt: skip
            page = opened.open(path)
            for own, seen in zip(styles, page.evaluate(_STYLES), strict=True):
                own.update(seen)

    sizes, weights, heights, faces = styles
    assert len(sizes) <= 6, sizes
    assert weights <= {"400", "600", "700"}, weights
    assert heights <= {32, 36}, heights
    assert {face for face in faces if "mono" not in face.lower()} == {"Inter"}, faces


def test_the_button_that_applies_filters_is_in_the_window(shop: Served, chromium: Browser) -> None:
    for width, height in ((1440, 900), (1366, 768)):
        with window(chromium, base(shop), viewport={"width": width, "height": height}) as opened:
            page = opened.open("/?pays=FR&nace=62")  # further filters are unfolded
            box = page.locator(".apply button").bounding_box()
            order = page.locator("#tri").bounding_box()
            head = page.locator("#resultats thead").bounding_box()
            assert box and order and head
            assert box["y"] + box["height"] <= height
            assert 0 < head["y"] - order["y"] < 80


def test_all_filters_are_seen_on_a_small_laptop(shop: Served, chromium: Browser) -> None:
    """Before: the last one was under the button, and nothing said that there was more."""
    with window(chromium, base(shop), viewport={"width": 1366, "height": 768}) as opened:
        page = opened.open("/?tri=ca_desc")
        last = page.locator("#filtres .more > summary").bounding_box()
        button = page.locator("#filtres .apply").bounding_box()
        panel = "one => one.scrollHeight - one.clientHeight"

        assert last and button
        assert last["y"] + last["height"] <= button["y"] + 1
        assert page.locator("#filtres").evaluate(panel) <= 0


def test_a_country_of_the_sources_is_two_lines_on_a_phone(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport=PHONE) as opened:
        page = opened.open("/sources")
        for card in page.locator(".sources .card").all():
            box = card.bounding_box()
            assert box and box["height"] <= 70
        card = page.locator(".sources .card:has(summary)").first
        card.locator("summary").click()

        expect(card.locator(".shares")).to_be_visible()  # nothing is lost
        expect(card.locator("[rel=license]").first).to_be_visible()


# The table of fields with as many columns as there are countries; whether all are seen, and how far its head moved.
_FIELDS = """() => {
  const box = document.querySelector(".heat");
  for (const row of box.querySelectorAll("tr"))
    while (row.cells.length < 26) row.append(row.lastElementChild.cloneNode(true));
  const wide = box.scrollWidth - box.clientWidth;
  box.style.maxHeight = "10rem";
  [box.scrollTop, box.scrollLeft] = [300, 300];
  const place = one => box.querySelector(one).getBoundingClientRect();
  return [wide, place("thead th").top - box.getBoundingClientRect().top,
    place("tbody th").left - box.getBoundingClientRect().left, box.scrollTop];
}"""


def test_the_table_of_fields_shows_25_countries_and_keeps_its_head_and_its_first_column(
    shop: Served, chromium: Browser
) -> None:
    for width in (1440, 390):
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/sources")
            wide, head, first, scrolled = page.evaluate(_FIELDS)

            assert width < 1440 or wide <= 0
            assert scrolled > 0
            assert abs(head) <= 1
            assert abs(first) <= 1


def test_a_card_of_a_source_opens_on_its_licences_and_stays_in_the_page(
    shop: Served, chromium: Browser
) -> None:
    for width in WIDTHS:
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/sources")
            for one in page.locator(".sources summary").all():
                one.click()

            assert is_within(page)
            cut = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
            assert page.locator(".shares dt").evaluate_all(cut) == []
            expect(page.locator(".imports [rel=license]").first).to_be_visible()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_calls_can_be_tried_on_a_phone_without_sliding_and_with_contrast(
    shop: Served, chromium: Browser, look: str
) -> None:
    options = {"viewport": PHONE, "color_scheme": look, "bypass_csp": True}
    with window(chromium, base(shop), **options) as opened:
        page = opened.open("/docs/essai")
        search = page.locator("#operations-Companies-searchCompanies")
        search.locator(".opblock-summary-control").click()
        search.get_by_role("button", name="Try it out").click()
        countries = page.locator("#operations-Lists-listCountries")
        countries.locator(".opblock-summary-control").click()
        countries.get_by_role("button", name="Try it out").click()
        countries.get_by_role("button", name="Execute").click()
        expect(countries.locator(".live-responses-table")).to_contain_text("Royaume-Uni")

        faults = Axe().run(page).response["violations"]
        assert is_within(page)
        assert [
            (one["id"], len(one["nodes"]))
            for one in faults
            if one["impact"] in ("serious", "critical")
        ] == []


def test_the_code_of_the_documentation_takes_the_width_of_a_phone(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop), viewport=PHONE) as opened:
        for path in ("/docs/guides/demarrage", "/docs/routes/searchCompanies", "/?q=a"):
            page = opened.open(path)
            code = page.locator(".copied pre:visible")
            widths = code.evaluate_all("all => all.map(one => [one.clientWidth, one.scrollWidth])")

            assert widths
            assert all(width > 300 and long <= width for width, long in widths), (path, widths)


def test_a_search_is_printed_whole_and_without_controls(shop: Served, chromium: Browser) -> None:
    paper = {"width": 718, "height": 1000}  # A4 within its margins
    with window(chromium, base(shop), viewport=paper) as opened:
        page = opened.open("/?pays=EE&tri=ca_desc")
        page.emulate_media(media="print")

        for column in ("Secteur", "Création", "Effectif", "Chiffre d’affaires"):
            expect(page.get_by_role("columnheader", name=column)).to_be_visible()
        for control in (
            ".order",
            ".pager",
            ".top nav",
            "#filtres",
            "footer",
            ".export",
        ):
            expect(page.locator(control)).to_be_hidden()
        printed = page.locator(
            "#resultats .prov"
        ).inner_text()  # instead of the credits of 25 countries
        assert "Ordre : Chiffre d’affaires, décroissant" in printed
        assert "/?pays=EE&tri=ca_desc" in printed
        assert "Sources et licences : http" in printed
        assert is_within(page)
        height = page.locator("#societes tr").first.bounding_box()
        assert height
        assert height["height"] < 60  # two lines of a name, and its place


def test_the_offer_above_the_results_is_one_sentence_on_its_lines(
    shop: Served, chromium: Browser
) -> None:
    """Before: the name of the next plan was at the right edge, and its verb below."""
    with window(chromium, base(shop), viewport={"width": 1280, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/?tri=ca_desc")
        offer = page.locator("#resultats .offer")
        parts = offer.evaluate(
            "one => [...one.childNodes].filter(part => part.textContent.trim()).length"
        )

        expect(offer).to_contain_text("Votre offre affiche")
        assert parts == 1


def test_the_letters_of_the_map_can_be_read_on_a_phone(shop: Served, chromium: Browser) -> None:
    """Before: 8 pixels at a width of 320."""
    for width in (390, 320):
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/")
            sizes = page.locator(".map text").evaluate_all(
                "all => all.filter(one => one.checkVisibility()).map(one =>"
                " parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
            )

            assert sizes and min(sizes) >= 11, width
            assert is_within(page), width


def test_the_export_stands_beside_the_total(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/?pays=FR")
        total = page.locator("#total").bounding_box()
        export = page.locator("#resultats .export > summary").bounding_box()

        assert total and export
        assert export["y"] < total["y"] + total["height"]
        assert export["x"] > total["x"] + total["width"]


def test_a_table_that_slides_is_reached_by_keys_and_has_a_name() -> None:
    folders = [folder / "templates" for folder in PRODUCT.folders()]
    boxes = [
        box
        for folder in folders
        for template in folder.rglob("*.html")
        for box in re.findall(r'<div class="scroll[^>]*>', template.read_text())
    ]

    assert boxes
    assert [box for box in boxes if 'tabindex="0"' not in box or "aria-label" not in box] == []


# Each word of a cell that is on two lines.
BROKEN_WORDS = """() => [...document.querySelectorAll("table")].flatMap(table => {
  const walker = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.parentElement.checkVisibility() || text.parentElement.closest(".unseen")) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""


def test_no_word_of_a_printed_table_is_broken(shop: Served, chromium: Browser) -> None:
    """Before: "Automobile/s" and "prob/able" in a printed list."""
    with window(chromium, base(shop), viewport={"width": 718, "height": 1000}) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill(
            "nom;pays;ville;note interne\nSociété Générale d'Orléans Automobiles Développement;FR;Orléans;"
            "recommandation\nMüller Maschinenbau;DE;Saarbrücken;Zahlungsvereinbarung"
        )
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        page.locator("#verdicts").wait_for()
        paths = (page.url.removeprefix(base(shop)), "/?tri=ca_desc", "/sources", RECORD, "/tarifs")
        broken = {}
        for path in paths:
            opened.open(path)
            page.emulate_media(media="print")
            broken[path] = page.evaluate(BROKEN_WORDS)
            page.emulate_media(media="screen")

        assert broken == {path: [] for path in paths}


def test_bars_dots_and_shades_are_printed_in_colour_on_white(
    shop: Served, chromium: Browser
) -> None:
    with window(chromium, base(shop)) as opened:
        for path, places in (
            ("/sources", (".age", ".h5", ".grid td")),
            ("/?pays=EE", (".chips a",)),
            (RECORD, (".badge, .state",)),
        ):
            page = opened.open(path)
            page.emulate_media(media="print")
            for place in places:
                adjusted = page.locator(place).first.evaluate(
                    "one => [getComputedStyle(one).printColorAdjust,"
                    " getComputedStyle(one, '::before').printColorAdjust]"
                )
                assert adjusted == ["exact", "exact"], place
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == "rgb(255, 255, 255)"


def test_a_row_of_a_list_is_low(shop: Served, chromium: Browser) -> None:
    """Before: a line for each own column, and "changer" below the percentage."""
    for width, most in ((1440, 80), (390, 220)):
        with window(chromium, base(shop), viewport={"width": width, "height": 900}) as opened:
            sign_up(opened)
            page = opened.open("/rapprochement")
            page.locator("#texte").fill(
                "nom;pays;ville;code postal;réf client;montant\n"
                "Société Générale d'Orléans;FR;Orléans;45000;C-1;1200\nMueller Maschinenbau;DE;;;C-2;5"
            )
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            page.locator("#verdicts").wait_for()
            rows = page.locator("#verdicts tbody tr").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().height)"
            )

            assert len(rows) == 2
            assert max(rows) <= most, width


def test_every_button_is_tall_enough_for_a_finger(shop: Served, chromium: Browser) -> None:
    with window(chromium, base(shop), viewport=PHONE, has_touch=True, is_mobile=True) as opened:
        for path in ("/?tri=ca_desc", RECORD, "/tarifs", "/connexion"):
            page = opened.open(path)
            low = page.locator("button:visible, .button:visible").evaluate_all(
                "all => all.filter(one => one.getBoundingClientRect().height < 43.5).map(one => one.textContent)"
            )
            assert low == [], path
