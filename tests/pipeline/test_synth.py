"""Synthetic companies: the same bytes however they are made, valid, and shaped like real ones."""

import re
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipeline import canonical, seeds
from pipeline.__main__ import main
from pipeline.canonical import COMPANIES, COMPTES
from pipeline.errors import BuildError, SeedError
from pipeline.synth import lexicon, writing
from pipeline.synth.draws import generator, shaped
from pipeline.synth.identifiers import Segment, dealt, ids
from pipeline.synth.keys import GAPPED, RULES, valid_stems
from pipeline.synth.names import rare
from pipeline.synth.statements import LINES
from pipeline.synth.writing import Options
from tests.pipeline.inputs import run as build

WORLD = lexicon.world()
SEEDS = seeds.read()
CODES = [country.iso2 for country in SEEDS.pays]
PROFILES = {profile.iso2: profile for profile in WORLD.profiles}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synth")
    writing.run(Options(companies=20_000, seed=1, out=out, comptes=0.2, jobs=1))
    return out


@pytest.fixture(scope="module")
def companies(folder: Path) -> pl.DataFrame:
    return rows(folder, "companies")


@pytest.fixture(scope="module")
def comptes(folder: Path) -> pl.DataFrame:
    return rows(folder, "comptes")


def rows(folder: Path, table: str) -> pl.DataFrame:
    files = sorted((folder / table).glob("*.parquet"))
    return pl.concat([canonical.scan(file, table) for file in files]).collect()


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def share(companies: pl.DataFrame, condition: pl.Expr) -> float:
    return float(companies.select(condition.mean()).item())


# -- the same bytes --------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_whatever_the_jobs(tmp_path: Path) -> None:
    def made(jobs: int) -> dict[str, bytes]:
        out = tmp_path / str(jobs)
        writing.run(Options(companies=400, seed=3, out=out, comptes=0.5, jobs=jobs))
        return contents(out)

    assert made(1) == made(2)


def test_another_seed_gives_other_companies(tmp_path: Path) -> None:
    for seed in (1, 2):
        writing.run(Options(companies=400, seed=seed, out=tmp_path / str(seed), jobs=1))

    one, two = (rows(tmp_path / seed, "companies") for seed in "12")
    assert set(one["id"]) != set(two["id"])
    assert set(one["nom"]) != set(two["nom"])


def test_chunks_draw_apart_and_share_no_identifier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ROWS", 50)
    monkeypatch.setattr(writing, "PART", 20)
    options = Options(companies=2_000, seed=1, out=tmp_path, comptes=1.0, jobs=1)

    written = writing.run(options)

    made = rows(tmp_path, "companies")
    lines = rows(tmp_path, "comptes")
    assert made.select("iso2", "id").n_unique() == made.height == written.companies == 2_000
    assert lines.select("iso2", "id").n_unique() == 2_000
    assert lines.height == written.lines
    french = made.filter(pl.col("iso2") == "FR")["nom"]
    assert set(french[:50]) != set(french[50:100])


def test_chunks_are_dealt_to_batches_in_their_order() -> None:
    chunks = list(writing.plan(Options(companies=9_000_000, seed=1, out=Path())))

    batches = writing.batches(chunks, 2)

    assert [chunk for batch in batches for chunk in batch.chunks] == chunks
    assert sum(batch.rows for batch in batches) == 9_000_000
    assert max(batch.rows for batch in batches) <= writing.BATCH
    assert len(batches) >= 2 * writing.EACH
    assert batches[0].iso2 == "FR"
    assert batches[0].memory == writing.MEMORY


def test_a_second_run_replaces_what_the_first_left(tmp_path: Path) -> None:
    writing.run(Options(companies=100, seed=1, out=tmp_path, comptes=1.0, jobs=1))
    (tmp_path / "companies" / "FR-00007.parquet.partial").touch()
    writing.run(Options(companies=3, seed=1, out=tmp_path, jobs=1))

    assert rows(tmp_path, "companies").height == 3
    assert not [name for name in contents(tmp_path) if "comptes" in name or "partial" in name]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "companies").mkdir()
    (tmp_path / "companies" / "ee.lihtandmed.parquet").touch()

    with pytest.raises(BuildError, match=r"ee\.lihtandmed\.parquet, .* empty or new folder"):
        writing.run(Options(companies=100, seed=1, out=tmp_path, jobs=1))

    assert list(contents(tmp_path)) == ["companies/ee.lihtandmed.parquet"]


# -- how many, and where ---------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 24, 25, 1_000, 123_457])
def test_the_shares_of_the_countries_add_up(count: int) -> None:
    assert sum(writing.shares(count).values()) == count


def test_the_full_size_has_exactly_the_numbers_of_the_table() -> None:
    table = {row["iso2"]: int(row["synthetic_n"]) for row in SEEDS.tables["pays"]}

    assert writing.shares(18_700_000) == table


@pytest.mark.parametrize("count", [0, 1, 30])
def test_any_number_of_companies_is_an_input(tmp_path: Path, count: int) -> None:
    written = writing.run(Options(companies=count, seed=1, out=tmp_path, comptes=1.0, jobs=1))

    assert rows(tmp_path, "companies").height == count == written.companies


def test_more_companies_than_identifiers_stop_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"companies of \w\w are more than the \d+ identifiers"):
        writing.run(Options(companies=10**9, seed=1, out=tmp_path / "out", jobs=1))

    assert not (tmp_path / "out").exists()


# -- identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("iso2", CODES)
def test_identifiers_are_unique_of_the_format_and_have_the_check_digit(iso2: str) -> None:
    country = SEEDS.country(iso2)
    parts = PROFILES[iso2].segments

    found = ids(iso2, parts, np.arange(4_000), 4_000, 12_345)

    assert found.n_unique() == 4_000
    assert found.filter(~found.str.contains(country.id_regex)).to_list() == []
    if re.fullmatch(r"[a-z]{2}\.[a-z]+", country.stdnum_module):
        is_valid = import_module(f"stdnum.{country.stdnum_module}").is_valid
        if is_valid(country.id_exemple):
            assert [text for text in found if not is_valid(text)] == []


@pytest.mark.parametrize(("iso2", "stem", "check"), [("SK", 4716536, 7), ("LT", 11005384, 2)])
def test_check_digits_that_stdnum_does_not_know(iso2: str, stem: int, check: int) -> None:
    """The examples of `seeds/pays.csv`."""
    assert RULES[iso2](np.array([stem])).tolist() == [check]


@pytest.mark.parametrize("iso2", sorted(GAPPED))
def test_stems_without_a_check_digit_are_left_out_and_no_other_is_repeated(iso2: str) -> None:
    stems = valid_stems(np.arange(9_000), RULES[iso2])

    assert (RULES[iso2](stems) < 10).all()
    assert len(set(stems.tolist())) == 9_000
    assert stems.max() < 10_000


def test_a_full_range_leaves_the_rest_to_the_others() -> None:
    parts = [Segment("A", 0, 9, 1, "", 99.0), Segment("B", 0, 99, 2, "", 1.0)]

    assert dealt(parts, 100, "XX").tolist() == [10, 90]
    assert sorted(ids("XX", parts, np.arange(110), 110, 7)) == sorted(
        [f"A{n}" for n in range(10)] + [f"B{n:02}" for n in range(100)]
    )


def test_prefixes_have_many_selectivities(companies: pl.DataFrame) -> None:
    british = companies.filter(pl.col("iso2") == "UK")["id"].str.head(2).value_counts()
    shares = (british["count"] / british["count"].sum()).to_list()

    assert max(shares) > 0.05
    assert min(shares) < 0.003


# -- names -----------------------------------------------------------------------------------------


def words(companies: pl.DataFrame) -> Counter[str]:
    split = companies["nom"].str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    return Counter(split.list.unique().explode().to_list())


def test_words_are_frequent_like_those_of_a_register(companies: pl.DataFrame) -> None:
    found = words(companies)

    assert found.most_common(1)[0][1] > 0.01 * companies.height
    assert found["services"] > 0.01 * companies.height
    assert sum(count == 1 for count in found.values()) > 0.5 * len(found)
    assert 0.3 < len(found) / companies.height < 1.2


def test_new_words_become_rarer_as_names_become_more() -> None:
    english = PROFILES["UK"].lexicons[0]
    drawn = rare(english, generator(1, 0, 0, "names"), 400_000)

    assert drawn[:4_000].n_unique() / 4_000 > 0.6
    assert 0.2 < drawn.n_unique() / 400_000 < 0.5


def test_names_have_accents_ligatures_and_other_scripts(companies: pl.DataFrame) -> None:
    text = "".join(companies["nom"]).lower()

    assert set("éèçñãõäöüßøåæœłżšřđțșģļņąęīū") <= set(text)
    assert re.search("[а-я]", text)
    assert re.search("[α-ω]", text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^24 |\b24\b",
        r"^\p{L} \p{L} ",
        r"\p{L}\.\p{L}\.",
        "&",
        r"\p{L}-\p{L}",
        "['’]",
        '"',
        r"\(",
        r" (LTD|LIMITED)$",
        " GmbH",
        "OÜ",
        r"d\.o\.o\.",
        "SARL",
    ],
)
def test_names_have_the_marks_of_real_ones(companies: pl.DataFrame, pattern: str) -> None:
    assert companies["nom"].str.contains(pattern).any()


def test_some_whole_names_are_those_of_another_company(companies: pl.DataFrame) -> None:
    distinct = companies.select("iso2", "nom").n_unique()

    assert 0.02 < 1 - distinct / companies.height < 0.1


def test_a_pattern_is_filled_with_digits_and_letters() -> None:
    found = shaped("@#-##", np.random.default_rng(1), 100)

    assert found.str.contains(r"^[A-Z]\d-\d\d$").all()


# -- everything else -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "expected", "tolerance"),
    [
        ("effectif", 0.44, 0.02),
        ("ca_last", 0.335, 0.03),
        ("capital_social", 0.40, 0.02),
        ("total_actif_last", 0.455, 0.03),
        ("site_web", 0.14, 0.01),
        ("email", 0.08, 0.01),
        ("telephone", 0.09, 0.01),
        ("nace_code", 0.95, 0.01),
        ("date_creation", 0.98, 0.01),
    ],
)
def test_shares_of_filled_fields(
    companies: pl.DataFrame, column: str, expected: float, tolerance: float
) -> None:
    assert share(companies, pl.col(column).is_not_null()) == pytest.approx(expected, abs=tolerance)


def test_divisions_have_their_weights(companies: pl.DataFrame) -> None:
    table = seeds.table(seeds.SEEDS / "poids_secteurs.csv", ("nace_division", "poids"))
    weights = {row["nace_division"]: float(row["poids"]) for row in table}
    rev2 = companies.filter(pl.col("nace_code").is_not_null() & (pl.col("nace_version") != "2.1"))
    found = rev2["nace_code"].str.head(2).value_counts()

    for division, count in found.iter_rows():
        wanted = weights[division] / sum(weights.values())
        assert count / rev2.height == pytest.approx(wanted, abs=0.01), division


def test_activity_codes_come_in_the_notation_of_their_register(companies: pl.DataFrame) -> None:
    classes = companies.filter(pl.col("nace_code").str.len_bytes() > 4)
    notations = {"FR": r"^\d\d\.\d\d[A-Z]$", "UK": r"^\d{5}$", "DE": r"^\d\d\.\d\d$"}

    for iso2, pattern in notations.items():
        plain = classes.filter((pl.col("iso2") == iso2) & (pl.col("nace_version") == "2"))
        assert plain["nace_code"].str.contains(pattern).all()
    assert set(companies["nace_version"]) == {None, "2", "2.1"}


def test_a_town_has_its_own_postal_code_and_region(companies: pl.DataFrame) -> None:
    lyon = companies.filter(pl.col("ville") == "Lyon")

    assert lyon["code_postal"].str.contains(r"^69\d{3}$").all()
    assert set(lyon["region"]) == {"Auvergne-Rhône-Alpes", None}


def test_turnover_grows_with_the_headcount_and_is_zero_for_some(companies: pl.DataFrame) -> None:
    euros = companies.filter(pl.col("ca_devise") == "EUR").with_columns(
        euros=pl.col("ca_last") * pl.col("ca_mult")
    )

    def median(condition: pl.Expr) -> float:
        return float(euros.filter(condition).select(pl.col("euros").median()).item())

    small, large = median(pl.col("effectif") == 1), median(pl.col("effectif") >= 10)
    assert large > 5 * small
    assert share(euros, pl.col("euros") == 0) == pytest.approx(0.06, abs=0.02)
    assert euros.select((1 / pl.col("euros")).min()).item() > float("-inf")  # no -0.0


def test_amounts_are_in_the_currency_of_country_and_year(companies: pl.DataFrame) -> None:
    given = companies.filter(pl.col("ca_devise").is_not_null())
    found: Mapping[str, set[str]] = {
        iso2: set(given.filter(pl.col("iso2") == iso2)["ca_devise"]) for iso2 in ("UK", "HR", "FR")
    }

    assert found == {"UK": {"GBP"}, "HR": {"EUR", "HRK"}, "FR": {"EUR"}}
    assert set(given["ca_mult"]) <= {1, 1_000, 1_000_000}
    assert share(companies, pl.col("ca_eur").is_not_null()) == pytest.approx(0.01, abs=0.005)


def test_a_currency_without_a_rate_stops() -> None:
    with pytest.raises(SeedError, match=r"taux\.csv has no XXX of 2025"):
        lexicon.rate(SEEDS, "XXX", 2025)


def test_a_country_without_a_row_in_a_table_stops() -> None:
    with pytest.raises(SeedError, match=r"villes\.csv has no row for XX; add one"):
        lexicon.of_country("villes", (), "XX")


def test_headcounts_have_a_heavy_tail_and_some_are_a_band_alone(companies: pl.DataFrame) -> None:
    assert share(companies, (pl.col("effectif") >= 10).fill_null(False)) == pytest.approx(
        0.032, abs=0.006
    )
    assert companies.select(pl.col("effectif").max()).item() > 200
    assert share(companies, pl.col("tranche_effectif").is_not_null()) > 0.08
    both = pl.col("tranche_effectif").is_not_null() & pl.col("effectif").is_not_null()
    assert share(companies, both) == 0


def test_contacts_are_of_the_name(companies: pl.DataFrame) -> None:
    sites = companies.filter(pl.col("site_web").is_not_null())
    label = sites["site_web"].str.extract(r"^(?:https?://)?(?:www\.)?([a-z0-9]+)\.[a-z.]+$")
    bare = sites["nom"].str.to_lowercase().str.replace_all(r"[^a-z0-9]", "")

    assert label.null_count() == 0
    ascii_names = sites["nom"].str.contains(r"^[ -~]+$")
    pairs = zip(label.filter(ascii_names), bare.filter(ascii_names), strict=True)
    assert all(part[:12] in whole for part, whole in pairs)
    given = sites.filter(pl.col("domaine").is_not_null())
    assert given.select(pl.col("site_web").str.ends_with(pl.col("domaine")).all()).item()


def test_dates_are_young_and_some_are_a_year_alone(companies: pl.DataFrame) -> None:
    since_2019 = pl.col("date_creation").str.head(4) >= "2019"

    assert share(companies, since_2019) == pytest.approx(0.5, abs=0.1)
    assert set(companies["date_creation"].drop_nulls().str.len_bytes()) == {4, 7, 10}


# -- statements ------------------------------------------------------------------------------------


def test_the_asked_share_has_statements_of_one_to_five_years(
    companies: pl.DataFrame, comptes: pl.DataFrame
) -> None:
    each = comptes.group_by("iso2", "id").agg(pl.col("exercice").n_unique())

    assert each.height / companies.height == pytest.approx(0.2, abs=0.01)
    assert set(each["exercice"]) == {1, 2, 3, 4, 5}
    assert dict(comptes.schema) == dict(COMPTES)
    assert comptes.select("iso2", "id", "exercice", "code").is_duplicated().sum() == 0


def test_a_balance_sheet_balances(comptes: pl.DataFrame) -> None:
    wide = comptes.pivot("code", index=["iso2", "id", "exercice"], values="valeur")
    debts = pl.col("CreditorsDueWithinOneYear") + pl.col("CreditorsDueAfterOneYear")

    assert set(wide.columns[3:]) == {code for _, code in LINES}
    for total, parts in (
        ("TotalAssets", pl.col("FixedAssets") + pl.col("CurrentAssets")),
        ("TotalAssets", pl.col("Equity") + debts),
        ("GrossProfitLoss", pl.col("TurnoverRevenue") - pl.col("CostSales")),
    ):
        assert wide.select((pl.col(total) - parts).abs().max()).item() < 0.01


def test_the_newest_year_is_that_of_the_record(
    companies: pl.DataFrame, comptes: pl.DataFrame
) -> None:
    turnovers = comptes.filter(pl.col("code") == "TurnoverRevenue").rename({"valeur": "stated"})
    newest = turnovers.join(companies, on=["iso2", "id"]).filter(
        pl.col("exercice") == pl.col("ca_year")
    )

    assert newest.height > 100
    gap = (pl.col("stated") - pl.col("ca_last") * pl.col("ca_mult")).abs()
    assert newest.select(gap.max()).item() < 1
    assert (newest["devise"] == newest["ca_devise"]).all()
    staff = comptes.filter(pl.col("code") == "AverageNumberEmployeesDuringPeriod")
    assert staff["devise"].null_count() == staff.height > 0


# -- with the rest of the pipeline -----------------------------------------------------------------


def test_a_build_takes_every_row(tmp_path: Path) -> None:
    source = tmp_path / "in"
    writing.run(Options(companies=5_000, seed=1, out=source, comptes=0.1, jobs=1))

    built = build(tmp_path, source, jobs=1)

    assert sum(quality.gardees for quality in built.pays.values()) == 5_000
    assert not list((tmp_path / "data" / "rejected").glob("*.parquet"))


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["synth", "--companies", "30", "--seed", "1", "--out", str(tmp_path / "in")])

    assert code == 0
    assert capsys.readouterr().out == f"30 companies, 0 statement lines in {tmp_path / 'in'}\n"


@pytest.mark.parametrize(
    ("flag", "value", "remedy"),
    [
        ("--companies", "-1", "write 0 or more"),
        ("--companies", "1e6", "write 0 or more"),
        ("--seed", "-1", "write 0 or more"),
        ("--comptes", "1.5", "write 0 to 1"),
        ("--jobs", "0", "write 1 or more"),
    ],
)
def test_wrong_use_names_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], flag: str, value: str, remedy: str
) -> None:
    asked = {"--companies": "5", "--seed": "1", "--out": "in"} | {flag: value}

    with pytest.raises(SystemExit) as stopped:
        main(["synth", *(f"{name}={text}" for name, text in asked.items())])

    last = capsys.readouterr().err.splitlines()[-1]
    assert stopped.value.code == 2
    assert repr(value) in last
    assert remedy in last


def test_every_drawn_column_is_canonical(companies: pl.DataFrame) -> None:
    assert dict(companies.schema) == dict(COMPANIES)
    empty = [name for name in COMPANIES if companies[name].null_count() == companies.height]
    assert empty == ["url_registre"]  # made by the build
