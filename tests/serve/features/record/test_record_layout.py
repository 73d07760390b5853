"""Records and analyses measured in Chromium: 60 records on a phone, 40 charts, sheets of paper."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from quota.ledger.calls import Purchase
from serve.surfaces.site import formatting
from shards.generations.groups import Relationship
from tests import world as worlds
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.site.browser import window
from tests.serve.surfaces.site.test_browser import base
from tests.serve.surfaces.site.test_layout import MEASURE_LABELS, is_within
from tests.serve.surfaces.site.visitor import member
from tests.world import Company, company

pytestmark = pytest.mark.slow

NUMBER: Final = 60
CHARTS: Final = 40
_NAMES: Final = (
    "Société {} & Fils", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft{}",
    "Ψυχή {} OÜ", "X" * 160 + "{}", "A very long name of a company with many words in it, number {}, limited",
)  # fmt: skip
_LEI: Final = {number: worlds.lei(10_000 + number) for number in range(NUMBER) if number % 2}
_LINES: Final = (
    ("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires"),
    ("compte_resultat", "ProfitLoss", "Résultat"),
    ("bilan_actif", "TotalAssets", "Total de l'actif"),
    ("bilan_actif", "CurrentAssets", "Actif circulant"),
    ("bilan_passif", "Equity", "Capitaux propres"),
    ("bilan_passif", "CreditorsDueWithinOneYear", "Dettes à un an au plus"),
)


def _company(number: int) -> Company:
    long = "w" * 90
    given: dict[str, Any] = {
        "division": "62", "groupe": "62.0", "secteur": world.IT, "nace_code": "62.01",
        "ca_eur": 1000.0 * (number + 1), "ca_last": 1000.0 * (number + 1), "ca_devise": "EUR", "ca_year": 2024,
        "a_comptes": True, "lei": _LEI.get(number), "etat": ("active", "procedure", "cessee")[number % 3],
        "ville": long if number % 7 == 0 else "Orléans", "code_postal": "45000",
    }  # fmt: skip
    if number % 4 == 0:
        given |= {"site_web": f"https://{long}.fr/{long}", "email": f"{long}@{long}.fr"}
        given |= {"adresse": long, "forme": long, "statut": long, "noms_anterieurs": [long, long]}
        given |= {"description": long, "url_registre": f"https://{long}.fr", "tva": long}
    if number % 5 == 0:
        given |= {"effectif": 1, "capital_social": 1e12, "capital_devise": "EUR"}
    return company("FR", f"{number:09}", _NAMES[number % len(_NAMES)].format(number), **given)


def _years(number: int) -> Mapping[int, tuple[float, ...]]:
    """Two to six years: gains, losses, profits above the turnover, one euro to hundreds of billions."""
    scale = 10.0 ** (number % 12)
    return {
        2024 - back: (
            scale * (1 + (number * 7 + back * 3) % 9),
            scale * (((number * 5 + back * 11) % 13) - 6) * (1.5 if number % 4 else 0.01),
            scale * 12, scale * 4, scale * (((number + back) % 5) - 1), scale * 3,
        )
        for back in range(2 + number % 5)
    }  # fmt: skip


def _statements(number: int) -> list[dict[str, Any]]:
    codes = _LINES[2:] if number % 6 == 5 else _LINES  # balance sheets alone
    return [
        {"etat": etat, "code": code, "libelle": label, "valeur": values[_LINES.index((etat, code, label))],
         "devise": "EUR", "exercice": year, "ordre": order}
        for year, values in _years(number).items()
        for order, (etat, code, label) in enumerate(codes, 1)
    ]  # fmt: skip


def _relationships() -> Iterator[Relationship]:
    """Parents that are served, and others with a LEI alone."""
    for number, lei in _LEI.items():
        parent = _LEI[1] if number % 3 == 0 else worlds.lei(20_000 + number)
        if parent != lei:
            yield Relationship(lei, parent, "directe", "2000-01-10", None)
            yield Relationship(lei, worlds.lei(30_000 + number), "ultime", "2017-12-31", None)
            yield Relationship(worlds.lei(40_000 + number), lei, "directe", "2023-11-27", None)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("records") / "data"
    data.mkdir()
    statements = {("FR", f"{number:09}"): _statements(number) for number in range(NUMBER)}
    companies = [_company(number) for number in range(NUMBER)]
    world.publish(data, companies, statements, relationships=list(_relationships()))
    with serving(data) as server:
        yield server


@pytest.fixture(scope="module")
def reader(shop: Served, chromium: Browser) -> Iterator[Page]:
    """The page of a member of the dearest plan, who has paid for every record and the first ten analyses."""
    visitor, account = member(shop, "integral")
    for number in range(NUMBER):
        subjects = [f"FR/{number:09}"] + [f"entreprise/FR/{number:09}"] * (number < 10)
        for subject in subjects:
            shop.store.take_and_charge(
                Purchase(account, 100_000, subject, 1, 100_000), shop.context.now()
            ).result()
    with window(chromium, base(shop)) as opened:
        opened.page.context.add_cookies(
            [{"name": n, "value": v, "url": base(shop)} for n, v in visitor.cookies.items()]
        )
        yield opened.page


def _open(shop: Served, page: Page, number: int, more: str = "") -> None:
    page.goto(f"{base(shop)}/societes/FR/{number:09}{more}")


def test_sixty_records_have_nothing_beside_the_screen_of_a_phone(
    shop: Served, reader: Page
) -> None:
    """Names of 160 letters without a blank, groups, addresses without a break, in both languages."""
    reader.emulate_media(media="screen")
    wide = []
    for number in range(NUMBER):
        reader.set_viewport_size({"width": 390 if number % 3 else 320, "height": 844})
        _open(shop, reader, number, "?lang=en" if number % 2 else "?lang=fr")
        if not is_within(reader):
            wide.append(number)

    assert wide == []


def test_no_label_of_forty_charts_meets_a_bar(shop: Served, reader: Page) -> None:
    reader.emulate_media(media="screen")
    faults = {}
    for number in range(CHARTS):
        _open(shop, reader, number, "?lang=fr")
        for width in (320, 390, 820, 1440):
            reader.set_viewport_size({"width": width, "height": 900})
            assert reader.locator("svg.chart").count() == 1, number
            if found := reader.evaluate(MEASURE_LABELS, "svg.chart, svg.hist"):
                faults[number, width] = found

    assert faults == {}


def test_a_record_is_printed_on_two_sheets(shop: Served, reader: Page) -> None:
    reader.set_viewport_size({"width": 1280, "height": 900})
    for number in (2, 6, 9):
        _open(shop, reader, number, "?lang=fr")
        reader.emulate_media(media="print")
        sheets = len(
            re.findall(rb"/Type ?/Page\b", reader.pdf(format="A4", prefer_css_page_size=True))
        )
        assert sheets <= 2, number


def test_an_analysis_is_printed_with_its_ranks(shop: Served, reader: Page) -> None:
    _open(shop, reader, 4, "/analyse?lang=fr")
    reader.emulate_media(media="print")
    reader.set_viewport_size({"width": 1020, "height": 700})  # A4 across, without its margins
    rank = reader.locator(".ratios thead th").last
    box = rank.bounding_box()
    assert rank.inner_text() == "Rang"
    assert box is not None and box["x"] + box["width"] <= 1020
    assert is_within(reader)
    sheets = len(re.findall(rb"/Type ?/Page\b", reader.pdf(format="A4", prefer_css_page_size=True)))
    assert sheets <= 2


def test_a_phone_shows_who_how_it_does_and_the_next_step_before_it_scrolls(
    shop: Served, reader: Page
) -> None:
    """The band of a company that stopped comes before the buttons; before, it came after them."""
    reader.emulate_media(media="screen")
    reader.set_viewport_size({"width": 390, "height": 844})
    bands = 0
    for number in (0, 1, 2, 5, 14, 16):
        _open(shop, reader, number, "?lang=fr")
        places = [
            box["y"]
            for selector in ("h1", ".headline .alert", ".acts-line", ".keys .spark >> nth=0")
            if reader.locator(selector).count()
            and (box := reader.locator(selector).first.bounding_box())
        ]

        bands += reader.locator(".headline .alert").count()
        assert places == sorted(places), number
        assert number == 0 or places[-1] < 844, number  # number 0 has a form of 90 letters
    assert bands >= 3


def test_an_analysis_on_a_phone_does_not_slide(shop: Served, reader: Page) -> None:
    reader.emulate_media(media="screen")
    for width in (390, 320):
        reader.set_viewport_size({"width": width, "height": 844})
        for number in (4, 9):
            _open(shop, reader, number, "/analyse?lang=fr")
            wide = reader.locator(".scroll").evaluate_all(
                "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
            )

            assert wide == 0, (width, number)
            assert reader.locator(".ratios td >> nth=-1").get_attribute("data-label") == "Rang"


def test_a_name_of_160_letters_leaves_a_table_in_its_column(shop: Served, reader: Page) -> None:
    reader.emulate_media(media="screen")
    for width in (1440, 1280, 860, 390):
        reader.set_viewport_size({"width": width, "height": 900})
        for path in ("/?q=XXXX", "/?pays=FR&tri=nom", "/compte"):
            reader.goto(base(shop) + path)
            reader.wait_for_load_state("networkidle")

            assert is_within(reader), (width, path)
            slides = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
            assert reader.locator(".scroll").evaluate_all(slides) == 0, (width, path)


def test_paper_is_white_in_the_dark(shop: Served, reader: Page) -> None:
    reader.set_viewport_size({"width": 1280, "height": 900})
    for path in (
        "/societes/FR/000000004",
        "/societes/FR/000000004/analyse",
        "/?pays=FR",
        "/sources",
    ):
        reader.goto(base(shop) + path)
        reader.emulate_media(media="print", color_scheme="dark")
        paper, ink = reader.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        reader.emulate_media(media="screen", color_scheme="light")

        assert paper == "rgb(255, 255, 255)", path
        assert ink == "rgb(22, 32, 44)", path


def test_sheets_of_paper_name_the_days_of_the_data_and_of_the_print(
    shop: Served, reader: Page
) -> None:
    reader.emulate_media(media="screen")
    reader.goto(f"{base(shop)}/rapprochement")
    reader.locator("#texte").fill("nom;pays\n" + "Société 5 & Fils;FR\n" * 30)
    reader.get_by_role("button", name="Rapprocher", exact=True).click()
    reader.wait_for_url("**/listes/*")
    matched = reader.url.removeprefix(base(shop))
    printed = f"imprimé le {formatting.formats_of('fr').day(shop.context.now().date().isoformat())}"
    for path in (matched, "/?pays=FR", "/societes/FR/000000004/analyse", "/sources", "/statut"):
        reader.goto(base(shop) + path)
        reader.emulate_media(media="print")
        across = "analyse" in path
        reader.set_viewport_size({"width": 1020 if across else 718, "height": 1000})
        shown = reader.locator(".of-print", has_text="imprimé le").locator("visible=true")

        assert shown.count() == 1, path
        assert printed in shown.inner_text()
        assert re.search(r"\d{4} – .*\d{4}", shown.inner_text()), path
        assert is_within(reader), path
        for control in (
            ".top nav",
            "#filtres",
            ".pager",
            ".acts-line",
            "#gerer",
            "#fichiers",
            "button:visible",
        ):
            assert reader.locator(control).locator("visible=true").count() == 0, (path, control)
        cut = "all => all.filter(one => getComputedStyle(one).breakInside !== 'avoid').length"
        assert reader.locator("tbody tr").evaluate_all(cut) == 0
        reader.emulate_media(media="screen")
