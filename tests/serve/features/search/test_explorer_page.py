"""The explorer (/ and /chiffres) shows the search of the API."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from serve.features.search import explorer_filters, facet_counts
from shards.query import STATES
from tests.serve.client import Server, run_server
from tests.serve.surfaces.site.visitor import Page, Visitor, sign_up_member
from tests.serve.world import COMPANIES, CONTACT, IT, publish
from tests.world import company

# The slug of the sector of software.
SOFTWARE = "programmation-conseil-et-autres-activites-informatiques"


def total_of(page: Page) -> int:
    """The number of companies that a page of results shows."""
    match = re.search(r'id="total"[^>]*><strong>([^<]+)', page.html)
    assert match, page.text
    return int(re.sub(r"\D", "", match[1]))


def names_on(page: Page) -> list[str]:
    """The names of the companies in the rows of a page."""
    cells = re.findall(r'<th scope="row"><a [^>]+><bdi>([^<]*)', page.html)
    return [unescape(name) for name in cells]


def links_on(page: Page) -> list[str]:
    """The targets of all links of a page."""
    return [unescape(link) for link in re.findall(r'href="([^"]*)"', page.html)]


@pytest.mark.parametrize(
    "search",
    ["tri=ca_desc", "q=lab",
     f"pays=FR&secteur={SOFTWARE}",
     "ca_min=1000000&tri=nom", "effectif_max=10&tri=recent", "site_web=1", "avec_ca=1&tri=ca_asc",
     "pays=FR&pays=DE", "q=%C5%93uvre", "pays=GB", "etat=active&etat=cessee&ville=orleans",
     "ids=FR:552100554&ids=EE:12652512,DE:x&actif_max=1e6", "nace=62,47&cree_min=1998&forme=SARL",
     "activite=boulangerie&tri=nom"],
)  # fmt: skip
def test_a_page_shows_the_search_of_the_api(server: Server, search: str) -> None:
    visitor, _ = sign_up_member(server, "data")
    headers = server.customer("data").headers
    answer = server.ask(f"/api/v1/societes?{search}&limit=25", headers=headers).json

    page = visitor.get(f"/?{search}")

    assert page.status == 200
    assert total_of(page) == answer["total"]
    assert names_on(page) == [company["nom"] for company in answer["societes"]]


def test_a_company_found_by_a_former_name_is_shown_with_that_name(server: Server) -> None:
    """X4"""
    visitor = Visitor(server)

    pages = [visitor.get("/?q=vana+nimi"), visitor.get("/?q=tarkvara")]

    assert ["ancien nom : Vana Nimi OÜ" in page.text for page in pages] == [True, False]


def test_a_mistyped_identifier_leads_to_the_company(server: Server) -> None:
    """X4, X6: the company must be in a country of the search"""
    visitor, _ = sign_up_member(server, "data")

    page = visitor.get("/?q=12652513")
    pages_without_proposal = [
        visitor.get(path) for path in ("/?q=12652513&pays=FR", "/?q=zzzz", "/?q=12652512")
    ]

    assert "Vouliez-vous dire la société : 12652512 Eesti Tarkvara OÜ" in page.text
    assert "/societes/EE/12652512" in links_on(page)
    assert not any("Vouliez-vous dire la société" in page.text for page in pages_without_proposal)


def test_the_front_page_runs_no_search_and_costs_no_call(server: Server) -> None:
    visitor, account = sign_up_member(server)

    page = visitor.get("/")

    assert 'id="total"' not in page.html
    assert f"{len(COMPANIES)} sociétés." in page.text
    assert server.store.calls(account, 50, server.context.now()).result().used == 0


def test_a_search_by_an_account_counts_as_a_call(server: Server) -> None:
    """D1, decision 044"""
    visitor, account = sign_up_member(server)

    pages = [visitor.get("/?q=lab"), visitor.get("/?q=rien+du+tout"), visitor.get("/?x=1")]
    visitor.get("/?q=lab", method="HEAD")

    # The two searches and the HEAD count; the search with an unknown parameter does not.
    assert [page.status for page in pages] == [200, 200, 400]
    assert "appel 1 / 50 aujourd’hui" in pages[0].text
    assert server.store.calls(account, 50, server.context.now()).result().used == 3


def test_the_daily_limit_is_shown_as_a_page(server: Server) -> None:
    """The 50 calls of `free` are used before"""
    visitor, account = sign_up_member(server)
    for _ in range(50):
        server.store.take(account, 50, server.context.now()).result()

    page = visitor.get("/?q=lab")

    assert page.status == 429
    assert "Limite atteinte" in page.text
    assert "50 appels par jour" in page.text
    assert page.headers["Retry-After"]


def test_a_visitor_sees_two_companies_and_how_many_an_account_would_show(server: Server) -> None:
    """§5 rule 2"""
    page = Visitor(server).get("/?tri=nom&offset=25")

    assert len(names_on(page)) == 2
    assert total_of(page) == len(COMPANIES)
    assert "Un compte gratuit en montre 5" in page.text
    assert "/inscription" in links_on(page)
    internal_links = [link for link in links_on(page) if not link.startswith("http")]
    assert not [link for link in internal_links if "offset" in link and "lang" not in link]


def test_result_pages_go_as_far_as_the_plan_allows(server: Server) -> None:
    """A page has 25 of the 41 companies; `data` shows them all"""
    visitor, _ = sign_up_member(server, "data")

    first_page = visitor.get("/?tri=nom")
    (next_link,) = [link for link in links_on(first_page) if "offset" in link]
    second_page = visitor.get(next_link)
    links_back = [link for link in links_on(second_page) if link == "/?tri=nom"]

    assert (len(names_on(first_page)), len(names_on(second_page))) == (25, len(COMPANIES) - 25)
    assert not set(names_on(first_page)) & set(names_on(second_page))
    assert "26–41 sur 41" in second_page.text
    assert links_back


def test_a_click_on_a_heading_sorts_and_a_second_click_reverses_the_order(server: Server) -> None:
    def sorting_of(page: Page) -> tuple[str, list[str]]:
        """The direction of the sorted column, and the links that change the order."""
        (direction,) = re.findall(r'aria-sort="(\w+)"', page.html)
        return direction, [link for link in links_on(page) if "tri=" in link or link == "/?q=a"]

    visitor = Visitor(server)

    assert sorting_of(visitor.get("/?q=a"))[0] == "descending"
    assert "/?q=a&tri=ca_asc" in sorting_of(visitor.get("/?q=a"))[1]
    assert sorting_of(visitor.get("/?q=a&tri=ca_asc"))[0] == "ascending"
    assert "/?q=a&tri=ca_desc" in sorting_of(visitor.get("/?q=a&tri=ca_asc"))[1]
    assert sorting_of(visitor.get("/?q=a&tri=nom"))[0] == "ascending"


def test_companies_with_only_a_headcount_band_are_not_shown_as_sorted(server: Server) -> None:
    (banded,) = [company for company in COMPANIES if company["tranche_effectif"]]
    visitor = Visitor(server)

    only_banded = visitor.get(f"/?tri=effectif_desc&q={quote(banded['nom'])}")
    mixed_page = visitor.get("/?tri=effectif_desc&pays=UK")

    assert "ne sont pas triées par effectif" in only_banded.text
    assert "aria-sort" not in only_banded.html
    assert "viennent ensuite" in mixed_page.text
    assert 'aria-sort="descending"' in mixed_page.html
    assert "n’entrent pas dans ce filtre" in only_banded.text  # even without a headcount filter
    assert "n’entrent pas dans ce filtre" not in visitor.get("/?pays=EE").text


def test_each_chip_removes_its_filter(server: Server) -> None:
    search = "/?pays=FR,DE&secteur=edition&q=a&ca_min=1&site_web=1"
    page = Visitor(server).get(search)

    chips = re.findall(r'<li><a href="([^"]+)" data-live title', page.html)
    remaining = [set(parse_qs(urlsplit(unescape(chip)).query)) for chip in chips]

    assert len(chips) == 6  # two countries and four other filters
    assert [{"pays", "secteur", "q", "ca_min", "site_web"} - names for names in remaining[2:]] == [
        {"secteur"}, {"q"}, {"ca_min"}, {"site_web"},
    ]  # fmt: skip
    assert unescape(chips[0]).startswith("/?pays=DE&")


def test_every_filter_has_a_field_and_a_chip_and_stays_in_the_links(server: Server) -> None:
    """X2, X0.3"""
    filters = {
        "ids": "FR:552100554,FR:552059024", "etat": "active", "ville": "Orléans", "code_postal": "45",
        "forme": "SARL|Société anonyme", "nace": "64,47", "cree_min": "1864", "cree_max": "1998-02",
        "actif_min": "1", "actif_max": "1e13", "activite": "commerce",
    }  # fmt: skip
    page = Visitor(server).get(f"/?{urlencode(filters)}")

    chips = re.findall(r'<li><a href="([^"]+)" data-live title', page.html)
    fields = dict(re.findall(r'<input [^>]*name="(\w+)"[^>]* value="([^"]*)"', page.html))
    heading_links = [link for link in links_on(page) if "tri=nom" in link]
    assert total_of(page) == 1  # of the two companies of `ids`, `activite` keeps the bakery
    assert len(chips) == len(filters)
    assert {name: unescape(text) for name, text in fields.items() if name in filters} | {
        "etat": "active"
    } == filters
    assert {*parse_qs(urlsplit(heading_links[0]).query)} == {*filters, "tri"}


def test_without_its_last_sector_a_search_has_no_sub_sector(server: Server) -> None:
    """B7"""
    label = "Programmation%2C%20conseil%20et%20autres%20activit%C3%A9s%20informatiques"
    page = Visitor(server).get(f"/?secteur={SOFTWARE}&sous_secteur={label}")

    assert page.status == 200
    assert Visitor(server).get(links_on(page)[links_on(page).index("/?tri=ca_desc")]).status == 200


def test_the_equivalent_call_has_the_same_total(server: Server) -> None:
    page = Visitor(server).get("/?pays=FR&q=lab&ca_min=5")

    call = re.search(r"<code>(/api/v1/[^<]+)</code>", page.html)
    curl = re.search(r"<code>(curl [^<]+)</code>", page.html)
    assert call
    assert curl
    assert server.ask(unescape(call[1])).json["total"] == total_of(page)
    assert f"http://127.0.0.1:{server.port}{call[1]}" in curl[1]


@pytest.mark.parametrize(
    ("search", "french_error", "english_error"),
    [
        ("pays=XX", "Pays inconnu : XX", "Unknown country: XX"),
        ("secteur=rien", "Secteur inconnu : rien", "Unknown sector: rien"),
        ("ca_min=5&ca_max=1", "minimal : 5 dépasse ca_max", "Minimum turnover: 5 is above ca_max"),
        ("cle=x", "Paramètre inconnu : cle", "Unknown parameter: cle"),
        ("q=" + "x" * 121, "121 caractères", "121 characters"),
        ("effectif_min=1,5", "'1,5' n'est pas un nombre entier", "'1,5' is not a whole number"),
    ],
)
def test_an_error_is_shown_with_the_form(
    server: Server, search: str, french_error: str, english_error: str
) -> None:
    visitor = Visitor(server)

    french, english = visitor.get(f"/?{search}"), visitor.get(f"/?{search}&lang=en")

    assert (french.status, english.status) == (400, 400)
    assert french_error in french.text
    assert english_error in english.text
    assert 'id="recherche"' in french.html


def test_a_wrong_field_is_named_and_marked_and_the_form_keeps_its_values(server: Server) -> None:
    page = Visitor(server).get("/?q=lab&ca_min=beaucoup&ville=Tallinn")

    assert page.status == 400
    assert "Chiffre d’affaires minimal : 'beaucoup' n'est pas un nombre" in page.text
    assert '<a href="#ca_min">Corriger ce champ</a>' in page.html
    fields = re.findall(r'<input id="(ca_min|ca_max|ville)"[^>]*>', page.html)
    assert fields == ["ca_min", "ca_max", "ville"]
    assert re.findall(r'name="(\w+)" aria-invalid="true"[^>]* value="beaucoup"', page.html) == [
        "ca_min"
    ]
    assert 'value="Tallinn"' in page.html


def test_a_search_without_results_says_so(server: Server) -> None:
    page = Visitor(server).get("/?q=introuvable+partout")

    assert (page.status, total_of(page)) == (200, 0)
    assert "Aucune société ne correspond" in page.text


def test_the_figures_add_up_to_the_total_by_country_and_by_sector(server: Server) -> None:
    """§8.2 rule 3"""
    for search in ("tri=ca_desc", "q=a", "ca_min=0&q=o", "pays=FR,EE", "effectif_min=1"):
        page = Visitor(server).get(f"/chiffres?{search}")

        sums = [
            sum(
                int(re.sub(r"\D", "", number))
                for number in re.findall(r'class="number">([^<]+)', section)
            )
            for section in page.html.split("<h2>")[1:3]
        ]
        expected = server.search(**dict(pair.split("=") for pair in search.split("&")))["total"]
        assert sums == [expected, expected], search


def test_cheap_figures_are_in_the_page_and_others_behind_a_link(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = Visitor(server)
    page_with_figures = visitor.get("/?q=bo&ca_min=18")
    # From here on, no figures that have to read companies are cheap enough for the page.
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)

    assert 'id="chiffres"' in page_with_figures.html
    assert 'id="chiffres"' in visitor.get("/?pays=FR").html
    page_without_figures = visitor.get("/?q=bo&ca_min=17")
    assert 'id="chiffres"' not in page_without_figures.html
    (link,) = {link for link in links_on(page_without_figures) if link.startswith("/chiffres")}
    assert 'id="chiffres"' in visitor.get(link).html
    assert 'id="chiffres"' in visitor.get("/?q=bo&ca_min=17").html  # counted above for /chiffres


def test_options_are_counted_within_the_search_and_chosen_options_come_first(
    server: Server,
) -> None:
    """X3: the count of an option is the total of a search in which it is the only choice of its filter"""
    page = Visitor(server).get("/?q=a&pays=EE&secteur=edition")

    def counts_of(name: str) -> dict[str, int]:
        """The count of each option of a filter on the page."""
        rows = re.findall(rf'name="{name}" value="([^"]+)".*?<b>([^<]*)</b>', page.html)
        return {value: int(number) for value, number in rows}

    def total_of(**search: str) -> int:
        return int(server.search(**search)["total"])

    assert next(iter(counts_of("pays"))) == "EE"
    for iso2 in ("FR", "DE", "EE", "AT"):
        assert counts_of("pays")[iso2] == total_of(q="a", secteur="edition", pays=iso2)
    assert counts_of("secteur")[SOFTWARE] == total_of(q="a", pays="EE", secteur=SOFTWARE) == 1
    opened = re.findall(r"<details open><summary><span>([^<]+)", page.html)
    assert opened == ["Information et communication"]
    page = Visitor(server).get("/?q=a&etat=cessee")
    assert next(iter(counts_of("etat"))) == "cessee"
    assert counts_of("etat") == {state: total_of(q="a", etat=state) for state in STATES}
    assert "data-uncounted" not in page.html


def test_states_of_complete_countries_are_counted_in_the_page(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a sector the states of all companies must be read, so a script requests these counts after the page.

    The server keeps counts in a memo and shows them in the page, so no other test may use this year of creation.
    """
    # No count that has to read companies is cheap enough for the page.
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)

    assert "data-uncounted" not in Visitor(server).get("/?pays=FI").html
    assert (
        "data-uncounted" in Visitor(server).get(f"/?pays=EE&secteur={SOFTWARE}&cree_min=1987").html
    )


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("1 000 000", "1000000"),
        ("1\u202f000\u202f000 €", "1000000"),
        ("0,5", "0.5"),
        ("1 M", "1000000"),
        ("1 billion", "1000000000000"),
    ],
)
def test_the_form_takes_numbers_as_people_write_them(
    server: Server, typed: str, spelt: str
) -> None:
    """Only the API refuses a decimal comma or spaces (B22)."""
    page = Visitor(server).get(f"/?{urlencode({'ca_min': typed, 'tri': 'nom'})}")

    assert total_of(page) == server.search(ca_min=spelt)["total"]
    assert f"ca_min={spelt}" in page.html


def test_a_billion_in_english_is_a_thousand_millions(server: Server) -> None:
    page = Visitor(server).get("/?ca_min=1+billion&tri=nom&lang=en")

    assert "ca_min=1000000000&" in page.html.replace("&amp;", "&")


def test_a_page_after_the_last_company_says_where_the_list_ends(server: Server) -> None:
    """The plan is named only if it ends the list"""
    member, _ = sign_up_member(server, "integral")
    total = total_of(member.get("/?tri=nom"))

    page = member.get("/?tri=nom&offset=900")

    assert f"La liste s’arrête à {total}." in page.text
    assert "Votre offre ne va pas plus loin" not in page.text
    previous = re.search(r'rel="prev" href="([^"]+)"', page.html)
    assert previous
    assert "La liste s’arrête" not in member.get(unescape(previous[1])).text


def test_a_search_without_results_proposes_to_drop_a_filter(server: Server) -> None:
    """With the number of results without it; a single filter cannot be dropped"""
    page = Visitor(server).get("/?q=lab&pays=DE&effectif_min=1")
    single = Visitor(server).get("/?q=zzzzzzzz")

    assert total_of(page) == 0
    assert f"sans Allemagne : {server.search(q='lab', effectif_min='1')['total']}" in page.text
    assert "sans « lab » : 1" in page.text
    assert "sans" not in single.text.partition("Aucune société")[2].partition("Retirez")[0]


def test_the_title_describes_the_search(server: Server) -> None:
    french = Visitor(server).get("/?q=lab&pays=FR").html
    english = Visitor(server).get("/?ca_min=1e6&etat=active&lang=en").html

    assert "<title>France · « lab » · 1 société · societes</title>" in french
    assert (
        "<title>Turnover ≥ €1,000,000 · State: Active · 2 companies · societes</title>" in english
    )


def test_a_plan_is_proposed_only_if_it_shows_more_companies(server: Server) -> None:
    """§5: no plan is proposed to a person who already sees all companies of the search"""
    integral_visitor, _ = sign_up_member(server, "integral")

    text_of_one_company = Visitor(server).get("/?q=tarkvara").text
    text_of_all_companies = integral_visitor.get("/?tri=nom").text

    assert "Aperçu" not in text_of_one_company
    assert "en montre" not in text_of_one_company
    assert "en affiche" not in text_of_all_companies


def test_a_row_has_the_town_and_the_identifier(server: Server) -> None:
    """The state of an active company is not shown"""
    page = Visitor(server).get("/?q=orleans")

    assert "Société Générale d'Orléans Orléans , France · 552100554" in page.text


def test_the_companies_come_before_the_filters_and_the_figures(server: Server) -> None:
    """The order in the page is the order for a keyboard. First comes a link that leads to the companies."""
    html = Visitor(server).get("/?q=a").html

    places = [html.index(landmark) for landmark in ('href="#societes"', 'id="societes"', 'id="chiffres"',
                                            'id="filtres"')]  # fmt: skip
    assert places == sorted(places)


def test_completions_follow_the_rights_of_the_person(server: Server) -> None:
    """X4: two companies for a visitor, five for a member; no call is counted"""
    search = "/propositions?q=b%C3%A4cker"
    member_visitor, account = sign_up_member(server)

    pages = [visitor.get(search).html for visitor in (Visitor(server), member_visitor)]
    answer = server.ask("/api/v1/suggestions?q=b%C3%A4cker").json

    assert [html.count('data-href="/societes/') for html in pages] == [2, 5]
    assert all(company["nom"] in pages[0] for company in answer["societes"])
    assert 'data-href="/?q=backerei"' in pages[0]
    assert server.store.calls(account, 50, server.context.now()).result().used == 0


def test_pages_of_the_explorer_show_no_contacts(server: Server) -> None:
    """§2.1, on every page, for every plan"""
    for visitor in (Visitor(server), sign_up_member(server)[0], sign_up_member(server, "data")[0]):
        for path in ("/", "/?site_web=1", "/chiffres?site_web=1", "/?q=lab", "/statut"):
            assert CONTACT not in visitor.get(path).html


def test_the_language_comes_from_the_browser_until_another_is_chosen(server: Server) -> None:
    visitor = Visitor(server)

    assert "Founded" in visitor.get("/?q=a", **{"Accept-Language": "en-GB, fr;q=0.5"}).text
    assert "Création" in visitor.get("/?q=a").text
    chosen = visitor.get("/?q=a&lang=en")
    assert 'lang="en"' in chosen.html
    assert "/?q=a&lang=fr" in ["/" + link for link in links_on(chosen) if "lang=" in link]
    assert "Founded" in visitor.get("/?q=a").text
    assert "visite" in visitor.cookies


def test_a_page_is_small(server: Server) -> None:
    visitor, _ = sign_up_member(server, "integral")
    search = "&".join(f"pays={code}" for code in ("FR", "UK", "DE", "EE"))

    sizes = [len(visitor.get(path).html.encode()) for path in ("/", f"/?{search}&tri=nom")]

    assert max(sizes) <= 60_000  # bytes


def test_a_number_typed_in_the_box_leads_to_its_record(server: Server) -> None:
    for typed in ("552100554", "552 100 554", "FR 552100554"):
        answer = server.ask("/?q=" + typed.replace(" ", "+"))

        assert (answer.status, answer.headers["Location"]) == (303, "/societes/FR/552100554"), typed


@pytest.mark.parametrize("typed", ["EE100366327", "EE+100+366+327", "549300LKH2ZT2UYX8L57"])
def test_a_vat_number_or_an_lei_typed_in_the_box_leads_to_its_record(
    server: Server, typed: str
) -> None:
    answer = server.ask(f"/?q={typed}")

    assert (answer.status, answer.headers["Location"]) == (303, "/societes/EE/12652512")


@pytest.mark.parametrize("words", ["3M", "1234+SARL", "2000", "552100554+boulangerie+du+port", "a"])
def test_words_are_not_treated_as_numbers(server: Server, words: str) -> None:
    """The number of a company alone would redirect to its record (303)"""
    assert server.ask(f"/?q={words}").status == 200


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (2, ["a", "b"]),
        (3, ["a", "b", "c"]),  # a single other value is shown by its name
        (4, ["a", "b", "2 autres"]),
        (5, ["a", "b", "3 autres"]),
    ],
)
def test_bars_show_the_largest_values_and_the_sum_of_the_others(
    count: int, labels: list[str]
) -> None:
    """Two bars of values at most; 7 is the number of companies without a value"""
    values = [(letter, 50 - place, "/") for place, letter in enumerate("abcde"[:count])]

    bars = explorer_filters._bars(values[::-1], 2, "autres", ("sans", 7))

    assert [bar.label for bar in bars] == [*labels, "sans"]
    assert sum(bar.number for bar in bars) == sum(number for _, number, _ in values) + 7
    assert [bar.width for bar in bars[:2]] == [100.0, 98.0]


def test_within_one_sector_rows_and_bars_show_its_sub_sectors(tmp_path: Path) -> None:
    food = {"division": "56", "secteur": "Restauration"}
    rows = [
        company("FR", "1", "Un", groupe="56.1", sous_secteur="Restaurants", **food),
        company("EE", "2", "Deux", groupe="56.3", sous_secteur="Débits de boissons", **food),
        company("EE", "3", "Trois", division="62", groupe="62.0", secteur=IT),
    ]
    publish(tmp_path, rows, {})
    with run_server(tmp_path) as server:
        search = "/?secteur=restauration"
        one_sector, two_sectors, one_country = (
            Visitor(server).get(search + filters).html
            for filters in ("", f"|{SOFTWARE}", "&pays=EE")
        )

    assert '<th scope="col" class="wide">Sous-secteur</th>' in one_sector
    assert '<th scope="col" class="wide">Secteur</th>' in two_sectors
    assert "Débits de boissons</td>" in one_sector
    assert "Par sous-secteur" in one_sector and "Par secteur" not in one_sector
    assert "Par secteur" in two_sectors and "Par sous-secteur" not in two_sectors
    assert "Par pays" in two_sectors and "Par pays" not in one_country  # a single bar is useless


def test_countries_without_a_company_are_folded_unless_they_are_chosen(server: Server) -> None:
    page = Visitor(server).get("/?q=Tarkvara&pays=FR").html
    before_folded, _, folded = page.partition('class="none-here"')
    listed_countries = before_folded.partition('data-list="pays"')[2]
    folded_countries = folded.partition("</details>")[0]

    assert 'value="EE"' in listed_countries
    assert 'value="FR" checked' in listed_countries
    assert 'value="DE"' in folded_countries
    assert 'value="EE"' not in folded_countries


@pytest.mark.parametrize(
    ("search", "note"), [("effectif_min=5000", True), ("q=zzzzqq", True), ("pays=FR", False)]
)
def test_a_headcount_filter_explains_that_bands_do_not_count(
    server: Server, search: str, note: bool
) -> None:
    page = Visitor(server).get(f"/?{search}").text

    assert ("les tranches d’effectif" in page) == note
    assert "Par nombre exact" in Visitor(server).get("/?tri=effectif_desc").text


@pytest.mark.parametrize(
    ("search", "link"),
    [
        ("pays=Alemagne,FR&nace=62", "/?pays=FR,DE&amp;nace=62"),
        ("secteur=restauraton&pays=FR", "/?pays=FR&amp;secteur=restauration"),
        ("forme=Private+Limited+Compani", "/?forme=Private%20Limited%20Company"),
        ("nace=62.0,99.99", "/?nace=62.0,99.0"),
        ("activite=boulangrie", "/?activite=boulangerie"),
    ],
)
def test_a_suggested_value_is_a_link_that_keeps_the_search(
    server: Server, search: str, link: str
) -> None:
    page = Visitor(server).get(f"/?{search}").html

    assert "Vouliez-vous dire" in page
    assert f'<a href="{link}">' in page.partition('id="faute"')[2].partition("</div>")[0]


def test_a_search_over_a_country_without_data_says_so(server: Server) -> None:
    """X9"""
    page = Visitor(server).get("/?pays=AT&pays=FR")

    assert "Pas de données pour : Autriche." in page.text
    assert "Pas de données pour" not in Visitor(server).get("/?pays=FR").text
