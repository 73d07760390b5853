"""A clean copy of the published files of every layout, as texts for tests to damage.

The texts are the excerpts of `seeds/extraits.csv`, unpacked and shortened; the files of sources without an excerpt are
invented. A table of fewer than four lines gets copies of its first row with other numbers as identifiers.
"""

import csv
import io
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.registers import FOLDER, REGISTERS, packing
from pipeline.registers.toml import declaration
from seeds import TABLES
from tests.pipeline.registers.accounts.test_account_import import FRENCH_DEPOSIT
from tests.pipeline.registers.accounts.test_se_comptes import fact_xhtml, report_xhtml

MOST_ROWS: Final = 8  # the rows of a table, or records of a JSON file, that are used at most
MOST_DOCUMENTS: Final = 3  # the filings of an archive that are used at most
# The keys under which an object contains the array of records.
_KEYS_OF_ARRAYS: Final = ("records", "results", "companies")
RAW: Final = TABLES / "raw"
# Headers of the tables that are invented here, for sources without an excerpt.
CZECH_HEADER: Final = (
    "ICO,OKRESLAU,DDATVZN,DDATZAN,ZPZAN,DDATPAKT,FORMA,ROSFORMA,KATPO,NACE,ICZUJ,FIRMA,CISS2010,KODADM,TEXTADR,PSC,"
    "OBEC_TEXT,COBCE_TEXT,ULICE_TEXT,TYPCDOM,CDOM,COR,DATPLAT,PRIZNAK\n"
)
ROMANIAN_HEADER: Final = f"CUI,CAEN,{','.join(f'i{n}' for n in range(1, 21))}\n"


class Layout(NamedTuple):
    """The published files of a source, by name."""

    source: str
    files: Mapping[str, bytes]

    @property
    def is_whole(self) -> bool:
        """Whether the files must be one complete edition; filed accounts of several days can be imported together."""
        return REGISTERS[self.source].table != "comptes"


class Table(NamedTuple):
    """A CSV of a layout; `is_main` if its rows are companies or accounts, to which other tables are joined."""

    layout: Layout
    name: str
    separator: bytes
    is_main: bool

    @property
    def lines(self) -> list[bytes]:
        """The header and the rows, with their line ends."""
        return self.layout.files[self.name].splitlines(keepends=True)

    @property
    def is_plain(self) -> bool:
        """Whether the file is quoted as in RFC 4180."""
        return self.separator != b"^" and not self.name.startswith("bolagsverket")

    def fields(self, row: int) -> list[str]:
        """The fields of a row; row 0 is the header."""
        line = self.lines[row].removeprefix(b"\xef\xbb\xbf").decode().rstrip("\r\n")
        if self.is_plain:
            return next(csv.reader([line], delimiter=self.separator.decode()))
        return (
            line.strip('"').split('";"')
            if line[:1] == '"' and self.separator == b";"
            else line.split(self.separator.decode())
        )

    def line(self, fields: Sequence[str]) -> bytes:
        """A row of `fields`, separated and quoted as in this table."""
        if self.separator == b"^":
            return ("^".join(fields) + "\n").encode()
        if not self.is_plain:
            return ('"' + '";"'.join(fields) + '"\n').encode()
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator.decode(), lineterminator="\n").writerow(fields)
        return text.getvalue().encode()


def layouts_by_source() -> dict[str, Layout]:
    """Every source, with its files."""
    by_source = {source: Layout(source, files) for source, files in _shortened_excerpts().items()}
    by_source |= {source: Layout(source, files) for source, files in _invented_files().items()}
    assert by_source.keys() == REGISTERS.keys()
    return by_source


def csv_tables(layout: Layout) -> list[Table]:
    """The CSV tables of a layout that its import uses; none for a source with another format.

    A table is of the declared kind whose key columns its header has.
    """
    if layout.source == "gleif-rr":
        return [Table(layout, name, b",", True) for name in layout.files]
    path = FOLDER / f"{layout.source}.toml"
    if not path.exists():
        return []
    declared = declaration.read(path)
    kinds = [
        kind
        for kind in declared.files.values()
        if kind.format == "csv" and not (kind.skip or kind.header)
    ]
    tables = []
    for name, text in layout.files.items():
        header = text.removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode()
        columns = {column.strip('" ').lower() for column in re.split(r"[;,|^\t]", header)}
        for kind in kinds:
            if {key.lower() for key in kind.key or kind.used[:1]} <= columns:
                is_main = kind.name in declared.main
                # The invented Romanian table has commas.
                separator = b"," if name.endswith("2023.txt") else kind.separator.encode()
                tables.append(Table(layout, name, separator, is_main))
                break
    return tables


def records_by_file(layout: Layout) -> dict[str, list[Any]]:
    """The records of the JSON files of a layout that are arrays, by file name."""
    by_name = {}
    for name, text in layout.files.items():
        if name.endswith(".json") and text[:1] == b"[":
            by_name[name] = json.loads(text)
    return by_name


def _shortened_excerpts() -> dict[str, dict[str, bytes]]:
    """The shortened files of the excerpts, by source and name."""
    texts_by_source: dict[str, dict[str, bytes]] = {}
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            paths = [p for name in shlex.split(row["fichiers"]) for p in sorted(RAW.glob(name))]
            texts = {
                name: text for path in paths for name, text in _texts_by_name(row["source"], path)
            }
            texts_by_source[row["source"]] = texts
    return texts_by_source


def _texts_by_name(source: str, path: Path) -> list[tuple[str, bytes]]:
    """The name and the shortened text of each file in an excerpt; of filings, only the first three."""
    members = packing.members(path, packing.EVERY_FILE)
    texts = []
    for member in members:
        with member.open() as stream:
            name = member.name if "." in member.name else f"{member.name}.csv"
            texts.append((name, _shortened(stream.read(), name, path)))
        # Of filings, whose names end in .html, .xhtml, .xml or .xbrl, the first few are enough.
        if len(texts) == MOST_DOCUMENTS and name.endswith(("l", "brl")) and source != "be-kbo":
            break
    return texts


def _shortened(text: bytes, name: str, path: Path) -> bytes:
    """The text with its first rows or records; the joined tables of Belgium and filings stay complete."""
    if name.endswith((".csv", ".txt", ".jsonl")) and path.parent.name != "be":
        lines = text.splitlines(keepends=True)[: MOST_ROWS + 1]
        if len(lines) < 4 and path.parent.name in ("lt", "lv", "ie", "se", "fr"):
            lines += [renumbered(lines[1], n) for n in range(1, 4)]
        return b"".join(lines)
    if name.endswith(".json"):
        value = json.loads(text)
        if isinstance(value, dict):
            if "idSablony" in value or "tabulky" in value:
                return text  # a Slovak template or statement
            value = next((value[key] for key in _KEYS_OF_ARRAYS if key in value), [value])
        first_records = value[:MOST_ROWS]
        if len(first_records) < 3:
            first_records += [
                json.loads(renumbered(json.dumps(line).encode(), n))
                for line in first_records
                for n in (1, 2, 3)
            ]
        return json.dumps(first_records, ensure_ascii=False).encode()
    return text


def renumbered(line: bytes, number: int) -> bytes:
    """A row with another last digit in each number of seven to eleven digits, which identify companies."""

    def with_other_last_digit(match: re.Match[bytes]) -> bytes:
        """The digits, with `number` added to the last one."""
        return match[0][:-1] + str((int(match[0][-1:]) + number) % 10).encode()

    return re.sub(rb"(?<![0-9.])[0-9]{7,11}(?![0-9])", with_other_last_digit, line)


def _invented_files() -> dict[str, dict[str, bytes]]:
    """The files of the sources without an excerpt, by source and name."""
    czech_rows = "".join(
        f"0000694{number},CZ0100,1993-01-01,,,2024-01-01,325,325,240,84110,554782,Ministerstvo {number},13110,1,"
        f"Letenska 525,11800,Praha,Mala Strana,Letenska,1,525,15,2024-01-01,A\n"
        for number in range(1, 6)
    )
    romanian_rows = "".join(
        f"1373541{number},4711,{','.join(str(100 * number + i) for i in range(20))}\n"
        for number in range(1, 6)
    )
    deposits = ",".join(FRENCH_DEPOSIT % f"54206547{number}" for number in range(5))
    legend = (RAW / "ro" / "web_bl_bs_sl_an2023.csv").read_bytes()
    assets = fact_xhtml("Tillgangar", "balans0", "200")
    return {
        "cz-res": {"res_data.csv": (CZECH_HEADER + czech_rows).encode()},
        "ro-comptes": {
            "web_bl_bs_sl_an2023.txt": (ROMANIAN_HEADER + romanian_rows).encode(),
            "web_bl_bs_sl_an2023.csv": legend,
        },
        "fr-comptes": {"deposits.json": f"[{deposits}]".encode()},
        "se-comptes": {
            f"559162030{number}_2023-12-31.xhtml": report_xhtml(
                assets, identifier=f"559162-030{number}"
            ).encode()
            for number in range(6, 9)
        },
    }
