"""GET /api/v1/societes/{iso}/{id}: one company (§4.5)."""

import unicodedata
from functools import partial
from typing import Final
from urllib.parse import quote

import orjson

from serve.access import envelope
from serve.access.etag import etag
from serve.access.result import PreparedCall, Request, Response
from serve.api.societes import PRIVATE
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import LONGEST_ID
from serve.data.open_generation import OpenGeneration
from serve.request import params
from serve.request.place_names import PlaceNames, suggestions
from shards.search.reader import Shard

# What bytes that are not UTF-8 have become (serve/api/routes.py); no register uses it.
_NO_TEXT: Final = "\ufffd"


def societe(ask: Request, edition: OpenGeneration) -> PreparedCall:
    """The record of a company, as far as the caller's plan goes."""
    return _work(ask, edition, statements=ask.caller.plan.etats_financiers)


def identite(ask: Request, edition: OpenGeneration) -> PreparedCall:
    """The record without its statements: what a search shows of a company, and so no credits."""
    return _work(ask, edition, statements=None)


def exercices(ask: Request, edition: OpenGeneration) -> list[int]:
    """The years of which the company has statements, the latest first (E5): none if it is absent.

    Raises:
        ApiError: 400, as for the record.
    """
    shard, row = _found(ask, edition)
    comptes = None if row is None else shard.comptes(row)
    years = {line["exercice"] for line in orjson.loads(comptes or b"[]")}
    return sorted(years, reverse=True)


def _work(ask: Request, edition: OpenGeneration, *, statements: bool | None) -> PreparedCall:
    """
    Args:
        statements: with them, with a word on why not, or (None) with neither.

    Looking the company up comes before the tag is compared: `If-None-Match: *` must not make an
    absent company exist. That there is none is an answer, which costs a call (D1).
    """
    shard, row = _found(ask, edition)
    if row is None:
        return PreparedCall(partial(_absent, shard.iso2, ask.segments[1]))
    caller = ask.caller
    plan = caller.plan
    company = f"{shard.iso2}/{shard.company(row)['id']}"
    tag = etag(edition.id, plan.slug, caller.souscrit, ask.offer, company)
    headers = {"ETag": tag, **PRIVATE, "Content-Location": _location(company)}

    async def run() -> Response:
        known = shard.record(row, coordonnees=plan.coordonnees)
        if statements is None:
            return Response(200, envelope.identity(caller, ask.offer, known), headers)
        comptes = shard.comptes(row) if statements else None
        return Response(200, envelope.record(caller, ask.offer, known, comptes), headers)

    def preview(error: ApiError) -> bytes:
        public = shard.record(row, coordonnees=False)
        return envelope.preview(caller, ask.offer, public, error)

    return PreparedCall(run, tag, headers, company if statements else None, preview)


def _found(ask: Request, edition: OpenGeneration) -> tuple[Shard, int | None]:
    """The shard of the country, and the row of the company in it if there is one."""
    params.nothing(ask.pairs)
    word, identifier = ask.segments
    shard = edition.shards[_country(word, edition.names)]
    return shard, shard.find(_checked(identifier))


async def _absent(iso2: str, identifier: str) -> Response:
    raise errors.societe_introuvable(iso2, identifier)


def _country(word: str, names: PlaceNames) -> str:
    iso2 = names.country(word)
    if iso2 is None:
        raise errors.pays_inconnu([word], suggestions([word], names.pays_alike))
    return iso2


def _checked(identifier: str) -> str:
    """An identifier of 1 to 64 characters, none a control character (E1).

    Blanks of any width are well-formed: `552 059 024` is found by its digits (E2).
    """
    if not identifier.strip():
        raise errors.identifiant_invalide("il est vide ; /api/v1/societes/{pays}/{identifiant}")
    if len(identifier) > LONGEST_ID:
        raise errors.identifiant_invalide(f"{len(identifier)} caractères, au plus {LONGEST_ID}")
    if any(unicodedata.category(char) == "Cc" for char in identifier):
        raise errors.identifiant_invalide(f"{identifier!r} contient un caractère de contrôle")
    if _NO_TEXT in identifier:
        raise errors.identifiant_invalide("ce n'est pas de l'UTF-8")
    # One that was typed on a Mac may arrive decomposed; it is the same one.
    return unicodedata.normalize("NFC", identifier)


def _location(company: str) -> str:
    """The one path of a company, whatever code or spelling it was asked for with (B2, E2)."""
    iso2, _, identifier = company.partition("/")
    return f"/api/v1/societes/{iso2}/{quote(identifier, safe='')}"
