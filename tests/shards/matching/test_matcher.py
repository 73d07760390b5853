"""Matches of lines among companies with similar names."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE, Line
from shards.matching.matcher import Matcher
from shards.matching.name_comparison import BEGINNING, NameComparison, word_distances
from tests.world import Company, company

UK = [
    company("UK", "00944111", "ROYAL TOOL CONTROL LTD", ville="SHEFFIELD", code_postal="S6 2AA"),
    company("UK", "00944112", "ROYAL TOOL CENTRE LTD", ville="LEEDS"),
    company("UK", "01000001", "A.B.C. TRADING LIMITED", ville="LEEDS"),
    company("UK", "01000002", "BLACK ROCK CAPITAL PLC", ville="LONDON"),
    company("UK", "01000003", "NORTHERN BAKERY LTD", ville="LEEDS"),
    company("UK", "01000004", "NORTHERN BAKERY LTD", ville="YORK"),
    company("UK", "01000005", "UNIT 7 HOLDINGS LTD", ville="YORK"),
    company("UK", "01000006", "UNIT 8 HOLDINGS LTD", ville="YORK"),
    company("UK", "01000008", "ZEPHYR TRADING LTD", noms_anterieurs=["OLD LANTERN WORKS LTD"]),
    company("UK", "01000007", "SMITHSON BROTHERS INTERNATIONAL LTD", ville="HULL"),
    company("UK", "01000010", "THE HEAVENLY COFFEE COMPANY LIMITED", ville="HULL"),
    company("UK", "15615189", "NBG HEALTHCARE LIMITED", tva="GB444555666"),
    company("UK", "01000011", "BLUE HERON DIVING LTD"),
    company("UK", "01000012", "EAST LODGE JOINERY LIMITED"),
    company("UK", "01000013", "AC BRICKWORK LTD"),
    company("UK", "01000014", "GUNS 4 U LIMITED"),
    company("UK", "01000015", "AM WELLNESS LTD"),
    company("UK", "01000016", "GOODWILL LAUNDRIES LTD"),
    company("UK", "01000017", "FIRST QUARRYMEN LTD"),
    company("UK", "01000018", "VOSTOK SHIPYARD JSC"),
    company("UK", "01000019", "L'ŒUVRE DES JARDINS LTD"),
    company("UK", "01000020", "HFMA LTD", ville="LEEDS"),
    company("UK", "01000021", "MERIDIAN VALE LTD", ville="LEEDS"),
    company("UK", "01000022", "MERIDIAN VALE GROUP LTD", ville="LEEDS"),
    company("UK", "01000023", "KESTREL MOOR LTD", ville="LEEDS"),
    company("UK", "01000024", "KESTREL MOOR (SHEFFIELD) LTD", ville="YORK"),
    company("UK", "01000025", "PHOENIX LTD", ville="LEEDS", code_postal="LS1 4AP"),
    company("UK", "01000026", "TWENTY ONE QUILLERS LTD"),
    company("UK", "01000027", "PELAGONIA HELLAS AE"),
    company("UK", "01000028", "MUTUALITE SOCIALE AGRICOLE POITOU"),
    company("UK", "01000029", "CAF DE LA COTE D'OPALE"),
    company("UK", "01000030", "VOLTAIQUE ILE DE FRANCE"),
    company("UK", "01000031", "CREDIT FLUVIAL CIB"),
    company("UK", "01000034", "SALTMARSH FORGE LTD", noms_anterieurs=["SALTTMARSH FORGE LTD"]),
    company("UK", "01000033", "CINNABAR ORCHARDS LTD", lei="213800WSKXQ2B5PQHK86"),
    company("UK", "01000032", "ZENITH QUARTZ KILNS LTD", ville="YORK"),
    company("UK", "01000038", "THE QUERN OF XERES MILLS LTD", ville="YORK"),
    company("UK", "01000039", "ZOOL LTD", ville="YORK"),
    company("UK", "01000035", "V&J CONSULTANCY LIMITED"),
    company("UK", "01000036", "A&E PLUMAGE LIMITED"),
    company("UK", "01000037", "QUILLWORTH BINDERY LTD"),
    company("UK", "01000041", "QUASAR DEN YONDER ZINC LTD", ville="WHITBY"),
    company("UK", "01000042", "KIOSK X LADDER MUSTARD LTD", ville="WHITBY"),
    company("UK", "01000043", "DEN FJORD GOBLET HAMMER LTD", ville="WHITBY"),
    company("UK", "01000044", "QUASAR DENS VIOLA ZINC LTD", ville="WHITBY"),
    *(
        company("UK", f"011{i:05}", f"PHOENIX {word} LTD")
        for i, word in enumerate(("ROOFING", "GARDENS", "TRAVEL", "BAKERY", "SUPPLY"))
    ),
]
DE = [
    company("DE", "HRB 1", "Müller Straßenbau GmbH & Co. KG", ville="Köln"),
    company("DE", "HRB 2", "Bäckerei Hübner e.K.", ville="Bonn"),
    company("DE", "M1201_HRB260632", "Siemens AG", ville="München"),
    company("DE", "HRB 3", "Drechsler Büro für Marketing und Vertrieb GmbH"),
    company("DE", "B1204_HRB260632", "Quelle Nord GmbH", ville="Kiel"),
    company("DE", "HRB 4", "Bayerische Motoren Werke Aktiengesellschaft", ville="München"),
    company("DE", "HRB 5", "Jansen GmbH Tank- und Fahrzeugbau", ville="Kiel"),
]
BG = [
    company("BG", "1", "ВИКТОРИЯ ООД"), company("BG", "2", "Хлебопекарна Изгрев ЕООД"),
]  # fmt: skip
FR = [
    company("FR", "111111111", "CAISSE D'EPARGNE ET DE PREVOYANCE DE NORMANDIE"),
    company("FR", "111111112", "CAISSE D'EPARGNE ET DE PREVOYANCE LOIRE CENTRE"),
    company("FR", "111111113", "SOCIETE COOPERATIVE DE PRODUCTION TUILERIE BRULAIS"),
]
# Companies that make some words frequent, so that these words are little evidence.
COMMON_WORDS = [
    company("UK", f"2{i:07}", f"{first} {second} LTD")
    for i, (first, second) in enumerate(
        (first, second)
        for first in ("GREEN", "CONTROL", "TOOL", "ROYAL", "BAKERY", "HOLDINGS", "CAPITAL", "ROCK")
        for second in ("SERVICES", "SUPPLY", "GARDENS", "WORKS", "PARTNERS", "TRAVEL")
    )
]


@pytest.fixture(scope="module")
def companies() -> dict[str, list[Company]]:
    """The companies, by country."""
    return {"BG": BG, "DE": DE, "EE": [], "FR": FR, "UK": UK + COMMON_WORDS}


@pytest.mark.parametrize(
    ("nom", "id_", "reason"),
    [
        ("Royal Tool Control Limited", "00944111", "nom_identique"),
        ("Tool Control Royal", "00944111", "ordre"),
        ("Royl Tool Control Ltd", "00944111", "faute"),
        ("Rooyal Tool Contrlo Ltd", "00944111", "fautes"),
        ("RoyalTool Control Ltd.", "00944111", "espace"),
        ("Royal Tool Control, Sheffield", "00944111", "ville_dans_le_nom"),
        ("Royal Tool Control PLC", "00944111", "forme_autre"),
        ("ABC Trading Ltd", "01000001", "nom_identique"),
        ("A B C Trading", "01000001", "nom_identique"),
        ("Blackrock Capital", "01000002", "espace"),
        ("Smithson Bros. Intl Ltd", "01000007", "abreviation"),
        ("Unit 7 Holdings", "01000005", "nom_identique"),
        ("Old Lantern Works Limited", "01000008", "ancien_nom"),
        ("Mueller Strassenbau", "HRB 1", "nom_identique"),
        ("mbH & Co. KG Müller Straßenbau", "HRB 1", "nom_identique"),
        ("Baeckerei Huebner", "HRB 2", "nom_identique"),
        # Legal forms of several parts.
        ("The Heavenly Coffee Company Ltd", "01000010", "nom_identique"),
        ("Heavenly Coffee Co Ltd", "01000010", "nom_identique"),
        ("Müller Straßenbau Gesellschaft m.b.H. & Co. KG", "HRB 1", "nom_identique"),
        # A letter is missing from a short word or a legal form.
        ("Bue Heron Diving Ltd", "01000011", "faute"),
        ("Eat Lodge Joinery Ltd", "01000012", "faute"),
        ("ACE Brickwork Ltd", "01000013", "faute"),
        ("Müller Straßenbau Gmb & Co. KG", "HRB 1", "faute_de_forme"),
        ("East Lodge Joinery lmiited", "01000012", "faute_de_forme"),
        # Blanks are missing or in another place.
        ("Guns4U", "01000014", "espace"),
        ("AMWellness", "01000015", "espace"),
        ("AktiengesellschaftSiemens", "M1201_HRB260632", "espace"),
        ("SiemensAG", "M1201_HRB260632", "espace"),
        ("Good Will Laundries", "01000016", "espace"),
        ("1st Quarrymen", "01000017", "nom_identique"),
        ("OAO Vostok Shipyard", "01000018", "nom_identique"),
        ("Восток Shipyard", "01000018", "nom_identique"),
        ("M\ufffdller Stra?enbau", "HRB 1", "fautes"),
        ("l'uvre des jardins", "01000019", "faute"),
        ("uvre des jardins", "01000019", "faute"),
        # Other alphabets, also with errors.
        ("Виктория", "1", "nom_identique"),
        ("Viktoria OOD", "1", "nom_identique"),
        ("Viktoriya", "1", "nom_identique"),
        ("Hlebopekarna Izgrev", "2", "nom_identique"),
        ("Hlebopekama Izgrev", "2", "fautes"),
        ("Πελαγονία Ελλάς ΑΕ", "01000027", "faute"),
        # Numbers that the register writes in two words.
        ("21 Quillers", "01000026", "nom_identique"),
        ("Einundzwanzig Quillers", "01000026", "abreviation"),
    ],
)
def test_a_name_in_another_spelling_finds_its_company(
    matcher: Matcher, nom: str, id_: str, reason: str
) -> None:
    result = matcher.match(Line(nom), 3)

    assert result.verdict in (SURE, LIKELY)
    assert result.candidats[0].id == id_
    assert reason in result.candidats[0].raisons


@pytest.mark.parametrize(
    "line",
    [
        Line(id="944111"), Line(id="GB00944111"), Line(id="009 44 111"),
        Line("Royal Tool", ("UK",), id="944111"), Line(tva="GB00944111"),
    ],
)  # fmt: skip
def test_an_identifier_is_found_in_any_spelling(matcher: Matcher, line: Line) -> None:
    result = matcher.match(line, 1)

    assert result.verdict in (SURE, LIKELY)
    assert result.candidats[0].id == "00944111"


@pytest.mark.parametrize(
    "line",
    [
        Line("Zipfelhuber Getränke"), Line("Unit 9 Holdings Ltd"), Line("???"), Line(id="99"),
    ],
)  # fmt: skip
def test_a_line_whose_company_is_missing_has_no_match(matcher: Matcher, line: Line) -> None:
    result = matcher.match(line, 3)

    assert result.verdict == NONE
    assert sum(candidate.note for candidate in result.candidats) < 0.5


def test_namesakes_are_distinguished_by_town_and_ambiguous_without(matcher: Matcher) -> None:
    """One `NORTHERN BAKERY` is in Leeds, the other in York."""
    assert matcher.match(Line("Northern Bakery"), 3).verdict == AMBIGUOUS
    for ville, id_ in (("Leeds", "01000003"), ("YORK", "01000004")):
        result = matcher.match(Line("Northern Bakery", ville=ville), 3)

        assert result.verdict in (SURE, LIKELY)
        assert result.candidats[0].id == id_
        assert "ville_differente" in result.candidats[1].raisons


def test_the_notes_of_a_line_add_up_to_at_most_one(matcher: Matcher) -> None:
    result = matcher.match(Line("Northern Bakery Ltd"), 9)

    notes = [candidate.note for candidate in result.candidats]
    assert notes == sorted(notes, reverse=True)
    assert sum(notes) <= 1.001


def test_a_number_finds_its_company_whatever_the_name(matcher: Matcher) -> None:
    number_alone = matcher.match(Line(id="15615189"), 3)
    with_similar_name = matcher.match(Line("nbbg healthcare", id="15615189"), 3)
    with_other_name = matcher.match(Line("Zipfelhuber Getränke", id="15615189"), 3)

    assert number_alone.verdict == with_similar_name.verdict == SURE
    assert with_similar_name.candidats[0].id == with_other_name.candidats[0].id == "15615189"
    assert with_other_name.verdict == LIKELY
    assert "nom_different" in with_other_name.candidats[0].raisons


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (Line("Royal Bank AG", id="00944111"), "00944111"),
        (Line("Control Systems SRL", ("UK",), id="00944111"), "00944111"),
        (Line("Fine Instruments Tools GmbH", id="GB00944111"), "00944111"),
        (Line("Royal Tool Control AG", id="00944111"), "00944111"),
        (Line("Cinnabar Services", id="01000033"), "01000033"),
        (Line("NBG Plumbing and Roofing", tva="GB444555666"), "15615189"),
        (Line("Healthcare Zipfelhuber", id="15615189"), "15615189"),
        (Line("Nord Energie AG", id="B1204_HRB260632"), "B1204_HRB260632"),
        (Line("Blue Royal Ltd", id="213800WSKXQ2B5PQHK86"), "01000033"),
    ],
)
def test_a_number_with_another_name_is_likely(matcher: Matcher, line: Line, number: str) -> None:
    """X19: one common word is not enough for `sur`, nor is a name with another legal form"""
    result = matcher.match(line, 1)

    assert result.verdict == LIKELY
    assert result.candidats[0].id == number
    assert "nom_different" in result.candidats[0].raisons


@pytest.mark.parametrize(
    "line",
    [
        Line("Royal Bank AG", id="944111"),
        Line("Control Systems SRL", ("UK",), id="0944111"),
        Line("Fine Instruments Tools GmbH", ("DE",), id="00944111"),
        Line("Royal Bank", ("EE",), id="944111"),
        Line("Zipfelhuber", ("DE",), tva="GB444555666"),
    ],
)
def test_a_corrected_number_or_country_with_another_name_is_ambiguous(
    matcher: Matcher, line: Line
) -> None:
    """X19: the line means a company only after its number or its country is corrected, and has the name of another"""
    result = matcher.match(line, 3)

    assert result.verdict == AMBIGUOUS
    candidate_by_number = next(
        candidate for candidate in result.candidats if candidate.id in ("00944111", "15615189")
    )
    assert "nom_different" in candidate_by_number.raisons


@pytest.mark.parametrize(
    "line",
    [
        Line("Royal Tool Control", id="944111"), Line("Blue Heron", id="01000011"),
        Line("Royl Tool Contrl Ltd", id="00944111"), Line("NBG", tva="GB444555666"),
        Line("Royal Tool Control, Sheffield", id="00944111"),
        Line("NBG Healthcare - account closed", id="15615189"), Line(id="944111"),
    ],
)  # fmt: skip
def test_a_number_with_a_name_that_agrees_is_sure(matcher: Matcher, line: Line) -> None:
    """X19: the name may be a brand, or have typing errors, a town or a remark; a number alone is sure too"""
    result = matcher.match(line, 1)

    assert result.verdict == SURE
    assert "nom_different" not in result.candidats[0].raisons


def test_a_name_with_the_number_of_another_company_is_not_sure(matcher: Matcher) -> None:
    result = matcher.match(Line("Blue Heron Diving Ltd", id="15615189"), 3)

    assert result.verdict in (LIKELY, AMBIGUOUS)
    assert {"01000011", "15615189"} <= {candidate.id for candidate in result.candidats}


def test_a_published_vat_number_is_as_sure_as_an_identifier(matcher: Matcher) -> None:
    result = matcher.match(Line(tva="GB 444 555 666"), 3)

    assert result.verdict == SURE
    assert result.candidats[0].id == "15615189"


def test_a_number_without_its_court_matches_every_court(matcher: Matcher) -> None:
    """Siemens in Munich and a company in Kiel have this number at their courts."""
    by_number = matcher.match(Line(id="HRB 260632"), 3)
    by_name = matcher.match(Line("Siemens Aktiengesellschaft", id="HRB 260632"), 3)
    by_town = matcher.match(Line(id="HRB 260632", ville="Kiel"), 3)

    assert by_number.verdict == AMBIGUOUS
    assert {candidate.id for candidate in by_number.candidats} == {
        "M1201_HRB260632",
        "B1204_HRB260632",
    }
    assert by_name.verdict == SURE
    assert by_name.candidats[0].id == "M1201_HRB260632"
    assert by_town.candidats[0].id == "B1204_HRB260632"


@pytest.mark.parametrize(
    "line",
    [
        Line("Royal Tool Control", ("DE",)), Line("Royal Tool Control", ("EE",)),
        Line("Royal Tool Control", ("DE",), id="GB00944111"),
    ],
)  # fmt: skip
def test_a_company_of_another_country_is_likely_if_the_given_country_has_none(
    matcher: Matcher, line: Line
) -> None:
    result = matcher.match(line, 3)

    assert result.verdict == LIKELY
    assert result.candidats[0].id == "00944111"
    assert "pays_different" in result.candidats[0].raisons


def test_another_number_in_a_name_is_not_a_typing_error(matcher: Matcher) -> None:
    """The companies are `UNIT 7 HOLDINGS` and `UNIT 8 HOLDINGS`."""
    result = matcher.match(Line("Unit9Holdings Ltd"), 3)

    assert result.verdict == NONE


@pytest.mark.parametrize(
    ("line", "identifiers"),
    [
        (Line("Meridian Vale"), {"01000021", "01000022"}),
        (Line("Meridian Vale", ville="Leeds"), {"01000021", "01000022"}),
        (Line("Kestrel Moor"), {"01000023", "01000024"}),
        (Line("Phoenix Ltd"), {"01000025"}),
        (Line("HFMA"), {"01000020"}),
        # The company is a sibling of the name, or has another legal form.
        (Line("Smithson Brothers", ville="Hull"), {"01000007"}),
        (Line("East Lodge Joinery PLC"), {"01000012"}),
    ],
)
def test_a_name_alone_is_not_sure_if_it_is_uninformative_or_has_a_sibling(
    matcher: Matcher, line: Line, identifiers: set[str]
) -> None:
    result = matcher.match(line, 2)

    assert result.verdict in (LIKELY, AMBIGUOUS)
    assert identifiers <= {candidate.id for candidate in result.candidats}


@pytest.mark.parametrize("word", ["Group", "Holdings", "Leeds", "2"])
def test_a_line_that_names_a_sibling_is_not_sure_by_a_common_town(
    matcher: Matcher, word: str
) -> None:
    """X19: the group of a company is often in the same town"""
    line = Line(f"Smithson Brothers International {word}", ville="Hull")

    assert matcher.match(line, 2).verdict != SURE


@pytest.mark.parametrize(
    "line",
    [
        Line("Kestrel Moor", ville="Leeds"),
        Line("Phoenix Ltd", ville="Leeds", code_postal="LS1 4AP"),
        Line("HFMA", ville="Leeds"), Line("Meridian Vale Group"),
    ],
)  # fmt: skip
def test_more_evidence_makes_an_uninformative_name_sure(matcher: Matcher, line: Line) -> None:
    assert matcher.match(line, 2).verdict == SURE


@pytest.mark.parametrize(
    "name",
    [
        "Blue Heron Diving", "BLUE HERON DIVING LIMITED", "east lodge joinery", "Zephyr Trading",
        "l'oeuvre des jardins", "L'ŒUVRE DES JARDINS", "Credit Fluvial CIB",
        "Heavenly Coffee Company Ltd", "Pelagonia Hellas",
        "Saltmarsh Forge",  # a former name with a rarer word is not nearer
    ],
)  # fmt: skip
def test_a_name_that_only_one_company_has_is_sure(matcher: Matcher, name: str) -> None:
    """X19: whatever its legal form, case, accents and articles"""
    assert matcher.match(Line(name, ("UK",)), 2).verdict == SURE


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        # A label of ISO 20275 that describes an activity is a part of the name.
        (Line("Caisse d'Epargne & de Prevoyance de Normandie", ("FR",)), "111111111"),
        (Line("CAISSE D'EPARGNE DE PREVOYANCE LOIRE CENTRE", ("FR",)), "111111112"),
        (Line("Tuilerie Brulais, Société coopérative de production", ("FR",)), "111111113"),
        # Two letters before a name: a legal form of another country, or initials.
        (Line("A and E Plumage Ltd", ("UK",)), "01000036"),
        (Line("AE Plumage", ("UK",)), "01000036"),
        # Legal forms in other alphabets or abbreviations.
        (Line("Κεστρελ Μοορ Λιμιτεδ", ("UK",)), "01000023"),
        (Line("Кестрел Моор Лимитед", ("UK",)), "01000023"),
        (Line("Müller Straßenbau gesellsch mit beschränkter Haftung & Co. KG", ("DE",)), "HRB 1"),
        (Line("Müller Straßenbau GmbH & C. KG", ("DE",)), "HRB 1"),
        (Line("Müller Straßenbau GmbH & Co.", ("DE",)), "HRB 1"),
        (Line("Firma Müller Straßenbau", ("DE",)), "HRB 1"),
        (Line("Drechsler Büro f. Marketing u. Vertrieb", ("DE",)), "HRB 3"),
        # Remarks of the author of a list, and words after c/o, are not words of the name.
        (Line("Quillworth Bindery (formerly supplier)", ("UK",)), "01000037"),
        (Line("Quillworth Bindery c/o Blue Heron Diving", ("UK",)), "01000037"),
    ],
)
def test_a_name_in_another_form_is_likely(matcher: Matcher, line: Line, id_: str) -> None:
    candidate = matcher.match(line, 1).likely_candidate

    assert candidate is not None
    assert candidate.id == id_


def test_the_same_country_after_a_name_lowers_its_note_less_than_a_group(matcher: Matcher) -> None:
    notes = [
        matcher.match(Line(f"Quillworth Bindery {word}", ("UK",)), 1).candidats[0].note
        for word in ("UK", "Group")
    ]

    assert notes[0] > notes[1]


def test_another_country_after_an_informative_name_lowers_its_note(
    matcher: Matcher,
) -> None:
    same_country, other_country = (
        matcher.match(Line(f"Smithson Brothers International {country}", ("UK",)), 1)
        for country in ("UK", "Germany")
    )

    assert same_country.candidats[0].note > other_country.candidats[0].note


def test_the_beginning_of_a_word_and_one_common_word_do_not_agree() -> None:
    """`textile Nord` does not agree with `Nordic linen textile`, even if the line has its number"""
    comparison = NameComparison()
    comparison.common, comparison.common_words = 12.0, 2
    comparison.beginnings, comparison.begun = 1, 6.0
    comparison.extra, comparison.extra_words = 7.0, ("linen",)

    assert not comparison.agrees()


@pytest.mark.parametrize(
    "name", ["Quilworth Bindery", "Quillworth Bindrey", "Qillworth Bindery", "Quillworth Binnderry"]
)
def test_a_name_with_a_typing_error_finds_its_company(matcher: Matcher, name: str) -> None:
    result = matcher.match(Line(name, ("UK",)), 1)

    assert result.candidats[0].id == "01000037"
    assert result.verdict != NONE


def test_an_article_without_its_vowel_is_not_a_number(matcher: Matcher) -> None:
    """The company is `L'ŒUVRE DES JARDINS`."""
    result = matcher.match(Line("uvre des jardins"), 1)

    assert "nombre_different" not in result.candidats[0].raisons


def test_a_remark_after_a_name_lowers_its_note_less_than_the_name_of_a_sibling(
    matcher: Matcher,
) -> None:
    notes = [
        matcher.match(Line(f"Blue Heron Diving {word}"), 1).candidats[0].note
        for word in ("branch", "supplier", "Group", "Holdings", "2")
    ]

    assert min(notes[:2]) > max(notes[2:])


def test_a_legal_form_within_a_name_is_not_joined_to_the_word_before_it(matcher: Matcher) -> None:
    """The line means `Siemens AG`, which does not have the word `Nord`."""
    result = matcher.match(Line("Siemens AG Nord", ("DE",)), 1)

    assert result.candidats[0].id == "M1201_HRB260632"
    assert "mot_manquant" in result.candidats[0].raisons
    assert "espace" not in result.candidats[0].raisons


@pytest.mark.parametrize(("word", "begins"), [("j", True), ("ja", False), ("jar", True)])
def test_a_word_begins_another_with_one_letter_or_three(word: str, begins: bool) -> None:
    expected = {word: {"jarnik": BEGINNING}} if begins else {}

    assert word_distances([word], ["jarnik"]) == expected


def test_a_name_finds_the_company_that_is_named_by_its_initials(matcher: Matcher) -> None:
    """The company is `HFMA LTD` in Leeds."""
    result = matcher.match(Line("Healthcare Financial Management Association", ville="Leeds"), 3)

    assert result.candidats[0].id == "01000020"
    assert "initiales" in result.candidats[0].raisons
    assert result.verdict != SURE


def test_initials_find_a_complete_name_in_the_same_town_and_are_not_sure(matcher: Matcher) -> None:
    """The company is `ZENITH QUARTZ KILNS LTD` in York."""
    result = matcher.match(Line("ZQK", ville="York"), 3)

    assert result.candidats[0].id == "01000032"
    assert "initiales" in result.candidats[0].raisons
    assert result.verdict != SURE
    assert matcher.match(Line("Z.Q.K. Ltd", ville="YORK"), 3).candidats[0].id == "01000032"
    # Initials count only with the town of the company, and with three letters or more.
    for line in (Line("ZQK"), Line("ZQK", ville="Leeds"), Line("ZQ", ville="York")):
        assert "01000032" not in [candidate.id for candidate in matcher.match(line, 3).candidats]


@pytest.mark.parametrize(
    ("name", "town", "id_"),
    [
        ("BMW", "München", "HRB 4"),
        ("BMWA", "München", "HRB 4"),
        ("B.M.W. AG", "München", "HRB 4"),
        ("JTF", "Kiel", "HRB 5"),
        ("JGTuF", "Kiel", "HRB 5"),
        ("QXM", "York", "01000038"),
        ("TQOXM", "York", "01000038"),
        ("QYZ", "Whitby", "01000041"),
        ("QDYZ", "Whitby", "01000041"),
        ("KXLM", "Whitby", "01000042"),
        ("DFGH", "Whitby", "01000043"),
        ("QDVZ", "Whitby", "01000044"),
    ],
)
def test_initials_with_a_town_may_skip_or_have_letters_of_forms_and_short_words(
    matcher: Matcher, name: str, town: str, id_: str
) -> None:
    result = matcher.match(Line(name, ville=town), 3)

    assert result.verdict == LIKELY
    assert result.candidats[0].id == id_
    assert "initiales" in result.candidats[0].raisons


@pytest.mark.parametrize(
    ("name", "town"),
    [
        ("BW", "München"),  # fewer than three letters
        ("BMX", "München"),
        ("BWA", "München"),  # no letter for an informative word
        ("BMW", "Kiel"),  # another town
        ("MWA", "München"),
        ("KLM", "Whitby"),  # no letter for a word of one letter
        ("FGH", "Whitby"),  # no letter for a short word at the start
        ("QVZ", "Whitby"),  # no letter for a word of four letters
    ],
)
def test_other_letters_are_not_initials(matcher: Matcher, name: str, town: str) -> None:
    result = matcher.match(Line(name, ville=town), 3)

    assert "HRB 4" not in [candidate.id for candidate in result.candidats]
    assert all("initiales" not in candidate.raisons for candidate in result.candidats)


def test_initials_as_the_name_of_a_company_have_no_letter_of_a_form(
    matcher: Matcher,
) -> None:
    """`ZOOL LTD` is not the initials of `Zephyr Oaks Oboe Ltd`: the L would stand for a legal form."""
    result = matcher.match(Line("Zephyr Oaks Oboe Ltd", ("UK",), ville="York"), 3)

    reasons = {candidate.id: candidate.raisons for candidate in result.candidats}
    assert "initiales" not in reasons["01000039"]


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("MSA Poitou", "01000028"),
        ("Caisse d'Allocations Familiales de la Cote d'Opale", "01000029"),
        ("Voltaique IDF", "01000030"),
        ("Credit Fluvial Corporate Investment Bank", "01000031"),
        ("Credit Fluvial Corporate Sud Investment Bank", "01000031"),
    ],
)
def test_initials_stand_for_some_words_of_a_name(matcher: Matcher, name: str, id_: str) -> None:
    """Initials mostly leave out short words"""
    result = matcher.match(Line(name), 1)

    assert result.candidats[0].id == id_
    assert "initiales" in result.candidats[0].raisons
    assert result.candidats[0].note > 0.1


@pytest.mark.parametrize(
    "name",
    [
        "MSB Poitou",
        "Voltaique EDF",
        "Mutualite MSA Poitou",
        "Credit Fluvial Corporate Nord Investment Bank",  # a word of four letters
        "Credit Fluvial Sud Corporate Investment",
    ],
)
def test_letters_of_words_that_are_not_neighbours_are_not_initials(
    matcher: Matcher, name: str
) -> None:
    result = matcher.match(Line(name), 1)

    assert "initiales" not in result.candidats[0].raisons


WORDS = [word for entry in UK for word in entry["nom"].split()] + [
    "Mueller",
    "Bue",
    "7",
    "21",
    "Hübner",
]
LINES = st.builds(
    Line,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from([(), ("UK",), ("DE",), ("BG", "UK")]),
    st.sampled_from([None, None, "944111", "HRB 260632", "15615189"]),
    ville=st.sampled_from([None, "Leeds", "York"]),
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=8), st.integers(1, 3))
def test_a_batch_has_the_results_of_its_single_lines(
    matcher: Matcher, lines: list[Line], limit: int
) -> None:
    assert matcher.match_all(lines, limit) == [matcher.match(line, limit) for line in lines]


@pytest.mark.slow
def test_many_batches_have_the_results_of_their_single_lines(matcher: Matcher) -> None:
    chance = random.Random(2)
    lines = [
        Line(
            _drop_a_letter(" ".join(chance.sample(WORDS, chance.randrange(1, 5))), chance),
            chance.choice([(), ("UK",), ("DE",), ("BG", "UK")]),
            id=chance.choice([None, None, None, "944111", "15615189"]),
            ville=chance.choice([None, "Leeds", "York"]),
        )
        for _ in range(2_000)
    ]
    for first in range(0, len(lines), 40):
        batch = lines[first : first + 40]
        assert matcher.match_all(batch, 3) == [matcher.match(line, 3) for line in batch]


def _drop_a_letter(name: str, chance: random.Random) -> str:
    """The name, without a random letter in half of the calls."""
    place = chance.randrange(2 * len(name))
    return name[:place] + name[place + 1 :]
