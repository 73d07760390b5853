"""The operations of a record. Two are answered here: a company (§4.5) and the companies with a number (X6).

`groupe` answers the third. `identite`, a record without its statements, serves the tools of assistants.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.company_path import (
    absent_from,
    company_keys,
    locate,
    path_of,
    refuse_absent,
    refuse_deleted,
)
from serve.access.rights import Caller, most_rows
from serve.contract import errors, parameters, seed_tables
from serve.contract.declaration import ABSENT
from serve.contract.errors import ApiError
from serve.contract.feature import RECORD_PATH, Feature, Operation, company_link
from serve.contract.parameters import ID
from serve.contract.record_answers import Droits, Fiche, FicheIndisponible, FicheRefusee
from serve.contract.seed_tables import RECORD_CREDITS
from serve.features.record import answers
from serve.features.record.groupe import groupe
from serve.generation.open_generation import OpenGeneration
from serve.request.values import check_identifier
from shards.codec import record
from shards.search import company_numbers

LONGEST_NUMBER: Final = 120  # characters, with a label and the name of a court or register
VALEUR: Final = replace(
    ID, name="valeur", text="valeur", example="GB09418436", longest=LONGEST_NUMBER
)
# The estimated cost of finding the numbers nearest to an unknown number in 25 countries.
_MICROSECONDS: Final = 30_000.0
_PATH: Final = "/api/v1/identifiants/{valeur}"


def societe(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
    """The record of a company, as far as the plan of the caller allows; without statements it costs no credits (X0).

    The company is looked up before the tag is compared, so that `If-None-Match: *` does not give a 304 for an absent
    company. A 404 is an answer and costs a call (D1), so `run` raises it.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open.
    """
    return _prepare_record(request, generation, with_statements=True)


def identite(request: Request, generation: OpenGeneration) -> PreparedCall[Fiche]:
    """The record without its statements, as a search shows the company; it costs no credits."""
    return _prepare_record(request, generation, with_statements=False)


def exercices(request: Request, generation: OpenGeneration) -> list[int]:
    """The fiscal years of the company's statements, the latest first (E5); empty if the company is absent.

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
    """The call for a record; it charges credits only if the caller may see the statements."""
    generation = generation.pinned_by(request.pairs)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    caller, offer = request.caller, request.offer
    plan = caller.plan
    company = f"{shard.iso2}/{shard.company(row)['id']}"
    shows_statements = with_statements and plan.etats_financiers
    # The answer depends on the language only if it has a message about missing statements.
    message = (
        errors.text("comptes_d_un_visiteur") if with_statements and not shows_statements else None
    )
    lang = request.lang if message else ""
    tag = etag(generation.id, plan.slug, caller.souscrit, offer, company, lang)
    headers = private_headers(tag, generation.id, path=path_of(company), lang=lang)

    async def run() -> "Result[Fiche]":
        """Read the record; without statements in the register it costs no credits."""
        identity = shard.record(row, coordonnees=plan.coordonnees)
        statements = (shard.comptes(row) or b"[]") if shows_statements else None
        reason = message.translation(lang) if message else None
        content = make_record(caller, offer, identity, plan.coordonnees, statements, reason)
        return Result(200, content, headers, free=not shard.has_comptes(row))

    def preview(error: ApiError) -> Fiche:
        """The public record, sent with the error if the company could not be charged."""
        public = shard.record(row, coordonnees=False)
        reason = error.texts.translation(request.lang)
        return make_record(caller, offer, public, contacts=False, message=reason)

    cost = RECORD_CREDITS if shows_statements else 0
    return PreparedCall(run, tag, headers, company, cost, preview)


def make_record(
    caller: Caller,
    offer: bytes,
    company: bytes,
    contacts: bool,
    statements: bytes | None = None,
    message: str | None = None,
) -> Fiche:
    """Make the record of a company; its `droits` are those of this answer (D12).

    Args:
        offer: JSON of `offre_suivante`.
        company: JSON of its identity; `contacts`: whether it has contact values.
        statements: JSON array of its statement lines, `[]` if it has none (E4); None to leave them out.
        message: why the statements are withheld; None if they are not, or were not requested.
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
) -> PreparedCall[answers.Identification]:
    """Find the companies with a number, at most as many as the plan shows in a search.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open.
    """
    generation = generation.pinned_by(request.pairs)
    number = check_identifier(request.segments[0], LONGEST_NUMBER, _PATH)
    plan = request.caller.plan
    shards = generation.shards
    matches = company_numbers.find(shards, number, seed_tables.number_notation())
    tag = etag(generation.id, plan.slug, request.caller.souscrit, "identifiants", number)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[answers.Identification]":
        """The companies with the number. Raises ApiError 404, with similar numbers, if there are none."""
        if not matches.places:
            await refuse_deleted(generation, shards, number)
            nearest = await generation.run(
                _MICROSECONDS,
                lambda: company_numbers.nearest_companies(
                    shards, number, seed_tables.number_notation()
                ),
            )
            error = errors.no_company("", number, company_keys(shards, nearest))
            raise absent_from(generation, error)
        most_candidates = most_rows(plan)
        companies = [shards[iso2].company(row) for iso2, row in matches.places[:most_candidates]]
        candidates = [
            answers.SocieteNumerotee(iso2=company["iso2"], id=company["id"], nom=company["nom"])
            for company in companies
        ]
        content = answers.Identification(type=matches.type, candidats=candidates)
        return Result(200, content, headers)

    # A number without a company gets a 404, which has no tag.
    return PreparedCall(run, tag if matches.places else None, headers)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readCompany", RECORD_PATH, "societe", "call", "Companies",
            societe, Fiche, FicheRefusee, FicheIndisponible, place=100,
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
            identifiants, answers.Identification, answers.IdentificationRefusee, place=160,
            path_parameters=(VALEUR,), tool="look_up", parameters=parameters.PINNED,
            links=[company_link("candidats/0")],
        ),
    ),
)  # fmt: skip
