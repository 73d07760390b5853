"""A rehearsal of the operator's nights: the wheel in an empty environment, seven registers, fourteen faulty servers.

Each register has a server of its own and a new edition each night, one company larger than the one before; the rows are
those of the excerpts, repeated under other numbers where there are few. A night ends as it says: a fault leaves the
edition before in place and is named, the others are published, and all of it within the deadline.
"""

import asyncio
import csv
import gzip
import io
import json
import logging
import re
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from aiohttp import web

from seeds import TABLES
from shards.generations import generation_files, pointer
from tests import wheels
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer, Way

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]

RAW: Final = TABLES / "raw"
DEADLINE: Final = 2  # minutes for all fetching of a night
BUILD_S: Final = 240  # for the start, the imports and the build, on a busy machine
FEW: Final = 300  # rows of a register whose excerpt has fewer


class Table(NamedTuple):
    """A published CSV: its header, its rows, and what stands between two fields."""

    header: list[str]
    rows: list[list[str]]
    separator: str

    def content(self) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return text.getvalue().encode()


class Fault(NamedTuple):
    """What goes wrong with a source: how its server answers, with what, and how the report says it."""

    why: str
    way: Way = ways.honest
    change: Callable[[int], bytes] | None = None  # the file of a night, instead of the edition


def _read(path: Path, separator: str = ",") -> Table:
    text = _unzipped(path) if path.suffix == ".zip" else path.read_bytes()
    header, *rows = csv.reader(text.decode("utf-8-sig").splitlines(), delimiter=separator)
    return Table(header, rows, separator)


def _unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def _zipped(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def _more(table: Table, number: int, date: tuple[str, str], identifier: str, first: int) -> Table:
    """The table with `number` companies more, founded on `date` (its column, the day)."""
    rows = list(table.rows)
    for place in range(number):
        row = list(rows[place % len(table.rows)])
        row[table.header.index(identifier)] = str(first + place)
        row[table.header.index(date[0])] = date[1]
        rows.append(row)
    return table._replace(rows=rows)


ESTONIA: Final = _read(RAW / "ee" / "ettevotja_rekvisiidid__lihtandmed.csv.zip", ";")
BRITAIN: Final = _read(RAW / "uk" / "BasicCompanyData-southyorkshire.zip")
IRELAND: Final = _read(RAW / "ie" / "companies.csv")
LITHUANIA: Final = _read(RAW / "lt" / "JAR_IREGISTRUOTI.csv", "|")
BELGIUM: Final = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"
NORWAY: Final = json.loads((RAW / "no" / "enheter_6.json").read_bytes())
FINLAND: Final = json.loads((RAW / "fi" / "prh_v3_nokia_2026.json").read_bytes())["companies"]


def _estonia(night: int) -> Table:
    return _more(
        ESTONIA,
        1 + night,
        ("ettevotja_esmakande_kpv", f"{night + 1:02}.11.2026"),
        "ariregistri_kood",
        90_000_000,
    )


def _britain(night: int) -> Table:
    return _more(
        BRITAIN,
        1 + night,
        ("IncorporationDate", f"{night + 1:02}/11/2026"),
        " CompanyNumber",
        90_000_000,
    )


def _ireland(night: int) -> Table:
    return _more(
        IRELAND,
        FEW + night,
        ("company_reg_date", f"2026-11-{night + 1:02}"),
        "company_num",
        900_000,
    )


def _lithuania(night: int) -> bytes:
    return _more(
        LITHUANIA, FEW + night, ("ja_reg_data", "2026-11-01"), "ja_kodas", 900_000_000
    ).content()


def _norway(night: int) -> bytes:
    entities = [
        NORWAY[place % len(NORWAY)] | {"organisasjonsnummer": f"{900_000_000 + place}"}
        for place in range(FEW + night)
    ]
    return gzip.compress(json.dumps(entities).encode(), compresslevel=0)


def _finland(night: int) -> bytes:
    (nokia, *_) = FINLAND
    companies = [
        nokia | {"businessId": nokia["businessId"] | {"value": f"{9_000_000 + place}-1"}}
        for place in range(FEW + night)
    ]
    return _zipped("all_companies.json", json.dumps(companies).encode())


def _belgium(night: int) -> bytes:
    with zipfile.ZipFile(BELGIUM) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name, row in {
        "enterprise.csv": b'"09%02d.000.001","AC","000","2","014",,"01-11-2026"\n',
        "denomination.csv": b"09%02d.000.001,2,1,Zaak NV\n",
    }.items():
        files[name] += b"".join(row % place for place in range(night))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


FILES: Final[Mapping[str, tuple[str, str, Callable[[int], bytes]]]] = {
    "ee": ("ettevotja_rekvisiidid__lihtandmed.csv.zip", "EE",
           lambda night: _zipped("ee.csv", _estonia(night).content())),
    "uk-basic": ("BasicCompanyData.zip", "UK", lambda night: _zipped("uk.csv", _britain(night).content())),
    "ie-cro": ("companies.csv.zip", "IE", lambda night: _zipped("companies.csv", _ireland(night).content())),
    "lt-jar": ("JAR_IREGISTRUOTI.csv", "LT", _lithuania),
    "be-kbo": ("KboOpenData.zip", "BE", _belgium),
    "no-enheter": ("enheter_alle.json.gz", "NO", _norway),
    "fi-prh": ("all_companies.zip", "FI", _finland),
}  # fmt: skip


def _with_header(table: Table, header: Sequence[str]) -> bytes:
    return _zipped("ee.csv", table._replace(header=list(header)).content())


def _new_column(night: int) -> bytes:
    table = _estonia(night)
    rows = [[*row, "x"] for row in table.rows]
    return _with_header(table._replace(rows=rows), [*table.header, "uus_veerg"])


def _renamed_column(night: int) -> bytes:
    table = _estonia(night)
    return _with_header(
        table, ["registrikood" if name == "ariregistri_kood" else name for name in table.header]
    )


def _older(_: int) -> bytes:
    table = _more(
        ESTONIA, 9, ("ettevotja_esmakande_kpv", "03.01.2025"), "ariregistri_kood", 90_000_000
    )
    return _zipped("ee.csv", table.content())


def _without_names(night: int) -> bytes:
    table = _britain(night)
    rows = [["", *row[1:]] if place % 3 else row for place, row in enumerate(table.rows)]
    return _zipped("uk.csv", table._replace(rows=rows).content())


def _half(night: int) -> bytes:
    table = _ireland(night)
    return _zipped(
        "companies.csv", table._replace(rows=table.rows[: len(table.rows) // 2]).content()
    )


def _short(_: int) -> bytes:
    return _zipped("companies.csv", IRELAND._replace(rows=IRELAND.rows[:1]).content())


def _page(_: int) -> bytes:
    return b"<!doctype html><html><body>" + b"Maintenance " * 400 + b"</body></html>"


async def _silent(request: web.Request, _: bytes) -> web.StreamResponse:
    while request.transport is not None:  # until the other side gives up
        await asyncio.sleep(1)
    raise web.HTTPGatewayTimeout


# What happens to which source in the second night, the third and the fourth.
NIGHTS: Final[Sequence[Mapping[str, Fault]]] = (
    {
        "ee": Fault("unknown column 'uus_veerg'", change=_new_column),
        "uk-basic": Fault("is not there .HTTP 404.", ways.status(404)),
        "ie-cro": Fault("are credible", change=_short),
        "lt-jar": Fault("sends a web page instead of data", ways.page),
        "no-enheter": Fault("says nothing any more|`deadline`", _silent),
    },
    {
        "ee": Fault("unknown column 'registrikood'", change=_renamed_column),
        "uk-basic": Fault("sends a web page instead of data", ways.bare, _page),
        "ie-cro": Fault("the edition before had", change=_half),
        "be-kbo": Fault("cannot be read|`deadline`", ways.cut(1 << 14)),
        "lt-jar": Fault("answers 429", ways.status(429, Retry_After="7200")),
    },
    {
        "ee": Fault("the edition is of 2025-01-03, the one before is of 2026-11-0", change=_older),
        "uk-basic": Fault("rows are rejected", change=_without_names),
        "no-enheter": Fault("`slowest`", ways.slow(20)),
        "fi-prh": Fault("answers 500|`deadline`", ways.status(500)),
    },
)  # fmt: skip


def test_every_night_ends_as_it_says(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wheel = wheels.built_wheel(tmp_path_factory)
    command = wheels.batch_environment(wheel, tmp_path / "environment") / "societes-pipeline"
    took: list[int] = []
    with ExitStack() as stack:
        servers = {source: stack.enter_context(ways.serving()) for source in FILES}
        config = _configuration(tmp_path, servers)
        for night, faults in enumerate(({}, *NIGHTS)):
            for source, server in servers.items():
                _publish(server, source, night, faults.get(source))
            before = _counts(tmp_path) if night else {}
            began = time.monotonic()

            done = subprocess.run(
                [str(command), "nightly", str(config)], cwd=tmp_path, env=wheels.variables(),
                capture_output=True, text=True, check=False, timeout=60 * DEADLINE + BUILD_S,
            )  # fmt: skip

            took.append(round(time.monotonic() - began))
            assert done.returncode == 0, done.stderr
            _check(tmp_path, faults, before, done.stderr)
    logging.getLogger(__name__).warning("seconds of the nights: %s", took)


def _check(folder: Path, faults: Mapping[str, Fault], before: Mapping[str, int], said: str) -> None:
    report = _report(folder)
    found = {one["source"]: one for one in report["sources"]}
    warned = {line.split(": ")[1] for line in said.splitlines() if line.startswith("warning: ")}
    counts = _counts(folder)

    assert {source: one["resultat"] for source, one in found.items()} == {
        source: "precedent" if source in faults else "nouveau" for source in FILES
    }
    assert warned == set(faults)
    for source, (_, country, _) in FILES.items():
        if source in faults:
            reasons = " ".join(found[source]["motifs"])
            assert re.search(faults[source].why, reasons), (source, reasons)
            assert counts[country] == before[country]
        elif before:
            assert counts[country] > before[country]
    assert report["etat"] == ("partiel" if faults else "complet")


def _publish(server: RegisterServer, source: str, night: int, fault: Fault | None) -> None:
    name, _, edition = FILES[source]
    if fault is None:
        server.publish(f"/{name}", edition(night))
    else:
        server.publish(f"/{name}", (fault.change or edition)(night), fault.way)


def _configuration(folder: Path, servers: Mapping[str, RegisterServer]) -> Path:
    lines = [
        'work = "work"',
        'data = "data"',
        f"sources = {json.dumps(list(FILES))}",
        f"deadline = {DEADLINE}",
    ]
    for source, server in servers.items():
        name = FILES[source][0]
        lines += [
            f"[source.{source}]",
            f'addresses = {{ "{name}" = "{server.url}/{name}" }}',
            "size = [2_000, 100_000_000]",
            "rows = [1, 1_000_000]",
        ]
    path = folder / "nightly.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _report(folder: Path) -> dict[str, Any]:
    reports = (folder / "work" / "reports").glob("*.json")
    return dict(json.loads(max(reports, key=lambda path: path.stat().st_mtime_ns).read_bytes()))


def _counts(folder: Path) -> dict[str, int]:
    """The companies that are published, by country."""
    data = folder / "data"
    name = pointer.current_name(data)
    assert name is not None
    return dict(generation_files.read_manifest(data / name).counts)
