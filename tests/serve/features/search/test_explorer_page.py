"""/ and /chiffres: the explorer shows the search of the API."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from serve.features.search import explorer_filters, facet_counts
from shards.query import STATES
from tests.serve.client import Served, serving
from tests.serve.surfaces.site.visitor import Seen, Visitor, member
from tests.serve.world import COMPANIES, CONTACT, IT, publish
from tests.world import company

SOFTWARE = "programmation-conseil-et-autres-activites-informatiques"


def total(seen: Seen) -> int:
    found = re.search(r'id="total"[^>]*><strong>([^<]+)', seen.html)
    assert found, seen.text
    return int(re.sub(r"\D", "", found[1]))


def names(seen: Seen) -> list[str]:
    found = re.findall(r'<th scope="row"><a [^>]+><bdi>([^<]*)', seen.html)
    return [unescape(one) for one in found]


def links(seen: Seen) -> list[str]:
    return [unescape(one) for one in re.findall(r'href="([^"]*)"', seen.html)]


@pytest.mark.parametrize(
    "search",
    ["tri=ca_desc", "q=lab",
     f"pays=FR&secteur={SOFTWARE}",
     "ca_min=1000000&tri=nom", "effectif_max=10&tri=recent", "site_web=1", "avec_ca=1&tri=ca_asc",
     "pays=FR&pays=DE", "q=%C5%93uvre", "pays=GB", "etat=active&etat=cessee&ville=orleans",
     "ids=FR:552100554&ids=EE:12652512,DE:x&actif_max=1e6", "nace=62,47&cree_min=1998&forme=SARL",
     "activite=boulangerie&tri=nom"],
)  # fmt: skip
def test_a_search_is_that_of_the_api(served: Served, search: str) -> None:
    visitor, _ = member(served, "data")
    headers = served.customer("data").headers
    asked = served.ask(f"/api/v1/societes?{search}&limit=25", headers=headers).json

    seen = visitor.get(f"/?{search}")

    assert seen.status == 200
    assert total(seen) == asked["total"]
    assert names(seen) == [one["nom"] for one in asked["societes"]]


def test_a_company_found_by_a_former_name_is_shown_with_it(served: Served) -> None:
    """X4"""
    visitor = Visitor(served)

    seen = [visitor.get("/?q=vana+nimi"), visitor.get("/?q=tarkvara")]

    assert ["ancien nom : Vana Nimi OÜ" in one.text for one in seen] == [True, False]


def test_a_mistyped_identifier_leads_to_the_company(served: Served) -> None:
    """X4, X6: in the countries that are searched"""
    visitor, _ = member(served, "data")

    seen = visitor.get("/?q=12652513")
    others = [visitor.get(path) for path in ("/?q=12652513&pays=FR", "/?q=zzzz", "/?q=12652512")]

    assert "Vouliez-vous dire la société : 12652512 Eesti Tarkvara OÜ" in seen.text
    assert "/societes/EE/12652512" in links(seen)
    assert not any("Vouliez-vous dire la société" in one.text for one in others)


def test_the_front_page_searches_nothing_and_counts_nothing(served: Served) -> None:
    visitor, account = member(served)

    seen = visitor.get("/")

    assert 'id="total"' not in seen.html
    assert f"{len(COMPANIES)} sociétés." in seen.text
    assert served.store.calls(account, 50, served.context.now()).result().used == 0


def test_a_search_of_an_account_is_a_call_of_its_day(served: Served) -> None:
    """D1, decision 044"""
    visitor, account = member(served)

    seen = [visitor.get("/?q=lab"), visitor.get("/?q=rien+du+tout"), visitor.get("/?x=1")]
    visitor.get("/?q=lab", method="HEAD")

    assert [one.status for one in seen] == [200, 200, 400]
    assert "appel 1 / 50 aujourd’hui" in seen[0].text
    assert served.store.calls(account, 50, served.context.now()).result().used == 3


def test_a_day_that_is_used_up_is_a_page(served: Served) -> None:
    visitor, account = member(served)
    for _ in range(50):
        served.store.take(account, 50, served.context.now()).result(10)

    seen = visitor.get("/?q=lab")

    assert seen.status == 429
    assert "Limite atteinte" in seen.text
    assert "50 appels par jour" in seen.text
    assert seen.headers["Retry-After"]


def test_a_visitor_sees_two_companies_and_what_an_account_would_show(served: Served) -> None:
    """§5 rule 2"""
    seen = Visitor(served).get("/?tri=nom&offset=25")

    assert len(names(seen)) == 2
    assert total(seen) == len(COMPANIES)
    assert "Un compte gratuit en montre 5" in seen.text
    assert "/inscription" in links(seen)
    in_page = [link for link in links(seen) if not link.startswith("http")]
    assert not [link for link in in_page if "offset" in link and "lang" not in link]


def test_pages_follow_each_other_as_far_as_the_plan_goes(served: Served) -> None:
    visitor, _ = member(served, "data")

    first = visitor.get("/?tri=nom")
    (following,) = [link for link in links(first) if "offset" in link]
    second = visitor.get(following)
    back = [link for link in links(second) if link == "/?tri=nom"]

    assert (len(names(first)), len(names(second))) == (25, len(COMPANIES) - 25)
    assert not set(names(first)) & set(names(second))
    assert "26–41 sur 41" in second.text
    assert back


def test_a_click_on_a_head_sorts_and_a_second_one_turns_the_order(served: Served) -> None:
    def sorting(seen: Seen) -> tuple[str, list[str]]:
        (head,) = re.findall(r'aria-sort="(\w+)"', seen.html)
        return head, [link for link in links(seen) if "tri=" in link or link == "/?q=a"]

    visitor = Visitor(served)

    assert sorting(visitor.get("/?q=a"))[0] == "descending"
    assert "/?q=a&tri=ca_asc" in sorting(visitor.get("/?q=a"))[1]
    assert sorting(visitor.get("/?q=a&tri=ca_asc"))[0] == "ascending"
    assert "/?q=a&tri=ca_desc" in sorting(visitor.get("/?q=a&tri=ca_asc"))[1]
    assert sorting(visitor.get("/?q=a&tri=nom"))[0] == "ascending"


def test_companies_with_a_band_alone_are_not_said_to_be_sorted_by_headcount(served: Served) -> None:
    (banded,) = [one for one in COMPANIES if one["tranche_effectif"]]
    visitor = Visitor(served)

    alone = visitor.get(f"/?tri=effectif_desc&q={quote(banded['nom'])}")
    mixed = visitor.get("/?tri=effectif_desc&pays=UK")

    assert "ne sont pas triées par effectif" in alone.text
    assert "aria-sort" not in alone.html
    assert "viennent après" in mixed.text
    assert 'aria-sort="descending"' in mixed.html
    assert "n’entrent pas dans ce filtre" in alone.text  # before one filters by it
    assert "n’entrent pas dans ce filtre" not in visitor.get("/?pays=EE").text


def test_each_chip_takes_its_filter_away(served: Served) -> None:
    search = "/?pays=FR,DE&secteur=edition&q=a&ca_min=1&site_web=1"
    seen = Visitor(served).get(search)

    chips = re.findall(r'<li><a href="([^"]+)" data-live title', seen.html)
    left = [set(parse_qs(urlsplit(unescape(chip)).query)) for chip in chips]

    assert len(chips) == 6
    assert [{"pays", "secteur", "q", "ca_min", "site_web"} - one for one in left[2:]] == [
        {"secteur"}, {"q"}, {"ca_min"}, {"site_web"},
    ]  # fmt: skip
    assert unescape(chips[0]).startswith("/?pays=DE&")


def test_every_filter_has_a_field_and_a_chip_and_stays_in_the_links(served: Served) -> None:
    """X2, X0.3"""
    given = {
        "ids": "FR:552100554,FR:552059024", "etat": "active", "ville": "Orléans", "code_postal": "45",
        "forme": "SARL|Société anonyme", "nace": "64,47", "cree_min": "1864", "cree_max": "1998-02",
        "actif_min": "1", "actif_max": "1e13", "activite": "commerce",
    }  # fmt: skip
    seen = Visitor(served).get(f"/?{urlencode(given)}")

    chips = re.findall(r'<li><a href="([^"]+)" data-live title', seen.html)
    named = dict(re.findall(r'<input [^>]*name="(\w+)"[^>]* value="([^"]*)"', seen.html))
    heads = [link for link in links(seen) if "tri=nom" in link]
    assert total(seen) == 1  # both hold: `activite` leaves the bakery of the two
    assert len(chips) == len(given)
    assert {name: unescape(text) for name, text in named.items() if name in given} | {
        "etat": "active"
    } == given
    assert {*parse_qs(urlsplit(heads[0]).query)} == {*given, "tri"}


def test_without_its_last_sector_a_search_has_no_sub_sector(served: Served) -> None:
    """B7"""
    label = "Programmation%2C%20conseil%20et%20autres%20activit%C3%A9s%20informatiques"
    seen = Visitor(served).get(f"/?secteur={SOFTWARE}&sous_secteur={label}")

    assert seen.status == 200
    assert Visitor(served).get(links(seen)[links(seen).index("/?tri=ca_desc")]).status == 200


def test_the_equivalent_call_gives_the_same(served: Served) -> None:
    seen = Visitor(served).get("/?pays=FR&q=lab&ca_min=5")

    call = re.search(r"<code>(/api/v1/[^<]+)</code>", seen.html)
    curl = re.search(r"<code>(curl [^<]+)</code>", seen.html)
    assert call
    assert curl
    assert served.ask(unescape(call[1])).json["total"] == total(seen)
    assert f"http://127.0.0.1:{served.port}{call[1]}" in curl[1]


@pytest.mark.parametrize(
    ("search", "fr", "en"),
    [
        ("pays=XX", "Pays inconnu : XX", "Unknown country: XX"),
        ("secteur=rien", "Secteur inconnu : rien", "Unknown sector: rien"),
        ("ca_min=5&ca_max=1", "minimal : 5 dépasse ca_max", "Minimum turnover: 5 is above ca_max"),
        ("cle=x", "Paramètre inconnu : cle", "Unknown parameter: cle"),
        ("q=" + "x" * 121, "121 caractères", "121 characters"),
    ],
)
def test_what_is_wrong_is_told_beside_the_form(
    served: Served, search: str, fr: str, en: str
) -> None:
    visitor = Visitor(served)

    french, english = visitor.get(f"/?{search}"), visitor.get(f"/?{search}&lang=en")

    assert (french.status, english.status) == (400, 400)
    assert fr in french.text
    assert en in english.text
    assert 'id="recherche"' in french.html


def test_a_wrong_field_is_named_and_marked_and_the_form_is_kept(served: Served) -> None:
    seen = Visitor(served).get("/?q=lab&ca_min=beaucoup&ville=Tallinn")

    assert seen.status == 400
    assert "Chiffre d’affaires minimal : 'beaucoup' n'est pas un nombre" in seen.text
    assert '<a href="#ca_min">Corriger ce champ</a>' in seen.html
    fields = re.findall(r'<input id="(ca_min|ca_max|ville)"[^>]*>', seen.html)
    assert fields == ["ca_min", "ca_max", "ville"]
    assert re.findall(r'name="(\w+)" aria-invalid="true"[^>]* value="beaucoup"', seen.html) == [
        "ca_min"
    ]
    assert 'value="Tallinn"' in seen.html


def test_nothing_found_is_a_page_that_helps(served: Served) -> None:
    seen = Visitor(served).get("/?q=introuvable+partout")

    assert (seen.status, total(seen)) == (200, 0)
    assert "Aucune société ne correspond" in seen.text


def test_the_figures_add_up_to_the_total_by_country_and_by_sector(served: Served) -> None:
    """§8.2 rule 3"""
    for search in ("tri=ca_desc", "q=a", "ca_min=0&q=o", "pays=FR,EE", "effectif_min=1"):
        seen = Visitor(served).get(f"/chiffres?{search}")

        sums = [
            sum(int(re.sub(r"\D", "", one)) for one in re.findall(r'class="number">([^<]+)', part))
            for part in seen.html.split("<h2>")[1:3]
        ]
        found = served.search(**dict(pair.split("=") for pair in search.split("&")))["total"]
        assert sums == [found, found], search


def test_figures_that_cost_little_come_with_the_page_others_are_asked_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = Visitor(served)
    cheap = visitor.get("/?q=bo&ca_min=18")
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)

    assert 'id="chiffres"' in cheap.html
    assert 'id="chiffres"' in visitor.get("/?pays=FR").html
    dear = visitor.get("/?q=bo&ca_min=17")
    assert 'id="chiffres"' not in dear.html
    (link,) = {one for one in links(dear) if one.startswith("/chiffres")}
    assert 'id="chiffres"' in visitor.get(link).html
    assert 'id="chiffres"' in visitor.get("/?q=bo&ca_min=17").html  # known by now


def test_options_have_the_companies_of_this_search_and_chosen_ones_come_first(
    served: Served,
) -> None:
    """X3: an option is counted as if it alone were chosen of its kind"""
    seen = Visitor(served).get("/?q=a&pays=EE&secteur=edition")

    def counts(name: str) -> dict[str, int]:
        rows = re.findall(rf'name="{name}" value="([^"]+)".*?<b>([^<]*)</b>', seen.html)
        return {value: int(number) for value, number in rows}

    def found(**search: str) -> int:
        return int(served.search(**search)["total"])

    assert next(iter(counts("pays"))) == "EE"
    for iso2 in ("FR", "DE", "EE", "AT"):
        assert counts("pays")[iso2] == found(q="a", secteur="edition", pays=iso2)
    assert counts("secteur")[SOFTWARE] == found(q="a", pays="EE", secteur=SOFTWARE) == 1
    opened = re.findall(r"<details open><summary><span>([^<]+)", seen.html)
    assert opened == ["Information et communication"]
    seen = Visitor(served).get("/?q=a&etat=cessee")
    assert next(iter(counts("etat"))) == "cessee"
    assert counts("etat") == {one: found(q="a", etat=one) for one in STATES}
    assert "data-uncounted" not in seen.html


def test_states_of_whole_countries_are_counted_at_no_cost(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sector each company is looked at: a script asks for these counts after the page.

    No other test asks for this year: counts that are known are shown at once.
    """
    monkeypatch.setattr(facet_counts, "BUDGET", 0.0)

    assert "data-uncounted" not in Visitor(served).get("/?pays=FI").html
    assert (
        "data-uncounted" in Visitor(served).get(f"/?pays=EE&secteur={SOFTWARE}&cree_min=1987").html
    )


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("1 000 000", "1000000"),
        ("1\u202f000\u202f000 €", "1000000"),
        ("0,5", "0.5"),
        ("1 M", "1000000"),
    ],
)
def test_the_form_takes_numbers_as_people_write_them(
    served: Served, typed: str, spelt: str
) -> None:
    """B22 binds the API alone"""
    seen = Visitor(served).get(f"/?{urlencode({'ca_min': typed, 'tri': 'nom'})}")

    assert total(seen) == served.search(ca_min=spelt)["total"]
    assert f"ca_min={spelt}" in seen.html


def test_a_search_that_finds_nothing_names_the_filter_to_drop(served: Served) -> None:
    seen = Visitor(served).get("/?q=lab&pays=DE&effectif_min=1")
    single = Visitor(served).get("/?q=zzzzzzzz")

    assert total(seen) == 0
    assert f"sans Allemagne : {served.search(q='lab', effectif_min='1')['total']}" in seen.text
    assert "sans « lab » : 1" in seen.text
    assert "sans" not in single.text.partition("Aucune société")[2].partition("Retirez")[0]


def test_the_title_says_the_search(served: Served) -> None:
    french = Visitor(served).get("/?q=lab&pays=FR").html
    english = Visitor(served).get("/?ca_min=1e6&etat=active&lang=en").html

    assert "<title>France · « lab » · 1 société · societes</title>" in french
    assert (
        "<title>Turnover ≥ €1,000,000 · State: Active · 2 companies · societes</title>" in english
    )


def test_a_plan_is_proposed_only_for_what_it_adds(served: Served) -> None:
    """§5: nobody is told that the next plan shows as many rows, or more than there are"""
    best, _ = member(served, "integral")

    one = Visitor(served).get("/?q=tarkvara").text
    all_seen = best.get("/?tri=nom").text

    assert "Aperçu" not in one
    assert "en montre" not in one
    assert "en affiche" not in all_seen


def test_a_row_has_the_town_and_the_identifier(served: Served) -> None:
    """And a state only where it warns: a procedure, or the end"""
    seen = Visitor(served).get("/?q=orleans")

    assert "Société Générale d'Orléans Orléans , France · 552100554" in seen.text


def test_the_companies_come_before_the_filters_and_the_figures(served: Served) -> None:
    """By keyboard: the second link leads to the first company"""
    html = Visitor(served).get("/?q=a").html

    places = [html.index(part) for part in ('href="#societes"', 'id="societes"', 'id="chiffres"',
                                            'id="filtres"')]  # fmt: skip
    assert places == sorted(places)


def test_what_is_typed_is_completed_with_the_rights_of_the_person(served: Served) -> None:
    """X4"""
    search = "/propositions?q=b%C3%A4cker"
    inside, account = member(served)

    seen = [visitor.get(search).html for visitor in (Visitor(served), inside)]
    asked = served.ask("/api/v1/suggestions?q=b%C3%A4cker").json

    assert [html.count('data-href="/societes/') for html in seen] == [2, 5]
    assert all(one["nom"] in seen[0] for one in asked["societes"])
    assert 'data-href="/?q=backerei"' in seen[0]
    assert served.store.calls(account, 50, served.context.now()).result().used == 0


def test_contacts_stay_where_they_are(served: Served) -> None:
    """§2.1, on every page, for every plan"""
    for visitor in (Visitor(served), member(served)[0], member(served, "data")[0]):
        for path in ("/", "/?site_web=1", "/chiffres?site_web=1", "/?q=lab", "/statut"):
            assert CONTACT not in visitor.get(path).html


def test_the_language_is_that_of_the_browser_or_the_one_that_was_chosen(served: Served) -> None:
    visitor = Visitor(served)

    assert "Founded" in visitor.get("/?q=a", **{"Accept-Language": "en-GB, fr;q=0.5"}).text
    assert "Création" in visitor.get("/?q=a").text
    chosen = visitor.get("/?q=a&lang=en")
    assert 'lang="en"' in chosen.html
    assert "/?q=a&lang=fr" in ["/" + one for one in links(chosen) if "lang=" in one]
    assert "Founded" in visitor.get("/?q=a").text
    assert "visite" in visitor.cookies


def test_a_page_is_small(served: Served) -> None:
    visitor, _ = member(served, "integral")
    search = "&".join(f"pays={code}" for code in ("FR", "UK", "DE", "EE"))

    sizes = [len(visitor.get(path).html.encode()) for path in ("/", f"/?{search}&tri=nom")]

    assert max(sizes) <= 60_000


def test_a_number_typed_in_the_box_leads_to_its_record(served: Served) -> None:
    for typed in ("552100554", "552 100 554", "FR 552100554"):
        answer = served.ask("/?q=" + typed.replace(" ", "+"))

        assert (answer.status, answer.headers["Location"]) == (303, "/societes/FR/552100554"), typed


@pytest.mark.parametrize("typed", ["EE100366327", "EE+100+366+327", "549300LKH2ZT2UYX8L57"])
def test_a_vat_number_or_an_lei_typed_in_the_box_leads_to_its_record(
    served: Served, typed: str
) -> None:
    answer = served.ask(f"/?q={typed}")

    assert (answer.status, answer.headers["Location"]) == (303, "/societes/EE/12652512")


@pytest.mark.parametrize("words", ["3M", "1234+SARL", "2000", "552100554+boulangerie+du+port", "a"])
def test_words_are_never_taken_for_numbers(served: Served, words: str) -> None:
    assert served.ask(f"/?q={words}").status == 200


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (2, ["a", "b"]),
        (3, ["a", "b", "c"]),  # a single other value is shown by its name
        (4, ["a", "b", "2 autres"]),
        (5, ["a", "b", "3 autres"]),
    ],
)
def test_the_bars_are_of_the_largest_values_and_of_all_others(
    count: int, labels: list[str]
) -> None:
    values = [(letter, 50 - place, "/") for place, letter in enumerate("abcde"[:count])]

    bars = explorer_filters._bars(values[::-1], 2, "autres", ("sans", 7))

    assert [bar.label for bar in bars] == [*labels, "sans"]
    assert sum(bar.number for bar in bars) == sum(number for _, number, _ in values) + 7
    assert [bar.width for bar in bars[:2]] == [100.0, 98.0]


def test_in_one_sector_the_rows_and_the_bars_are_of_its_sub_sectors(tmp_path: Path) -> None:
    food = {"division": "56", "secteur": "Restauration"}
    rows = [
        company("FR", "1", "Un", groupe="56.1", sous_secteur="Restaurants", **food),
        company("EE", "2", "Deux", groupe="56.3", sous_secteur="Débits de boissons", **food),
        company("EE", "3", "Trois", division="62", groupe="62.0", secteur=IT),
    ]
    publish(tmp_path, rows, {})
    with serving(tmp_path) as served:
        search = "/?secteur=restauration"
        one, both, alone = (
            Visitor(served).get(search + more).html for more in ("", f"|{SOFTWARE}", "&pays=EE")
        )

    assert '<th scope="col" class="wide">Sous-secteur</th>' in one
    assert '<th scope="col" class="wide">Secteur</th>' in both
    assert "Débits de boissons</td>" in one
    assert "Par sous-secteur" in one and "Par secteur" not in one
    assert "Par secteur" in both and "Par sous-secteur" not in both
    assert "Par pays" in both and "Par pays" not in alone  # one bar says nothing


def test_countries_without_a_company_are_folded_and_a_chosen_one_is_not(served: Served) -> None:
    page = Visitor(served).get("/?q=Tarkvara&pays=FR").html
    listed, _, folded = page.partition('class="none-here"')
    countries = listed.partition('data-list="pays"')[2]
    rest = folded.partition("</details>")[0]

    assert 'value="EE"' in countries
    assert 'value="FR" checked' in countries
    assert 'value="DE"' in rest
    assert 'value="EE"' not in rest


@pytest.mark.parametrize(
    ("search", "note"), [("effectif_min=5000", True), ("q=zzzzqq", True), ("pays=FR", False)]
)
def test_a_filter_of_headcounts_says_that_bands_do_not_count(
    served: Served, search: str, note: bool
) -> None:
    seen = Visitor(served).get(f"/?{search}").text

    assert ("les tranches d’effectif" in seen) == note
    assert "Par nombre exact" in Visitor(served).get("/?tri=effectif_desc").text


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
def test_a_value_that_was_meant_is_a_link_that_keeps_the_search(
    served: Served, search: str, link: str
) -> None:
    page = Visitor(served).get(f"/?{search}").html

    assert "Vouliez-vous dire" in page
    assert f'<a href="{link}">' in page.partition('id="faute"')[2].partition("</div>")[0]


def test_a_search_over_a_country_without_data_says_so(served: Served) -> None:
    """X9"""
    seen = Visitor(served).get("/?pays=AT&pays=FR")

    assert "Il n’y a pas de données de : Autriche." in seen.text
    assert "pas de données de" not in Visitor(served).get("/?pays=FR").text
