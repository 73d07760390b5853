"""Records and analyses measured in Chromium: 60 records on a phone, 40 charts, printed pages."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from quota.ledger.calls import Purchase
from serve.surfaces.site import formatting
from shards.generations.groups import Relationship
from tests import world as base_world
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.surfaces.site.browser import window
from tests.serve.surfaces.site.test_browser import base_url
from tests.serve.surfaces.site.test_layout import MEASURE_LABELS, is_within
from tests.serve.surfaces.site.visitor import sign_up_member
from tests.world import Company, company

pytestmark = pytest.mark.slow

RECORDS: Final = 60
CHARTS: Final = 40  # the records whose charts are measured
# Names that are short, long, or cannot wrap; each has the number of its company.
_NAMES: Final = (
    "Société {} & Fils", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft{}",
    "Ψυχή {} OÜ", "X" * 160 + "{}", "A very long name of a company with many words in it, number {}, limited",
)  # fmt: skip
# The LEI of every second company.
_LEI: Final = {number: base_world.lei(10_000 + number) for number in range(RECORDS) if number % 2}
# Section, code and label of each statement line.
_LINES: Final = (
    ("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires"),
    ("compte_resultat", "ProfitLoss", "Résultat"),
    ("bilan_actif", "TotalAssets", "Total de l'actif"),
    ("bilan_actif", "CurrentAssets", "Actif circulant"),
    ("bilan_passif", "Equity", "Capitaux propres"),
    ("bilan_passif", "CreditorsDueWithinOneYear", "Dettes à un an au plus"),
)


def _company(number: int) -> Company:
    """A company whose number decides its state, and whether its texts are long and cannot wrap."""
    long_word = "w" * 90
    fields: dict[str, Any] = {
        "division": "62", "groupe": "62.0", "secteur": world.IT, "nace_code": "62.01",
        "ca_eur": 1000.0 * (number + 1), "ca_last": 1000.0 * (number + 1), "ca_devise": "EUR", "ca_year": 2024,
        "a_comptes": True, "lei": _LEI.get(number), "etat": ("active", "procedure", "cessee")[number % 3],
        "ville": long_word if number % 7 == 0 else "Orléans", "code_postal": "45000",
    }  # fmt: skip
    if number % 4 == 0:
        fields |= {
            "site_web": f"https://{long_word}.fr/{long_word}",
            "email": f"{long_word}@{long_word}.fr",
        }
        fields |= {
            "adresse": long_word,
            "forme": long_word,
            "statut": long_word,
            "noms_anterieurs": [long_word, long_word],
        }
        fields |= {
            "description": long_word,
            "url_registre": f"https://{long_word}.fr",
            "tva": long_word,
        }
    if number % 5 == 0:
        fields |= {"effectif": 1, "capital_social": 1e12, "capital_devise": "EUR"}
    return company("FR", f"{number:09}", _NAMES[number % len(_NAMES)].format(number), **fields)


def _figures_by_year(number: int) -> Mapping[int, tuple[float, ...]]:
    """The values of _LINES in two to six years.

    The companies have gains, losses, profits above the turnover, and amounts from one euro to hundreds of billions.
    """
    scale = 10.0 ** (number % 12)
    return {
        2024 - years_back: (
            scale * (1 + (number * 7 + years_back * 3) % 9),
            scale * (((number * 5 + years_back * 11) % 13) - 6) * (1.5 if number % 4 else 0.01),
            scale * 12, scale * 4, scale * (((number + years_back) % 5) - 1), scale * 3,
        )
        for years_back in range(2 + number % 5)
    }  # fmt: skip


def _statement_lines(number: int) -> list[dict[str, Any]]:
    """The statement lines of a company; every sixth has only balance sheets."""
    codes = _LINES[2:] if number % 6 == 5 else _LINES  # only balance sheets
    return [
        {"etat": etat, "code": code, "libelle": label, "valeur": values[_LINES.index((etat, code, label))],
         "devise": "EUR", "exercice": year, "ordre": order}
        for year, values in _figures_by_year(number).items()
        for order, (etat, code, label) in enumerate(codes, 1)
    ]  # fmt: skip


def _relationships() -> Iterator[Relationship]:
    """Parents with a record, and parents with only an LEI."""
    for number, lei in _LEI.items():
        parent = _LEI[1] if number % 3 == 0 else base_world.lei(20_000 + number)
        if parent != lei:
            yield Relationship(lei, parent, "directe", "2000-01-10", None)
            yield Relationship(lei, base_world.lei(30_000 + number), "ultime", "2017-12-31", None)
            yield Relationship(base_world.lei(40_000 + number), lei, "directe", "2023-11-27", None)


@pytest.fixture(scope="module")
def record_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of 60 companies."""
    data: Path = tmp_path_factory.mktemp("records") / "data"
    data.mkdir()
    statements = {("FR", f"{number:09}"): _statement_lines(number) for number in range(RECORDS)}
    companies = [_company(number) for number in range(RECORDS)]
    world.publish(data, companies, statements, relationships=list(_relationships()))
    with run_server(data) as server:
        yield server


@pytest.fixture(scope="module")
def browser_page(record_server: Server, chromium: Browser) -> Iterator[Page]:
    """A browser page of a member who has paid for every record and the first ten analyses (plan `integral`)."""
    visitor, account = sign_up_member(record_server, "integral")
    for number in range(RECORDS):
        subjects = [f"FR/{number:09}"] + [f"entreprise/FR/{number:09}"] * (number < 10)
        for subject in subjects:
            record_server.store.take_and_charge(
                Purchase(account, call_limit=100_000, company=subject, cost=1, grant=100_000),
                record_server.context.now(),
            ).result()
    with window(chromium, base_url(record_server)) as opened:
        opened.page.context.add_cookies(
            [
                {"name": name, "value": value, "url": base_url(record_server)}
                for name, value in visitor.cookies.items()
            ]
        )
        yield opened.page


def _open_record(record_server: Server, page: Page, number: int, suffix: str = "") -> None:
    """Open the page of a company; `suffix` follows the path of its record."""
    page.goto(f"{base_url(record_server)}/societes/FR/{number:09}{suffix}")


def test_sixty_records_fit_the_width_of_a_phone(record_server: Server, browser_page: Page) -> None:
    """Names of 160 letters without a space, groups, addresses that cannot wrap, in both languages."""
    browser_page.emulate_media(media="screen")
    too_wide = []
    for number in range(RECORDS):
        browser_page.set_viewport_size({"width": 390 if number % 3 else 320, "height": 844})
        _open_record(record_server, browser_page, number, "?lang=en" if number % 2 else "?lang=fr")
        if not is_within(browser_page):
            too_wide.append(number)

    assert too_wide == []


def test_no_label_of_forty_charts_overlaps_a_bar(record_server: Server, browser_page: Page) -> None:
    browser_page.emulate_media(media="screen")
    faults = {}
    for number in range(CHARTS):
        _open_record(record_server, browser_page, number, "?lang=fr")
        for width in (320, 390, 820, 1440):
            browser_page.set_viewport_size({"width": width, "height": 900})
            assert browser_page.locator("svg.chart").count() == 1, number
            if overlaps := browser_page.evaluate(MEASURE_LABELS, "svg.chart, svg.hist"):
                faults[number, width] = overlaps

    assert faults == {}


def test_a_record_is_printed_on_at_most_two_sheets(
    record_server: Server, browser_page: Page
) -> None:
    browser_page.set_viewport_size({"width": 1280, "height": 900})
    for number in (2, 6, 9):
        _open_record(record_server, browser_page, number, "?lang=fr")
        browser_page.emulate_media(media="print")
        sheets = len(
            re.findall(rb"/Type ?/Page\b", browser_page.pdf(format="A4", prefer_css_page_size=True))
        )
        assert sheets <= 2, number


def test_an_analysis_is_printed_with_its_ranks(record_server: Server, browser_page: Page) -> None:
    _open_record(record_server, browser_page, 4, "/analyse?lang=fr")
    browser_page.emulate_media(media="print")
    # A4 landscape, without its margins.
    browser_page.set_viewport_size({"width": 1020, "height": 700})
    rank = browser_page.locator(".ratios thead th").last
    box = rank.bounding_box()
    assert rank.inner_text() == "Rang"
    assert box is not None and box["x"] + box["width"] <= 1020
    assert is_within(browser_page)
    sheets = len(
        re.findall(rb"/Type ?/Page\b", browser_page.pdf(format="A4", prefer_css_page_size=True))
    )
    assert sheets <= 2


def test_a_phone_shows_name_state_buttons_and_figures_in_order_without_scrolling(
    record_server: Server, browser_page: Page
) -> None:
    """Fixed: the band of an inactive company came after the buttons."""
    browser_page.emulate_media(media="screen")
    browser_page.set_viewport_size({"width": 390, "height": 844})
    bands = 0
    for number in (0, 1, 2, 5, 14, 16):
        _open_record(record_server, browser_page, number, "?lang=fr")
        places = [
            box["y"]
            for selector in ("h1", ".headline .alert", ".acts-line", ".keys .spark >> nth=0")
            if browser_page.locator(selector).count()
            and (box := browser_page.locator(selector).first.bounding_box())
        ]

        bands += browser_page.locator(".headline .alert").count()
        assert places == sorted(places), number
        assert number == 0 or places[-1] < 844, number  # company 0 has a legal form of 90 letters
    assert bands >= 3  # at least three of these companies are not active


def test_an_analysis_on_a_phone_does_not_scroll_sideways(
    record_server: Server, browser_page: Page
) -> None:
    browser_page.emulate_media(media="screen")
    for width in (390, 320):
        browser_page.set_viewport_size({"width": width, "height": 844})
        for number in (4, 9):
            _open_record(record_server, browser_page, number, "/analyse?lang=fr")
            scrolling_boxes = browser_page.locator(".scroll").evaluate_all(
                "all => all.filter(box => box.scrollWidth > box.clientWidth).length"
            )

            assert scrolling_boxes == 0, (width, number)
            assert (
                browser_page.locator(".ratios td >> nth=-1").get_attribute("data-label") == "Rang"
            )


def test_a_table_with_a_name_of_160_letters_does_not_scroll_sideways(
    record_server: Server, browser_page: Page
) -> None:
    browser_page.emulate_media(media="screen")
    for width in (1440, 1280, 860, 390):
        browser_page.set_viewport_size({"width": width, "height": 900})
        for path in ("/?q=XXXX", "/?pays=FR&tri=nom", "/compte"):
            browser_page.goto(base_url(record_server) + path)
            browser_page.wait_for_load_state("networkidle")

            assert is_within(browser_page), (width, path)
            count_wide_boxes = (
                "all => all.filter(box => box.scrollWidth > box.clientWidth + 1).length"
            )
            assert browser_page.locator(".scroll").evaluate_all(count_wide_boxes) == 0, (
                width,
                path,
            )


def test_printed_pages_are_white_in_dark_mode(record_server: Server, browser_page: Page) -> None:
    browser_page.set_viewport_size({"width": 1280, "height": 900})
    for path in (
        "/societes/FR/000000004",
        "/societes/FR/000000004/analyse",
        "/?pays=FR",
        "/sources",
    ):
        browser_page.goto(base_url(record_server) + path)
        browser_page.emulate_media(media="print", color_scheme="dark")
        paper, ink = browser_page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        browser_page.emulate_media(media="screen", color_scheme="light")

        assert paper == "rgb(255, 255, 255)", path
        assert ink == "rgb(22, 32, 44)", path


def test_printed_pages_have_the_dates_of_the_data_and_of_printing(
    record_server: Server, browser_page: Page
) -> None:
    browser_page.emulate_media(media="screen")
    browser_page.goto(f"{base_url(record_server)}/rapprochement")
    browser_page.locator("#texte").fill("nom;pays\n" + "Société 5 & Fils;FR\n" * 30)
    browser_page.get_by_role("button", name="Rapprocher", exact=True).click()
    browser_page.wait_for_url("**/listes/*")
    list_path = browser_page.url.removeprefix(base_url(record_server))
    printed = f"imprimé le {formatting.formats_of('fr').day(record_server.context.now().date().isoformat())}"
    for path in (list_path, "/?pays=FR", "/societes/FR/000000004/analyse", "/sources", "/statut"):
        browser_page.goto(base_url(record_server) + path)
        browser_page.emulate_media(media="print")
        is_landscape = "analyse" in path
        # The width of A4 without its margins.
        browser_page.set_viewport_size({"width": 1020 if is_landscape else 718, "height": 1000})
        note = browser_page.locator(".of-print", has_text="imprimé le").locator("visible=true")

        assert note.count() == 1, path
        assert printed in note.inner_text()
        assert re.search(r"\d{4} – .*\d{4}", note.inner_text()), path
        assert is_within(browser_page), path
        for control in (
            ".top nav",
            "#filtres",
            ".pager",
            ".acts-line",
            "#gerer",
            "#fichiers",
            "button:visible",
        ):
            assert browser_page.locator(control).locator("visible=true").count() == 0, (
                path,
                control,
            )
        breakable_rows = (
            "all => all.filter(row => getComputedStyle(row).breakInside !== 'avoid').length"
        )
        assert browser_page.locator("tbody tr").evaluate_all(breakable_rows) == 0
        browser_page.emulate_media(media="screen")
