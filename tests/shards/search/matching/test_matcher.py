"""Lines and the companies they mean, among companies that are much like them."""

from collections.abc import Iterator

import pytest

from shards.search.matching.line import AMBIGUOUS, LIKELY, NONE, SURE, Line
from shards.search.matching.matcher import Matcher
from shards.search.reader import Shard
from shards.search.search import ShardSet
from tests.bench.matching.seed_tables import derivations, tables, weights
from tests.world import company, write_shard

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
]
DE = [
    company("DE", "HRB 1", "Müller Straßenbau GmbH & Co. KG", ville="Köln"),
    company("DE", "HRB 2", "Bäckerei Hübner e.K.", ville="Bonn"),
]
FILLING = [
    company("UK", f"2{i:07}", f"{first} {second} LTD")
    for i, (first, second) in enumerate(
        (first, second)
        for first in ("GREEN", "CONTROL", "TOOL", "ROYAL", "BAKERY", "HOLDINGS", "CAPITAL", "ROCK")
        for second in ("SERVICES", "SUPPLY", "GARDENS", "WORKS", "PARTNERS", "TRAVEL")
    )
]


@pytest.fixture(scope="module")
def matcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matcher]:
    folder, base = tmp_path_factory.mktemp("shards"), ShardSet()
    for iso2, found in (("DE", DE), ("EE", []), ("UK", UK + FILLING)):
        write_shard(folder / iso2, iso2, found)
        base[iso2] = Shard(folder / iso2)
    yield Matcher(base, tables(), weights(), derivations())
    for shard in base.values():
        shard.close()


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
    ],
)
def test_a_line_is_seen_through(matcher: Matcher, nom: str, id_: str, reason: str) -> None:
    found = matcher.match(Line(nom), 3)

    assert found.verdict in (SURE, LIKELY)
    assert found.candidats[0].id == id_
    assert reason in found.candidats[0].raisons


@pytest.mark.parametrize(
    "line",
    [
        Line(id="944111"), Line(id="GB00944111"), Line(id="009 44 111"),
        Line("Royal Tool", ("UK",), id="944111"), Line(tva="GB00944111"),
    ],
)  # fmt: skip
def test_an_identifier_is_found_in_any_spelling(matcher: Matcher, line: Line) -> None:
    found = matcher.match(line, 1)

    assert found.verdict in (SURE, LIKELY)
    assert found.candidats[0].id == "00944111"


@pytest.mark.parametrize(
    "line",
    [
        Line("Zipfelhuber Getränke"), Line("Unit 9 Holdings Ltd"), Line("???"), Line(id="99"),
        Line("Royal Tool Control", ("DE",)), Line("Royal Tool Control", ("EE",)),
    ],
)  # fmt: skip
def test_a_company_that_is_not_there_is_not_guessed(matcher: Matcher, line: Line) -> None:
    found = matcher.match(line, 3)

    assert found.verdict == NONE
    assert sum(candidate.note for candidate in found.candidats) < 0.5


def test_namesakes_are_told_apart_by_the_town_and_are_ambiguous_without(matcher: Matcher) -> None:
    assert matcher.match(Line("Northern Bakery"), 3).verdict == AMBIGUOUS
    for ville, id_ in (("Leeds", "01000003"), ("YORK", "01000004")):
        found = matcher.match(Line("Northern Bakery", ville=ville), 3)

        assert found.verdict in (SURE, LIKELY)
        assert found.candidats[0].id == id_
        assert "ville_differente" in found.candidats[1].raisons


def test_the_notes_of_a_line_add_up_to_one_at_most(matcher: Matcher) -> None:
    found = matcher.match(Line("Northern Bakery Ltd"), 9)

    notes = [candidate.note for candidate in found.candidats]
    assert notes == sorted(notes, reverse=True)
    assert sum(notes) <= 1.001
