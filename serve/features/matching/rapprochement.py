"""POST /api/v1/rapprochement: match a list (extensions X5).

Each ten lines (or part of ten) that can be matched count as one call of the day; a line with an error costs nothing.
For a visitor, two lines of a request are matched; the others get an error that asks for an account.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from serve.access.call import (
    DATA_VERSION,
    NO_STORE,
    PreparedCall,
    Request,
    Result,
    language_headers,
)
from serve.contract import activities, reasons, seed_tables
from serve.contract.answers import Erreur
from serve.contract.errors import ApiError
from serve.contract.parameters import LINES_PER_CALL, VISITOR_LINES
from serve.features.matching import line_list
from serve.features.matching.answers import Candidat, LigneRapprochee, LigneRefusee, Rapprochement
from serve.features.matching.line_list import LineList, ListedLine
from serve.generation.open_generation import OpenGeneration
from shards.codec import record
from shards.matching.line import Candidate, Line, MatchResult
from shards.matching.matcher import Matcher
from shards.search.search import ShardSet

# Lines matched in one job in a thread: the lines of a job share work, and other requests run between the jobs.
LINES_PER_JOB: Final = 20


def match_body(request: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
    """Match the lines of the body.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return rapprochement(line_list.read(request.body, generation.names), request, generation)


def rapprochement(
    batch: LineList, request: Request, generation: OpenGeneration
) -> PreparedCall[Rapprochement]:
    """Match lines: a verdict and candidates for each.

    Raises:
        ApiError: 409 for a `version` that is not open any more.
    """
    generation = generation.pinned_to(batch.version)
    lines, lang = batch.lines, request.lang
    if request.caller.account is None:
        lines = _limit_for_visitor(lines)
    readable = [listed_line.line for listed_line in lines if listed_line.line is not None]
    coordonnees = request.caller.plan.coordonnees

    def values(result: MatchResult) -> Mapping[str, Any] | None:
        """The requested fields of the company that a line means; contacts only with the right to them."""
        likely = result.likely_candidate
        if not batch.colonnes or likely is None:
            return None
        shard = generation.shards[likely.iso2]
        row = shard.find(likely.id)
        assert row is not None  # the matcher has just read it
        company = record.company(shard.record(row, coordonnees=coordonnees))
        return {name: company[name] for name in batch.colonnes}

    async def run() -> "Result[Rapprochement]":
        """Match the readable lines; the other lines are answered with their errors."""
        matches = await match_lines(generation, readable, batch.limite, coordonnees=coordonnees)
        # Only readable lines have a result, so each of them takes the next pair.
        pairs = iter([(result, values(result)) for result in matches])
        answers = [
            _refused_line(listed_line, lang)
            if listed_line.line is None
            else _matched_line(listed_line, *next(pairs), lang)
            for listed_line in lines
        ]
        headers = language_headers({**NO_STORE, DATA_VERSION: generation.id}, lang)
        return Result(
            200, Rapprochement(resultats=answers), headers, matched=likely_companies(matches)
        )

    return PreparedCall(run, calls=-(-len(readable) // LINES_PER_CALL))


async def match_lines(
    generation: OpenGeneration, lines: Sequence[Line], limit: int, *, coordonnees: bool
) -> list[MatchResult]:
    """Match lines in the threads of the generation.

    Args:
        coordonnees: whether the caller has the right to contacts; contacts are then evidence.
    """
    shards = generation.shards
    jobs = (
        partial(
            _match_job, shards, lines[first : first + LINES_PER_JOB], limit, coordonnees=coordonnees
        )
        for first in range(0, len(lines), LINES_PER_JOB)
    )
    return [
        result for job_results in await generation.run_long_jobs(jobs) for result in job_results
    ]


def likely_companies(results: Iterable[MatchResult]) -> list[tuple[str, str]]:
    """The country and identifier of each company whose line is `sur` or `probable`."""
    return [(likely.iso2, likely.id) for result in results if (likely := result.likely_candidate)]


def _match_job(
    base: ShardSet, lines: Sequence[Line], limit: int, *, coordonnees: bool
) -> list[MatchResult]:
    """Match the lines of one job, each with at most `limit` candidates.

    Without `coordonnees`, contacts are no evidence.
    """
    matcher = Matcher(
        base,
        seed_tables.name_tables(),
        seed_tables.match_weights(),
        seed_tables.number_notation(),
        activities=activities.classes,
        coordonnees=coordonnees,
    )
    return matcher.match_all(lines, limit)


def _limit_for_visitor(lines: Sequence[ListedLine]) -> tuple[ListedLine, ...]:
    """The lines of a visitor. Only the first two that can be matched are kept; the others become errors."""
    allowed_lines, lines_left = [], VISITOR_LINES
    for listed_line in lines:
        if listed_line.line is not None:
            lines_left -= 1
        refused = listed_line.line is not None and lines_left < 0
        error: ApiError | None = (
            ApiError("lignes_d_un_visiteur", lines=VISITOR_LINES) if refused else None
        )
        allowed_lines.append(ListedLine(listed_line.cle, None, error) if refused else listed_line)
    return tuple(allowed_lines)


def _refused_line(listed_line: ListedLine, lang: str) -> LigneRefusee:
    """The answer to a line that was not matched: its error."""
    assert listed_line.error is not None
    return LigneRefusee(cle=listed_line.cle, erreur=Erreur(**listed_line.error.erreur(lang)))


def _matched_line(
    listed_line: ListedLine, result: MatchResult, values: Mapping[str, Any] | None, lang: str
) -> LigneRapprochee:
    """The answer to a line that was matched; `values` are those of `colonnes`."""
    assert listed_line.cle is not None
    candidates = [_candidate(candidate, lang) for candidate in result.candidats]
    return LigneRapprochee(
        cle=listed_line.cle, verdict=result.verdict, candidats=candidates, valeurs=values
    )


def _candidate(candidate: Candidate, lang: str) -> Candidat:
    """A candidate as an object of the answer; each reason as a code and as words."""
    return Candidat(
        iso2=candidate.iso2,
        id=candidate.id,
        nom=candidate.nom,
        ville=candidate.ville,
        code_postal=candidate.code_postal,
        etat=candidate.etat,
        note=candidate.note,
        raisons=reasons.reasons_of_match(candidate.raisons, lang),
        raisons_codes=candidate.raisons,
    )
