"""The layout of pages at several widths and on paper, measured in Chromium."""

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
from tests.serve.client import Server, run_server
from tests.serve.surfaces.site import browser as browsers
from tests.serve.surfaces.site.browser import PHONE, window
from tests.serve.surfaces.site.test_browser import base_url, sign_up
from tests.serve.surfaces.site.visitor import sign_up_member

pytestmark = pytest.mark.slow

WIDTHS = (1440, 820, 390, 320)  # pixels: a computer, a tablet, a phone, and the smallest phone
RECORD = "/societes/FR/552100554"
# Losses and profits of hundreds of millions, for long labels of a scale.
YEARS = {
    2019: (614e6, -163e6), 2020: (702e6, 11e6), 2021: (798e6, 24.5e6), 2022: (655e6, -151e6),
    2023: (687e6, -12.5e6), 2024: (731e6, 101e6),
}  # fmt: skip
# Measures charts (SVG) and the tables of values below them. Returns a line for each text of a chart that leaves it,
# overlaps another text or is too small, for each two texts of a table that touch, and for each text on a bar.
MEASURE_LABELS = """selector => [...document.querySelectorAll(selector)].flatMap(svg => {
  const meet = (a, b, most) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > most
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > most;
  const own = svg.getBoundingClientRect();
  const box = node => [node.textContent, node.getBoundingClientRect()];
  const boxes = [...svg.querySelectorAll("text")].filter(node => node.checkVisibility()).map(box);
  const written = node => {
    const range = document.createRange();
    range.selectNodeContents(node.lastChild);
    return [node.textContent, range.getBoundingClientRect()];
  };
  const cells = [...svg.parentNode.querySelectorAll(".values-of-bars td, .values-of-bars th")].map(box);
  const touching = [...svg.parentNode.querySelectorAll(".values-of-bars tbody tr")].flatMap(row =>
    [...row.cells].map(written).flatMap(([text, a], i, all) => all.slice(i + 1)
      .filter(([, b]) => a.right > b.left).map(([other]) => text + " touches " + other)));
  const bars = [...svg.querySelectorAll("rect")].map(node => node.getBoundingClientRect());
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
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the test data, whose company RECORD has the statements of YEARS."""
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
    with run_server(data) as server:
        yield server


def is_within(page: Page) -> bool:
    """Is the page no wider than its window?"""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_labels_of_charts_stay_inside_their_chart_at_every_width_and_on_paper(
    shop: Server, chromium: Browser
) -> None:
    with window(chromium, base_url(shop), viewport={"width": 1440, "height": 900}) as opened:
        page = opened.page
        visitor, account = sign_up_member(shop, "data")
        now = shop.context.now()
        shop.store.take_and_charge(
            Purchase(account, call_limit=9, company="FR/552100554", cost=5, grant=99), now
        ).result()
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": base_url(shop)}
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


def test_verdicts_stay_on_the_page_next_to_a_name_of_300_characters(
    shop: Server, chromium: Browser
) -> None:
    for width in WIDTHS:
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/rapprochement")
            page.locator("#texte").fill(f"nom;pays\n{'x' * 300};FR\nSociété Générale d'Orléans;FR")
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            page.locator("#verdicts").wait_for()
            box = page.locator("#verdicts tbody .badge").first.bounding_box()
            assert box is not None
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, width
            assert is_within(page), width


def test_a_search_for_a_long_list_stays_on_the_page(shop: Server, chromium: Browser) -> None:
    ids = ",".join(["FR:552100554", *(f"FR:{number:09}" for number in range(54))])
    for width in (1440, 820, 390):
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open(f"/?ids={ids}")
            assert page.locator(".chips a").first.is_visible()
            assert is_within(page), width


def test_columns_and_candidates_fit_a_phone(shop: Server, chromium: Browser) -> None:
    heading = ";".join(
        ["nom", "pays", *(f"Sehr lange Überschrift {number}" for number in range(30))]
    )
    for scripted in (True, False):
        with window(
            chromium,
            base_url(shop),
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
            for button in page.locator("#verdicts button:visible").all():
                box = button.bounding_box()
                assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360


def test_a_select_is_not_as_wide_as_the_page(shop: Server, chromium: Browser) -> None:
    with window(chromium, base_url(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/compte/membres")
        for select in page.locator("select:visible").all():
            box = select.bounding_box()
            assert box is not None and box["width"] < 400


def test_on_a_phone_a_verdict_is_a_card_as_wide_as_the_page(
    shop: Server, chromium: Browser
) -> None:
    """Columns of a table would be 40 px wide, with one syllable of a name per line"""
    with window(chromium, base_url(shop), viewport=browsers.PHONE) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill("nom;pays\nSociété Générale d'Orléans;FR")
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        row = page.locator("#verdicts tbody tr").first
        for cell in (row.locator("th"), row.locator("td").nth(2)):
            box = cell.bounding_box()
            assert box is not None and box["width"] > 300
        assert is_within(page)


def test_a_list_is_a_table_on_a_tablet_and_on_paper_with_the_address_of_the_sources(
    shop: Server, chromium: Browser
) -> None:
    """Only a phone shows cards. Paper shows the address of the page of sources instead of all attributions"""
    tablet = {"viewport": {"width": 820, "height": 900}, "has_touch": True, "is_mobile": True}
    with window(chromium, base_url(shop), **tablet) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill("nom;pays\nSociété Générale d'Orléans;FR")
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        row = page.locator("#verdicts tbody tr").first
        display = "node => getComputedStyle(node).display"
        assert row.evaluate(display) == "table-row"
        assert page.locator(".change > summary").bounding_box()["height"] >= 36
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 620, "height": 900})
        assert row.evaluate(display) == "table-row"
        assert page.locator("footer").is_hidden()
        assert "/sources · " in page.locator(".prov").inner_text()


def test_sentences_are_separated_by_spaces(shop: Server, chromium: Browser) -> None:
    """The sentences of a note are parts of a template: without a space "Créer un compte" and "10 000 lignes" join"""
    with window(chromium, base_url(shop)) as opened:
        note = opened.open("/rapprochement").locator("main p.note").first.inner_text()
        assert note.endswith("Créer un compte."), note
        sign_up(opened)
        note = opened.open("/rapprochement").locator("main p.note").first.inner_text()
        assert re.search(r"\)\. \d", note), note


def test_the_turnover_field_is_not_covered_and_the_button_shows_the_count(
    shop: Server, chromium: Browser
) -> None:
    """The button that applies filters stays in the window, so it could cover a field"""
    with window(chromium, base_url(shop), viewport=browsers.DESK) as opened:
        page = opened.open("/?q=a")
        field = page.locator("#filtres [name=ca_min]")
        box = field.bounding_box()
        assert box is not None
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert field.evaluate("(node, at) => document.elementFromPoint(...at) === node", middle)
        total = shop.ask("/api/v1/societes?q=a&pays=FR").json["total"]
        assert total > 1
        page.locator("#filtres [name=pays][value=FR]").check()
        button = page.locator("#filtres .apply button")
        expect(button).to_have_text(re.compile(rf"Voir {total} sociétés"))


def test_a_record_is_printed_on_few_sheets_with_its_legend_in_colour(
    shop: Server, chromium: Browser
) -> None:
    with window(chromium, base_url(shop)) as opened:
        page = opened.page
        visitor, account = sign_up_member(shop, "data")
        now = shop.context.now()
        shop.store.take_and_charge(
            Purchase(account, call_limit=9, company="FR/552100554", cost=5, grant=99), now
        ).result()
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": base_url(shop)}
                for name, value in visitor.cookies.items()
            ]
        )
        opened.open(RECORD)
        page.emulate_media(media="print")
        adjusted = "node => getComputedStyle(node).printColorAdjust"
        assert page.locator(".values-of-bars th").first.evaluate(adjusted) == "exact"
        assert page.locator("footer").is_hidden()
        assert page.locator(".prov").is_visible()
        sheet_count = len(re.findall(rb"/Type ?/Page\b", page.pdf(format="A4")))
        assert sheet_count <= 3


MEASURE_STYLES = """() => {
  const texts = [...document.querySelectorAll("body *")].filter(node => node.checkVisibility() && !node.closest("svg")
    && [...node.childNodes].some(part => part.nodeType === 3 && part.data.trim()));
  const buttons = [...document.querySelectorAll("button, .button")].filter(node => node.checkVisibility());
  return [texts.map(node => getComputedStyle(node).fontSize), texts.map(node => getComputedStyle(node).fontWeight),
    buttons.map(node => Math.round(node.getBoundingClientRect().height)),
    texts.map(node => getComputedStyle(node).fontFamily.split(",")[0])].map(all => [...new Set(all)]);
}"""


def test_pages_use_at_most_six_font_sizes_three_weights_and_two_button_heights(
    shop: Server, chromium: Browser
) -> None:
    styles: list[set[Any]] = [set(), set(), set(), set()]
    with window(chromium, base_url(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        for path in (
            "/", "/?q=a&pays=DE", "/?q=rien+du+tout", RECORD, "/tarifs", "/statut", "/sources", "/compte",
            "/rapprochement", "/rien", "/mentions-legales", "/connexion", "/docs", "/docs/guides/erreurs",
        ):  # fmt: skip
            page = opened.open(path)
            for values, measured in zip(styles, page.evaluate(MEASURE_STYLES), strict=True):
                values.update(measured)

    sizes, weights, heights, fonts = styles
    assert len(sizes) <= 6, sizes
    assert weights <= {"400", "600", "700"}, weights
    assert heights <= {32, 36}, heights
    assert {font for font in fonts if "mono" not in font.lower()} == {"Inter"}, fonts


def test_the_button_that_applies_filters_is_in_the_window(shop: Server, chromium: Browser) -> None:
    for width, height in ((1440, 900), (1366, 768)):
        with window(
            chromium, base_url(shop), viewport={"width": width, "height": height}
        ) as opened:
            page = opened.open("/?pays=FR&nace=62")  # further filters are unfolded
            box = page.locator(".apply button").bounding_box()
            order = page.locator("#tri").bounding_box()
            head = page.locator("#resultats thead").bounding_box()
            assert box and order and head
            assert box["y"] + box["height"] <= height
            assert 0 < head["y"] - order["y"] < 80


def test_all_filters_are_visible_on_a_small_laptop(shop: Server, chromium: Browser) -> None:
    """The button does not cover the last filter, and the list of filters need not be scrolled"""
    with window(chromium, base_url(shop), viewport={"width": 1366, "height": 768}) as opened:
        page = opened.open("/?tri=ca_desc")
        last_filter = page.locator("#filtres .more > summary").bounding_box()
        button = page.locator("#filtres .apply").bounding_box()
        hidden_height = "node => node.scrollHeight - node.clientHeight"

        assert last_filter and button
        assert last_filter["y"] + last_filter["height"] <= button["y"] + 1
        assert page.locator("#filtres").evaluate(hidden_height) <= 0


def test_a_country_of_the_sources_is_two_lines_on_a_phone(shop: Server, chromium: Browser) -> None:
    with window(chromium, base_url(shop), viewport=PHONE) as opened:
        page = opened.open("/sources")
        for card in page.locator(".sources .card").all():
            box = card.bounding_box()
            assert box and box["height"] <= 70
        card = page.locator(".sources .card:has(summary)").first
        card.locator("summary").click()

        expect(card.locator(".shares")).to_be_visible()  # the details are still there
        expect(card.locator("[rel=license]").first).to_be_visible()


# Widens the table of fields to 25 countries and scrolls it. Returns the hidden width, how far the head and the first
# column moved, and the scroll position.
MEASURE_TABLE_OF_FIELDS = """() => {
  const box = document.querySelector(".heat");
  for (const row of box.querySelectorAll("tr"))
    while (row.cells.length < 26) row.append(row.lastElementChild.cloneNode(true));
  const wide = box.scrollWidth - box.clientWidth;
  box.style.maxHeight = "10rem";
  [box.scrollTop, box.scrollLeft] = [300, 300];
  const place = node => box.querySelector(node).getBoundingClientRect();
  return [wide, place("thead th").top - box.getBoundingClientRect().top,
    place("tbody th").left - box.getBoundingClientRect().left, box.scrollTop];
}"""


def test_the_table_of_fields_shows_25_countries_and_keeps_its_head_and_its_first_column(
    shop: Server, chromium: Browser
) -> None:
    for width in (1440, 390):
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/sources")
            hidden_width, head_shift, column_shift, scrolled = page.evaluate(
                MEASURE_TABLE_OF_FIELDS
            )

            assert width < 1440 or hidden_width <= 0
            assert scrolled > 0
            assert abs(head_shift) <= 1
            assert abs(column_shift) <= 1


def test_an_open_card_of_a_source_shows_its_licences_and_fits_the_page(
    shop: Server, chromium: Browser
) -> None:
    for width in WIDTHS:
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/sources")
            for summary in page.locator(".sources summary").all():
                summary.click()

            assert is_within(page)
            clipped = "all => all.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.textContent)"
            assert page.locator(".shares dt").evaluate_all(clipped) == []
            expect(page.locator(".imports [rel=license]").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_try_it_page_fits_a_phone_and_has_enough_contrast(
    shop: Server, chromium: Browser, scheme: str
) -> None:
    options = {"viewport": PHONE, "color_scheme": scheme, "bypass_csp": True}
    with window(chromium, base_url(shop), **options) as opened:
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
            (violation["id"], len(violation["nodes"]))
            for violation in faults
            if violation["impact"] in ("serious", "critical")
        ] == []


def test_the_code_of_the_documentation_fits_a_phone(shop: Server, chromium: Browser) -> None:
    with window(chromium, base_url(shop), viewport=PHONE) as opened:
        for path in ("/docs/guides/demarrage", "/docs/routes/searchCompanies", "/?q=a"):
            page = opened.open(path)
            code = page.locator(".copied pre:visible")
            widths = code.evaluate_all(
                "all => all.map(node => [node.clientWidth, node.scrollWidth])"
            )

            assert widths
            assert all(width > 300 and content <= width for width, content in widths), (
                path,
                widths,
            )


def test_a_search_is_printed_with_all_columns_and_without_controls(
    shop: Server, chromium: Browser
) -> None:
    paper = {"width": 718, "height": 1000}  # A4 within its margins
    with window(chromium, base_url(shop), viewport=paper) as opened:
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
        # This line is printed instead of the attributions of 25 countries.
        printed = page.locator("#resultats .prov").inner_text()
        assert "Ordre : Chiffre d’affaires, décroissant" in printed
        assert "/?pays=EE&tri=ca_desc" in printed
        assert "Sources et licences : http" in printed
        assert is_within(page)
        height = page.locator("#societes tr").first.bounding_box()
        assert height
        assert height["height"] < 60  # two lines for a name, and its town


def test_the_offer_above_the_results_is_a_single_sentence(shop: Server, chromium: Browser) -> None:
    """In one node, since the layout would separate several nodes"""
    with window(chromium, base_url(shop), viewport={"width": 1280, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/?tri=ca_desc")
        offer = page.locator("#resultats .offer")
        node_count = offer.evaluate(
            "node => [...node.childNodes].filter(part => part.textContent.trim()).length"
        )

        expect(offer).to_contain_text("Votre offre affiche")
        assert node_count == 1


def test_the_labels_of_the_map_are_legible_on_a_phone(shop: Server, chromium: Browser) -> None:
    """At least 11 pixels high, although the map shrinks with the page"""
    for width in (390, 320):
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            page = opened.open("/")
            sizes = page.locator(".map text").evaluate_all(
                "all => all.filter(node => node.checkVisibility()).map(node =>"
                " parseFloat(getComputedStyle(node).fontSize) * node.getScreenCTM().a)"
            )

            assert sizes and min(sizes) >= 11, width
            assert is_within(page), width


def test_the_export_button_is_next_to_the_total(shop: Server, chromium: Browser) -> None:
    with window(chromium, base_url(shop), viewport={"width": 1440, "height": 900}) as opened:
        sign_up(opened)
        page = opened.open("/?pays=FR")
        total = page.locator("#total").bounding_box()
        export = page.locator("#resultats .export > summary").bounding_box()

        assert total and export
        assert export["y"] < total["y"] + total["height"]
        assert export["x"] > total["x"] + total["width"]


def test_a_scrollable_table_has_a_name_and_is_reached_by_keyboard() -> None:
    folders = [folder / "templates" for folder in PRODUCT.folders()]
    boxes = [
        box
        for folder in folders
        for template in folder.rglob("*.html")
        for box in re.findall(r'<div class="scroll[^>]*>', template.read_text())
    ]

    assert boxes
    assert [box for box in boxes if 'tabindex="0"' not in box or "aria-label" not in box] == []


# Returns the words in cells of tables that are broken across two lines.
BROKEN_WORDS = """() => [...document.querySelectorAll("table")].flatMap(table => {
  const walker = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.parentElement.checkVisibility() || text.parentElement.closest(".unseen")) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(node => Math.round(node.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""


def test_no_word_of_a_printed_table_is_broken(shop: Server, chromium: Browser) -> None:
    """Such as "Automobile/s" and "prob/able" in a printed list"""
    with window(chromium, base_url(shop), viewport={"width": 718, "height": 1000}) as opened:
        page = opened.open("/rapprochement")
        page.locator("#texte").fill(
            "nom;pays;ville;note interne\nSociété Générale d'Orléans Automobiles Développement;FR;Orléans;"
            "recommandation\nMüller Maschinenbau;DE;Saarbrücken;Zahlungsvereinbarung"
        )
        page.get_by_role("button", name="Rapprocher", exact=True).click()
        page.locator("#verdicts").wait_for()
        paths = (
            page.url.removeprefix(base_url(shop)),
            "/?tri=ca_desc",
            "/sources",
            RECORD,
            "/tarifs",
        )
        broken = {}
        for path in paths:
            opened.open(path)
            page.emulate_media(media="print")
            broken[path] = page.evaluate(BROKEN_WORDS)
            page.emulate_media(media="screen")

        assert broken == {path: [] for path in paths}


def test_bars_dots_and_shades_are_printed_in_colour_on_white(
    shop: Server, chromium: Browser
) -> None:
    with window(chromium, base_url(shop)) as opened:
        for path, selectors in (
            ("/sources", (".age", ".h5", ".grid td")),
            ("/?pays=EE", (".chips a",)),
            (RECORD, (".badge, .state",)),
        ):
            page = opened.open(path)
            page.emulate_media(media="print")
            for selector in selectors:
                print_colours = page.locator(selector).first.evaluate(
                    "node => [getComputedStyle(node).printColorAdjust,"
                    " getComputedStyle(node, '::before').printColorAdjust]"
                )
                assert print_colours == ["exact", "exact"], selector
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert background == "rgb(255, 255, 255)"


def test_a_row_of_a_list_is_not_tall(shop: Server, chromium: Browser) -> None:
    """The columns of the customer share lines, and "changer" is next to the percentage"""
    for width, most_height in ((1440, 80), (390, 220)):
        with window(chromium, base_url(shop), viewport={"width": width, "height": 900}) as opened:
            sign_up(opened)
            page = opened.open("/rapprochement")
            page.locator("#texte").fill(
                "nom;pays;ville;code postal;réf client;montant\n"
                "Société Générale d'Orléans;FR;Orléans;45000;C-1;1200\nMueller Maschinenbau;DE;;;C-2;5"
            )
            page.get_by_role("button", name="Rapprocher", exact=True).click()
            page.locator("#verdicts").wait_for()
            row_heights = page.locator("#verdicts tbody tr").evaluate_all(
                "all => all.map(node => node.getBoundingClientRect().height)"
            )

            assert len(row_heights) == 2
            assert max(row_heights) <= most_height, width


def test_every_button_is_tall_enough_for_a_finger(shop: Server, chromium: Browser) -> None:
    with window(chromium, base_url(shop), viewport=PHONE, has_touch=True, is_mobile=True) as opened:
        for path in ("/?tri=ca_desc", RECORD, "/tarifs", "/connexion"):
            page = opened.open(path)
            low_buttons = page.locator("button:visible, .button:visible").evaluate_all(
                "all => all.filter(node => node.getBoundingClientRect().height < 43.5).map(node => node.textContent)"
            )
            assert low_buttons == [], path
