"""POST /api/v1/rapprochement: match a list (extensions X5).

A call of the day for each ten lines begun that can be matched; a line with an error of its own costs nothing. A visitor
has two lines of a request matched, the others say what they need.
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
    in_language,
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

# Lines that share their work, matched at one time beside the event loop, so that other requests come in between.
AT_ONCE: Final = 20


def lines_of_body(request: Request, generation: OpenGeneration) -> PreparedCall[Rapprochement]:
    """The companies that the lines of the body mean.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return rapprochement(line_list.read(request.body, generation.names), request, generation)


def rapprochement(
    asked: LineList, request: Request, generation: OpenGeneration
) -> PreparedCall[Rapprochement]:
    """The companies that lines mean.

    Raises:
        ApiError: 409 for a `version` that is not open any more.
    """
    generation = generation.at_version(asked.version)
    lines, lang = asked.lines, request.lang
    if request.caller.account is None:
        lines = _for_visitor(lines)
    wanted = [asked_line.line for asked_line in lines if asked_line.line is not None]
    coordonnees = request.caller.plan.coordonnees

    def values(result: MatchResult) -> Mapping[str, Any] | None:
        """The values that are asked for, of the company that a line means; contacts by right."""
        best = result.meant_candidate
        if not asked.colonnes or best is None:
            return None
        shard = generation.shards[best.iso2]
        row = shard.find(best.id)
        assert row is not None  # it was just found
        company = record.company(shard.record(row, coordonnees=coordonnees))
        return {name: company[name] for name in asked.colonnes}

    async def run() -> "Result[Rapprochement]":
        matches = await match_lines(generation, wanted, asked.limite, coordonnees=coordonnees)
        left = iter([(result, values(result)) for result in matches])
        answers = [
            _refused_line(asked_line, lang)
            if asked_line.line is None
            else _matched_line(asked_line, *next(left), lang)
            for asked_line in lines
        ]
        headers = in_language({**NO_STORE, DATA_VERSION: generation.id}, lang)
        return Result(
            200, Rapprochement(resultats=answers), headers, matched=meant_companies(matches)
        )

    return PreparedCall(run, calls=-(-len(wanted) // LINES_PER_CALL))


async def match_lines(
    generation: OpenGeneration, lines: Sequence[Line], limit: int, *, coordonnees: bool
) -> list[MatchResult]:
    """The results of lines, made in the threads of the generation.

    Args:
        coordonnees: the caller has the right to contacts, so they are evidence.
    """
    shards = generation.shards
    jobs = (
        partial(_match, shards, lines[first : first + AT_ONCE], limit, coordonnees=coordonnees)
        for first in range(0, len(lines), AT_ONCE)
    )
    return [result for part in await generation.in_shared_threads(jobs) for result in part]


def meant_companies(results: Iterable[MatchResult]) -> list[tuple[str, str]]:
    """The companies that lines mean, by country and identifier."""
    return [(one.iso2, one.id) for result in results if (one := result.meant_candidate)]


def _match(
    base: ShardSet, lines: Sequence[Line], limit: int, *, coordonnees: bool
) -> list[MatchResult]:
    matcher = Matcher(
        base,
        seed_tables.name_tables(),
        seed_tables.match_weights(),
        seed_tables.number_notation(),
        activities=activities.classes,
        coordonnees=coordonnees,
    )
    return matcher.match_all(lines, limit)


def _for_visitor(lines: Sequence[ListedLine]) -> tuple[ListedLine, ...]:
    """The lines of a visitor: the first two that can be matched, the others with an error."""
    found, left = [], VISITOR_LINES
    for one in lines:
        if one.line is not None:
            left -= 1
        refused = one.line is not None and left < 0
        error: ApiError | None = (
            ApiError("lignes_d_un_visiteur", lines=VISITOR_LINES) if refused else None
        )
        found.append(ListedLine(one.cle, None, error) if refused else one)
    return tuple(found)


def _refused_line(listed_line: ListedLine, lang: str) -> LigneRefusee:
    assert listed_line.error is not None
    return LigneRefusee(cle=listed_line.cle, erreur=Erreur(**listed_line.error.erreur(lang)))


def _matched_line(
    listed_line: ListedLine, result: MatchResult, values: Mapping[str, Any] | None, lang: str
) -> LigneRapprochee:
    assert listed_line.cle is not None
    candidates = [_candidate(candidate, lang) for candidate in result.candidats]
    return LigneRapprochee(
        cle=listed_line.cle, verdict=result.verdict, candidats=candidates, valeurs=values
    )


def _candidate(candidate: Candidate, lang: str) -> Candidat:
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
