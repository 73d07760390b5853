"""The engine under test: searches of the published generation, as the server runs them."""

from pathlib import Path
from typing import Self

from shards.generations import generation_files, pointer
from shards.search.search import search
from tests.bench.questions.question import Answer, Question


class Candidate:
    """The published generation of a DATA folder, open."""

    def __init__(self, data: Path) -> None:
        name = pointer.current(data)
        if name is None:
            raise SystemExit(f"{data} has no published generation; build one, or leave out --data")
        self.generation = generation_files.load(data, name)
        self.companies = sum(shard.rows for shard in self.generation.shards.values())

    def search(self, question: Question) -> Answer:
        """The exact total and the rows of the page as JSON."""
        shards = self.generation.shards
        page = search(shards, question.query, offset=question.offset, limit=question.limit)
        wanted: dict[str, list[int]] = {}
        for row in page.rows:
            wanted.setdefault(row.iso2, []).append(row.row)
        found = {
            iso2: iter(shards[iso2].records(rows, coordonnees=True))
            for iso2, rows in wanted.items()
        }
        return Answer(page.total, [next(found[row.iso2]) for row in page.rows])

    @property
    def files(self) -> list[Path]:
        return [shard.path for shard in self.generation.shards.values()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.generation.close()
