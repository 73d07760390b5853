"""An impossible value of any field becomes null and is counted, and the company stays."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import seeds as tables
from pipeline.canonical import BOOLEAN, COMPANIES, COMPANIES_REQUIRED, INTEGER, NUMBER, TEXTS
from pipeline.errors import SeedError
from pipeline.stages import implausible_values, money, text_cleaning
from seeds import TABLES
from tests import oracle
from tests.pipeline.builds import counts_add_up, published_companies, run_build
from tests.pipeline.rows import companies_frame, company, statement_line, write_input

SEEDS = tables.read()
PLACEHOLDER_ROWS = SEEDS.tables["valeurs_vides"]
LAST_YEAR = implausible_values.latest_year(money.rates(SEEDS))
NAN, INF = float("nan"), float("inf")
VALID_LEI = "529900T8BM49AURSDO55"


def run_stage(iso2: str = "EE", **fields: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """A company with these fields after the stage, and the counts of left-out values by reason."""
    row = {"nom": "Été"} | fields
    frame = text_cleaning.clean(companies_frame(company(iso2, "1", **row))).collect()
    patterns = implausible_values.placeholders(SEEDS, iso2)
    result, counts = implausible_values.leave_out(frame, patterns, LAST_YEAR)
    return result.row(0, named=True), dict(counts)


def reason_for_null(field: str, value: Any, **others: Any) -> str | None:
    """The reason why `value` becomes null; None if it stays."""
    row, counts = run_stage(**{field: value}, **others)
    if row[field] is not None:
        assert counts == {}
        return None
    [(reason, count)] = counts.items()
    assert (count, reason.endswith(f" ({field})")) == (1, True)
    return reason.removesuffix(f" ({field})")


# -- placeholders --------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", PLACEHOLDER_ROWS, ids=lambda row: f"{row['iso2']} {row['motif'][:30]}"
)
def test_a_placeholder_becomes_null_and_its_counterexample_stays(row: dict[str, str]) -> None:
    # A row for all columns (`*`) is tried on two of them.
    names = row["champs"].replace("*", "ville activite").split()
    for name in names:
        is_list = COMPANIES[name] == TEXTS
        example, counterexample = (
            [row[key]] if is_list else row[key] for key in ("exemple", "contre_exemple")
        )

        assert run_stage(row["iso2"] or "EE", **{name: example})[0][name] is None
        # In the other columns, a counterexample can become null for another reason, such as its form.
        if name in ("ville", "activite", "code_postal", "noms_anterieurs"):
            assert (
                run_stage(row["iso2"] or "EE", **{name: counterexample})[0][name] == counterexample
            )


@pytest.mark.parametrize(
    "text", ["n/a", "N/A", "-", "--", "?", "unknown", "UNKNOWN", "#N/A", "[ND]"]
)
@pytest.mark.parametrize(
    "field",
    [
        name
        for name, dtype in COMPANIES.items()
        if dtype == pl.String and name not in COMPANIES_REQUIRED
    ],
)
def test_placeholders_in_any_case_become_null_in_every_text_column(field: str, text: str) -> None:
    row, counts = run_stage(**{field: text})

    assert row[field] is None
    # Cleaning leaves out an invalid e-mail address (`courriels_ecartes`).
    assert counts == ({} if field == "email" else {f"valeur de remplissage ({field})": 1})


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("nom", "NULL LTD"),
        ("nom", "N/A"),
        ("nom", "Unknown"),
        ("ville", "Null"),
        ("ville", "None"),
        ("ville", "Å"),
        ("ville", "Y"),
        ("adresse", "None"),
        ("region", "Nd"),
        ("code_postal", "0001"),
        ("code_postal", "99998"),
        ("code_postal", "L-9999"),
        ("code_postal", "9999 XK"),
        ("forme", "NV"),
        ("tranche_effectif", "00"),
        ("activite", "Nil-Handel"),
        ("telephone", "112"),
        ("noms_anterieurs", ["NULL LTD", "!!!"]),
        ("date_creation", "1900-01-01"),
        ("date_creation", "1088"),
    ],
)
def test_a_real_value_that_looks_like_a_placeholder_stays(field: str, text: Any) -> None:
    row, counts = run_stage(**{field: text})

    assert (row[field], counts) == (text, {})


def test_the_first_day_of_1900_is_a_placeholder_in_france_and_not_in_switzerland() -> None:
    assert run_stage("FR", date_creation="1900-01-01")[0]["date_creation"] is None
    assert run_stage("CH", date_creation="1900-01-01")[0]["date_creation"] == "1900-01-01"


def test_placeholders_are_removed_from_a_list_and_its_other_values_stay() -> None:
    row, counts = run_stage(noms_anterieurs=["Alt", "n/a", "-"], nace_secondaires=["N/A"])

    assert (row["noms_anterieurs"], row["nace_secondaires"]) == (["Alt"], None)
    assert counts == {
        "valeur de remplissage (nace_secondaires)": 1,
        "valeur de remplissage (noms_anterieurs)": 2,
    }


@pytest.mark.parametrize(
    ("row", "expected"),
    [(",rue,x,x,y", "unknown column 'rue'"), (",*,(,x,y", r"'\(' is not a regular expression")],
)
def test_an_unknown_column_and_a_damaged_pattern_are_named(
    tmp_path: Path, row: str, expected: str
) -> None:
    for table in TABLES.glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    head = (tmp_path / "valeurs_vides.csv").read_text().splitlines()[0]
    (tmp_path / "valeurs_vides.csv").write_text(f"{head}\n{row}\n")

    with pytest.raises(SeedError, match=expected):
        implausible_values.placeholders(tables.read(tmp_path), "EE")


# -- dates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "date", ["1999", "1999-12", "2024-02-29", " 2024-02-29 ", "1088", "1000-01-01"]
)
def test_a_date_may_lack_its_day_or_month(date: str) -> None:
    """Contract C8."""
    assert reason_for_null("date_creation", date) is reason_for_null("date_source", date) is None


@pytest.mark.parametrize(
    "date",
    [
        *("2023-02-29", "2023-13", "2023-00", "29.02.2024", "20240229", "0001", "٢٠٢٤", "2024-2-9"),
        *("0001-01-01", "9999-12-31", "0010-10-13", "2020-02-31", "10-10-13", "3000-01-01"),
        *("2020-01-01T24:00", "2020-01-01 24:00:00", "+20000-01-01", "-0001-01-01"),
    ],
)
def test_an_impossible_date_is_null(date: str) -> None:
    assert (
        reason_for_null("date_creation", date)
        == reason_for_null("date_source", date)
        == "date impossible"
    )


@pytest.mark.parametrize(
    ("created", "source", "stays"),
    [
        ("2022-01-31", "2022-01-31", True),
        ("2022-02-01", "2022-01-31", False),
        ("2022-01-31", "2022-01", True),
        ("2022-02-01", "2022-01", False),
        ("2022-12-31", "2022", True),
        ("2023", "2022", False),
        ("2022", "2022-01-31", True),
        ("2199-01-01", "2022-01-31", False),
        (f"{LAST_YEAR}-12-31", None, True),
        (f"{LAST_YEAR + 1}-01-01", None, False),
        ("2199", None, False),
        ("2199", "n/a", False),
    ],
)
def test_a_date_of_creation_after_the_date_of_the_file_becomes_null(
    created: str, source: str | None, stays: bool
) -> None:
    row, counts = run_stage(date_creation=created, date_source=source)

    assert row["date_creation"] == (created if stays else None)
    assert counts.get("date postérieure au fichier (date_creation)", 0) == (not stays)


def test_a_file_date_in_a_far_year_does_not_make_a_date_of_creation_plausible() -> None:
    row, counts = run_stage(date_creation="2199-01-01", date_source="2199-02-01")

    assert (row["date_creation"], row["date_source"]) == (None, None)
    assert counts == {
        "date postérieure au fichier (date_creation)": 1,
        "date postérieure au fichier (date_source)": 1,
    }


# Parts of dates, valid and invalid, that _DATES joins to years, months and days.
_YEARS = st.sampled_from(
    ["0001", "0999", "1000", "1900", "2024", "2025", f"{LAST_YEAR}", "2199", "9999", "24"]
)
_DATES = st.one_of(
    st.builds("-".join, st.tuples(_YEARS)),
    st.builds("-".join, st.tuples(_YEARS, st.sampled_from(["00", "01", "2", "02", "12", "13"]))),
    st.builds(
        "-".join,
        st.tuples(
            _YEARS,
            st.sampled_from(["01", "02", "11", "12", "13"]),
            st.sampled_from(["00", "01", "28", "29", "30", "31", "32", "1"]),
        ),
    ),
)


@given(created=_DATES, source=st.none() | _DATES)
def test_kept_dates_of_creation_agree_with_the_oracle(created: str, source: str | None) -> None:
    row, _ = run_stage(date_creation=created, date_source=source)

    assert row["date_creation"] == oracle.date_of_creation(created, source, LAST_YEAR)


# -- numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["capital_social", "ca_eur", "ca_last", "total_actif_last"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (NAN, "montant non fini"),
        (INF, "montant non fini"),
        (-INF, "montant non fini"),
        (1e308, "montant invraisemblable"),
        (-1e308, "montant invraisemblable"),
        (1.1e15, "montant invraisemblable"),
        (1e15, None),
        (0.0, None),
        (0.5, None),
    ],
)
def test_an_amount_is_finite_and_plausible(field: str, value: float, reason: str | None) -> None:
    assert reason_for_null(field, value) == reason


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("capital_social", "montant invraisemblable"),
        ("total_actif_last", None),
        ("ca_eur", None),
        ("ca_last", None),
    ],
)
def test_a_negative_capital_is_left_out_and_other_negative_amounts_stay(
    field: str, reason: str | None
) -> None:
    assert reason_for_null(field, -1.0) == reason


@pytest.mark.parametrize(
    ("amount", "multiplier"), [("ca_last", "ca_mult"), ("total_actif_last", "unite_mult")]
)
def test_an_amount_counts_with_its_multiplier(amount: str, multiplier: str) -> None:
    for factor in (0, -1000, -(2**63)):
        fields: dict[str, Any] = {amount: 5.0, multiplier: factor}
        row, counts = run_stage(**fields)
        assert (row[amount], row[multiplier]) == (None, None)
        assert counts == {f"multiplicateur nul ou négatif ({multiplier})": 1}
    assert reason_for_null(amount, 1e13, **{multiplier: 1000}) == "montant invraisemblable"
    assert reason_for_null(amount, 1e12, **{multiplier: 1000}) is None


@pytest.mark.parametrize(
    ("effectif", "reason"),
    [
        (-3, "effectif invraisemblable"),
        (0, None),
        (10_000_000, None),
        (10_000_001, "effectif invraisemblable"),
        (2**63 - 1, "effectif invraisemblable"),
        (-(2**63), "effectif invraisemblable"),
    ],
)
def test_a_headcount_outside_0_to_ten_million_becomes_null(
    effectif: int, reason: str | None
) -> None:
    assert reason_for_null("effectif", effectif) == reason


@pytest.mark.parametrize("field", ["ca_year", "exercice_actif"])
def test_a_fiscal_year_is_at_most_the_year_after_the_file(field: str) -> None:
    for value in (0, 20, 1799, 2199, -2020, 20191231):
        assert reason_for_null(field, value) == "exercice invraisemblable"
    assert reason_for_null(field, 2020) is None
    assert reason_for_null(field, 2023, date_source="2022-03") is None
    assert reason_for_null(field, 2024, date_source="2022-03") == "exercice invraisemblable"


# -- codes and contacts --------------------------------------------------------------


@pytest.mark.parametrize("field", ["ca_devise", "capital_devise", "devise"])
@pytest.mark.parametrize("devise", ["eur", "€1", "EURO", "Livre"])
def test_a_currency_that_is_not_three_capitals_becomes_null(field: str, devise: str) -> None:
    assert reason_for_null(field, devise) == "devise illisible"
    assert reason_for_null(field, "USD") is None


def test_an_unknown_nace_revision_removes_the_codes_with_it() -> None:
    row, counts = run_stage(nace_version="3", nace_code="6201", nace_secondaires=["6202"])

    assert (row["nace_version"], row["nace_code"], row["nace_secondaires"]) == (None, None, None)
    assert counts == {"version de la NACE inconnue (nace_version)": 1}
    assert run_stage(nace_version="2.1", nace_code="6201")[1] == {}


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("lei", VALID_LEI, ["0" * 20 + "1", "12345678", VALID_LEI.lower(), "unknown lei"]),
        ("tva", "FR40303265045", ["non assujetti", "EU000000000"]),
        ("telephone", "+33 1 02 03 04 05", ["00 00 00 00 00", "sur demande"]),
        ("site_web", "www.été.fr", ["http://", "www", "facebook", "https://localhost/x"]),
        ("domaine", "été.fr", ["localhost", "a b"]),
        ("url_registre", "https://registre.example/1", ["http://", "néant"]),
    ],
)
def test_a_contact_or_a_code_of_a_wrong_form_becomes_null(
    field: str, good: str, bad: list[str]
) -> None:
    assert reason_for_null(field, good) is None
    for value in bad:
        assert run_stage(**{field: value})[0][field] is None


# -- in a build ----------------------------------------------------------------------

# Values by type of column, most of which are impossible in the columns of that type.
HOSTILE_VALUES: dict[pl.DataType, list[Any]] = {
    NUMBER: [NAN, INF, -INF, -0.0, 1e308, -1e308, 1e18, -1.0, 0.0],
    INTEGER: [-3, -(2**63), 2**63 - 1, 0, 10**12, 1, 13, 9999, 99999],
    pl.String(): [
        *("0001-01-01", "9999-12-31", "2199-01-01", "13/10/10", "2020-02-30", "2020-01-01T24:00"),
        *(
            "n/a",
            "-",
            "NULL",
            "null",
            "unknown",
            "UNKNOWN",
            "00000",
            "99999",
            "",
            "  ",
            "\x00",
            "\t",
        ),
        *("\u200b", "😀", "x" * 5000, "é\x1fü", "NaN", "inf", "-1", "%00", "\ufeff", "e\u0301"),
    ],
    BOOLEAN: [True, False, None],
    TEXTS: [[], [None], ["n/a", ""], ["\x00"], ["É"], None, ["x" * 5000]],
}
OPTIONAL_COLUMNS = [name for name in COMPANIES if name not in COMPANIES_REQUIRED]
_ANY_HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([None, *HOSTILE_VALUES[COMPANIES[name]]]) for name in OPTIONAL_COLUMNS
    },
)


@pytest.mark.parametrize("name", OPTIONAL_COLUMNS)
def test_a_hostile_value_in_any_optional_column_never_removes_the_company(
    tmp_path: Path, name: str
) -> None:
    values = HOSTILE_VALUES[COMPANIES[name]]
    rows = [company("EE", f"{number}", "Ä", **{name: value}) for number, value in enumerate(values)]

    built = run_build(tmp_path, write_input(tmp_path / "in", rows), force=True)

    quality = built.pays["EE"]
    assert (quality.gardees, quality.rejetees, counts_add_up(quality)) == (len(rows), {}, True)
    for row in published_companies(tmp_path, "EE"):
        assert_plausible(row)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([NAN, INF, -INF, -3.0, 1e30, 2.5, 12.0, None], pl.Float64),
        ([2**64 - 1, 12], pl.UInt64),
        ([2**100, -(2**100), 12], pl.Int128),
        ([-3, 12], pl.Int8),
    ],
)
def test_headcounts_of_another_number_type_lose_only_invalid_values(
    tmp_path: Path, values: list[Any], dtype: pl.DataType
) -> None:
    rows = [company("EE", f"{number}", "Ä") for number in range(len(values))]
    frame = companies_frame(*rows).collect().with_columns(effectif=pl.Series(values, dtype=dtype))
    (tmp_path / "in" / "companies").mkdir(parents=True)
    frame.write_parquet(tmp_path / "in" / "companies" / "a.parquet")

    built = run_build(tmp_path, tmp_path / "in")

    by_id = {int(row["id"]): row["effectif"] for row in published_companies(tmp_path, "EE")}
    assert by_id == {number: 12 if value == 12 else None for number, value in enumerate(values)}
    assert built.pays["EE"].valeurs_ecartees == {
        "effectif invraisemblable (effectif)": sum(value not in (12, None) for value in values)
    }


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(_ANY_HOSTILE, min_size=1, max_size=8))
def test_companies_with_any_mixture_of_hostile_values_are_published_with_plausible_ones(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    companies = [company("EE", f"{number}", "Ä", **row) for number, row in enumerate(rows)]

    built = run_build(folder, write_input(folder / "in", companies), force=True)

    assert built.pays["EE"].gardees == len(rows)
    for row in published_companies(folder, "EE"):
        assert_plausible(row)


def assert_plausible(row: dict[str, Any]) -> None:
    """Assert that no impossible value is in a published company."""
    for name, value in row.items():
        if isinstance(value, float):
            assert abs(value) <= 1e15, name
    created = row["date_creation"]
    assert created is None or "1000" <= created[:4] <= str(LAST_YEAR)
    assert row["effectif"] is None or 0 <= row["effectif"] <= 10_000_000
    assert row["capital_social"] is None or row["capital_social"] >= 0
    for name in ("ville", "telephone", "site_web", "tva"):
        assert row.get(name) not in ("n/a", "-", "unknown", "UNKNOWN"), name


def test_impossible_statement_lines_are_left_out_and_the_company_stays(tmp_path: Path) -> None:
    lines = [
        statement_line("EE", "1", 2020, valeur=7.0),
        statement_line("EE", "1", 2021, valeur=1e308),
        statement_line("EE", "1", 2022, valeur=NAN),
        statement_line("EE", "1", 2199),
        statement_line("EE", "1", 1),
        # Stored without its impossible place.
        statement_line("EE", "1", 2020, code="Equity", valeur=1.0, ordre=-(2**63)),
        # Stored, but a negative capital does not become the capital of the company.
        statement_line("EE", "1", 2020, code="SubscribedCapital", etat="bilan_passif", valeur=-5.0),
    ]

    built = run_build(
        tmp_path, write_input(tmp_path / "in", [company("EE", "1", "Ä")], lines), max_rejected=1.0
    )

    [row] = published_companies(tmp_path, "EE")
    assert (row["total_actif_last"], row["exercice_max"], row["capital_social"]) == (
        7.0,
        2020,
        None,
    )
    assert [entry["ordre"] for entry in row["comptes"]] == [1, None, 1]
    assert built.pays["EE"].lignes_ecartees == {
        "exercice absent ou invraisemblable": 2,
        "montant invraisemblable": 1,
        "valeur absente ou non finie": 1,
    }
