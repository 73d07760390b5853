"""GET /api/v1/identifiants/{valeur}: the companies with a number, whatever kind of number it is (X6)."""

from dataclasses import replace
from typing import Final

from serve.access.call import CallResult, PreparedCall, Request, private_headers
from serve.access.company_path import absent_from, company_names, refuse_deleted
from serve.access.etag import etag
from serve.access.rights import most_rows
from serve.contract import errors, seed_tables
from serve.contract.parameters import ID
from serve.contract.search_answers import Identification, SocieteNumerotee
from serve.generation.open_generation import OpenGeneration
from serve.request.values import check_identifier
from shards.search import company_numbers

LONGEST_NUMBER: Final = 120  # with its label, and the name of its court or register
VALEUR: Final = replace(
    ID, name="valeur", text="valeur", example="GB09418436", longest=LONGEST_NUMBER
)
# A number without a match is compared with its neighbours in 25 countries: about 30 ms.
_MICROSECONDS = 30_000.0
_PATH: Final = "/api/v1/identifiants/{valeur}"


def identifiants(request: Request, generation: OpenGeneration) -> PreparedCall[Identification]:
    """The companies with a number, at most as many as the plan shows of a search.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    generation = generation.at_version_of(request.pairs)
    number = check_identifier(request.segments[0], LONGEST_NUMBER, _PATH)
    plan = request.caller.plan
    shards = generation.shards
    matches = company_numbers.find(shards, number, seed_tables.number_notation())
    tag = etag(generation.id, plan.slug, request.caller.souscrit, "identifiants", number)
    headers = private_headers(tag, generation.id)

    async def run() -> "CallResult[Identification]":
        if not matches.places:
            await refuse_deleted(generation, shards, number)
            near = await generation.in_thread(
                _MICROSECONDS,
                lambda: company_numbers.nearest_companies(
                    shards, number, seed_tables.number_notation()
                ),
            )
            error = errors.societe_introuvable("", number, company_names(shards, near))
            raise absent_from(generation, error)
        most = most_rows(plan)
        companies = [shards[iso2].company(row) for iso2, row in matches.places[:most]]
        candidates = [
            SocieteNumerotee(iso2=one["iso2"], id=one["id"], nom=one["nom"]) for one in companies
        ]
        content = Identification(type=matches.type, candidats=candidates)
        return CallResult(200, content, headers)

    # Whoever has the answer of an absent company has none to compare with.
    return PreparedCall(run, tag if matches.places else None, headers)
