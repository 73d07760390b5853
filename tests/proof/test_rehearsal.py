"""A rehearsal of nightly runs: the wheel in an empty environment, seven registers, fourteen faulty servers.

Each register has its own server and a new edition each night, with one company more than the previous edition. The
rows are those of the excerpts; the rows of a small excerpt are repeated under other numbers. A source with a fault is
named and keeps its previous edition, the others are published, and the night ends within its time limit.
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
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer, Responder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]

RAW: Final = TABLES / "raw"
DEADLINE: Final = 2  # minutes for all downloads of a night
BUILD_S: Final = 240  # seconds for the start, the imports and the build, on a busy machine
FEW: Final = 300  # rows that are added to a small excerpt


class Table(NamedTuple):
    """A published CSV: its header, its rows, and the separator of its fields."""

    header: list[str]
    rows: list[list[str]]
    separator: str

    def content(self) -> bytes:
        """The bytes of the CSV."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return text.getvalue().encode()


class Fault(NamedTuple):
    """A fault of a source: the pattern of its reason in the report, the way its server answers, and the file."""

    why: str
    way: Responder = responders.follow_rfc9110
    change: Callable[[int], bytes] | None = None  # the file of a night that replaces the edition


def _read_table(path: Path, separator: str = ",") -> Table:
    """Read a CSV, or the CSV in a ZIP."""
    text = _unzip(path) if path.suffix == ".zip" else path.read_bytes()
    header, *rows = csv.reader(text.decode("utf-8-sig").splitlines(), delimiter=separator)
    return Table(header, rows, separator)


def _unzip(path: Path) -> bytes:
    """The first file of a ZIP."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def _zip(name: str, content: bytes) -> bytes:
    """A ZIP with one file."""
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name, content)
    return archive_bytes.getvalue()


def _add_companies(
    table: Table, count: int, column_and_day: tuple[str, str], id_column: str, first_id: int
) -> Table:
    """The table with `count` more companies, whose identifiers in `id_column` count up from `first_id`.

    Args:
        column_and_day: the column of the day of foundation, and the day of all these companies.
    """
    rows = list(table.rows)
    for index in range(count):
        row = list(rows[index % len(table.rows)])
        row[table.header.index(id_column)] = str(first_id + index)
        row[table.header.index(column_and_day[0])] = column_and_day[1]
        rows.append(row)
    return table._replace(rows=rows)


ESTONIA: Final = _read_table(RAW / "ee" / "ettevotja_rekvisiidid__lihtandmed.csv.zip", ";")
BRITAIN: Final = _read_table(RAW / "uk" / "BasicCompanyData-southyorkshire.zip")
IRELAND: Final = _read_table(RAW / "ie" / "companies.csv")
LITHUANIA: Final = _read_table(RAW / "lt" / "JAR_IREGISTRUOTI.csv", "|")
BELGIUM: Final = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"
NORWAY: Final = json.loads((RAW / "no" / "enheter_6.json").read_bytes())
FINLAND: Final = json.loads((RAW / "fi" / "prh_v3_nokia_2026.json").read_bytes())["companies"]


def _estonia(night: int) -> Table:
    """The Estonian edition of a night."""
    return _add_companies(
        ESTONIA,
        count=1 + night,
        column_and_day=("ettevotja_esmakande_kpv", f"{night + 1:02}.11.2026"),
        id_column="ariregistri_kood",
        first_id=90_000_000,
    )


def _britain(night: int) -> Table:
    """The British edition of a night."""
    return _add_companies(
        BRITAIN,
        count=1 + night,
        column_and_day=("IncorporationDate", f"{night + 1:02}/11/2026"),
        id_column=" CompanyNumber",
        first_id=90_000_000,
    )


def _ireland(night: int) -> Table:
    """The Irish edition of a night."""
    return _add_companies(
        IRELAND,
        count=FEW + night,
        column_and_day=("company_reg_date", f"2026-11-{night + 1:02}"),
        id_column="company_num",
        first_id=900_000,
    )


def _lithuania(night: int) -> bytes:
    """The Lithuanian edition of a night (CSV)."""
    return _add_companies(
        LITHUANIA,
        count=FEW + night,
        column_and_day=("ja_reg_data", "2026-11-01"),
        id_column="ja_kodas",
        first_id=900_000_000,
    ).content()


def _norway(night: int) -> bytes:
    """The Norwegian edition of a night (JSON, gzip): the companies of the excerpt, repeated under new numbers."""
    entities = [
        NORWAY[place % len(NORWAY)] | {"organisasjonsnummer": f"{900_000_000 + place}"}
        for place in range(FEW + night)
    ]
    return gzip.compress(json.dumps(entities).encode(), compresslevel=0)


def _finland(night: int) -> bytes:
    """The Finnish edition of a night (JSON in a ZIP): one company, repeated under new numbers."""
    (nokia, *_) = FINLAND
    companies = [
        nokia | {"businessId": nokia["businessId"] | {"value": f"{9_000_000 + place}-1"}}
        for place in range(FEW + night)
    ]
    return _zip("all_companies.json", json.dumps(companies).encode())


def _belgium(night: int) -> bytes:
    """The Belgian edition of a night (several tables in a ZIP)."""
    with zipfile.ZipFile(BELGIUM) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name, row in {
        "enterprise.csv": b'"09%02d.000.001","AC","000","2","014",,"01-11-2026"\n',
        "denomination.csv": b"09%02d.000.001,2,1,Zaak NV\n",
    }.items():
        files[name] += b"".join(row % place for place in range(night))
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return archive_bytes.getvalue()


# By source: the name of the published file, the country, and the content of the file in a night.
FILES: Final[Mapping[str, tuple[str, str, Callable[[int], bytes]]]] = {
    "ee": ("ettevotja_rekvisiidid__lihtandmed.csv.zip", "EE",
           lambda night: _zip("ee.csv", _estonia(night).content())),
    "uk-basic": ("BasicCompanyData.zip", "UK", lambda night: _zip("uk.csv", _britain(night).content())),
    "ie-cro": ("companies.csv.zip", "IE", lambda night: _zip("companies.csv", _ireland(night).content())),
    "lt-jar": ("JAR_IREGISTRUOTI.csv", "LT", _lithuania),
    "be-kbo": ("KboOpenData.zip", "BE", _belgium),
    "no-enheter": ("enheter_alle.json.gz", "NO", _norway),
    "fi-prh": ("all_companies.zip", "FI", _finland),
}  # fmt: skip


def _zip_with_header(table: Table, header: Sequence[str]) -> bytes:
    """A ZIP of a table with another header."""
    return _zip("ee.csv", table._replace(header=list(header)).content())


def _new_column(night: int) -> bytes:
    """An edition with a column that the import does not know."""
    table = _estonia(night)
    rows = [[*row, "x"] for row in table.rows]
    return _zip_with_header(table._replace(rows=rows), [*table.header, "uus_veerg"])


def _renamed_column(night: int) -> bytes:
    """An edition in which the column of identifiers has another name."""
    table = _estonia(night)
    return _zip_with_header(
        table, ["registrikood" if name == "ariregistri_kood" else name for name in table.header]
    )


def _older_edition(_: int) -> bytes:
    """An edition whose newest company is older than that of the previous edition."""
    table = _add_companies(
        ESTONIA,
        count=9,
        column_and_day=("ettevotja_esmakande_kpv", "03.01.2025"),
        id_column="ariregistri_kood",
        first_id=90_000_000,
    )
    return _zip("ee.csv", table.content())


def _nameless_edition(night: int) -> bytes:
    """An edition in which two thirds of the companies have no name."""
    table = _britain(night)
    rows = [["", *row[1:]] if number % 3 else row for number, row in enumerate(table.rows)]
    return _zip("uk.csv", table._replace(rows=rows).content())


def _half_edition(night: int) -> bytes:
    """An edition with half of the rows."""
    table = _ireland(night)
    return _zip("companies.csv", table._replace(rows=table.rows[: len(table.rows) // 2]).content())


def _short_edition(_: int) -> bytes:
    """An edition with one row."""
    return _zip("companies.csv", IRELAND._replace(rows=IRELAND.rows[:1]).content())


def _maintenance_page(_: int) -> bytes:
    """A web page instead of an edition."""
    return b"<!doctype html><html><body>" + b"Maintenance " * 400 + b"</body></html>"


async def _stay_silent(request: web.Request, _: bytes) -> web.StreamResponse:
    """Send no answer until the client gives up."""
    while request.transport is not None:  # until the client gives up
        await asyncio.sleep(1)
    raise web.HTTPGatewayTimeout


# The faults by source, for the second night, the third night and the fourth night.
NIGHTS: Final[Sequence[Mapping[str, Fault]]] = (
    {
        "ee": Fault("unknown column 'uus_veerg'", change=_new_column),
        "uk-basic": Fault("is not there .HTTP 404.", responders.send_status(404)),
        "ie-cro": Fault("are credible", change=_short_edition),
        "lt-jar": Fault("sends a web page instead of data", responders.send_html_page),
        "no-enheter": Fault("says nothing any more|`deadline`", _stay_silent),
    },
    {
        "ee": Fault("unknown column 'registrikood'", change=_renamed_column),
        "uk-basic": Fault("sends a web page instead of data", responders.send_without_validators, _maintenance_page),
        "ie-cro": Fault("the edition before had", change=_half_edition),
        "be-kbo": Fault("breaks off at byte|`deadline`", responders.cut_at(1 << 14)),
        "lt-jar": Fault("answers 429", responders.send_status(429, Retry_After="7200")),
    },
    {
        "ee": Fault("the edition is of 2025-01-03, the one before is of 2026-11-0", change=_older_edition),
        "uk-basic": Fault("rows are rejected", change=_nameless_edition),
        "no-enheter": Fault("`slowest`", responders.pause_between_chunks(20)),
        "fi-prh": Fault("answers 500|`deadline`", responders.send_status(500)),
    },
)  # fmt: skip


def test_every_night_ends_as_planned(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A night without faults, then the nights of NIGHTS, each with new editions of all sources"""
    wheel = wheels.built_wheel(tmp_path_factory)
    command = wheels.batch_environment(wheel, tmp_path / "environment") / "societes-pipeline"
    seconds_of_nights: list[int] = []
    with ExitStack() as stack:
        servers = {source: stack.enter_context(responders.running_server()) for source in FILES}
        config = _write_configuration(tmp_path, servers)
        for night, faults in enumerate(({}, *NIGHTS)):
            for source, server in servers.items():
                _publish_edition(server, source, night, faults.get(source))
            counts_before = _companies_by_country(tmp_path) if night else {}
            start = time.monotonic()

            process = subprocess.run(
                [str(command), "nightly", str(config)], cwd=tmp_path, env=wheels.variables(),
                capture_output=True, text=True, check=False, timeout=60 * DEADLINE + BUILD_S,
            )  # fmt: skip

            seconds_of_nights.append(round(time.monotonic() - start))
            assert process.returncode == 0, process.stderr
            _check_night(tmp_path, faults, counts_before, process.stderr)
    logging.getLogger(__name__).warning("seconds of the nights: %s", seconds_of_nights)


def _check_night(
    folder: Path, faults: Mapping[str, Fault], counts_before: Mapping[str, int], stderr: str
) -> None:
    """Compare the report, the warnings and the published companies of a night with its faults."""
    report = _last_report(folder)
    reports = {source_report["source"]: source_report for source_report in report["sources"]}
    warned_sources = {
        line.split(": ")[1] for line in stderr.splitlines() if line.startswith("warning: ")
    }
    new_counts = _companies_by_country(folder)

    assert {source: source_report["resultat"] for source, source_report in reports.items()} == {
        source: "precedent" if source in faults else "nouveau" for source in FILES
    }
    assert warned_sources == set(faults)
    for source, (_, country, _) in FILES.items():
        if source in faults:
            reasons = " ".join(reports[source]["motifs"])
            assert re.search(faults[source].why, reasons), (source, reasons)
            assert new_counts[country] == counts_before[country]
        elif counts_before:
            assert new_counts[country] > counts_before[country]
    assert report["etat"] == ("partiel" if faults else "complet")


def _publish_edition(server: RegisterServer, source: str, night: int, fault: Fault | None) -> None:
    """Let a server publish the edition of a night, changed by the fault."""
    name, _, edition = FILES[source]
    if fault is None:
        server.publish(f"/{name}", edition(night))
    else:
        server.publish(f"/{name}", (fault.change or edition)(night), fault.way)


def _write_configuration(folder: Path, servers: Mapping[str, RegisterServer]) -> Path:
    """Write the configuration of the nights; each source is at its server."""
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


def _last_report(folder: Path) -> dict[str, Any]:
    """The report of the last night."""
    reports = (folder / "work" / "reports").glob("*.json")
    return dict(json.loads(max(reports, key=lambda path: path.stat().st_mtime_ns).read_bytes()))


def _companies_by_country(folder: Path) -> dict[str, int]:
    """The number of published companies by country."""
    data = folder / "data"
    name = pointer.current_name(data)
    assert name is not None
    return dict(generation_files.read_manifest(data / name).counts)
