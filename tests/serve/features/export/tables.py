"""The tables of an export made from small data, for the tests of this folder."""

import csv
import re
import tempfile
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, Final

import orjson

from serve.features.export import tables
from serve.features.export.workbook.export_data import ExportResult
from serve.request.values import FileOptions
from shards.generations import generation_files
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import asked
from tests.serve.world import COMPANIES, STATEMENTS
from tests.world import company

HOSTILE: Final = [
    "=1+1", "'=1+1", "''-2", "'t Hooft", "@SUM(A1)", "\tx", "＝1", "-", "+33 1", 'a,"b"\r\nc', "Ψ|ż", "'", "\n=1",
    "x;=1+1", "x;y;-2;", ";", "\"=1", "x;\"@a", "x;'+1", "a\r\n=1", "a\t=1", "a,=1", "a; =1", "x;＝1", ";'",
]  # fmt: skip
WITH: Final = {("FR", "552100554"): STATEMENTS, ("UK", "08209948"): STATEMENTS * 2}


@dataclass(frozen=True)
class Place:
    """A published generation, and a folder for files."""

    data: Path
    generation: str
    folder: Path

    def make(self, form: str, slug: str = "integral", **options: Any) -> tuple[ExportResult, bytes]:
        """What the maker says, and the bytes; nothing else may be left in the folder."""
        most = options.pop("most", None)
        lang = options.pop("lang", "fr")
        file = FileOptions(form, **options)
        wanted = asked(self.data, self.generation, slug, file=file, lang=lang)
        if most is not None:
            plan = replace(wanted.plan, societes_avec_comptes_par_export=most)
            wanted = replace(wanted, plan=plan)
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as folder,
            generation_files.load(self.data, self.generation) as generation,
        ):
            path = Path(folder) / "file"
            made = tables.make(wanted, generation, path, Path(folder))
            assert [one.name for one in Path(folder).iterdir()] == ["file"]
            return made, path.read_bytes()

    def lines(self, **options: Any) -> list[dict[str, Any]]:
        """The companies, from NDJSON."""
        return [orjson.loads(line) for line in self.make("ndjson", **options)[1].splitlines()]


def published(folder: Path) -> Place:
    """The companies of the HTTP tests, and some whose descriptions are hostile."""
    hostile = [company("NL", str(n), "Ψ", description=text) for n, text in enumerate(HOSTILE)]
    generation = world.publish(folder / "data", [*COMPANIES, *hostile], WITH)
    return Place(folder / "data", generation, folder)


def rows(packed: bytes) -> list[dict[str, str]]:
    """The rows of a CSV, by Python's reader."""
    return list(csv.DictReader(StringIO(packed.decode("utf-8-sig"), newline="")))


def as_text(company: dict[str, Any]) -> dict[str, str]:
    """A company as /openapi.json says that a CSV has it, but for the apostrophes of guarded texts."""
    return {name: _text(value) for name, value in company.items()}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "|".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def unguarded(text: str) -> str:
    """The original of a cell, as /openapi.json says that it is found."""
    return re.sub(
        "^'(?=['\"]*[=+\\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])'(?=['\"]*[=+\\-@＝＋－＠])", "", text
    )
