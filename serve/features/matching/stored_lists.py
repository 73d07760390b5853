"""Matched lists in the store: written from the answers to lines, read with the companies of today.

A line is stored as its cells, its candidates (country, identifier, note, codes of reasons, digest of the name) and its
error. Its verdict and its choice are two bytes of another row (`quota/ledger/lists.py`). Names and values of companies
are read from the open generation when the page is shown; a company may be gone by then.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson
import zstandard

from quota.errors import UnknownError
from quota.ledger import lists
from quota.ledger.lists import CHUNK_LINES, NO_CHOICE, ListPart, ListRows, MatchedList
from quota.new_values import list_id
from quota.periods import seconds
from serve.access import loop_guard
from serve.contract.errors import ApiError
from serve.features.matching.answers import LigneRapprochee, LigneRefusee
from serve.features.matching.line_list import ListedLine
from serve.features.matching.list_file import ListFile
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site.page_request import PageRequest
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE
from shards.reader.shard import Shard

# Stands for the verdict of a line that could not be matched.
ERROR: Final = "erreur"
# Shown instead of the verdict if a person chose the company.
CHOSEN: Final = "choisi"
# The verdicts by their stored letters, in the order of the page.
VERDICTS: Final = {"s": SURE, "p": LIKELY, "a": AMBIGUOUS, "n": NONE, "e": ERROR}
_LETTERS: Final = {verdict: letter for letter, verdict in VERDICTS.items()}
SHOWN_VERDICTS: Final = (*VERDICTS.values(), CHOSEN)
# A candidate with a lower score (`note`) is not stored, unless it is the chosen one: it is too unlikely to offer.
_LEAST_NOTE: Final = 0.01
# The values of a company that the page and the files of a list show.
_COMPANY_FIELDS: Final = ("nom", "ville", "code_postal", "etat", "ca_eur", "effectif")
# Estimated unpacked bytes per byte of a chunk; few lists have more.
_UNPACKED_RATIO: Final = 8
# Lines whose companies are read in one job in a thread.
_LINES_PER_JOB: Final = 100

# Notes on a chosen company that is gone or renamed, in French and English.
GONE: Final = ("n’est plus dans les registres publiés", "is no longer in the published registers")
RENAMED: Final = ("a changé de nom depuis le rapprochement", "was renamed after the matching")


class StoredCandidate(NamedTuple):
    """A company that a line may mean.

    Attributes:
        name_digest: a digest of the name when the line was matched; the name itself is not stored.
        company: the values of today, None if the company is gone or was not read.
    """

    iso2: str
    id: str
    note: float
    reasons: Sequence[str]
    name_digest: int | None = None
    company: Mapping[str, Any] | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether the company was renamed after the matching; False for old lists, which have no digest."""
        if self.company is None or self.name_digest is None:
            return False
        return _name_digest(self.company["nom"]) != self.name_digest


class StoredLine(NamedTuple):
    """A line of a list.

    Attributes:
        number: the row number, from 1.
        choice: the place of the chosen candidate, or None.
        is_own: whether the choice differs from that of the matcher.
        error: why the line could not be matched, in French and English.
    """

    number: int
    cells: Sequence[str]
    verdict: str
    candidates: Sequence[StoredCandidate]
    choice: int | None
    is_own: bool
    error: Sequence[str] | None

    @property
    def chosen_candidate(self) -> StoredCandidate | None:
        """The chosen candidate, or None."""
        return None if self.choice is None else self.candidates[self.choice]

    @property
    def display_verdict(self) -> str:
        """The verdict, `CHOSEN` if a person chose the company, or `NONE` if a person rejected that of the matcher."""
        return _display_verdict(self.verdict, self.choice)


class ListTable(NamedTuple):
    """How a list was read, without its rows. The attributes are those of `ListFile`.

    Attributes:
        columns: the place of the column of each field.
        beyond: the number of lines left out because their sender has no account.
    """

    encoding: str
    separator: str
    headings: Sequence[str]
    is_headed: bool
    columns: Mapping[str, int]
    blank: int
    beyond: int = 0

    @property
    def unused_places(self) -> Sequence[int]:
        """The places of the columns without a recognised field."""
        used = set(self.columns.values())
        return [place for place in range(len(self.headings)) if place not in used]

    @property
    def unused_headings(self) -> Sequence[str]:
        """The headings of the columns without a recognised field."""
        return [self.headings[place] for place in self.unused_places]


class OpenList(NamedTuple):
    """A list that the visitor may open.

    Attributes:
        code: the code in its address; "" for a list that could not be stored, and is shown once.
        head: its account, name, dates and sizes.
        marks: two bytes per line: the letter of the verdict and the choice.
        chunks: the lines by chunk number; None if they are in the store.
    """

    code: str
    head: MatchedList
    table: ListTable
    marks: bytes
    chunks: Mapping[int, bytes] | None = None

    @property
    def verdicts(self) -> Mapping[str, int]:
        """The number of lines by `display_verdict`."""
        counts = Counter(self._display_verdicts())
        return {name: counts[name] for name in SHOWN_VERDICTS}

    def places(self, verdict: str = "") -> Sequence[int]:
        """The places, from 0, of the lines with a verdict, or of all lines for ""."""
        pairs = enumerate(self._display_verdicts())
        return [place for place, name in pairs if not verdict or name == verdict]

    def _display_verdicts(self) -> Iterator[str]:
        """The display verdict of each line; each distinct mark is read only once, since lists have few."""
        pairs = list(zip(self.marks[::2], self.marks[1::2], strict=True))
        verdicts = {pair: _display_verdict(*_read_mark(*pair)) for pair in set(pairs)}
        return map(verdicts.__getitem__, pairs)

    @property
    def chosen_places(self) -> Sequence[int]:
        """The places of the lines with a chosen company."""
        return [
            place
            for place, stored_choice in enumerate(self.marks[1::2])
            if stored_choice != NO_CHOICE
        ]


# -- writing -----------------------------------------------------------------------


def encode_table(table: ListFile, lines_left_out: int) -> bytes:
    """Encode how a list was read, and how many lines were left out because their sender has no account."""
    list_table = ListTable(
        table.encoding, table.separator, table.headings, table.is_headed, table.columns,
        table.blank, lines_left_out,
    )  # fmt: skip
    return zstandard.compress(orjson.dumps(list_table._asdict()))


def encode_lines(
    rows: Sequence[Sequence[str]],
    answers: Sequence[LigneRapprochee | LigneRefusee],
    listed_lines: Sequence[ListedLine],
) -> ListPart:
    """Encode the rows of a list with their answers and errors, in chunks of CHUNK_LINES.

    The matcher has chosen the first candidate of a line that is `sur` or `probable`.
    """
    lines, marks = [], bytearray()
    for row, answer, line in zip(rows, answers, listed_lines, strict=True):
        candidates: list[tuple[str, str, float, Sequence[str], int]] = []
        verdict, choice = ERROR, NO_CHOICE
        if isinstance(answer, LigneRapprochee):
            verdict = answer.verdict
            is_decided = verdict in (SURE, LIKELY)
            candidates = [
                (
                    candidate.iso2,
                    candidate.id,
                    candidate.note,
                    candidate.raisons_codes,
                    _name_digest(candidate.nom),
                )
                for place, candidate in enumerate(answer.candidats)
                if candidate.note >= _LEAST_NOTE or (is_decided and not place)
            ]
            choice = 0 if is_decided else NO_CHOICE
        lines.append([row, candidates, list(line.error.texts) if line.error else None])
        marks += bytes([ord(_LETTERS[verdict]), choice])
    chunks = [
        zstandard.compress(orjson.dumps(lines[first : first + CHUNK_LINES]))
        for first in range(0, len(lines), CHUNK_LINES)
    ]
    return ListPart(chunks, bytes(marks))


def _name_digest(name: str) -> int:
    """A short digest of a name, which shows whether a company was renamed."""
    return crc32(name.encode())


def temporary_list(name: str, table: bytes, list_part: ListPart, now: datetime) -> OpenList:
    """A list that could not be stored, as if it were open; it has no id and no code, and its chunks are in memory."""
    counts = Counter(list_part.marks[::2].decode())
    head = MatchedList(
        "", "", "", name, int(now.timestamp()), 0, list_part.lines, list_part.size, counts
    )
    chunks = dict(enumerate(list_part.chunks))
    return OpenList("", head, decode_table(table), list_part.marks, chunks)


# -- reading -----------------------------------------------------------------------


async def open_stored_list(request: PageRequest, code: str) -> OpenList:
    """Open the list with this code.

    Raises:
        ApiError: 404: the list does not exist, has expired, or belongs to another account; the error is the same.
        StoreUnavailable
    """
    rows = await request.store.read(lists.rows_of, list_id(code), seconds(request.now))
    account = request.session.account.id if request.session else ""
    if rows is None or (rows.head.account and request.session and rows.head.account != account):
        raise ApiError("liste_introuvable")
    return _open_rows(code, rows)


def needs_log_in(request: PageRequest, opened: OpenList) -> bool:
    """Whether the list is of an account and the visitor is not logged in."""
    return bool(opened.head.account) and request.session is None


def _open_rows(code: str, rows: ListRows) -> OpenList:
    """The list with `code` in its address, from its rows in the store."""
    return OpenList(code, rows.head, decode_table(rows.table), rows.marks)


def decode_table(raw: bytes) -> ListTable:
    """Decode the result of `encode_table`."""
    return ListTable(**orjson.loads(zstandard.decompress(raw)))


def display_headings(request: PageRequest, table: ListFile | ListTable) -> tuple[str, ...]:
    """The headings of a table; without headings, `column 1` and so on in the language of the page."""
    if table.is_headed or len(table.headings) == 1:
        return tuple(table.headings)
    places = range(1, len(table.headings) + 1)
    return tuple(request.t(f"colonne {n}", f"column {n}") for n in places)


async def lines_at(
    request: PageRequest,
    generation: OpenGeneration,
    opened: OpenList,
    places: Sequence[int],
    *,
    companies: bool = True,
) -> Sequence[StoredLine]:
    """Read the lines at these places, with the values of their companies unless `companies` is False.

    Lines whose chunks are no longer in the store are left out.

    Raises:
        StoreUnavailable
    """
    chunk_numbers = sorted({place // CHUNK_LINES for place in places})
    chunks = opened.chunks
    if chunks is None:
        chunks = await request.store.read(lists.chunks_of, opened.head.id, chunk_numbers)
    stored_places = [place for place in places if place // CHUNK_LINES in chunks]
    jobs = (
        partial(
            _read_lines,
            generation.shards if companies else {},  # no company is found in {}
            chunks,
            opened.marks,
            stored_places[first : first + _LINES_PER_JOB],
        )
        for first in range(0, len(stored_places), _LINES_PER_JOB)
    )
    lines_by_job = await generation.run_long_jobs(jobs)
    return [line for job_lines in lines_by_job for line in job_lines]


async def lines_without_companies(
    request: PageRequest, opened: OpenList, places: Sequence[int]
) -> Sequence[StoredLine]:
    """Read the lines at these places without the values of their companies. Raises StoreUnavailable."""
    with request.server.published.lease() as generation:
        return await lines_at(request, generation, opened, places, companies=False)


async def repeated_companies(
    request: PageRequest,
    generation: OpenGeneration,
    opened: OpenList,
    shown: Sequence[StoredLine],
) -> Mapping[int, int]:
    """For each shown line whose company an earlier line has: its number, and the number of the first such line.

    Raises:
        StoreUnavailable
    """
    companies = {(chosen.iso2, chosen.id) for line in shown if (chosen := line.chosen_candidate)}
    if not companies:
        return {}
    shows_all_lines = len(shown) == opened.head.lines
    lines = shown if shows_all_lines else await lines_at(
        request, generation, opened, opened.chosen_places, companies=False
    )  # fmt: skip
    firsts: dict[tuple[str, str], int] = {}
    for line in lines:
        if (chosen := line.chosen_candidate) and (chosen.iso2, chosen.id) in companies:
            firsts.setdefault((chosen.iso2, chosen.id), line.number)
    return {
        line.number: first
        for line in shown
        if (chosen := line.chosen_candidate)
        and (first := firsts[chosen.iso2, chosen.id]) != line.number
    }


async def line_at(request: PageRequest, opened: OpenList, place: int) -> StoredLine:
    """Read a line without the values of its companies.

    Raises:
        ApiError: 404: the list has no such line, or was deleted meanwhile.
        StoreUnavailable
    """
    number = place // CHUNK_LINES
    chunks = await request.store.read(lists.chunks_of, opened.head.id, [number])
    if number not in chunks or not 0 <= place < opened.head.lines:
        raise ApiError("liste_introuvable")
    size = len(chunks[number]) * _UNPACKED_RATIO
    return await loop_guard.parse(size, lambda: next(_decode_lines(chunks, opened.marks, [place])))


async def choose(request: PageRequest, opened: OpenList, place: int, choice: int | None) -> None:
    """Choose a candidate of a line; None for no company.

    Raises:
        ApiError: 404: the list was deleted meanwhile.
        StoreUnavailable
    """
    stored_choice = NO_CHOICE if choice is None else choice
    try:
        head, now = opened.head, seconds(request.now)
        await request.store.submit(lists.choose, head.id, head.account, {place: stored_choice}, now)
    except UnknownError as error:
        raise ApiError("liste_introuvable") from error


def _read_lines(
    base: Mapping[str, Shard], chunks: Mapping[int, bytes], marks: bytes, places: Sequence[int]
) -> Sequence[StoredLine]:
    """The lines at these places, with the values of their companies from the shards of `base`.

    `chunks` and `marks` are those of `OpenList`. A candidate whose company is gone has no values (None).
    """
    lines = list(_decode_lines(chunks, marks, places))
    identifiers = {
        (candidate.iso2, candidate.id) for line in lines for candidate in line.candidates
    }
    companies = _companies(base, identifiers)
    return [
        line._replace(
            candidates=[
                candidate._replace(company=companies.get((candidate.iso2, candidate.id)))
                for candidate in line.candidates
            ]
        )
        for line in lines
    ]


def _decode_lines(
    chunks: Mapping[int, bytes], marks: bytes, places: Sequence[int]
) -> Iterator[StoredLine]:
    """The lines at these places without the values of companies; each chunk is unpacked once.

    A chunk is the compressed JSON of CHUNK_LINES lines; `marks` has two bytes per line, the verdict and the choice.
    """
    lines_by_chunk: dict[int, Any] = {}
    for place in places:
        number, place_in_chunk = divmod(place, CHUNK_LINES)
        if number not in lines_by_chunk:
            lines_by_chunk[number] = orjson.loads(zstandard.decompress(chunks[number]))
        cells, candidates, error = lines_by_chunk[number][place_in_chunk]
        verdict, choice = _read_mark(marks[2 * place], marks[2 * place + 1])
        yield StoredLine(
            place + 1,
            cells,
            verdict,
            [StoredCandidate(*values) for values in candidates],
            choice,
            choice != _choice_of_matcher(verdict),
            error,
        )


def _read_mark(letter: int, number: int) -> tuple[str, int | None]:
    """The verdict and the choice in the two bytes of a line; the choice is None if no candidate is chosen."""
    return VERDICTS[chr(letter)], None if number == NO_CHOICE else number


def _display_verdict(verdict: str, choice: int | None) -> str:
    """The verdict; `CHOSEN` or `NONE` if a person chose another company than the matcher, or none."""
    if choice == _choice_of_matcher(verdict):
        return verdict
    return NONE if choice is None else CHOSEN


def _choice_of_matcher(verdict: str) -> int | None:
    """The place of the candidate that the matcher chooses: the first for a likely line, else None."""
    return 0 if verdict in (SURE, LIKELY) else None


def _companies(
    base: Mapping[str, Shard], identifiers: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The values of companies by country and identifier; companies that are gone are left out."""
    companies = {}
    for iso2, identifier in identifiers:
        shard = base.get(iso2)
        row = None if shard is None else shard.find(identifier)
        if shard is not None and row is not None:
            company = shard.company(row)
            companies[iso2, identifier] = {name: company.get(name) for name in _COMPANY_FIELDS}
    return companies
