"""A clean copy of the published files of every layout, as texts that a test may damage.

The texts are those of `seeds/extraits.csv`, out of their packing and shortened; the layouts without an excerpt are
made up. A table of fewer than four rows has them again, with other numbers in the place of the identifier.
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
from tests.pipeline.registers.accounts.test_account_import import DEPOSIT
from tests.pipeline.registers.accounts.test_se_comptes import fact, report

ROWS: Final = 8
DOCUMENTS: Final = 3
_ARRAYS: Final = ("records", "results", "companies")
RAW: Final = TABLES / "raw"
CZ: Final = (
    "ICO,OKRESLAU,DDATVZN,DDATZAN,ZPZAN,DDATPAKT,FORMA,ROSFORMA,KATPO,NACE,ICZUJ,FIRMA,CISS2010,KODADM,TEXTADR,PSC,"
    "OBEC_TEXT,COBCE_TEXT,ULICE_TEXT,TYPCDOM,CDOM,COR,DATPLAT,PRIZNAK\n"
)
RO: Final = f"CUI,CAEN,{','.join(f'i{n}' for n in range(1, 21))}\n"


class Layout(NamedTuple):
    """The published files of a source, by name, and those of them that hold rows or records."""

    source: str
    files: Mapping[str, bytes]

    @property
    def is_whole(self) -> bool:
        return REGISTERS[self.source].table != "comptes"


class Table(NamedTuple):
    """A CSV of a layout: its name, its separator, and whether it gives rows itself."""

    layout: Layout
    name: str
    separator: bytes
    is_main: bool

    @property
    def lines(self) -> list[bytes]:
        return self.layout.files[self.name].splitlines(keepends=True)

    @property
    def is_plain(self) -> bool:
        """Whether quotes are those of RFC 4180."""
        return self.separator != b"^" and not self.name.startswith("bolagsverket")

    def fields(self, row: int) -> list[str]:
        """The fields of a row."""
        line = self.lines[row].removeprefix(b"\xef\xbb\xbf").decode().rstrip("\r\n")
        if self.is_plain:
            return next(csv.reader([line], delimiter=self.separator.decode()))
        return (
            line.strip('"').split('";"')
            if line[:1] == '"' and self.separator == b";"
            else line.split(self.separator.decode())
        )

    def line(self, fields: Sequence[str]) -> bytes:
        """A row of `fields`."""
        if self.separator == b"^":
            return ("^".join(fields) + "\n").encode()
        if not self.is_plain:
            return ('"' + '";"'.join(fields) + '"\n').encode()
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator.decode(), lineterminator="\n").writerow(fields)
        return text.getvalue().encode()


def layouts() -> dict[str, Layout]:
    """Every source with its files."""
    found = {source: Layout(source, files) for source, files in _excerpts().items()}
    found |= {source: Layout(source, files) for source, files in _made_up().items()}
    assert found.keys() == REGISTERS.keys()
    return found


def tables(layout: Layout) -> list[Table]:
    """The tables of a layout, without those that are not read."""
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
    found = []
    for name, text in layout.files.items():
        header = text.removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode()
        columns = {column.strip('" ').lower() for column in re.split(r"[;,|^\t]", header)}
        for kind in kinds:
            if {key.lower() for key in kind.key or kind.used[:1]} <= columns:
                is_main = kind.name in declared.main
                separator = b"," if name.endswith("2023.txt") else kind.separator.encode()
                found.append(Table(layout, name, separator, is_main))
                break
    return found


def records(layout: Layout) -> dict[str, list[Any]]:
    """The JSON files of a layout that are, or hold, arrays: their records."""
    found = {}
    for name, text in layout.files.items():
        if name.endswith(".json") and text[:1] == b"[":
            found[name] = json.loads(text)
    return found


def _excerpts() -> dict[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {}
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            paths = [p for name in shlex.split(row["fichiers"]) for p in sorted(RAW.glob(name))]
            texts = {name: text for path in paths for name, text in _texts(row["source"], path)}
            found[row["source"]] = texts
    return found


def _texts(source: str, path: Path) -> list[tuple[str, bytes]]:
    members = packing.members(path, packing.EVERY_FILE)
    texts = []
    for member in members:
        with member.open() as stream:
            name = member.name if "." in member.name else f"{member.name}.csv"
            texts.append((name, _shortened(stream.read(), name, path)))
        if len(texts) == DOCUMENTS and name.endswith(("l", "brl")) and source != "be-kbo":
            break
    return texts


def _shortened(text: bytes, name: str, path: Path) -> bytes:
    if name.endswith((".csv", ".txt", ".jsonl")) and path.parent.name != "be":
        lines = text.splitlines(keepends=True)[: ROWS + 1]
        if len(lines) < 4 and path.parent.name in ("lt", "lv", "ie", "se", "fr"):
            lines += [renumbered(lines[1], n) for n in range(1, 4)]
        return b"".join(lines)
    if name.endswith(".json"):
        value = json.loads(text)
        if isinstance(value, dict):
            if "idSablony" in value or "tabulky" in value:
                return text
            value = next((value[key] for key in _ARRAYS if key in value), [value])
        few = value[:ROWS]
        if len(few) < 3:
            few += [
                json.loads(renumbered(json.dumps(one).encode(), n))
                for one in few
                for n in (1, 2, 3)
            ]
        return json.dumps(few, ensure_ascii=False).encode()
    return text


def renumbered(line: bytes, number: int) -> bytes:
    """A row with another last digit in each number of seven digits or more."""

    def other(found: re.Match[bytes]) -> bytes:
        return found[0][:-1] + str((int(found[0][-1:]) + number) % 10).encode()

    return re.sub(rb"(?<![0-9.])[0-9]{7,11}(?![0-9])", other, line)


def _made_up() -> dict[str, dict[str, bytes]]:
    cz = "".join(
        f"0000694{n},CZ0100,1993-01-01,,,2024-01-01,325,325,240,84110,554782,Ministerstvo {n},13110,1,"
        f"Letenska 525,11800,Praha,Mala Strana,Letenska,1,525,15,2024-01-01,A\n"
        for n in range(1, 6)
    )
    ro = "".join(
        f"1373541{n},4711,{','.join(str(100 * n + i) for i in range(20))}\n" for n in range(1, 6)
    )
    deposits = ",".join(DEPOSIT % f"54206547{n}" for n in range(5))
    legend = (RAW / "ro" / "web_bl_bs_sl_an2023.csv").read_bytes()
    assets = fact("Tillgangar", "balans0", "200")
    return {
        "cz-res": {"res_data.csv": (CZ + cz).encode()},
        "ro-comptes": {
            "web_bl_bs_sl_an2023.txt": (RO + ro).encode(),
            "web_bl_bs_sl_an2023.csv": legend,
        },
        "fr-comptes": {"deposits.json": f"[{deposits}]".encode()},
        "se-comptes": {
            f"559162030{n}_2023-12-31.xhtml": report(assets, identifier=f"559162-030{n}").encode()
            for n in range(6, 9)
        },
    }
