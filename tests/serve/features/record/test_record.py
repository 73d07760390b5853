"""/societes/{iso}/{id}: the public preview, the announced price, one charge a month."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quota.ledger import account_rows
from quota.ledger.calls import Purchase
from quota.periods import iso
from serve.features.record import pages
from tests.quota.filling import create_key
from tests.serve import world
from tests.serve.client import PLANS, Served, serving
from tests.serve.surfaces.site.visitor import Visitor, member
from tests.serve.world import CONTACT
from tests.world import Company, company

COMPANY = "/societes/FR/552100554"
OTHER = "/societes/UK/08209948"


def used(served: Served, account: str, plan: str = "free") -> tuple[int, int]:
    """Calls and credits that were spent."""
    usage = served.store.usage(account, PLANS[plan], served.context.now()).result()
    return usage.calls.used, usage.credits.used


def test_a_visitor_sees_the_public_identity_and_pays_nothing(served: Served) -> None:
    """§4.5, D14"""
    seen = Visitor(served).get(COMPANY)

    assert seen.status == 200
    for told in ("Société Générale d'Orléans", "552100554", "4 mai 1864", "3,25 Md€", "1200"):
        assert told in seen.figures
    assert "12,5" not in seen.text
    assert CONTACT not in seen.html
    assert "Créer un compte" in seen.text


def test_an_account_sees_the_preview_and_the_price_before_it_pays(served: Served) -> None:
    """Decision 045"""
    visitor, account = member(served)

    seen = visitor.get(COMPANY)

    assert "Afficher la fiche complète (5 crédits)" in seen.text
    assert used(served, account) == (0, 0)


def test_a_record_is_charged_once_a_month_and_then_comes_at_once(served: Served) -> None:
    """§4.5, D9"""
    visitor, account = member(served)
    visitor.get(COMPANY)

    paid = visitor.send(COMPANY)
    again, later = visitor.send(COMPANY), visitor.get(COMPANY)

    assert "5 crédits débités · 245 restants" in paid.text
    assert "Déjà débitée ce mois-ci · 245 restants" in again.text
    assert "Déjà débitée ce mois-ci" in later.text
    assert all("12,5" in seen.text for seen in (paid, again, later))
    assert used(served, account) == (2, 5)  # to read it again costs nothing (decision 045)


def test_a_record_without_statements_says_that_it_costs_no_credits(served: Served) -> None:
    """X0.6: and where there is nothing to show, no button offers to show it"""
    free, _ = member(served)
    rich, account = member(served, "data")

    told = [visitor.get(OTHER).text for visitor in (free, rich)]
    opened = rich.send(OTHER)

    assert all("sa fiche ne coûte aucun crédit" in text for text in told)
    assert not any("Afficher la fiche complète" in text for text in told)
    assert ["Afficher les coordonnées (1 appel)" in text for text in told] == [False, True]
    assert CONTACT in opened.html
    assert "0 crédit débité ·" in opened.text
    assert used(served, account, "data") == (1, 0)


@pytest.mark.parametrize("filed", [True, False])
def test_contacts_are_offered_only_where_the_register_publishes_some(
    tmp_path: Path, filed: bool
) -> None:
    """Before: a button, paid with a call, that showed `Le registre n’en publie pas`."""
    bare = company("FR", "1", "Sans SARL", a_comptes=filed)
    mail = company("FR", "2", "Courriel SARL", a_comptes=filed, email="a@b.fr", telephone="+331")
    lines = {("FR", number): world.STATEMENTS for number in "12" if filed}
    world.publish(tmp_path, [bare, mail], lines)
    with serving(tmp_path) as served:
        visitors = Visitor(served), member(served)[0], member(served, "data")[0]
        shown = [[one.get(f"/societes/FR/{n}").text for n in "12"] for one in visitors]
        english = visitors[2].get("/societes/FR/2?lang=en").text

    *without_right, (none, some) = shown
    for pair in without_right:  # nothing depends on contacts that the plan may not see
        assert all("S’il y en a au registre, elles sont incluses" in text for text in pair)
        assert not any("Le registre publie :" in text for text in pair)
        assert not any("et les coordonnées" in text for text in pair)
    assert "Le registre n’en publie pas pour cette société." in none
    assert "coordonnées (1 appel)" not in none
    assert "et les coordonnées" not in none
    assert "Le registre publie : e-mail, téléphone." in some
    assert ("coordonnées (1 appel)" in some, "et les coordonnées" in some) == (not filed, filed)
    assert "The register publishes: e-mail, telephone." in english
    assert not {"a@b.fr", "+331"} & set(" ".join((none, some, english)).split())


def test_a_company_that_stopped_has_a_band_with_the_words_of_its_register(tmp_path: Path) -> None:
    rows = [
        company("EE", "1", "Üks OÜ", etat="cessee", statut="Registrist kustutatud",
                date_source="2026-06-01"),
        company("FR", "2", "Deux", etat="procedure"),
        company("FR", "3", "Trois", etat="cessee", statut="Cessée"),
        company("FR", "4", "Quatre", etat="active", statut="En activité depuis toujours"),
        company("FR", "5", "Cinq", etat="inconnu"),
    ]  # fmt: skip
    world.publish(tmp_path, rows, {})
    with serving(tmp_path) as served:
        pages = [Visitor(served).get(f"/societes/{one['iso2']}/{one['id']}").html for one in rows]

    bands = [re.findall(r'<p class="alert">(.*?)</p>', page) for page in pages]
    texts = [[re.sub("<[^>]*>", "", band) for band in own] for own in bands]
    assert texts[0] == [
        "Cessée · au registre\u00a0: Registrist kustutatud (Radiée du registre) · registre du 1 juin 2026"
    ]
    assert texts[1:] == [["En procédure"], ["Cessée"], [], []]
    assert all(page.count('class="badge') == 1 for page in pages[:3])
    assert "au registre\u00a0: <bdi>En activité depuis toujours" in pages[3]


def test_a_key_of_the_organisation_and_its_pages_share_the_charge(served: Served) -> None:
    """A8"""
    visitor, account = member(served)
    now = served.context.now()
    served.store.submit(
        account_rows.revoke_key,
        served.store.read(account_rows.keys_of, account).result()[0].id,
        iso(now),
    ).result(10)
    _, key = create_key(served.store, account, PLANS, now).result(10)
    headers = {"Authorization": f"Bearer {key}"}
    served.ask(f"/api/v1{COMPANY}", headers=headers)

    seen = visitor.get(COMPANY)

    assert "Déjà débitée" in seen.text
    assert used(served, account) == (1, 5)


def test_a_record_that_was_paid_for_is_read_again_when_the_calls_of_the_day_are_used(
    served: Served,
) -> None:
    """Decision 045"""
    visitor, account = member(served)
    visitor.get(COMPANY)
    visitor.send(COMPANY)
    for _ in range(50):
        served.store.take(account, 50, served.context.now()).result(10)

    seen = visitor.get(COMPANY)

    assert (seen.status, "12,5" in seen.text) == (200, True)
    assert visitor.get(OTHER).status == 200
    assert visitor.send(OTHER).status == 429


def test_the_rank_among_peers_is_the_place_in_a_search(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """§8.2 rule 3: exact counts; among fewer than five peers there is no rank"""
    few = Visitor(served).get("/societes/EE/12652512").text
    monkeypatch.setattr(pages, "LEAST_PEERS", 2)
    software = "programmation-conseil-et-autres-activites-informatiques"
    company = served.search(secteur=software, tri="ca_desc", avec_ca="1", q="tarkvara")["societes"][
        0
    ]
    wanted = {"secteur": software, "avec_ca": "1"}
    number = served.search(**wanted)["total"]
    above = served.search(**wanted, ca_min=str(company["ca_eur"] + 0.001))["total"]

    seen = Visitor(served).get("/societes/EE/12652512").text

    assert (number, f"sur {number}" in few) == (4, False)
    assert f"N° {above + 1} sur {number}" in seen
    assert "N° 1 sur 1 " not in seen  # the only one in Estonia


def test_the_bands_of_peers_begin_and_end_with_a_company(tmp_path: Path) -> None:
    rows = [
        company("FR", f"{n}", f"Société {n}", division="62", secteur=world.IT, groupe="62.0",
                ca_eur=1e6 * n, ca_last=1e6 * n, ca_year=2024, ca_devise="EUR")
        for n in range(1, 8)
    ]  # fmt: skip
    world.publish(tmp_path, rows, {})
    with serving(tmp_path) as served:
        page = Visitor(served).get("/societes/FR/1").html

    heights = re.findall(
        r'<rect(?: class="me")? x="[^"]*%" y="[^"]*" width="[^"]*%" height="([^"]*)"', page
    )
    assert len(heights) >= 1
    assert float(heights[0]) > 0 and float(heights[-1]) > 0


def test_the_analysis_is_charged_as_that_of_the_api_and_only_by_a_form(served: Served) -> None:
    """X11"""
    visitor, account = member(served, "corporate")
    free, _ = member(served)
    path = f"{COMPANY}/analyse"
    visitor.get(COMPANY)
    free.get(COMPANY)

    linked = visitor.get(path)
    made, again = visitor.send(path), visitor.send(path)
    shown, reloaded = visitor.get(path), visitor.get(path)

    assert linked.headers["Location"] == COMPANY
    assert [(one.status, one.headers["Location"]) for one in (made, again)] == [(303, path)] * 2
    assert "Médiane" in shown.text
    assert reloaded.status == 200
    assert used(served, account, "corporate") == (2, 10)  # the address costs nothing further
    refused = free.send(path)
    assert (refused.status, "Analyse non comprise" in refused.text) == (403, True)
    assert Visitor(served).get(path).headers["Location"].startswith("/connexion")


def test_an_analysis_says_how_many_ratios_it_has_before_it_is_bought(tmp_path: Path) -> None:
    """Before: ten credits for two ratios of 21, and a button where there was nothing to analyse."""
    bare = company("EE", "2", "Tühi OÜ", division="62", groupe="62.0", secteur=world.IT)
    some = company(
        "EE", "1", "Pool OÜ", division="62", groupe="62.0", secteur=world.IT, a_comptes=True,
        ca_eur=100.0,
    )  # fmt: skip
    none = company("EE", "3", "Ainult vara OÜ", a_comptes=True)
    lines = [
        _statement("TurnoverRevenue", "Chiffre d'affaires", 2024, 100.0, "EUR"),
        _statement("ProfitLoss", "Résultat", 2024, 7.0, "EUR"),
    ]
    filed = {("EE", "1"): lines, ("EE", "3"): world.STATEMENTS}
    world.publish(tmp_path, [bare, some, none], filed)
    with serving(tmp_path) as served:
        rich, _ = member(served, "corporate")
        trying, _ = member(served, "data")
        offers = [rich.get(f"/societes/EE/{number}").text for number in "123"]
        for visitor in (rich, trying):
            visitor.get("/societes/EE/1")
            visitor.send("/societes/EE/1/analyse")
        paid, tried, nothing = (
            rich.get("/societes/EE/1/analyse").text,
            trying.get("/societes/EE/1/analyse").text,
            rich.get("/societes/EE/2/analyse").text,
        )
        back = rich.get("/societes/EE/1")

    assert "1 ratio sur 21 calculable." in offers[0]
    assert "Analyser (10 crédits, une fois par mois)" in offers[0]
    assert ["Analyser" in offer for offer in offers] == [True, False, False]
    assert ["Payée" in text for text in (paid, tried, nothing)] == [True, False, False]
    assert "Comptée comme un essai" in tried
    assert "20 ratios ne peuvent pas être calculés" in paid
    assert paid.count("tous pays") == 2  # of the peers, once, and of the rank
    assert "Rang par chiffre d’affaires, toutes activités :" in paid
    assert "Voir l’analyse" in back.text  # not the price of it once more
    assert "10 crédits" not in back.text


def test_an_analysis_has_the_parts_of_the_score(served: Served) -> None:
    visitor, _ = member(served, "corporate")
    visitor.send(f"{COMPANY}/analyse")

    seen = visitor.get(f"{COMPANY}/analyse")
    key = served.customer("corporate").headers
    score = served.ask(f"/api/v1{COMPANY}/analyses/entreprise", headers=key).json["score"]
    assert f"Score de complétude : {score['valeur']} sur {score['maximum']}" in seen.text
    shown = re.findall(r'<span class="number">(\d+) / (\d+)</span>', seen.html)
    assert [tuple(map(int, pair)) for pair in shown] == [
        (part["points"], part["maximum"]) for part in score["parts"]
    ]


def test_a_link_never_charges(served: Served) -> None:
    visitor, account = member(served)

    for method in ("GET", "HEAD"):
        visitor.get(COMPANY, method=method)
        visitor.get(f"{COMPANY}/", method=method)

    assert used(served, account)[1] == 0


def test_without_credits_the_preview_is_served_and_says_so(served: Served) -> None:
    """D10"""
    visitor, account = member(served)
    visitor.get(COMPANY)
    served.store.take_and_charge(
        Purchase(account, 50, "FR/autre", 250, 250), served.context.now()
    ).result(10)

    seen = visitor.send(COMPANY)

    assert seen.status == 402
    assert "Vos crédits du mois sont épuisés" in seen.text
    assert "Société Générale" in seen.text
    assert "12,5" not in seen.text
    assert used(served, account) == (2, 250)


def test_contacts_are_for_plans_that_have_them(served: Served) -> None:
    """§2.1: the plan that is paid for, with the API tool or without (decision 044)"""
    free, _ = member(served)
    data, _ = member(served, "data")
    free.get(COMPANY)
    data.get(COMPANY)

    assert CONTACT not in free.send(COMPANY).html
    assert CONTACT not in data.get(COMPANY).html
    full = data.send(COMPANY).html
    assert f'href="https://www.{CONTACT}-sgo.eu"' in full
    assert f"bonjour@{CONTACT}-sgo.eu" in full


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/societes/FR/absente", 404, "societe_introuvable"),
        ("/societes/XX/1", 400, "pays_inconnu"),
        ("/societes/FR/", 400, "identifiant_invalide"),
        ("/societes/FR/" + "1" * 65, 400, "identifiant_invalide"),
        ("/societes/FR/%00", 400, "identifiant_invalide"),
        ("/societes/FR/552100554?x=1", 400, "parametre_inconnu"),
        ("/societes/FR", 404, "route_inconnue"),
    ],
)
def test_what_is_no_company_is_a_page_that_says_why(
    served: Served, path: str, status: int, told: str
) -> None:
    """E1"""
    visitor, account = member(served)

    seen = visitor.get(path)

    assert (seen.status, told in seen.html) == (status, True)
    assert used(served, account) == (0, 0)


def test_an_identifier_may_hold_what_a_path_may_not(served: Served) -> None:
    """E2"""
    seen = Visitor(served).get("/?q=%C3%A9toile")
    assert "/societes/FR/A%201%2F2.b" in seen.html

    assert "Étoile filante" in Visitor(served).get("/societes/FR/A%201%2F2.b").text
    assert "Société Générale" in Visitor(served).get("/societes/FR/552%20100%20554").text


def test_status_and_form_are_shown_as_published_with_words_in_the_language_of_the_page(
    served: Served,
) -> None:
    """Extensions X1, X6, X9"""
    path = "/societes/EE/12652512"

    french, english = (Visitor(served).get(f"{path}?lang={lang}") for lang in ("fr", "en"))

    for told in ("Osaühing (Société à responsabilité limitée)", "Likvideerimisel (En liquidation)",
                 "En procédure", "Vana Nimi OÜ ; Õunapuu OÜ", "56.10, 62.09", "EE100366327",
                 "549300LKH2ZT2UYX8L57", "1 juin 2026"):  # fmt: skip
        assert told in french.figures
    for told in ("Osaühing (Limited liability company)", "Likvideerimisel (In liquidation)",
                 "In proceedings", "1 Jun 2026"):  # fmt: skip
        assert told in english.figures
    assert '<span class="badge procedure">' in english.html


def test_the_group_has_links_where_a_company_is_served_and_lei_where_not(served: Served) -> None:
    """Extension X12"""
    known, alone = (
        Visitor(served).get(f"/societes/{company}?lang=en").html
        for company in ("EE/12652512", "FR/309634954")
    )

    assert "<h2>Group</h2>" in known
    assert world.PARENT_LEI in known and "since 12 Apr 2021" in known
    assert "Direct subsidiaries (1)" in known and world.CHILD_LEI in known
    assert "<h2>Group</h2>" not in alone


def test_statements_have_changes_shares_and_labels_in_english(tmp_path: Path) -> None:
    """Each line beside the year before, and in parts of the total assets or the turnover"""

    def line(etat: str, code: str, label: str, year: int, value: float) -> dict[str, Any]:
        return {"etat": etat, "code": code, "libelle": label, "valeur": value, "devise": "EUR",
                "exercice": year, "ordre": 1}  # fmt: skip

    lines = [
        line("bilan_actif", "TotalAssets", "Total de l'actif", 2024, 200.0),
        line("bilan_actif", "TotalAssets", "Total de l'actif", 2023, 160.0),
        line("bilan_actif", "CashBankOnHand", "Disponibilités", 2024, 50.0),
        line("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires", 2024, 400.0),
        line("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires", 2023, 500.0),
        line("compte_resultat", "ProfitLoss", "Résultat", 2024, -20.0),
    ]
    data = tmp_path / "data"
    data.mkdir()
    world.publish(data, world.COMPANIES, {("FR", "552100554"): lines})
    with serving(data) as served:
        visitor, _ = member(served)
        visitor.get(f"{COMPANY}?lang=en")
        seen = visitor.send(COMPANY)

    assert "Total assets Total de l'actif 200 160 +25% 100%" in seen.text
    assert "Cash at bank and in hand Disponibilités 50 – 25%" in seen.text
    assert "Turnover Chiffre d'affaires 400 500 −20% 100%" in seen.text
    assert "−20 – −5%" in seen.text
    assert "Turnover 2024 €400 ▼ 20%" in seen.text
    for told in (
        "Year 2023 2024 Turnover 500 400 Result (loss in red) – −20",
        "Source: fr-registre",
        "data version",
    ):
        assert told in " ".join([seen.text, *re.findall(r'aria-label="([^"]*)"', seen.html)])


def _statement(code: str, label: str, year: int, value: float, devise: str) -> dict[str, Any]:
    return {"etat": "compte_resultat", "code": code, "libelle": label, "valeur": value, "devise": devise,
            "exercice": year, "ordre": 1}  # fmt: skip


def _paid_page(tmp_path: Path, published: Company, lines: list[dict[str, Any]], lang: str) -> str:
    """The text of the full record of a company with these lines."""
    place = (published["iso2"], published["id"])
    world.publish(tmp_path, [published | {"a_comptes": True}], {place: lines})
    with serving(tmp_path) as served:
        visitor, _ = member(served)
        path = f"/societes/{'/'.join(place)}"
        visitor.get(f"{path}?lang={lang}")
        return visitor.send(path).text


def test_a_turnover_has_one_tile_with_its_own_currency_first(tmp_path: Path) -> None:
    """Before: two tiles, `277 k GBP` and `316 k€`; and 21 504 times six pounds as a growth."""
    lines = [
        _statement("TurnoverRevenue", "Chiffre d'affaires", 2024, 277_000.0, "GBP"),
        _statement("TurnoverRevenue", "Chiffre d'affaires", 2023, 6.0, "GBP"),
    ]
    published = company(
        "UK", "1", "Lid", ca_eur=316_000.0, ca_last=277_000.0, ca_devise="GBP", ca_year=2024
    )

    seen = [_paid_page(tmp_path / lang, published, lines, lang) for lang in ("fr", "en")]

    french, english = (re.sub(r"[\u00a0\u202f]", " ", text) for text in seen)
    assert "Chiffre d’affaires 2024 277 k GBP 316 k€ n. s." in french
    assert "Turnover 2024 GBP 277k €316k n.m." in english
    assert french.count("316 k€") == 1
    assert "Chiffre d'affaires" not in english  # no French label under a British line


def test_accounts_of_the_group_are_apart_from_those_of_the_company(tmp_path: Path) -> None:
    """Before: two bold lines `Total de l'actif` after each other."""
    lines = [
        _statement("TurnoverRevenue", "Chiffre d'affaires", 2024, 100.0, "EUR"),
        _statement(
            "TurnoverRevenueConsolidated", "Chiffre d'affaires (groupe)", 2024, 900.0, "EUR"
        ),
    ]

    both = _paid_page(tmp_path / "both", company("EE", "1", "Emaettevõte"), lines, "fr")
    alone = _paid_page(tmp_path / "alone", company("EE", "1", "Emaettevõte"), lines[:1], "fr")

    own, _, group = both.rpartition("Comptes consolidés")
    assert "900" not in own.rpartition("Comptes sociaux")[2]
    assert "900" in group
    assert "Comptes sociaux" not in alone


def test_lines_of_the_group_do_not_repeat_the_words_of_their_heading(tmp_path: Path) -> None:
    label = "Total de l'actif (comptes consolidés)"
    lines = [_statement("TotalAssetsConsolidated", label, 2024, 900.0, "EUR")]

    french, english = (
        _paid_page(tmp_path / lang, company("EE", "1", "Emaettevõte"), lines, lang)
        for lang in ("fr", "en")
    )

    assert "Comptes consolidés" in french
    assert "(comptes consolidés)" not in french
    assert "Total assets" in english
    assert "comptes consolidés" not in english


def test_nouns_and_years_follow_their_number(tmp_path: Path) -> None:
    """Before: `1 personnes`, `comptes 2024–2024`."""
    one = {"division": "62", "groupe": "62.0", "secteur": world.IT, "effectif": 1}
    pair = [company("EE", number, f"Osaühing {number}", **one) for number in "12"]
    world.publish(
        tmp_path, [pair[0] | {"a_comptes": True}, pair[1]], {("EE", "1"): world.STATEMENTS}
    )
    with serving(tmp_path) as served:
        visitor, _ = member(served)
        visitor.get("/societes/EE/1")
        seen = visitor.send("/societes/EE/1").text

    assert "1 personne ·" in seen
    assert "comptes 2024 tels que déposés" in seen


def test_a_comparable_company_of_another_size_says_so(tmp_path: Path) -> None:
    """Before: 168 M€ beside 32 M€ as `les plus proches`, without a word."""
    cell = {"division": "62", "groupe": "62.0", "secteur": world.IT}
    pair = [
        company("EE", n, f"OÜ {n}", ca_eur=ca, **cell)
        for n, ca in (("1", 100.0), ("2", 524.0), ("3", 390.0))
    ]
    world.publish(tmp_path, pair, {})
    with serving(tmp_path) as served:
        small, large = (Visitor(served).get(f"/societes/EE/{number}").text for number in "12")

        near = Visitor(served).get("/societes/EE/3").text

    assert "taille et lieu les plus proches" in near  # 524 and 100 are within four times 390
    assert "taille et lieu" not in small
    assert "une partie n’a pas une taille proche" in small
    assert "524 € · 5 × plus grande · EE" in small
    assert "390 € · EE" in small
    assert "100 € · 5 × plus petite · EE" in large


def test_a_list_marks_the_companies_that_are_not_active(served: Served) -> None:
    """Extension X1"""
    seen = Visitor(served).get("/?q=Tarkvara&lang=en")

    assert "Eesti Tarkvara OÜ In proceedings" in seen.figures


@pytest.mark.parametrize(
    ("path", "register"),
    [
        ("DE/F1103R_HRB218916", "Handelsregister"),
        ("EE/12652512", "e-Äriregister (RIK)"),
        ("FR/552100554", "Registre national des entreprises (INPI) / Sirene (INSEE)"),
    ],
)
def test_every_record_names_its_register_and_no_page_promises_a_link(
    served: Served, path: str, register: str
) -> None:
    """Nine of the countries have no page for a company."""
    assert f"Registre {register}" in " ".join(Visitor(served).get(f"/societes/{path}").text.split())
    for page in ("/", "/tarifs", "/sources"):
        text = Visitor(served).get(page).text
        assert "mène au registre" not in text and "lien vers chaque fiche" not in text


def test_words_that_only_repeat_what_is_published_are_left_out(tmp_path: Path) -> None:
    twice = company(
        "FR", "1", "Répétée", forme="SARL, société à responsabilité limitée", statut="Active", etat="active"
    )  # fmt: skip
    world.publish(tmp_path, [twice], {})
    with serving(tmp_path) as served:
        page = Visitor(served).get("/societes/FR/1").text

    assert page.lower().count("société à responsabilité limitée") == page.lower().count(
        "sarl, société à responsabilité limitée"
    )
    assert "au registre :" not in page


def test_a_record_credits_the_sources_of_what_it_shows(served: Served) -> None:
    """Before: the first source of the country by name, whatever it had given."""
    credited = {
        path: re.findall(
            r"([a-z-]+) &amp; Cie", html.partition('class="prov"')[2].partition(" · ")[0]
        )
        for path in ("FR/552100554", "FR/309634954", "EE/12652512")
        for html in [Visitor(served).get(f"/societes/{path}").html]
    }

    assert credited == {
        "FR/552100554": ["fr-registre", "fr-comptes"],
        "FR/309634954": ["fr-registre"],
        "EE/12652512": ["ee-registre"],
    }


def test_an_attribution_that_another_one_contains_is_not_told_twice(tmp_path: Path) -> None:
    """Before: "… (Egapro) ; Insee, base Sirene ; Insee, base Sirene"."""
    register = world.SOURCES["FR"][1]
    longer = replace(
        register, source="other",
        attribution=f"Source : ministère ; {register.attribution}",
        attribution_en=f"Source: ministry; {register.attribution_en}",
    )  # fmt: skip
    world.publish(tmp_path, [company("FR", "1", "Fiche")], {}, sources={"FR": [register, longer]})
    with serving(tmp_path) as served:
        html = Visitor(served).get("/societes/FR/1").html

    line = html.partition('class="prov"')[2].partition(" · ")[0]
    assert line.count("ministère") == 1
    assert line.count("fr-registre &amp; Cie") == 1


def test_a_state_that_is_not_known_says_what_is_not_known(served: Served) -> None:
    [company] = served.search(q="fitlab")["societes"]
    page = f"/societes/{company['iso2']}/{company['id']}"

    assert "état inconnu" in Visitor(served).get(page).text
    assert "state unknown" in Visitor(served).get(f"{page}?lang=en").text
    assert "inconnu " not in Visitor(served).get("/?q=fitlab").text.partition("Par pays")[0]


def test_a_parent_that_is_not_served_is_linked_to_the_lei_data(served: Served) -> None:
    page = Visitor(served).get("/societes/EE/12652512").html

    assert f'<a href="https://search.gleif.org/#/record/{world.PARENT_LEI}"' in page


@pytest.mark.parametrize(
    ("date", "words"),
    [("2026", "de 2026"), ("2026-04", "d’avr. 2026"), ("2026-06", "de juin 2026"), ("2026-06-02", "du 2 juin 2026")],
)  # fmt: skip
def test_the_date_of_a_register_is_said_as_exactly_as_it_is_known(
    tmp_path: Path, date: str, words: str
) -> None:
    """Before: `registre du 2026`."""
    stopped = company("EE", "1", "Üks OÜ", etat="cessee", statut="Kustutatud", date_source=date)
    world.publish(tmp_path, [stopped], {})
    with serving(tmp_path) as served:
        text = Visitor(served).get("/societes/EE/1").text

    assert f"· registre {words}" in text


def test_a_record_has_no_tile_and_no_line_without_a_value(tmp_path: Path) -> None:
    bare = company("EE", "1", "Üks OÜ", effectif=3, date_creation=None, nace_code=None)
    world.publish(tmp_path, [bare], {})
    with serving(tmp_path) as served:
        page = Visitor(served).get("/societes/EE/1")

    assert "Création" not in page.text
    assert "NACE –" not in page.text
    assert "<h2>Coordonnées</h2>" not in page.html
    assert "<dt>Coordonnées</dt>" in page.html


def test_the_same_rank_is_said_once_and_a_far_size_in_words(tmp_path: Path) -> None:
    cell = {"division": "62", "groupe": "62.0", "secteur": world.IT}
    rows = [company("EE", str(n), f"OÜ {n}", ca_eur=1000.0 * 20**n, **cell) for n in range(5)]
    world.publish(tmp_path, rows, {})
    with serving(tmp_path) as served:
        text = Visitor(served).get("/societes/EE/4").figures

    assert text.count("N° 1 sur 5") == 1
    assert "beaucoup plus petite" in text
    assert "× plus petite" in text or "20 ×" not in text


def test_a_record_is_an_organization_of_schema_org(served: Served) -> None:
    html = Visitor(served).get("/societes/EE/12652512").html
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', html)
    assert found

    told = json.loads(found[1])

    assert told["@type"] == "Organization"
    assert (told["name"], told["leiCode"]) == ("Eesti Tarkvara OÜ", "549300LKH2ZT2UYX8L57")
    assert told["address"]["addressCountry"] == "EE"
    assert CONTACT not in html
