"""The bytes of the answers of search and record (§2.2, §2.4).

Companies and statements come out of a shard as ready JSON and are joined as they are: nothing of
them is decoded or encoded here. The keys stand in the order of the specification's tables. What a
plan may see is decided in serve/access/rights.py; which contact fields are null, in shards/codec/record.py.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from serve.access import rights
from serve.access.caller import Caller
from serve.access.rights import Window
from serve.contract.errors import ApiError

COMPTES_MESSAGE: Final = (
    "Les états financiers sont servis aux appels identifiés, dès le compte gratuit : /inscription"
)
CREDITS_MESSAGE: Final = (
    "Les crédits du mois et les packs sont épuisés : l'identité publique reste servie, les états "
    "financiers reprennent le mois prochain ou après l'achat d'un pack : /tarifs"
)

_JSON: Final = (b"false", b"true")


def search(caller: Caller, offer: bytes, asked: Window, total: int, rows: Sequence[bytes]) -> bytes:
    """The search envelope; `rows` are companies as the plan may see them."""
    plan = caller.plan
    shown = rights.shown(plan, total)
    head = (
        b'{"total":%d,"limit":%d,"offset":%d,"plan":%s,"plafond_resultats":%d,'
        b'"visibles":%d,"tronque":%s,"restantes":%d,"coordonnees":%s,'
        b'"offre_suivante":%s,"apercu":%s,"societes":['
    ) % (
        total,
        rights.effective_limit(asked, total),
        asked.offset,
        _plan(caller),
        plan.resultats_par_recherche,
        shown.visibles,
        _JSON[shown.tronque],
        shown.restantes,
        _JSON[plan.coordonnees],
        offer,
        _JSON[rights.apercu(plan)],
    )
    # Head and end go with the first row and the last, so that the page is copied once.
    pieces = list(rows) or [b""]
    pieces[0] = head + pieces[0]
    pieces[-1] += b"]}"
    return b",".join(pieces)


def record(caller: Caller, offer: bytes, societe: bytes, comptes: bytes | None) -> bytes:
    """The record; `comptes` is a JSON array, or None where the company has no statements.

    Exactly one of `comptes` and `comptes_message` is there: a plan with the right gets `comptes`,
    empty if there are none (contract E4).
    """
    plan = caller.plan
    if plan.etats_financiers:
        statements = b'"comptes":' + (comptes or b"[]")
    else:
        statements = b'"comptes_message":' + orjson.dumps(COMPTES_MESSAGE)
    return b'{"societe":%s,"plan":%s,%s,"droits":%s,"offre_suivante":%s}' % (
        societe,
        _plan(caller),
        statements,
        _droits(plan.etats_financiers, plan.coordonnees),
        offer,
    )


def identity(caller: Caller, offer: bytes, societe: bytes) -> bytes:
    """The record without statements, for who did not ask for them."""
    return b'{"societe":%s,"plan":%s,"droits":%s,"offre_suivante":%s}' % (
        societe,
        _plan(caller),
        _droits(False, caller.plan.coordonnees),
        offer,
    )


def preview(caller: Caller, offer: bytes, societe: bytes, error: ApiError) -> bytes:
    """What is left of a record that could not be charged: its public identity (D10, G9)."""
    return (
        b'{"erreur":%s,"societe":%s,"plan":%s,"comptes_message":%s,"droits":%s,'
        b'"offre_suivante":%s%s}'
    ) % (
        orjson.dumps(error.erreur),
        societe,
        _plan(caller),
        orjson.dumps(CREDITS_MESSAGE if error.extra else error.message),
        _droits(False, False),
        offer,
        b"".join(b",%s:%s" % (orjson.dumps(k), orjson.dumps(v)) for k, v in error.extra.items()),
    )


def _plan(caller: Caller) -> bytes:
    """The effective plan, and the one paid for where the API tool is missing to it (A7)."""
    slug = b'"%s"' % caller.plan.slug.encode()
    if caller.souscrit is None:
        return slug
    return slug + b',"plan_souscrit":"%s","outil_api":false' % caller.souscrit.encode()


def _droits(etats_financiers: bool, coordonnees: bool) -> bytes:
    return b'{"etats_financiers":%s,"coordonnees":%s}' % (
        _JSON[etats_financiers],
        _JSON[coordonnees],
    )


def with_erreur(body: bytes, erreur: dict[str, str]) -> bytes:
    """A complete answer with `erreur` beside it, for a call that had no valid key (A1)."""
    return body[:-1] + b',"erreur":' + orjson.dumps(erreur) + b"}"
