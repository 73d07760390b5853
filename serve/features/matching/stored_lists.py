"""Matched lists as the store has them: written from the answers to lines, and read with the companies of today.

A line is stored as its cells, its candidates (country, identifier, note, reasons as codes, digest of the name) and its
error; its verdict
and its choice are two bytes of another row (`quota/ledger/lists.py`). Names and values of companies are those of the
generation that is open when the page is shown; a company may be gone by then.
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

ERROR: Final = "erreur"
# In place of the verdict of a line for which a person chose the company.
CHOSEN: Final = "choisi"
# The verdicts in the order of the page, by the letters that stand for them.
VERDICTS: Final = {"s": SURE, "p": LIKELY, "a": AMBIGUOUS, "n": NONE, "e": ERROR}
_LETTERS: Final = {verdict: letter for letter, verdict in VERDICTS.items()}
SHOWN_VERDICTS: Final = (*VERDICTS.values(), CHOSEN)
# A candidate below this is no choice for people: the matcher itself does not believe in it.
_LEAST_NOTE: Final = 0.01
_COMPANY_FIELDS: Final = ("nom", "ville", "code_postal", "etat", "ca_eur", "effectif")
# Bytes of lines for one of a chunk, at least as many as nearly all lists have.
_SMALLEST_RATIO: Final = 8
# Lines whose companies are looked up at one time beside the event loop.
_AT_ONCE: Final = 100

# What has happened to a chosen company since, in French and English.
GONE: Final = ("n’est plus dans les registres publiés", "is no longer in the published registers")
RENAMED: Final = ("a changé de nom depuis le rapprochement", "has another name since the matching")


class StoredCandidate(NamedTuple):
    """A company that a line may mean.

    Attributes:
        name_digest: of its name when the line was matched; the name itself is not stored.
        company: its values of today, None if it is gone.
    """

    iso2: str
    id: str
    note: float
    reasons: Sequence[str]
    name_digest: int | None = None
    company: Mapping[str, Any] | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether the company has another name than when the line was matched; lists of before do not know."""
        if self.company is None or self.name_digest is None:
            return False
        return _digest(self.company["nom"]) != self.name_digest


class StoredLine(NamedTuple):
    """A line of a list.

    Attributes:
        number: from 1 on.
        choice: the place of the chosen candidate, or None.
        is_own: whether a person chose otherwise than the matcher.
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
    def chosen(self) -> StoredCandidate | None:
        """The chosen candidate."""
        return None if self.choice is None else self.candidates[self.choice]

    @property
    def shown_verdict(self) -> str:
        """The verdict, or that a person chose the company."""
        return _shown_verdict(self.verdict, self.choice)


class ListTable(NamedTuple):
    """How a list was read; the names are those of `ListFile`.

    Attributes:
        columns: the place of the column of each field.
        beyond: lines that were not matched, because their sender has no account.
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
        """The columns in which no field was recognised."""
        used = set(self.columns.values())
        return [place for place in range(len(self.headings)) if place not in used]

    @property
    def unused_headings(self) -> Sequence[str]:
        """The headings of those columns."""
        return [self.headings[place] for place in self.unused_places]


class OpenList(NamedTuple):
    """A list that the visitor may open.

    Attributes:
        code: "" for a list that could not be stored, and is shown once.
        chunks: its lines, where they are at hand; else they are read from the store.
    """

    code: str
    head: MatchedList
    table: ListTable
    marks: bytes
    chunks: Mapping[int, bytes] | None = None

    @property
    def verdicts(self) -> Mapping[str, int]:
        """How many lines have each verdict; those for which a person chose a company are apart."""
        counts = Counter(self._shown_verdicts())
        return {name: counts[name] for name in SHOWN_VERDICTS}

    def places(self, verdict: str = "") -> Sequence[int]:
        """The places of the lines of a verdict, of all lines for ""."""
        shown = enumerate(self._shown_verdicts())
        return [place for place, name in shown if not verdict or name == verdict]

    def _shown_verdicts(self) -> Iterator[str]:
        pairs = list(zip(self.marks[::2], self.marks[1::2], strict=True))
        shown = {pair: _shown_verdict(*_read_mark(*pair)) for pair in set(pairs)}
        return map(shown.__getitem__, pairs)

    @property
    def chosen_places(self) -> Sequence[int]:
        """The places of the lines with a chosen company."""
        return [place for place, mark in enumerate(self.marks[1::2]) if mark != NO_CHOICE]


# -- writing -----------------------------------------------------------------------


def encode_table(table: ListFile, beyond: int) -> bytes:
    """How a list was read, as bytes."""
    own = ListTable(
        table.encoding, table.separator, table.headings, table.is_headed, table.columns,
        table.blank, beyond,
    )  # fmt: skip
    return zstandard.compress(orjson.dumps(own._asdict()))


def encode_lines(
    rows: Sequence[Sequence[str]],
    answers: Sequence[LigneRapprochee | LigneRefusee],
    asked: Sequence[ListedLine],
) -> ListPart:
    """The rows of a list with the answers to them."""
    lines, marks = [], bytearray()
    for row, answer, line in zip(rows, answers, asked, strict=True):
        candidates: list[tuple[str, str, float, Sequence[str], int]] = []
        verdict, choice = ERROR, NO_CHOICE
        if isinstance(answer, LigneRapprochee):
            verdict = answer.verdict
            decided = verdict in (SURE, LIKELY)
            candidates = [
                (one.iso2, one.id, one.note, one.raisons_codes, _digest(one.nom))
                for place, one in enumerate(answer.candidats)
                if one.note >= _LEAST_NOTE or (decided and not place)
            ]
            choice = 0 if decided else NO_CHOICE
        lines.append([row, candidates, list(line.error.texts) if line.error else None])
        marks += bytes([ord(_LETTERS[verdict]), choice])
    chunks = [
        zstandard.compress(orjson.dumps(lines[first : first + CHUNK_LINES]))
        for first in range(0, len(lines), CHUNK_LINES)
    ]
    return ListPart(chunks, bytes(marks))


def _digest(name: str) -> int:
    return crc32(name.encode())


def unstored(name: str, table: bytes, part: ListPart, now: datetime) -> OpenList:
    """A list that could not be stored."""
    counts = Counter(part.marks[::2].decode())
    head = MatchedList("", "", "", name, int(now.timestamp()), 0, part.lines, part.size, counts)
    chunks = dict(enumerate(part.chunks))
    return OpenList("", head, decode_table(table), part.marks, chunks)


# -- reading -----------------------------------------------------------------------


async def open_list(request: PageRequest, code: str) -> OpenList:
    """The list of this code.

    Raises:
        ApiError: 404: it does not exist, has expired, or belongs to another account; the error is the same.
        StoreUnavailable
    """
    rows = await request.store.read(lists.rows_of, list_id(code), seconds(request.now))
    account = request.session.account.id if request.session else ""
    if rows is None or (rows.head.account and request.session and rows.head.account != account):
        raise ApiError("liste_introuvable")
    return _opened(code, rows)


def needs_log_in(request: PageRequest, opened: OpenList) -> bool:
    """Whether a list of an account is asked for by somebody who is not logged in."""
    return bool(opened.head.account) and request.session is None


def _opened(code: str, rows: ListRows) -> OpenList:
    return OpenList(code, rows.head, decode_table(rows.table), rows.marks)


def decode_table(raw: bytes) -> ListTable:
    return ListTable(**orjson.loads(zstandard.decompress(raw)))


def shown_headings(request: PageRequest, table: ListFile | ListTable) -> tuple[str, ...]:
    """The headings of a table; columns without any go by their place, in the language of the page."""
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
    """The lines at these places, with the values of their companies, or without.

    Raises:
        StoreUnavailable
    """
    numbers = sorted({place // CHUNK_LINES for place in places})
    chunks = opened.chunks
    if chunks is None:
        chunks = await request.store.read(lists.chunks_of, opened.head.id, numbers)
    wanted = [place for place in places if place // CHUNK_LINES in chunks]
    jobs = (
        partial(
            _read_lines,
            generation.shards if companies else {},
            chunks,
            opened.marks,
            wanted[first : first + _AT_ONCE],
        )
        for first in range(0, len(wanted), _AT_ONCE)
    )
    parts = await generation.in_shared_threads(jobs)
    return [line for part in parts for line in part]


async def lines_without_companies(
    request: PageRequest, opened: OpenList, places: Sequence[int]
) -> Sequence[StoredLine]:
    """The lines at these places, without the values of their companies. Raises StoreUnavailable."""
    with request.server.published.lease() as generation:
        return await lines_at(request, generation, opened, places, companies=False)


async def doubles(
    request: PageRequest,
    generation: OpenGeneration,
    opened: OpenList,
    shown: Sequence[StoredLine],
) -> Mapping[int, int]:
    """The number of the first line of the list with the same chosen company, for each other line that is shown.

    Raises:
        StoreUnavailable
    """
    companies = {(one.iso2, one.id) for line in shown if (one := line.chosen)}
    if not companies:
        return {}
    whole = len(shown) == opened.head.lines
    lines = shown if whole else await lines_at(
        request, generation, opened, opened.chosen_places, companies=False
    )  # fmt: skip
    firsts: dict[tuple[str, str], int] = {}
    for line in lines:
        if (one := line.chosen) and (one.iso2, one.id) in companies:
            firsts.setdefault((one.iso2, one.id), line.number)
    return {
        line.number: first
        for line in shown
        if (one := line.chosen) and (first := firsts[one.iso2, one.id]) != line.number
    }


async def line_at(request: PageRequest, opened: OpenList, place: int) -> StoredLine:
    """One line, without the values of its companies.

    Raises:
        ApiError: 404: the list has no such line, or was deleted meanwhile.
        StoreUnavailable
    """
    number = place // CHUNK_LINES
    chunks = await request.store.read(lists.chunks_of, opened.head.id, [number])
    if number not in chunks or not 0 <= place < opened.head.lines:
        raise ApiError("liste_introuvable")
    size = len(chunks[number]) * _SMALLEST_RATIO
    return await loop_guard.parse(size, lambda: next(_decode(chunks, opened.marks, [place])))


async def choose(request: PageRequest, opened: OpenList, place: int, choice: int | None) -> None:
    """Choose a candidate of a line, or none.

    Raises:
        ApiError: 404: the list was deleted meanwhile.
        StoreUnavailable
    """
    mark = NO_CHOICE if choice is None else choice
    try:
        head, now = opened.head, seconds(request.now)
        await request.store.submit(lists.choose, head.id, head.account, {place: mark}, now)
    except UnknownError as error:
        raise ApiError("liste_introuvable") from error


def _read_lines(
    base: Mapping[str, Shard], chunks: Mapping[int, bytes], marks: bytes, places: Sequence[int]
) -> Sequence[StoredLine]:
    lines = list(_decode(chunks, marks, places))
    named = {(one.iso2, one.id) for line in lines for one in line.candidates}
    companies = _companies(base, named)
    return [
        line._replace(
            candidates=[
                one._replace(company=companies.get((one.iso2, one.id))) for one in line.candidates
            ]
        )
        for line in lines
    ]


def _decode(
    chunks: Mapping[int, bytes], marks: bytes, places: Sequence[int]
) -> Iterator[StoredLine]:
    decoded: dict[int, Any] = {}
    for place in places:
        number, within = divmod(place, CHUNK_LINES)
        if number not in decoded:
            decoded[number] = orjson.loads(zstandard.decompress(chunks[number]))
        cells, candidates, error = decoded[number][within]
        verdict, choice = _read_mark(marks[2 * place], marks[2 * place + 1])
        yield StoredLine(
            place + 1,
            cells,
            verdict,
            [StoredCandidate(*one) for one in candidates],
            choice,
            choice != _choice_of_matcher(verdict),
            error,
        )


def _read_mark(letter: int, number: int) -> tuple[str, int | None]:
    """The verdict and the chosen candidate that the two bytes of a line stand for."""
    return VERDICTS[chr(letter)], None if number == NO_CHOICE else number


def _shown_verdict(verdict: str, choice: int | None) -> str:
    is_chosen = choice is not None and choice != _choice_of_matcher(verdict)
    return CHOSEN if is_chosen else verdict


def _choice_of_matcher(verdict: str) -> int | None:
    return 0 if verdict in (SURE, LIKELY) else None


def _companies(
    base: Mapping[str, Shard], named: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The values of companies by country and identifier, without those that are gone."""
    companies = {}
    for iso2, identifier in named:
        shard = base.get(iso2)
        row = None if shard is None else shard.find(identifier)
        if shard is not None and row is not None:
            company = shard.company(row)
            companies[iso2, identifier] = {name: company.get(name) for name in _COMPANY_FIELDS}
    return companies
