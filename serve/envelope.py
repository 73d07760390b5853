"""The bytes of the answers of search and record (§2.2, §2.4).

Companies and statements come out of a shard as ready JSON and are joined as they are: nothing of
them is decoded or encoded here. The keys stand in the order of the specification's tables. What a
plan may see is decided in serve/rights.py; which contact fields are null, in shards/record.py.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from quota.plans import Plan
from serve import rights
from serve.rights import Window

COMPTES_MESSAGE: Final = (
    "Les états financiers sont servis aux appels identifiés, dès le compte gratuit : /inscription"
)

_JSON: Final = (b"false", b"true")


def search(plan: Plan, offer: bytes, asked: Window, total: int, rows: Sequence[bytes]) -> bytes:
    """The search envelope; `rows` are companies as the plan may see them."""
    shown = rights.shown(plan, total)
    head = (
        b'{"total":%d,"limit":%d,"offset":%d,"plan":"%s","plafond_resultats":%d,'
        b'"visibles":%d,"tronque":%s,"restantes":%d,"coordonnees":%s,'
        b'"offre_suivante":%s,"apercu":%s,"societes":['
    ) % (
        total,
        rights.effective_limit(asked, total),
        asked.offset,
        plan.slug.encode(),
        plan.resultats_par_recherche,
        shown.visibles,
        _JSON[shown.tronque],
        shown.restantes,
        _JSON[plan.coordonnees],
        offer,
        _JSON[rights.apercu(plan)],
    )
    return b"".join((head, b",".join(rows), b"]}"))


def record(plan: Plan, offer: bytes, societe: bytes, comptes: bytes | None) -> bytes:
    """The record; `comptes` is a JSON array, or None where the company has no statements.

    Exactly one of `comptes` and `comptes_message` is there: a plan with the right gets `comptes`,
    empty if there are none (contract E4).
    """
    if plan.etats_financiers:
        statements = b'"comptes":' + (comptes or b"[]")
    else:
        statements = b'"comptes_message":' + orjson.dumps(COMPTES_MESSAGE)
    return (
        b'{"societe":%s,"plan":"%s",%s,"droits":{"etats_financiers":%s,"coordonnees":%s},'
        b'"offre_suivante":%s}'
    ) % (
        societe,
        plan.slug.encode(),
        statements,
        _JSON[plan.etats_financiers],
        _JSON[plan.coordonnees],
        offer,
    )


def with_erreur(body: bytes, erreur: dict[str, str]) -> bytes:
    """A complete answer with `erreur` beside it, for a call that had no valid key (A1)."""
    return body[:-1] + b',"erreur":' + orjson.dumps(erreur) + b"}"
