"""/societes/{iso}/{id}: the public preview, the price shown before payment, one charge per month.

The preview shows neither the value 12,5 of the statements nor contact values.
"""

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
from tests.serve.client import PLANS, Server, run_server
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member
from tests.serve.world import CONTACT
from tests.world import Company, company

# The record of the first costs 5 credits; the second has no statements, so its record costs none.
PAID_COMPANY = "/societes/FR/552100554"
FREE_COMPANY = "/societes/UK/08209948"
# A value of the statements of PAID_COMPANY, which only a paid record shows.
STATEMENT_VALUE = "12,5"


def calls_and_credits(server: Server, account: str, plan: str = "free") -> tuple[int, int]:
    """The calls of the day and the credits of the month that an account has used."""
    usage = server.store.usage(account, PLANS[plan], server.context.now()).result()
    return usage.calls.used, usage.credits.used


def test_a_visitor_sees_the_public_identity_and_pays_nothing(server: Server) -> None:
    """§4.5, D14"""
    page = Visitor(server).get(PAID_COMPANY)

    assert page.status == 200
    for text in ("Société Générale d'Orléans", "552100554", "4 mai 1864", "3,25 Md€", "1200"):
        assert text in page.figures
    assert STATEMENT_VALUE not in page.text
    assert CONTACT not in page.html
    assert "Créer un compte" in page.text


def test_an_account_sees_the_preview_and_the_price_before_it_pays(server: Server) -> None:
    """Decision 045"""
    visitor, account = sign_up_member(server)

    page = visitor.get(PAID_COMPANY)

    assert "Afficher la fiche complète (5 crédits)" in page.text
    assert calls_and_credits(server, account) == (0, 0)


def test_a_record_is_charged_once_a_month_and_then_shown_at_once(server: Server) -> None:
    """§4.5, D9"""
    visitor, account = sign_up_member(server)
    visitor.get(PAID_COMPANY)

    paid = visitor.send(PAID_COMPANY)
    sent_again, opened_later = visitor.send(PAID_COMPANY), visitor.get(PAID_COMPANY)

    assert "5 crédits débités · 245 restants" in paid.text
    assert "Déjà débitée ce mois-ci · 245 restants" in sent_again.text
    assert "Déjà débitée ce mois-ci" in opened_later.text
    assert all(STATEMENT_VALUE in page.text for page in (paid, sent_again, opened_later))
    assert calls_and_credits(server, account) == (2, 5)  # reading it again is free (decision 045)


def test_a_record_without_statements_says_that_it_costs_no_credits(server: Server) -> None:
    """X0.6: no button offers statements if there are none"""
    free_visitor, _ = sign_up_member(server)
    data_visitor, account = sign_up_member(server, "data")

    texts = [visitor.get(FREE_COMPANY).text for visitor in (free_visitor, data_visitor)]
    opened = data_visitor.send(FREE_COMPANY)

    assert all("sa fiche ne coûte aucun crédit" in text for text in texts)
    assert not any("Afficher la fiche complète" in text for text in texts)
    assert ["Afficher les coordonnées (1 appel)" in text for text in texts] == [False, True]
    assert CONTACT in opened.html
    assert "0 crédit débité ·" in opened.text
    assert calls_and_credits(server, account, "data") == (1, 0)


@pytest.mark.parametrize("filed", [True, False])
def test_contacts_are_offered_only_if_the_register_publishes_some(
    tmp_path: Path, filed: bool
) -> None:
    """Fixed: a button offered contacts for a call, and then showed `Le registre n’en publie pas`."""
    without_contacts = company("FR", "1", "Sans SARL", a_comptes=filed)
    with_contacts = company(
        "FR", "2", "Courriel SARL", a_comptes=filed, email="a@b.fr", telephone="+331"
    )
    lines = {("FR", number): world.STATEMENTS for number in "12" if filed}
    world.publish(tmp_path, [without_contacts, with_contacts], lines)
    with run_server(tmp_path) as server:
        visitors = Visitor(server), sign_up_member(server)[0], sign_up_member(server, "data")[0]
        texts = [
            [visitor.get(f"/societes/FR/{identifier}").text for identifier in "12"]
            for visitor in visitors
        ]
        english = visitors[2].get("/societes/FR/2?lang=en").text

    *without_right, (text_without_contacts, text_with_contacts) = texts
    # Without the right, the page does not depend on contacts.
    for texts_of_visitor in without_right:
        assert all(
            "S’il y en a au registre, elles sont incluses" in text for text in texts_of_visitor
        )
        assert not any("Le registre publie :" in text for text in texts_of_visitor)
        assert not any("et les coordonnées" in text for text in texts_of_visitor)
    assert "Le registre n’en publie pas pour cette société." in text_without_contacts
    assert "coordonnées (1 appel)" not in text_without_contacts
    assert "et les coordonnées" not in text_without_contacts
    assert "Le registre publie : e-mail, téléphone." in text_with_contacts
    assert (
        "coordonnées (1 appel)" in text_with_contacts,
        "et les coordonnées" in text_with_contacts,
    ) == (
        not filed,
        filed,
    )
    assert "The register publishes: e-mail, telephone." in english
    assert not {"a@b.fr", "+331"} & set(
        " ".join((text_without_contacts, text_with_contacts, english)).split()
    )


def test_an_inactive_company_has_a_band_with_the_status_in_the_register(tmp_path: Path) -> None:
    """If the status says more than the state; an active or unknown state has no band"""
    rows = [
        company("EE", "1", "Üks OÜ", etat="cessee", statut="Registrist kustutatud",
                date_source="2026-06-01"),
        company("FR", "2", "Deux", etat="procedure"),
        company("FR", "3", "Trois", etat="cessee", statut="Cessée"),
        company("FR", "4", "Quatre", etat="active", statut="En activité depuis toujours"),
        company("FR", "5", "Cinq", etat="inconnu"),
    ]  # fmt: skip
    world.publish(tmp_path, rows, {})
    with run_server(tmp_path) as server:
        pages = [Visitor(server).get(f"/societes/{row['iso2']}/{row['id']}").html for row in rows]

    bands = [re.findall(r'<p class="alert">(.*?)</p>', page) for page in pages]
    texts = [[re.sub("<[^>]*>", "", band) for band in bands_of_page] for bands_of_page in bands]
    assert texts[0] == [
        "Cessée · au registre\u00a0: Registrist kustutatud (Radiée du registre) · registre du 1 juin 2026"
    ]
    assert texts[1:] == [["En procédure"], ["Cessée"], [], []]
    assert all(page.count('class="badge') == 1 for page in pages[:3])
    assert "au registre\u00a0: <bdi>En activité depuis toujours" in pages[3]


def test_a_key_of_the_organisation_and_its_pages_share_the_charge(server: Server) -> None:
    """A8: the key paid for the record, so the page shows it without a further call or credit"""
    visitor, account = sign_up_member(server)
    now = server.context.now()
    server.store.submit(
        account_rows.revoke_key,
        server.store.read(account_rows.keys_of, account).result()[0].id,
        iso(now),
    ).result()
    _, key = create_key(server.store, account, PLANS, now).result()
    headers = {"Authorization": f"Bearer {key}"}
    server.ask(f"/api/v1{PAID_COMPANY}", headers=headers)

    page = visitor.get(PAID_COMPANY)

    assert "Déjà débitée" in page.text
    assert calls_and_credits(server, account) == (1, 5)


def test_a_paid_record_stays_readable_when_the_calls_of_the_day_are_used_up(
    server: Server,
) -> None:
    """Decision 045"""
    visitor, account = sign_up_member(server)
    visitor.get(PAID_COMPANY)
    visitor.send(PAID_COMPANY)
    for _ in range(50):
        server.store.take(account, 50, server.context.now()).result()

    page = visitor.get(PAID_COMPANY)

    assert (page.status, STATEMENT_VALUE in page.text) == (200, True)
    assert visitor.get(FREE_COMPANY).status == 200
    assert visitor.send(FREE_COMPANY).status == 429  # a new record costs a call


def test_the_rank_among_peers_is_the_position_in_a_search(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """§8.2 rule 3: exact counts; with fewer than five peers there is no rank"""
    page_without_rank = Visitor(server).get("/societes/EE/12652512").text
    monkeypatch.setattr(pages, "LEAST_PEERS", 2)
    software = "programmation-conseil-et-autres-activites-informatiques"
    company = server.search(secteur=software, tri="ca_desc", avec_ca="1", q="tarkvara")["societes"][
        0
    ]
    filters = {"secteur": software, "avec_ca": "1"}
    peers = server.search(**filters)["total"]
    larger_peers = server.search(**filters, ca_min=str(company["ca_eur"] + 0.001))["total"]

    page = Visitor(server).get("/societes/EE/12652512").text

    assert (peers, f"sur {peers}" in page_without_rank) == (4, False)
    assert f"N° {larger_peers + 1} sur {peers}" in page
    assert "N° 1 sur 1 " not in page  # the only such company in Estonia


def test_the_first_and_the_last_band_of_peers_have_companies(tmp_path: Path) -> None:
    rows = [
        company("FR", f"{number}", f"Société {number}", division="62", secteur=world.IT, groupe="62.0",
                ca_eur=1e6 * number, ca_last=1e6 * number, ca_year=2024, ca_devise="EUR")
        for number in range(1, 8)
    ]  # fmt: skip
    world.publish(tmp_path, rows, {})
    with run_server(tmp_path) as server:
        page = Visitor(server).get("/societes/FR/1").html

    heights = re.findall(
        r'<rect(?: class="me")? x="[^"]*%" y="[^"]*" width="[^"]*%" height="([^"]*)"', page
    )
    assert len(heights) >= 1
    assert float(heights[0]) > 0 and float(heights[-1]) > 0


def test_an_analysis_is_charged_like_in_the_api_and_only_by_a_form(server: Server) -> None:
    """X11: 10 credits once; `free` does not include it"""
    visitor, account = sign_up_member(server, "corporate")
    free_visitor, _ = sign_up_member(server)
    path = f"{PAID_COMPANY}/analyse"
    visitor.get(PAID_COMPANY)
    free_visitor.get(PAID_COMPANY)

    opened_by_link = visitor.get(path)
    bought, sent_again = visitor.send(path), visitor.send(path)
    opened, reloaded = visitor.get(path), visitor.get(path)

    assert opened_by_link.headers["Location"] == PAID_COMPANY
    assert [(reply.status, reply.headers["Location"]) for reply in (bought, sent_again)] == [
        (303, path)
    ] * 2
    assert "Médiane" in opened.text
    assert reloaded.status == 200
    # Opening the address again is free.
    assert calls_and_credits(server, account, "corporate") == (2, 10)
    refused = free_visitor.send(path)
    assert (refused.status, "Analyse non comprise" in refused.text) == (403, True)
    assert Visitor(server).get(path).headers["Location"].startswith("/connexion")


def test_an_analysis_says_how_many_ratios_it_has_before_it_is_bought(tmp_path: Path) -> None:
    """Fixed: the button did not say that an analysis of ten credits had only 2 of 21 ratios, or none."""
    without_accounts = company("EE", "2", "Tühi OÜ", division="62", groupe="62.0", secteur=world.IT)
    with_ratios = company(
        "EE", "1", "Pool OÜ", division="62", groupe="62.0", secteur=world.IT, a_comptes=True,
        ca_eur=100.0,
    )  # fmt: skip
    without_ratios = company("EE", "3", "Ainult vara OÜ", a_comptes=True)
    lines = [
        _income_line("TurnoverRevenue", "Chiffre d'affaires", 2024, 100.0, "EUR"),
        _income_line("ProfitLoss", "Résultat", 2024, 7.0, "EUR"),
    ]
    filed = {("EE", "1"): lines, ("EE", "3"): world.STATEMENTS}
    world.publish(tmp_path, [without_accounts, with_ratios, without_ratios], filed)
    with run_server(tmp_path) as server:
        paying_visitor, _ = sign_up_member(server, "corporate")
        trial_visitor, _ = sign_up_member(server, "data")
        offers = [paying_visitor.get(f"/societes/EE/{number}").text for number in "123"]
        for visitor in (paying_visitor, trial_visitor):
            visitor.get("/societes/EE/1")
            visitor.send("/societes/EE/1/analyse")
        paid_text, trial_text, text_without_analysis = (
            paying_visitor.get("/societes/EE/1/analyse").text,
            trial_visitor.get("/societes/EE/1/analyse").text,
            paying_visitor.get("/societes/EE/2/analyse").text,
        )
        record_after_payment = paying_visitor.get("/societes/EE/1")

    assert "1 ratio sur 21 calculable." in offers[0]
    assert "Analyser (10 crédits, une fois par mois)" in offers[0]
    assert ["Analyser" in offer for offer in offers] == [True, False, False]
    assert ["Payée" in text for text in (paid_text, trial_text, text_without_analysis)] == [
        True,
        False,
        False,
    ]
    assert "Comptée comme un essai" in trial_text
    assert "20 ratios ne peuvent pas être calculés" in paid_text
    assert paid_text.count("tous pays") == 2  # once for the peers, once for the rank
    assert "Rang par chiffre d’affaires, toutes activités :" in paid_text
    assert "Voir l’analyse" in record_after_payment.text  # without a price
    assert "10 crédits" not in record_after_payment.text


def test_an_analysis_has_the_parts_of_the_score(server: Server) -> None:
    visitor, _ = sign_up_member(server, "corporate")
    visitor.send(f"{PAID_COMPANY}/analyse")

    page = visitor.get(f"{PAID_COMPANY}/analyse")
    key = server.customer("corporate").headers
    score = server.ask(f"/api/v1{PAID_COMPANY}/analyses/entreprise", headers=key).json["score"]
    assert f"Score de complétude : {score['valeur']} sur {score['maximum']}" in page.text
    points = re.findall(r'<span class="number">(\d+) / (\d+)</span>', page.html)
    assert [tuple(map(int, pair)) for pair in points] == [
        (score_part["points"], score_part["maximum"]) for score_part in score["parts"]
    ]


def test_a_link_never_charges(server: Server) -> None:
    visitor, account = sign_up_member(server)

    for method in ("GET", "HEAD"):
        visitor.get(PAID_COMPANY, method=method)
        visitor.get(f"{PAID_COMPANY}/", method=method)

    assert calls_and_credits(server, account)[1] == 0


def test_without_credits_the_preview_is_served_and_says_so(server: Server) -> None:
    """D10: another purchase has spent the 250 credits of `free`"""
    visitor, account = sign_up_member(server)
    visitor.get(PAID_COMPANY)
    server.store.take_and_charge(
        Purchase(account, call_limit=50, company="FR/autre", cost=250, grant=250),
        server.context.now(),
    ).result()

    page = visitor.send(PAID_COMPANY)

    assert page.status == 402
    assert "Vos crédits du mois sont épuisés" in page.text
    assert "Société Générale" in page.text
    assert STATEMENT_VALUE not in page.text
    assert calls_and_credits(server, account) == (2, 250)


def test_contacts_are_shown_only_to_plans_with_the_right(server: Server) -> None:
    """§2.1: depends on the plan, with or without the API tool (decision 044)"""
    free_visitor, _ = sign_up_member(server)
    data_visitor, _ = sign_up_member(server, "data")
    free_visitor.get(PAID_COMPANY)
    data_visitor.get(PAID_COMPANY)

    assert CONTACT not in free_visitor.send(PAID_COMPANY).html
    assert CONTACT not in data_visitor.get(PAID_COMPANY).html
    full_record = data_visitor.send(PAID_COMPANY).html
    assert f'href="https://www.{CONTACT}-sgo.eu"' in full_record
    assert f"bonjour@{CONTACT}-sgo.eu" in full_record


@pytest.mark.parametrize(
    ("path", "status", "code"),
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
def test_a_wrong_path_of_a_record_is_a_page_with_the_error_code(
    server: Server, path: str, status: int, code: str
) -> None:
    """E1"""
    visitor, account = sign_up_member(server)

    page = visitor.get(path)

    assert (page.status, code in page.html) == (status, True)
    assert calls_and_credits(server, account) == (0, 0)


def test_an_identifier_may_have_characters_that_a_path_must_escape(server: Server) -> None:
    """E2"""
    page = Visitor(server).get("/?q=%C3%A9toile")
    assert "/societes/FR/A%201%2F2.b" in page.html

    assert "Étoile filante" in Visitor(server).get("/societes/FR/A%201%2F2.b").text
    assert "Société Générale" in Visitor(server).get("/societes/FR/552%20100%20554").text


def test_status_and_form_are_shown_as_published_and_translated(
    server: Server,
) -> None:
    """Extensions X1, X6, X9"""
    path = "/societes/EE/12652512"

    french, english = (Visitor(server).get(f"{path}?lang={lang}") for lang in ("fr", "en"))

    for words in ("Osaühing (Société à responsabilité limitée)", "Likvideerimisel (En liquidation)",
                 "En procédure", "Vana Nimi OÜ ; Õunapuu OÜ", "56.10, 62.09", "EE100366327",
                 "549300LKH2ZT2UYX8L57", "1 juin 2026"):  # fmt: skip
        assert words in french.figures
    for words in ("Osaühing (Limited liability company)", "Likvideerimisel (In liquidation)",
                 "In proceedings", "1 Jun 2026"):  # fmt: skip
        assert words in english.figures
    assert '<span class="badge procedure">' in english.html


def test_a_record_has_a_section_for_its_group_if_there_is_one(server: Server) -> None:
    """Extension X12"""
    with_group, without_group = (
        Visitor(server).get(f"/societes/{company}?lang=en").html
        for company in ("EE/12652512", "FR/309634954")
    )

    assert "<h2>Group</h2>" in with_group
    assert world.PARENT_LEI in with_group and "since 12 Apr 2021" in with_group
    assert "Direct subsidiaries (1)" in with_group and world.CHILD_LEI in with_group
    assert "<h2>Group</h2>" not in without_group


def test_statements_have_changes_shares_and_labels_in_english(tmp_path: Path) -> None:
    """A line has its change from the previous year, and its share of total assets or turnover."""

    def statement_line(etat: str, code: str, label: str, year: int, value: float) -> dict[str, Any]:
        """A line of a statement (`etat`) in euros."""
        return {"etat": etat, "code": code, "libelle": label, "valeur": value, "devise": "EUR",
                "exercice": year, "ordre": 1}  # fmt: skip

    lines = [
        statement_line("bilan_actif", "TotalAssets", "Total de l'actif", 2024, 200.0),
        statement_line("bilan_actif", "TotalAssets", "Total de l'actif", 2023, 160.0),
        statement_line("bilan_actif", "CashBankOnHand", "Disponibilités", 2024, 50.0),
        statement_line("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires", 2024, 400.0),
        statement_line("compte_resultat", "TurnoverRevenue", "Chiffre d'affaires", 2023, 500.0),
        statement_line("compte_resultat", "ProfitLoss", "Résultat", 2024, -20.0),
    ]
    data = tmp_path / "data"
    data.mkdir()
    world.publish(data, world.COMPANIES, {("FR", "552100554"): lines})
    with run_server(data) as server:
        visitor, _ = sign_up_member(server)
        visitor.get(f"{PAID_COMPANY}?lang=en")
        page = visitor.send(PAID_COMPANY)

    assert "Total assets Total de l'actif 200 160 +25% 100%" in page.text
    assert "Cash at bank and in hand Disponibilités 50 – 25%" in page.text
    assert "Turnover Chiffre d'affaires 400 500 −20% 100%" in page.text
    assert "−20 – −5%" in page.text
    assert "Turnover 2024 €400 ▼ 20%" in page.text
    for words in (
        "Year 2023 2024 Turnover 500 400 Result (loss in red) – −20",
        "Source: fr-registre",
        "data version",
    ):
        assert words in " ".join([page.text, *re.findall(r'aria-label="([^"]*)"', page.html)])


def _income_line(code: str, label: str, year: int, value: float, devise: str) -> dict[str, Any]:
    """A line of the income statement."""
    return {"etat": "compte_resultat", "code": code, "libelle": label, "valeur": value, "devise": devise,
            "exercice": year, "ordre": 1}  # fmt: skip


def _full_record_text(
    tmp_path: Path, published: Company, lines: list[dict[str, Any]], lang: str
) -> str:
    """The text of the full record of a company with these statement lines, on a page that a member has paid for."""
    place = (published["iso2"], published["id"])
    world.publish(tmp_path, [published | {"a_comptes": True}], {place: lines})
    with run_server(tmp_path) as server:
        visitor, _ = sign_up_member(server)
        path = f"/societes/{'/'.join(place)}"
        visitor.get(f"{path}?lang={lang}")
        return visitor.send(path).text


def test_a_turnover_has_one_tile_with_its_own_currency_first(tmp_path: Path) -> None:
    """Fixed: a page had a tile in pounds and another in euros, and showed a growth of 21 504 times from six pounds.

    A growth from so small a turnover is shown as not meaningful (`n. s.`, `n.m.`).
    """
    lines = [
        _income_line("TurnoverRevenue", "Chiffre d'affaires", 2024, 277_000.0, "GBP"),
        _income_line("TurnoverRevenue", "Chiffre d'affaires", 2023, 6.0, "GBP"),
    ]
    published = company(
        "UK", "1", "Lid", ca_eur=316_000.0, ca_last=277_000.0, ca_devise="GBP", ca_year=2024
    )

    page = [_full_record_text(tmp_path / lang, published, lines, lang) for lang in ("fr", "en")]

    french, english = (re.sub(r"[\u00a0\u202f]", " ", text) for text in page)
    assert "Chiffre d’affaires 2024 277 k GBP 316 k€ n. s." in french
    assert "Turnover 2024 GBP 277k €316k n.m." in english
    assert french.count("316 k€") == 1
    assert "Chiffre d'affaires" not in english  # no French label under a British line


def test_consolidated_accounts_are_separate_from_company_accounts(tmp_path: Path) -> None:
    """Fixed: the line of the company and that of its group followed each other with the same label."""
    lines = [
        _income_line("TurnoverRevenue", "Chiffre d'affaires", 2024, 100.0, "EUR"),
        _income_line(
            "TurnoverRevenueConsolidated", "Chiffre d'affaires (groupe)", 2024, 900.0, "EUR"
        ),
    ]

    with_group_accounts = _full_record_text(
        tmp_path / "both", company("EE", "1", "Emaettevõte"), lines, "fr"
    )
    without_group_accounts = _full_record_text(
        tmp_path / "alone", company("EE", "1", "Emaettevõte"), lines[:1], "fr"
    )

    before_group_accounts, _, group_accounts = with_group_accounts.rpartition("Comptes consolidés")
    assert "900" not in before_group_accounts.rpartition("Comptes sociaux")[2]
    assert "900" in group_accounts
    assert "Comptes sociaux" not in without_group_accounts


def test_consolidated_lines_do_not_repeat_their_heading(tmp_path: Path) -> None:
    label = "Total de l'actif (comptes consolidés)"
    lines = [_income_line("TotalAssetsConsolidated", label, 2024, 900.0, "EUR")]

    french, english = (
        _full_record_text(tmp_path / lang, company("EE", "1", "Emaettevõte"), lines, lang)
        for lang in ("fr", "en")
    )

    assert "Comptes consolidés" in french
    assert "(comptes consolidés)" not in french
    assert "Total assets" in english
    assert "comptes consolidés" not in english


def test_one_person_is_singular_and_one_year_is_not_a_range(tmp_path: Path) -> None:
    """Fixed: a page said `1 personnes` and `comptes 2024–2024`."""
    # The second company is listed on the page of the first, because they are comparable.
    one_person = {"division": "62", "groupe": "62.0", "secteur": world.IT, "effectif": 1}
    companies = [company("EE", number, f"Osaühing {number}", **one_person) for number in "12"]
    world.publish(
        tmp_path,
        [companies[0] | {"a_comptes": True}, companies[1]],
        {("EE", "1"): world.STATEMENTS},
    )
    with run_server(tmp_path) as server:
        visitor, _ = sign_up_member(server)
        visitor.get("/societes/EE/1")
        page = visitor.send("/societes/EE/1").text

    assert "1 personne ·" in page
    assert "comptes 2024 tels que déposés" in page


def test_a_comparable_company_of_another_size_is_marked(tmp_path: Path) -> None:
    """Fixed: a company with 168 M€ was among `les plus proches` of 32 M€, without a note."""
    sub_sector = {"division": "62", "groupe": "62.0", "secteur": world.IT}
    companies = [
        company("EE", identifier, f"OÜ {identifier}", ca_eur=turnover, **sub_sector)
        for identifier, turnover in (("1", 100.0), ("2", 524.0), ("3", 390.0))
    ]
    world.publish(tmp_path, companies, {})
    with run_server(tmp_path) as server:
        small, large = (Visitor(server).get(f"/societes/EE/{number}").text for number in "12")

        similar = Visitor(server).get("/societes/EE/3").text

    # 524 and 100 differ from 390 by a factor of less than four.
    assert "taille et lieu les plus proches" in similar
    assert "taille et lieu" not in small
    assert "certaines n’ont pas une taille proche" in small
    assert "524 € · 5 × plus grande · EE" in small
    assert "390 € · EE" in small
    assert "100 € · 5 × plus petite · EE" in large


def test_a_search_marks_the_companies_that_are_not_active(server: Server) -> None:
    """Extension X1"""
    page = Visitor(server).get("/?q=Tarkvara&lang=en")

    assert "Eesti Tarkvara OÜ In proceedings" in page.figures


@pytest.mark.parametrize(
    ("path", "register"),
    [
        ("DE/F1103R_HRB218916", "Handelsregister"),
        ("EE/12652512", "e-Äriregister (RIK)"),
        ("FR/552100554", "Registre national des entreprises (INPI) / Sirene (INSEE)"),
    ],
)
def test_every_record_names_its_register_and_no_page_promises_a_link(
    server: Server, path: str, register: str
) -> None:
    """Nine countries have no page for a company."""
    assert f"Registre {register}" in " ".join(Visitor(server).get(f"/societes/{path}").text.split())
    for page in ("/", "/tarifs", "/sources"):
        text = Visitor(server).get(page).text
        assert "mène au registre" not in text and "lien vers chaque fiche" not in text


def test_a_translation_that_repeats_the_published_words_is_left_out(tmp_path: Path) -> None:
    repeating = company(
        "FR", "1", "Répétée", forme="SARL, société à responsabilité limitée", statut="Active", etat="active"
    )  # fmt: skip
    world.publish(tmp_path, [repeating], {})
    with run_server(tmp_path) as server:
        page = Visitor(server).get("/societes/FR/1").text

    assert page.lower().count("société à responsabilité limitée") == page.lower().count(
        "sarl, société à responsabilité limitée"
    )
    assert "au registre :" not in page


def test_a_record_credits_the_sources_of_its_values(server: Server) -> None:
    """Fixed: a record named the alphabetically first source of its country, even if no value came from that source."""
    credited = {
        path: re.findall(
            r"([a-z-]+) &amp; Cie", html.partition('class="prov"')[2].partition(" · ")[0]
        )
        for path in ("FR/552100554", "FR/309634954", "EE/12652512")
        for html in [Visitor(server).get(f"/societes/{path}").html]
    }

    assert credited == {
        "FR/552100554": ["fr-registre", "fr-comptes"],
        "FR/309634954": ["fr-registre"],
        "EE/12652512": ["ee-registre"],
    }


def test_an_attribution_that_another_one_contains_is_not_repeated(tmp_path: Path) -> None:
    """Fixed: a page said "… (Egapro) ; Insee, base Sirene ; Insee, base Sirene"."""
    register = world.SOURCES["FR"][1]
    longer = replace(
        register, source="other",
        attribution=f"Source : ministère ; {register.attribution}",
        attribution_en=f"Source: ministry; {register.attribution_en}",
    )  # fmt: skip
    world.publish(tmp_path, [company("FR", "1", "Fiche")], {}, sources={"FR": [register, longer]})
    with run_server(tmp_path) as server:
        html = Visitor(server).get("/societes/FR/1").html

    line = html.partition('class="prov"')[2].partition(" · ")[0]
    assert line.count("ministère") == 1
    assert line.count("fr-registre &amp; Cie") == 1


def test_an_unknown_state_is_shown_as_an_unknown_state(server: Server) -> None:
    [company] = server.search(q="fitlab")["societes"]
    page = f"/societes/{company['iso2']}/{company['id']}"

    assert "état inconnu" in Visitor(server).get(page).text
    assert "state unknown" in Visitor(server).get(f"{page}?lang=en").text
    # The rows of a search do not show an unknown state.
    assert "inconnu " not in Visitor(server).get("/?q=fitlab").text.partition("Par pays")[0]


def test_a_parent_without_a_record_is_linked_to_the_lei_data(server: Server) -> None:
    page = Visitor(server).get("/societes/EE/12652512").html

    assert f'<a href="https://search.gleif.org/#/record/{world.PARENT_LEI}"' in page


@pytest.mark.parametrize(
    ("date", "words"),
    [("2026", "de 2026"), ("2026-04", "d’avr. 2026"), ("2026-06", "de juin 2026"), ("2026-06-02", "du 2 juin 2026")],
)  # fmt: skip
def test_the_date_of_a_register_is_as_exact_as_in_the_data(
    tmp_path: Path, date: str, words: str
) -> None:
    """Fixed: for a date without a day, a page said `registre du 2026`."""
    stopped = company("EE", "1", "Üks OÜ", etat="cessee", statut="Kustutatud", date_source=date)
    world.publish(tmp_path, [stopped], {})
    with run_server(tmp_path) as server:
        text = Visitor(server).get("/societes/EE/1").text

    assert f"· registre {words}" in text


def test_a_record_has_no_tile_and_no_line_without_a_value(tmp_path: Path) -> None:
    without_values = company("EE", "1", "Üks OÜ", effectif=3, date_creation=None, nace_code=None)
    world.publish(tmp_path, [without_values], {})
    with run_server(tmp_path) as server:
        page = Visitor(server).get("/societes/EE/1")

    assert "Création" not in page.text
    assert "NACE –" not in page.text
    assert "<h2>Coordonnées</h2>" not in page.html
    assert "<dt>Coordonnées</dt>" in page.html


def test_equal_ranks_are_shown_once_and_a_very_different_size_in_words(tmp_path: Path) -> None:
    sub_sector = {"division": "62", "groupe": "62.0", "secteur": world.IT}
    rows = [
        company("EE", str(number), f"OÜ {number}", ca_eur=1000.0 * 20**number, **sub_sector)
        for number in range(5)
    ]
    world.publish(tmp_path, rows, {})
    with run_server(tmp_path) as server:
        text = Visitor(server).get("/societes/EE/4").figures

    assert text.count("N° 1 sur 5") == 1
    assert "beaucoup plus petite" in text
    assert "× plus petite" in text or "20 ×" not in text


def test_a_record_is_an_organization_of_schema_org(server: Server) -> None:
    html = Visitor(server).get("/societes/EE/12652512").html
    script = re.search(r'<script type="application/ld\+json">(.*?)</script>', html)
    assert script

    data = json.loads(script[1])

    assert data["@type"] == "Organization"
    assert (data["name"], data["leiCode"]) == ("Eesti Tarkvara OÜ", "549300LKH2ZT2UYX8L57")
    assert data["address"]["addressCountry"] == "EE"
    assert CONTACT not in html
