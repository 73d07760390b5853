"""Values that cannot be: null and counted, in every field; the company stays."""

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
from tests.pipeline.builds import accounted, run, served
from tests.pipeline.rows import companies, company, line, write

SEEDS = tables.read()
ROWS = SEEDS.tables["valeurs_vides"]
LAST_YEAR = implausible_values.latest_year(money.rates(SEEDS))
NAN, INF = float("nan"), float("inf")
LEI = "529900T8BM49AURSDO55"


def left(iso2: str = "EE", **fields: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """A company of these fields after the stage, and the counts."""
    row = {"nom": "Été"} | fields
    frame = text_cleaning.clean(companies(company(iso2, "1", **row))).collect()
    patterns = implausible_values.placeholders(SEEDS, iso2)
    found, counts = implausible_values.leave_out(frame, patterns, LAST_YEAR)
    return found.row(0, named=True), dict(counts)


def fate(field: str, value: Any, **others: Any) -> str | None:
    """The reason for which `value` becomes null, or None: it stays."""
    row, counts = left(**{field: value}, **others)
    if row[field] is not None:
        assert counts == {}
        return None
    [(reason, count)] = counts.items()
    assert (count, reason.endswith(f" ({field})")) == (1, True)
    return reason.removesuffix(f" ({field})")


# -- placeholders --------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['iso2']} {row['motif'][:30]}")
def test_a_placeholder_is_unknown_and_a_text_that_has_it_inside_stays(row: dict[str, str]) -> None:
    names = row["champs"].replace("*", "ville activite").split()
    for name in names:
        many = COMPANIES[name] == TEXTS
        example, other = ([row[key]] if many else row[key] for key in ("exemple", "contre_exemple"))

        assert left(row["iso2"] or "EE", **{name: example})[0][name] is None
        if name in ("ville", "activite", "code_postal", "noms_anterieurs"):
            assert left(row["iso2"] or "EE", **{name: other})[0][name] == other


@pytest.mark.parametrize(
    "text", ["n/a", "N/A", "-", "--", "?", "unknown", "UNKNOWN", "#N/A", "[ND]"]
)
@pytest.mark.parametrize(
    "field",
    [n for n, dtype in COMPANIES.items() if dtype == pl.String and n not in COMPANIES_REQUIRED],
)
def test_every_text_column_knows_placeholders_in_any_case(field: str, text: str) -> None:
    row, counts = left(**{field: text})

    assert row[field] is None
    # Cleaning leaves out a text that is no e-mail address (`courriels_ecartes`).
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
def test_a_real_value_that_looks_like_one_stays(field: str, text: Any) -> None:
    row, counts = left(**{field: text})

    assert (row[field], counts) == (text, {})


def test_the_first_day_of_1900_is_a_placeholder_where_the_table_says_so() -> None:
    assert left("FR", date_creation="1900-01-01")[0]["date_creation"] is None
    assert left("CH", date_creation="1900-01-01")[0]["date_creation"] == "1900-01-01"


def test_placeholders_leave_a_list_and_the_rest_of_it_stays() -> None:
    row, counts = left(noms_anterieurs=["Alt", "n/a", "-"], nace_secondaires=["N/A"])

    assert (row["noms_anterieurs"], row["nace_secondaires"]) == (["Alt"], None)
    assert counts == {
        "valeur de remplissage (nace_secondaires)": 1,
        "valeur de remplissage (noms_anterieurs)": 2,
    }


@pytest.mark.parametrize(
    ("row", "expected"),
    [(",rue,x,x,y", "unknown column 'rue'"), (",*,(,x,y", r"'\(' is no regular expression")],
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
    assert fate("date_creation", date) is fate("date_source", date) is None


@pytest.mark.parametrize(
    "date",
    [
        *("2023-02-29", "2023-13", "2023-00", "29.02.2024", "20240229", "0001", "٢٠٢٤", "2024-2-9"),
        *("0001-01-01", "9999-12-31", "0010-10-13", "2020-02-31", "10-10-13", "3000-01-01"),
        *("2020-01-01T24:00", "2020-01-01 24:00:00", "+20000-01-01", "-0001-01-01"),
    ],
)
def test_a_date_that_cannot_be_is_null(date: str) -> None:
    assert fate("date_creation", date) == fate("date_source", date) == "date impossible"


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
def test_a_date_of_creation_after_that_of_the_file_is_unknown(
    created: str, source: str | None, stays: bool
) -> None:
    row, counts = left(date_creation=created, date_source=source)

    assert row["date_creation"] == (created if stays else None)
    assert counts.get("date postérieure au fichier (date_creation)", 0) == (not stays)


def test_the_date_of_a_file_in_a_far_year_counts_for_nothing() -> None:
    row, counts = left(date_creation="2199-01-01", date_source="2199-02-01")

    assert (row["date_creation"], row["date_source"]) == (None, None)
    assert counts == {
        "date postérieure au fichier (date_creation)": 1,
        "date postérieure au fichier (date_source)": 1,
    }


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
def test_dates_are_those_of_the_oracle(created: str, source: str | None) -> None:
    row, _ = left(date_creation=created, date_source=source)

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
def test_an_amount_is_finite_and_of_this_world(
    field: str, value: float, reason: str | None
) -> None:
    assert fate(field, value) == reason


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("capital_social", "montant invraisemblable"),
        ("total_actif_last", None),
        ("ca_eur", None),
        ("ca_last", None),
    ],
)
def test_a_capital_is_not_negative_and_other_amounts_may_be(field: str, reason: str | None) -> None:
    assert fate(field, -1.0) == reason


@pytest.mark.parametrize(
    ("amount", "multiplier"), [("ca_last", "ca_mult"), ("total_actif_last", "unite_mult")]
)
def test_an_amount_counts_with_its_multiplier(amount: str, multiplier: str) -> None:
    for times in (0, -1000, -(2**63)):
        fields: dict[str, Any] = {amount: 5.0, multiplier: times}
        row, counts = left(**fields)
        assert (row[amount], row[multiplier]) == (None, None)
        assert counts == {f"multiplicateur nul ou négatif ({multiplier})": 1}
    assert fate(amount, 1e13, **{multiplier: 1000}) == "montant invraisemblable"
    assert fate(amount, 1e12, **{multiplier: 1000}) is None


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
def test_a_headcount_is_0_to_ten_million(effectif: int, reason: str | None) -> None:
    assert fate("effectif", effectif) == reason


@pytest.mark.parametrize("field", ["ca_year", "exercice_actif"])
def test_a_fiscal_year_is_one_up_to_the_year_after_the_file(field: str) -> None:
    for value in (0, 20, 1799, 2199, -2020, 20191231):
        assert fate(field, value) == "exercice invraisemblable"
    assert fate(field, 2020) is None
    assert fate(field, 2023, date_source="2022-03") is None
    assert fate(field, 2024, date_source="2022-03") == "exercice invraisemblable"


# -- codes and contacts --------------------------------------------------------------


@pytest.mark.parametrize("field", ["ca_devise", "capital_devise", "devise"])
@pytest.mark.parametrize("devise", ["eur", "€1", "EURO", "Livre"])
def test_a_currency_is_three_capitals(field: str, devise: str) -> None:
    assert fate(field, devise) == "devise illisible"
    assert fate(field, "USD") is None


def test_a_code_of_an_unknown_revision_means_nothing() -> None:
    row, counts = left(nace_version="3", nace_code="6201", nace_secondaires=["6202"])

    assert (row["nace_version"], row["nace_code"], row["nace_secondaires"]) == (None, None, None)
    assert counts == {"version de la NACE inconnue (nace_version)": 1}
    assert left(nace_version="2.1", nace_code="6201")[1] == {}


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("lei", LEI, ["0" * 20 + "1", "12345678", LEI.lower(), "unknown lei"]),
        ("tva", "FR40303265045", ["non assujetti", "EU000000000"]),
        ("telephone", "+33 1 02 03 04 05", ["00 00 00 00 00", "sur demande"]),
        ("site_web", "www.été.fr", ["http://", "www", "facebook", "https://localhost/x"]),
        ("domaine", "été.fr", ["localhost", "a b"]),
        ("url_registre", "https://registre.example/1", ["http://", "néant"]),
    ],
)
def test_a_contact_and_a_code_have_the_form_of_one(field: str, good: str, bad: list[str]) -> None:
    assert fate(field, good) is None
    for value in bad:
        assert left(**{field: value})[0][field] is None


# -- in a build ----------------------------------------------------------------------

HOSTILE: dict[pl.DataType, list[Any]] = {
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
OPTIONAL = [name for name in COMPANIES if name not in COMPANIES_REQUIRED]
_ANY_HOSTILE = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([None, *HOSTILE[COMPANIES[name]]]) for name in OPTIONAL}
)


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_hostile_value_in_any_optional_column_never_removes_the_company(
    tmp_path: Path, name: str
) -> None:
    values = HOSTILE[COMPANIES[name]]
    rows = [company("EE", f"{n}", "Ä", **{name: value}) for n, value in enumerate(values)]

    built = run(tmp_path, write(tmp_path / "in", rows), force=True)

    quality = built.pays["EE"]
    assert (quality.gardees, quality.rejetees, accounted(quality)) == (len(rows), {}, True)
    for row in served(tmp_path, "EE"):
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
def test_headcounts_in_a_column_of_another_number_type_lose_only_what_is_none(
    tmp_path: Path, values: list[Any], dtype: pl.DataType
) -> None:
    rows = [company("EE", f"{n}", "Ä") for n in range(len(values))]
    frame = companies(*rows).collect().with_columns(effectif=pl.Series(values, dtype=dtype))
    (tmp_path / "in" / "companies").mkdir(parents=True)
    frame.write_parquet(tmp_path / "in" / "companies" / "a.parquet")

    built = run(tmp_path, tmp_path / "in")

    found = {int(row["id"]): row["effectif"] for row in served(tmp_path, "EE")}
    assert found == {n: 12 if value == 12 else None for n, value in enumerate(values)}
    assert built.pays["EE"].valeurs_ecartees == {
        "effectif invraisemblable (effectif)": sum(v not in (12, None) for v in values)
    }


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(_ANY_HOSTILE, min_size=1, max_size=8))
def test_any_mixture_of_them_is_published_and_plausible(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    given_rows = [company("EE", f"{n}", "Ä", **row) for n, row in enumerate(rows)]

    built = run(folder, write(folder / "in", given_rows), force=True)

    assert built.pays["EE"].gardees == len(rows)
    for row in served(folder, "EE"):
        assert_plausible(row)


def assert_plausible(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if isinstance(value, float):
            assert abs(value) <= 1e15, name
    created = row["date_creation"]
    assert created is None or "1000" <= created[:4] <= str(LAST_YEAR)
    assert row["effectif"] is None or 0 <= row["effectif"] <= 10_000_000
    assert row["capital_social"] is None or row["capital_social"] >= 0
    for name in ("ville", "telephone", "site_web", "tva"):
        assert row.get(name) not in ("n/a", "-", "unknown", "UNKNOWN"), name


def test_statement_lines_that_cannot_be_are_left_out_and_the_company_stays(tmp_path: Path) -> None:
    lines = [
        line("EE", "1", 2020, valeur=7.0),
        line("EE", "1", 2021, valeur=1e308),
        line("EE", "1", 2022, valeur=NAN),
        line("EE", "1", 2199),
        line("EE", "1", 1),
        line("EE", "1", 2020, code="Equity", valeur=1.0, ordre=-(2**63)),
        line("EE", "1", 2020, code="SubscribedCapital", etat="bilan_passif", valeur=-5.0),
    ]

    built = run(
        tmp_path, write(tmp_path / "in", [company("EE", "1", "Ä")], lines), max_rejected=1.0
    )

    [row] = served(tmp_path, "EE")
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
