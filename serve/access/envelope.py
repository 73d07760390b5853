"""The results of search and record, and their bytes (§2.2, §2.4).

Companies and statements come out of a shard as JSON and are joined as they are: encoding a result
decodes nothing. A page or a tool decodes them once. The keys and their order are those of the objects
in `serve/contract`. `serve/access/rights.py` decides what a plan may see; the search that joins
records sets the contact fields to null.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from serve.access import rights
from serve.access.rights import Caller, Window
from serve.contract.answers import activities_of
from serve.contract.company_answers import Droits, Fiche, Recherche, TexteVoulu
from serve.contract.declaration import ABSENT
from serve.contract.errors import ApiError
from shards.codec import record as codec
from shards.suggest.proposals import NearestText, ProposedSearch

_REFUSED_KEY: Final = 401
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class SearchResult(NamedTuple):
    """A page of a search, as the caller's plan may see it.

    Attributes:
        offer: JSON of `offre_suivante`.
        total: companies that match, whatever the plan.
        rows: JSON of the companies of the page, joined by commas.
        sans_donnees: the countries named by the search of which there is no company at all (X9).
        ids_inconnus: the items of `ids` that name no company, None where it was not sent (X2).
        vouliez_vous_dire: where nothing is found, what the `q` of the search may have meant (X4).
        activites: the classes that the words of `activite` name (X13).
        recherches_proposees: where nothing is found, searches by activity and town (X13).
        noms_trouves: by country and identifier (`UK:00944111`), the former name that `q` found (X4).
    """

    caller: Caller
    offer: bytes
    window: Window
    total: int
    rows: bytes
    sans_donnees: Sequence[str] = ()
    ids_inconnus: Sequence[str] | None = None
    noms_trouves: Mapping[str, str] = _NONE
    vouliez_vous_dire: Sequence[NearestText] = ()
    activites: Sequence[str] = ()
    recherches_proposees: Sequence[ProposedSearch] = ()

    @property
    def limit(self) -> int:
        return rights.effective_limit(self.window, self.total)

    @property
    def offset(self) -> int:
        return self.window.offset

    @property
    def visibles(self) -> int:
        return rights.visible_window(self.caller.plan, self.total).visibles

    @property
    def tronque(self) -> bool:
        return rights.visible_window(self.caller.plan, self.total).tronque

    @property
    def coordonnees(self) -> bool:
        return self.caller.plan.coordonnees

    @property
    def apercu(self) -> bool:
        return rights.apercu(self.caller.plan)

    def companies(self) -> list[dict[str, Any]]:
        """The companies of the page, decoded."""
        return codec.companies(self.rows)

    def json(self) -> bytes:
        """The envelope of §2.2, with those of the further keys that have something to say."""
        caller, plan, total = self.caller, self.caller.plan, self.total
        shown = rights.visible_window(plan, total)
        return Recherche(
            total=total,
            limit=self.limit,
            offset=orjson.Fragment(b"%d" % self.offset),
            **_paid_plan(plan.slug, caller.souscrit),
            plafond_resultats=plan.resultats_par_recherche,
            visibles=shown.visibles,
            tronque=shown.tronque,
            restantes=shown.restantes,
            coordonnees=plan.coordonnees,
            offre_suivante=orjson.Fragment(self.offer),
            apercu=self.apercu,
            societes=orjson.Fragment(b"[%b]" % self.rows),
            **self._further_keys(),
        ).json()

    def _further_keys(self) -> dict[str, Any]:
        """The values of the further keys that have something to say."""
        meant = [TexteVoulu(q=one.q, total=one.total) for one in self.vouliez_vous_dire]
        # As dictionaries, since only an answer itself leaves out what is absent.
        proposed = [one.filters() for one in self.recherches_proposees]
        found = {
            "pays_sans_donnees": self.sans_donnees or None,
            "ids_inconnus": self.ids_inconnus,
            "noms_trouves": self.noms_trouves or None,
            "vouliez_vous_dire": meant or None,
            "activites_comprises": activities_of(self.activites) or None,
            "recherches_proposees": proposed or None,
        }
        return {name: value for name, value in found.items() if value is not None}


class Record(NamedTuple):
    """One company, as the caller may see it.

    Attributes:
        company: JSON of its identity.
        contacts: whether the identity has contact values.
        statements: JSON array of its statement lines, `[]` if it has none (E4); None where they are
            not part of this result.
        message: why the statements are withheld, in the language of the caller; None where they are served, or were
            not asked for.
    """

    caller: Caller
    offer: bytes
    company: bytes
    contacts: bool
    statements: bytes | None = None
    message: str | None = None

    def societe(self) -> Any:
        """The identity, decoded."""
        return codec.company(self.company)

    def comptes(self) -> list[dict[str, Any]]:
        """The statement lines, decoded; none where they are not part of this result."""
        return codec.lines(self.statements)

    def json(self) -> bytes:
        """The record of §2.4, with `comptes`, `comptes_message` or neither; `droits` are those of this answer (D12)."""
        lines, message = self.statements, self.message
        return Fiche(
            societe=orjson.Fragment(self.company),
            **_paid_plan(self.caller.plan.slug, self.caller.souscrit),
            comptes=ABSENT if lines is None else orjson.Fragment(lines),
            comptes_message=ABSENT if message is None or lines is not None else message,
            droits=Droits(etats_financiers=lines is not None, coordonnees=self.contacts),
            offre_suivante=orjson.Fragment(self.offer),
        ).json()


def with_error(body: bytes, error: ApiError, lang: str) -> bytes:
    """A JSON object with `erreur`, and the keys that belong to it, added.

    The refusal of a key comes last, after the visitor's complete result (A1). The refusal of a charge
    comes first, before the preview that is left of the record (D10, G9).
    """
    erreur = b'"erreur":%s' % orjson.dumps(error.erreur(lang))
    extra = b"".join(b",%s:%s" % (orjson.dumps(k), orjson.dumps(v)) for k, v in error.extra.items())
    if error.status == _REFUSED_KEY:
        return b"%s,%s%s}" % (body[:-1], erreur, extra)
    return b"{%s,%s%s}" % (erreur, body[1:-1], extra)


def _paid_plan(plan: str, souscrit: str | None) -> dict[str, Any]:
    """The effective plan, and the plan that is paid for if the API tool is missing from it (A7)."""
    paid = {} if souscrit is None else {"plan_souscrit": souscrit, "outil_api": False}
    return {"plan": plan, **paid}
