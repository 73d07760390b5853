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
from tests.pipeline.rows import companies_frame, company

SEEDS = seeds.read()
STATE_ROWS = SEEDS.tables["etats"]
COUNTRIES = [country.iso2 for country in SEEDS.pays]


def add_states(iso2: str, *published: str | None) -> pl.DataFrame:
    """A company for each published status, with its state and its status if that has no state."""
    rows = [company(iso2, str(place), "Õ", statut=statut) for place, statut in enumerate(published)]
    frame = companies_frame(*rows).pipe(statuses.add_state, statuses.states(SEEDS, iso2))
    return frame.select("statut", "etat", statuses.UNMAPPED).collect()


@given(st.data())
def test_states_agree_with_the_oracle(data: st.DataObject) -> None:
    iso2 = data.draw(st.sampled_from(COUNTRIES))
    table_statuses = [row["statut"] for row in STATE_ROWS]
    spellings = st.sampled_from(table_statuses).flatmap(
        lambda text: st.sampled_from([text, text.upper(), f" {text}. ", text + "x"])
    )
    values = data.draw(st.lists(st.none() | spellings | st.text(), max_size=9))

    frame = add_states(iso2, *values)

    expected = [oracle.state(iso2, value, STATE_ROWS) for value in values]
    assert frame["etat"].to_list() == [state or "inconnu" for state in expected]
    assert frame[statuses.UNMAPPED].to_list() == [
        value if state is None else None for value, state in zip(values, expected, strict=True)
    ]


def test_a_null_status_is_unknown_and_never_unmapped() -> None:
    """Extension X1."""
    assert add_states("FR", None).row(0) == (None, "inconnu", None)


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
    assert add_states(iso2, statut)["etat"].to_list() == [etat]


def test_a_word_of_gleif_and_a_similar_word_of_a_country_have_different_states() -> None:
    """`Inactive` is GLEIF's word for ended entities; a Spanish company may be `Inactiva` and exist."""
    assert add_states("ES", "Inactive", "Inactiva")["etat"].to_list() == ["cessee", "active"]
    assert add_states("NL", "Inactive", "Inactief")["etat"].to_list() == ["cessee", "active"]


def test_the_row_of_a_country_overrides_the_row_of_all_countries() -> None:
    rows = (
        {"iso2": "ES", "statut": "Dissolved!", "etat": "procedure"},
        {"iso2": "", "statut": "Dissolved!", "etat": "cessee"},  # of all countries
    )
    table = (
        *(row for row in STATE_ROWS if oracle.folded_text(row["statut"]) != "dissolved"),
        *rows,
    )
    contradicted = replace(SEEDS, tables={**SEEDS.tables, "etats": table})

    for iso2, state in (("ES", "procedure"), ("NL", "cessee")):
        assert oracle.state(iso2, "dissolved", table) == state
        assert statuses.states(contradicted, iso2)["dissolved"] == state


def test_every_status_of_the_synthetic_registers_has_a_state() -> None:
    with (ROOT / "tests/bench/synth/statuts.csv").open(encoding="utf-8", newline="") as file:
        synthetic_statuses = [(row["iso2"], row["statut"]) for row in csv.DictReader(file)]

    without_state = [
        status for status in synthetic_statuses if oracle.state(*status, STATE_ROWS) is None
    ]

    assert len(synthetic_statuses) > 70  # the table has been read
    assert without_state == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"iso2": "EE", "statut": "Uus", "etat": "actif"}, "the state of 'Uus' is unknown"),
        ({"iso2": "EE", "statut": "pankrotis!", "etat": "cessee"}, "a status comes twice"),
    ],
)
def test_a_faulty_table_is_refused(row: dict[str, str], message: str) -> None:
    faulty = replace(SEEDS, tables={**SEEDS.tables, "etats": (*STATE_ROWS, row)})

    with pytest.raises(SeedError, match=message):
        statuses.states(faulty, "EE")


DECLARATIONS = [
    path
    for path in sorted(Path(registers.__file__).parent.glob("*.toml"))
    # Declarations of accounts, and the index of equality, have no status.
    if "statut" in tomllib.loads(path.read_text(encoding="utf-8")).get("columns", {})
]
# The text after THEN or ELSE in a SQL expression of a declaration, which is a status.
SQL_TEXT = re.compile(r"(?:THEN|ELSE)\s+'([^']+)'")


@pytest.mark.parametrize("path", DECLARATIONS, ids=lambda path: path.stem)
def test_every_status_that_a_declaration_writes_has_a_state(path: Path) -> None:
    """A declaration writes statuses as texts in SQL or as values of a table of codes, or takes a column unchanged."""
    declaration = tomllib.loads(path.read_text(encoding="utf-8"))
    statut = declaration["columns"]["statut"]
    statuses_written = SQL_TEXT.findall(statut)
    for name in ("etat", "procedure"):  # derived columns that a `statut` reads
        derived = declaration.get("derived", {}).get(name)
        if isinstance(derived, str):
            statuses_written += SQL_TEXT.findall(derived)
        elif derived:
            statuses_written += declaration["codes"][derived["codes"]]["values"].values()
    fixed_country = re.fullmatch(r"'([A-Z]{2})'", declaration["columns"]["iso2"])
    countries = [fixed_country[1]] if fixed_country else COUNTRIES

    assert statuses_written or re.fullmatch(r"\w+|COALESCE\([\w, ]+\)", statut)
    assert [
        (iso2, value)
        for iso2 in countries
        for value in statuses_written
        if oracle.state(iso2, value, STATE_ROWS) is None
    ] == []
