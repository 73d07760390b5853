"""GET /api/v1/societes/{iso}/{id}: one company (§4.5)."""

import unicodedata
from typing import Final
from urllib.parse import quote

from serve import envelope, errors, params
from serve.answer import Answer, Ask, not_modified
from serve.edition import Edition
from serve.etag import etag, matches
from serve.names import Names
from serve.societes import PRIVATE, meters
from serve.suggest import suggestions

LONGEST_ID: Final = 64  # characters (E1)


def societe(ask: Ask, edition: Edition) -> Answer:
    """The record of a company, as far as the caller's plan goes.

    Looking the company up comes before the tag is compared: `If-None-Match: *` must not make an
    absent company exist. Reading it comes after.
    """
    params.nothing(ask.pairs)
    word, identifier = ask.segments
    iso2 = _country(word, edition.names)
    shard = edition.shards[iso2]
    row = shard.find(_checked(identifier))
    if row is None:
        raise errors.societe_introuvable(iso2, identifier)
    plan = ask.caller.plan
    tag = etag(edition.id, plan.slug, ask.offer, iso2, row)
    headers = {"ETag": tag, **PRIVATE, **meters(plan)}
    headers |= {"Content-Location": _location(iso2, shard.company(row)["id"])}
    if matches(ask.if_none_match, tag):
        return not_modified(headers)
    body = envelope.record(
        plan,
        ask.offer,
        shard.record(row, coordonnees=plan.coordonnees),
        shard.comptes(row) if plan.etats_financiers else None,
    )
    return Answer(200, body, headers)


def _country(word: str, names: Names) -> str:
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
    return identifier


def _location(iso2: str, identifier: str) -> str:
    """The one path of a company, whatever code or spelling it was asked for with (B2, E2)."""
    return f"/api/v1/societes/{iso2}/{quote(identifier, safe='')}"
