"""The state of a company: the table, the oracle, and the statuses that registers publish."""

import csv
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import registers, seeds
from pipeline.errors import SeedError
from pipeline.stages import statuses
from tests import ROOT, oracle
from tests.pipeline.rows import companies, company

SEEDS = seeds.read()
TABLE = SEEDS.tables["etats"]
CODES = [country.iso2 for country in SEEDS.pays]


def found(iso2: str, *published: str | None) -> pl.DataFrame:
    rows = [company(iso2, str(n), "Õ", statut=statut) for n, statut in enumerate(published)]
    frame = companies(*rows).pipe(statuses.add_state, statuses.states(SEEDS, iso2))
    return frame.select("statut", "etat", statuses.UNMAPPED).collect()


@given(st.data())
def test_states_are_those_of_the_oracle(data: st.DataObject) -> None:
    iso2 = data.draw(st.sampled_from(CODES))
    published = [row["statut"] for row in TABLE]
    spelt = st.sampled_from(published).flatmap(
        lambda text: st.sampled_from([text, text.upper(), f" {text}. ", text + "x"])
    )
    values = data.draw(st.lists(st.none() | spelt | st.text(), max_size=9))

    frame = found(iso2, *values)

    wanted = [oracle.state(iso2, value, TABLE) for value in values]
    assert frame["etat"].to_list() == [state or "inconnu" for state in wanted]
    assert frame[statuses.UNMAPPED].to_list() == [
        value if state is None else None for value, state in zip(values, wanted, strict=True)
    ]


def test_a_null_status_is_unknown_and_never_unmapped() -> None:
    """X1."""
    assert found("FR", None).row(0) == (None, "inconnu", None)


@pytest.mark.parametrize(
    ("iso2", "statut", "etat"),
    [
        ("FR", "Radiée", "cessee"),
        ("FR", "en LIQUIDATION judiciaire", "procedure"),
        ("UK", "Active - Proposal to Strike off", "active"),
        ("UK", "RECEIVER MANAGER / ADMINISTRATIVE RECEIVER", "procedure"),
        ("BE", "Dissolution volontaire – liquidation", "procedure"),
        ("BE", "Clôture de faillite", "cessee"),
        ("LT", "Teisinis statusas neįregistruotas", "active"),
        ("RO", "radiată", "cessee"),
        ("RO", "în insolvenţă", "procedure"),  # with the cedilla that older files have
        ("DE", "Gelöscht", "cessee"),
        ("BG", "в несъстоятелност", "procedure"),
        ("SE", "Dissolved", "cessee"),  # a row for all countries
    ],
)
def test_a_published_status_has_its_state(iso2: str, statut: str, etat: str) -> None:
    assert found(iso2, statut)["etat"].to_list() == [etat]


def test_the_row_of_a_country_comes_before_that_of_all() -> None:
    """`Inactive` is how GLEIF calls what is gone; a Spanish company may be `Inactiva` and exist."""
    assert found("ES", "Inactive", "Inactiva")["etat"].to_list() == ["cessee", "active"]
    assert found("NL", "Inactive", "Inactief")["etat"].to_list() == ["cessee", "active"]


def test_a_row_of_a_country_contradicts_that_of_all() -> None:
    rows = (
        {"iso2": "ES", "statut": "Dissolved!", "etat": "procedure"},  # cessee for all
        {"iso2": "", "statut": "Dissolved!", "etat": "cessee"},
    )
    table = (*(row for row in TABLE if oracle.folded(row["statut"]) != "dissolved"), *rows)
    contradicted = replace(SEEDS, tables={**SEEDS.tables, "etats": table})

    for iso2, state in (("ES", "procedure"), ("NL", "cessee")):
        assert oracle.state(iso2, "dissolved", table) == state
        assert statuses.states(contradicted, iso2)["dissolved"] == state


def test_every_status_of_synth_has_a_state() -> None:
    with (ROOT / "tests/bench/synth/statuts.csv").open(encoding="utf-8", newline="") as file:
        drawn = [(row["iso2"], row["statut"]) for row in csv.DictReader(file)]

    without = [one for one in drawn if oracle.state(*one, TABLE) is None]

    assert len(drawn) > 70
    assert without == []


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"iso2": "EE", "statut": "Uus", "etat": "actif"}, "the state of 'Uus' is unknown"),
        ({"iso2": "EE", "statut": "pankrotis!", "etat": "cessee"}, "a status comes twice"),
    ],
)
def test_a_faulty_table_is_refused(row: dict[str, str], told: str) -> None:
    faulty = replace(SEEDS, tables={**SEEDS.tables, "etats": (*TABLE, row)})

    with pytest.raises(SeedError, match=told):
        statuses.states(faulty, "EE")


REGISTERS = [
    path
    for path in sorted(Path(registers.__file__).parent.glob("*.toml"))
    # not one of accounts, nor the index of equality, which tells no state
    if "statut" in tomllib.loads(path.read_text(encoding="utf-8")).get("columns", {})
]
SPOKEN = re.compile(r"(?:THEN|ELSE)\s+'([^']+)'")


@pytest.mark.parametrize("path", REGISTERS, ids=lambda path: path.stem)
def test_every_status_that_a_declaration_writes_has_a_state(path: Path) -> None:
    declared = tomllib.loads(path.read_text(encoding="utf-8"))
    statut = declared["columns"]["statut"]
    written = SPOKEN.findall(statut)
    for name in ("etat", "procedure"):  # derived columns that a `statut` reads
        derived = declared.get("derived", {}).get(name)
        if isinstance(derived, str):
            written += SPOKEN.findall(derived)
        elif derived:
            written += declared["codes"][derived["codes"]]["values"].values()
    literal = re.fullmatch(r"'([A-Z]{2})'", declared["columns"]["iso2"])
    countries = [literal[1]] if literal else CODES

    assert written or re.fullmatch(r"\w+|COALESCE\([\w, ]+\)", statut)
    assert [
        (iso2, value)
        for iso2 in countries
        for value in written
        if oracle.state(iso2, value, TABLE) is None
    ] == []
