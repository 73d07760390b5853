"""The engine under test: searches of the published generation, as the server runs them."""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self, overload

from shards.generations import generation_files, pointer
from shards.search.search import records, search
from tests.bench.questions.question import Answer, Question


class JoinedRows(Sequence[bytes]):
    """The rows of a result page as the server sends them, joined by commas; parsed when a row is read."""

    def __init__(self, joined: bytes) -> None:
        self._joined = joined

    @cached_property
    def _rows(self) -> list[bytes]:
        """The JSON of each row; the joined text is split where a JSON value ends."""
        text, start, rows = self._joined.decode(), 0, []
        while start < len(text):
            _, end = json.JSONDecoder().raw_decode(text, start)
            rows.append(text[start:end].encode())
            start = end + 1
        return rows

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)


class Candidate:
    """The published generation of a DATA folder, open."""

    def __init__(self, data: Path) -> None:
        name = pointer.current_name(data)
        if name is None:
            raise SystemExit(f"{data} has no published generation; build one, or leave out --data")
        self.generation = generation_files.load(data, name)
        self.companies = sum(shard.rows for shard in self.generation.shards.values())

    def search(self, question: Question) -> Answer:
        """The exact total and the rows of the page as JSON."""
        shards = self.generation.shards
        page = search(shards, question.query, offset=question.offset, limit=question.limit)
        return Answer(page.total, JoinedRows(records(shards, page.rows, coordonnees=True)))

    @property
    def files(self) -> list[Path]:
        """The paths of the shards."""
        return [shard.path for shard in self.generation.shards.values()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.generation.close()
