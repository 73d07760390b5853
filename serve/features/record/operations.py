"""The operations of a record, and two of their answers: a company (§4.5), and the companies with a number (X6).

`groupe` answers the third. A record without its statements (`identite`) is a tool of assistants.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.company_path import (
    absent_from,
    company_names,
    locate,
    path_of,
    refuse_absent,
    refuse_deleted,
)
from serve.access.rights import Caller, most_rows
from serve.contract import company_answers, errors, parameters, seed_tables
from serve.contract.company_answers import Droits, Fiche
from serve.contract.declaration import ABSENT
from serve.contract.errors import ApiError
from serve.contract.feature import RECORD_PATH, Feature, Operation, company_link
from serve.contract.parameters import ID
from serve.contract.seed_tables import RECORD_CREDITS
from serve.features.record import answers
from serve.features.record.groupe import groupe
from serve.generation.open_generation import OpenGeneration
from serve.request.values import check_identifier
from shards.codec import record
from shards.search import company_numbers

LONGEST_NUMBER: Final = 120  # with its label, and the name of its court or register
VALEUR: Final = replace(
    ID, name="valeur", text="valeur", example="GB09418436", longest=LONGEST_NUMBER
)
# A number without a match is compared with its neighbours in 25 countries: about 30 ms.
_MICROSECONDS: Final = 30_000.0
_PATH: Final = "/api/v1/identifiants/{valeur}"


def societe(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
    """The record of a company, as far as the caller's plan goes; without statements it costs no credits (X0).

    The company is looked up before the tag is compared: `If-None-Match: *` must not make an absent
    company exist. Its absence is an answer, which costs a call (D1), so `run` raises the 404.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return _prepare_record(request, generation, with_statements=True)


def identite(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
    """The record without its statements: what a search shows of a company, at no credits."""
    return _prepare_record(request, generation, with_statements=False)


def exercices(request: Request, generation: OpenGeneration) -> list[int]:
    """The fiscal years of the company's statements, the latest first (E5); none if it is absent.

    Raises:
        ApiError: 400, as for the record.
    """
    shard, row = locate(request, generation)
    comptes = None if row is None else shard.comptes(row)
    years = {line["exercice"] for line in record.lines(comptes)}
    return sorted(years, reverse=True)


def _prepare_record(
    request: Request, generation: OpenGeneration, *, with_statements: bool
) -> PreparedCall[Fiche]:
    generation = generation.at_version_of(request.pairs)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    caller, offer = request.caller, request.offer
    plan = caller.plan
    company = f"{shard.iso2}/{shard.company(row)['id']}"
    served = with_statements and plan.etats_financiers
    # Only a record that says why it has no statements has a text of ours.
    message = errors.text("comptes_d_un_visiteur") if with_statements and not served else None
    lang = request.lang if message else ""
    tag = etag(generation.id, plan.slug, caller.souscrit, offer, company, lang)
    headers = private_headers(tag, generation.id, path=path_of(company), lang=lang)

    async def run() -> "Result[Fiche]":
        identity = shard.record(row, coordonnees=plan.coordonnees)
        statements = (shard.comptes(row) or b"[]") if served else None
        said = message.in_language(lang) if message else None
        content = answer(caller, offer, identity, plan.coordonnees, statements, said)
        return Result(200, content, headers, free=not shard.has_comptes(row))

    def preview(error: ApiError) -> Fiche:
        public = shard.record(row, coordonnees=False)
        said = error.texts.in_language(request.lang)
        return answer(caller, offer, public, contacts=False, message=said)

    cost = RECORD_CREDITS if served else 0
    return PreparedCall(run, tag, headers, company, cost, preview)


def answer(
    caller: Caller,
    offer: bytes,
    company: bytes,
    contacts: bool,
    statements: bytes | None = None,
    message: str | None = None,
) -> Fiche:
    """The record of a company; `droits` are those of this answer (D12).

    Args:
        offer: JSON of `offre_suivante`.
        company: JSON of its identity; `contacts`: whether it has contact values.
        statements: JSON array of its statement lines, `[]` if it has none (E4); None where they are not part of it.
        message: why the statements are withheld; None where they are not, or were not asked for.
    """
    return Fiche(
        societe=company,
        **caller.plan_keys(),
        comptes=ABSENT if statements is None else statements,
        comptes_message=ABSENT if message is None else message,
        droits=Droits(etats_financiers=statements is not None, coordonnees=contacts),
        offre_suivante=offer,
    )


def identifiants(
    request: Request, generation: OpenGeneration
) -> PreparedCall[company_answers.Identification]:
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

    async def run() -> "Result[company_answers.Identification]":
        if not matches.places:
            await refuse_deleted(generation, shards, number)
            near = await generation.in_thread(
                _MICROSECONDS,
                lambda: company_numbers.nearest_companies(
                    shards, number, seed_tables.number_notation()
                ),
            )
            error = errors.no_company("", number, company_names(shards, near))
            raise absent_from(generation, error)
        most = most_rows(plan)
        companies = [shards[iso2].company(row) for iso2, row in matches.places[:most]]
        candidates = [
            company_answers.SocieteNumerotee(iso2=one["iso2"], id=one["id"], nom=one["nom"])
            for one in companies
        ]
        content = company_answers.Identification(type=matches.type, candidats=candidates)
        return Result(200, content, headers)

    # Whoever has the answer of an absent company has none to compare with.
    return PreparedCall(run, tag if matches.places else None, headers)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readCompany", RECORD_PATH, "societe", "call", "Companies",
            societe, Fiche, company_answers.FicheRefusee, company_answers.FicheIndisponible, place=100,
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
            identifiants, company_answers.Identification, company_answers.IdentificationRefusee, place=160,
            path_parameters=(VALEUR,), tool="look_up", parameters=parameters.PINNED,
            links=[company_link("candidats/0")],
        ),
    ),
)  # fmt: skip
