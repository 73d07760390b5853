"""Exports small data as tables, for the tests of this folder."""

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
from tests.serve.features.export.workbook.workbooks import export_request
from tests.serve.world import COMPANIES, STATEMENTS
from tests.world import company

# Texts that a spreadsheet may take for a formula, at their beginning or after a separator; and harmless ones.
FORMULA_LIKE_TEXTS: Final = [
    "=1+1", "'=1+1", "''-2", "'t Hooft", "@SUM(A1)", "\tx", "＝1", "-", "+33 1", 'a,"b"\r\nc', "Ψ|ż", "'", "\n=1",
    "x;=1+1", "x;y;-2;", ";", "\"=1", "x;\"@a", "x;'+1", "a\r\n=1", "a\t=1", "a,=1", "a; =1", "x;＝1", ";'",
]  # fmt: skip
# The statement lines of two companies: one line, and two lines.
ACCOUNTS: Final = {("FR", "552100554"): STATEMENTS, ("UK", "08209948"): STATEMENTS * 2}


@dataclass(frozen=True)
class Exporter:
    """Makes tables from a published generation, in a folder for files."""

    data: Path
    generation: str
    folder: Path

    def make_table(
        self, form: str, slug: str = "integral", **options: Any
    ) -> tuple[ExportResult, bytes]:
        """The result and the bytes of an export; fails if a temporary file is left in the folder.

        Args:
            form: csv, ndjson or parquet.
            slug: the plan of the caller.
            options: fields of FileOptions, `lang`, and `most_with_accounts`, which replaces the limit of the
                plan for companies with statements.
        """
        most_with_accounts = options.pop("most_with_accounts", None)
        lang = options.pop("lang", "fr")
        file = FileOptions(form, **options)
        request = export_request(self.data, self.generation, slug, file=file, lang=lang)
        if most_with_accounts is not None:
            plan = replace(request.plan, societes_avec_comptes_par_export=most_with_accounts)
            request = replace(request, plan=plan)
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as folder,
            generation_files.load(self.data, self.generation) as generation,
        ):
            path = Path(folder) / "file"
            result = tables.make(request, generation, path, Path(folder))
            assert [entry.name for entry in Path(folder).iterdir()] == ["file"]
            return result, path.read_bytes()

    def companies(self, **options: Any) -> list[dict[str, Any]]:
        """The companies of an NDJSON export."""
        return [orjson.loads(line) for line in self.make_table("ndjson", **options)[1].splitlines()]


def make_exporter(folder: Path) -> Exporter:
    """Publish the companies of the HTTP tests, and Dutch companies described by FORMULA_LIKE_TEXTS."""
    formula_like = [
        company("NL", str(number), "Ψ", description=text)
        for number, text in enumerate(FORMULA_LIKE_TEXTS)
    ]
    generation = world.publish(folder / "data", [*COMPANIES, *formula_like], ACCOUNTS)
    return Exporter(folder / "data", generation, folder)


def csv_rows(content: bytes) -> list[dict[str, str]]:
    """The rows of a CSV, read by the csv module."""
    return list(csv.DictReader(StringIO(content.decode("utf-8-sig"), newline="")))


def expected_csv_row(record: dict[str, Any]) -> dict[str, str]:
    """A company as /openapi.json describes it in a CSV, without the apostrophes that guard texts."""
    return {name: _csv_text(value) for name, value in record.items()}


def _csv_text(value: Any) -> str:
    """A value of a company as text: the entries of a list are joined by `|`, and null is empty."""
    if isinstance(value, list):
        return "|".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def remove_guards(text: str) -> str:
    """The original text of a cell, restored as /openapi.json describes."""
    return re.sub(
        "^'(?=['\"]*[=+\\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])'(?=['\"]*[=+\\-@＝＋－＠])", "", text
    )
