"""The operations of a record, and the answer of GET /api/v1/identifiants/{valeur}: the companies with a number (X6)."""

from dataclasses import replace
from typing import Final

from serve.access.call import CallResult, PreparedCall, Request, etag, private_headers
from serve.access.company_path import absent_from, company_names, refuse_deleted
from serve.access.rights import most_rows
from serve.contract import errors, parameters, record_answers, search_answers, seed_tables
from serve.contract.feature import Feature
from serve.contract.operation import RECORD_PATH, Operation, company_link
from serve.contract.parameters import ID
from serve.features.record import answers
from serve.features.record.groupe import groupe
from serve.features.record.societe import societe
from serve.generation.open_generation import OpenGeneration
from serve.request.values import check_identifier
from shards.search import company_numbers

LONGEST_NUMBER: Final = 120  # with its label, and the name of its court or register
VALEUR: Final = replace(
    ID, name="valeur", text="valeur", example="GB09418436", longest=LONGEST_NUMBER
)
# A number without a match is compared with its neighbours in 25 countries: about 30 ms.
_MICROSECONDS: Final = 30_000.0
_PATH: Final = "/api/v1/identifiants/{valeur}"


def identifiants(
    request: Request, generation: OpenGeneration
) -> PreparedCall[search_answers.Identification]:
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

    async def run() -> "CallResult[search_answers.Identification]":
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
            search_answers.SocieteNumerotee(iso2=one["iso2"], id=one["id"], nom=one["nom"])
            for one in companies
        ]
        content = search_answers.Identification(type=matches.type, candidats=candidates)
        return CallResult(200, content, headers)

    # Whoever has the answer of an absent company has none to compare with.
    return PreparedCall(run, tag if matches.places else None, headers)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readCompany", RECORD_PATH, "societe", "call", "Companies",
            societe, record_answers.Fiche, record_answers.FicheRefusee, record_answers.FicheIndisponible, place=100,
            path_parameters=parameters.RECORD, parameters=parameters.PINNED, credits="fiche",
            headers=["Content-Location", "Content-Language"],
        ),
        Operation(
            "readGroup", f"{RECORD_PATH}/groupe", "groupe", "call", "Companies",
            groupe, answers.Groupe, answers.GroupeRefuse, place=130,
            path_parameters=parameters.RECORD, tool="company_group", parameters=parameters.PINNED,
            headers=["Content-Location", "Content-Language"],
            links=[company_link("parents/0/societe")],
        ),
        Operation(
            "lookUp", "/api/v1/identifiants/{valeur}", "identifiants", "call", "Companies",
            identifiants, search_answers.Identification, search_answers.IdentificationRefusee, place=160,
            path_parameters=(VALEUR,), tool="look_up", parameters=parameters.PINNED,
            links=[company_link("candidats/0")],
        ),
    ),
)  # fmt: skip
