"""Cut the excerpts of `seeds/raw/` out of whole register files: a few thousand rows.

    python seeds/make_excerpts.py FOLDER_OF_THE_WHOLE_FILES [OUT]

Rare and awkward rows come first. Lines are copied byte for byte, header, BOM and line ends
included. The selection depends on the data alone (no random numbers, no clock), so the same files
give the same bytes.
"""

import csv
import io
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

STAMP: Final = (2026, 1, 1, 0, 0, 0)  # the date of every file in a zip
ACCOUNTS_BYTES: Final = 600_000  # compressed
EACH: Final = 12  # rows of every legal form, status, country and odd code
ORDINARY: Final = {"uk": 60, "ee": 250}  # one ordinary row in so many

Row = dict[str, str]
Rule = Callable[[Row], str | None]

# Filings to keep whatever their size: turnover, euros, a balance sheet with reversed signs, two
# closings in one calendar year, opening balances, one fiscal year only, a number without its zero.
FILINGS: Final = (
    *("09707484", "09753294", "09774295", "09734389", "09225262", "09406409", "09243649"),
    *("09160591", "01999884", "09886696", "09381479", "03331142", "01363824", "09208349"),
)
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
        [*EE_RULES, lambda row: f"emtak {codes.get(row['ariregistri_kood'])}", ee_filed],
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


def lines(path: Path, separator: str) -> list[tuple[bytes, Row]]:
    """Each published line as bytes and as values by column; the header is the first."""
    with zipfile.ZipFile(path) as archive:
        raw = archive.read(archive.namelist()[0]).splitlines(keepends=True)
    text = (line.decode("utf-8-sig") for line in raw)
    names: list[str] = []
    found: list[tuple[bytes, Row]] = []
    for line, values in zip(raw, csv.reader(text, delimiter=separator), strict=True):
        names = names or [value.strip() for value in values]
        found.append((line, dict(zip(names, values, strict=True))))
    return found


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
            if label is not None and seen.setdefault(label, 0) < most(label):
                seen[label] += 1
                taken.add(index)
    by_length = sorted(range(len(rows)), key=lambda i: (-len(rows[i][1][name]), i))
    taken.update(by_length[:EACH], by_length[-EACH:], twins(rows, name))
    return [header, *(rows[index] for index in sorted(taken))]


def most(label: str) -> int:
    """The most rows of one label: all filings, few of each code, EACH of the others."""
    return {"dépôt": 1_000, "emtak": 2, "sic": 2}.get(label.split(" ")[0], EACH)


def ee_filed(row: Row) -> str | None:
    """The label of a company whose annual report is in the excerpts."""
    return "dépôt" if row["ariregistri_kood"] in EE_FILED else None


def twins(rows: list[tuple[bytes, Row]], name: str) -> Iterator[int]:
    """The rows whose name another company has."""
    first: dict[str, int] = {}
    for index, (_, row) in enumerate(rows):
        if row[name] in first:
            yield first[row[name]]
            yield index
        first.setdefault(row[name], index)


def oddity(name: str) -> str | None:
    """The kind of awkward name; None for an ordinary one."""
    if name.startswith('"'):
        return "nom entre guillemets"
    if name[:1].isdigit():
        return "nom chiffre"
    for sign in "\"&,'+@!/()#;?%*=":
        if sign in name:
            return f"nom {sign}"
    return "nom étranger" if any(ord(letter) > 0xFF for letter in name) else None


def sic(row: Row) -> str:
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
    lambda row: oddity(row["CompanyName"]),
    sic,
)
EE_RULES: Final[tuple[Rule, ...]] = (
    lambda row: row["ettevotja_oiguslik_vorm"],
    lambda row: row["ettevotja_staatus"],
    lambda row: "sans lieu" if not row["asukoha_ehak_kood"] else None,
    lambda row: oddity(row["nimi"]),
)


def write(folder: Path, inner: str, ending: str, found: list[tuple[bytes, Row]]) -> None:
    """Write a zip with one file, under the published names."""
    content = b"".join(raw for raw, _ in found)
    target = folder / (inner.removesuffix(".csv") + ending)
    packed(target, [(inner, content)])
    print(f"{target}: {len(found) - 1} rows, {target.stat().st_size} bytes")


def accounts(whole: Path, folder: Path) -> None:
    """Write FILINGS, then the smallest filings of each format in turn, up to ACCOUNTS_BYTES."""
    with zipfile.ZipFile(whole) as archive:
        infos = sorted(archive.infolist(), key=lambda i: (i.compress_size, i.filename))
        named = [i for i in infos if any(number in i.filename for number in FILINGS)]
        rest = [i for i in infos if i not in named]
        html = [i for i in rest if i.filename.endswith(".html")]
        xml = [i for i in rest if i.filename.endswith(".xml")]
        chosen, size = list(named), sum(i.compress_size for i in named)
        for info in (i for pair in zip(html, xml, strict=False) for i in pair):
            size += info.compress_size + 200  # the entries of the zip itself
            if size > ACCOUNTS_BYTES:
                break
            chosen.append(info)
        names = sorted(info.filename for info in chosen)
        target = folder / whole.name
        packed(target, [(name, archive.read(name)) for name in names])
    print(f"{target}: {len(names)} filings, {target.stat().st_size} bytes")


def packed(target: Path, files: list[tuple[str, bytes]]) -> None:
    """Write a zip of `files` with a fixed date, so that equal contents have equal bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED, 9)
    target.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
