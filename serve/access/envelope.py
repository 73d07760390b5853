"""The results of search and record, and their bytes (§2.2, §2.4).

Companies and statements come out of a shard as JSON and are joined as they are: encoding a result
decodes nothing. A page or a tool decodes them once. Keys stand in the order of the specification's
tables. `serve/access/rights.py` decides what a plan may see; `shards/codec/record.py` sets the contact
fields to null.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from serve.access import rights
from serve.access.caller import Caller
from serve.access.rights import Window
from serve.contract.errors import ApiError
from shards.codec import record as codec
from shards.search.suggest.spelling import Meant

COMPTES_MESSAGE: Final = (
    "Les états financiers sont servis aux appels identifiés, dès le compte gratuit : /inscription"
)
CREDITS_MESSAGE: Final = (
    "Les crédits du mois et les packs sont épuisés : l'identité publique reste servie, les états "
    "financiers reprennent le mois prochain ou après l'achat d'un pack : /tarifs"
)

_JSON: Final = (b"false", b"true")
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
    vouliez_vous_dire: Sequence[Meant] = ()

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
        """The envelope of §2.2, and those of the further keys that have something to say."""
        plan = self.caller.plan
        shown = rights.visible_window(plan, self.total)
        return (
            b'{"total":%d,"limit":%d,"offset":%d,"plan":%s,"plafond_resultats":%d,'
            b'"visibles":%d,"tronque":%s,"restantes":%d,"coordonnees":%s,'
            b'"offre_suivante":%s,"apercu":%s,"societes":[%b]%b}'
        ) % (
            self.total,
            self.limit,
            self.window.offset,
            _plan(self.caller),
            plan.resultats_par_recherche,
            shown.visibles,
            _JSON[shown.tronque],
            shown.restantes,
            _JSON[plan.coordonnees],
            self.offer,
            _JSON[self.apercu],
            self.rows,
            self._end(),
        )

    def _end(self) -> bytes:
        if (
            not (self.sans_donnees or self.noms_trouves or self.vouliez_vous_dire)
            and self.ids_inconnus is None
        ):
            return b""
        further = {
            "pays_sans_donnees": self.sans_donnees or None,
            "ids_inconnus": self.ids_inconnus,
            "noms_trouves": self.noms_trouves or None,
            "vouliez_vous_dire": [one._asdict() for one in self.vouliez_vous_dire] or None,
        }
        said = {name: value for name, value in further.items() if value is not None}
        return b"," + orjson.dumps(said)[1:-1]


class Record(NamedTuple):
    """One company, as the caller may see it.

    Attributes:
        company: JSON of its identity.
        contacts: whether the identity has contact values.
        statements: JSON array of its statement lines, `[]` if it has none (E4); None where they are
            not part of this result.
        message: why the statements are withheld; None where they are served, or were not asked for.
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
        """The record of §2.4, with `comptes`, `comptes_message` or neither."""
        middle = b""
        if self.statements is not None:
            middle = b'"comptes":%s,' % self.statements
        elif self.message is not None:
            middle = b'"comptes_message":%s,' % orjson.dumps(self.message)
        return (
            b'{"societe":%s,"plan":%s,%s"droits":{"etats_financiers":%s,"coordonnees":%s},'
            b'"offre_suivante":%s}'
        ) % (
            self.company,
            _plan(self.caller),
            middle,
            _JSON[self.statements is not None],
            _JSON[self.contacts],
            self.offer,
        )


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


def _plan(caller: Caller) -> bytes:
    """The effective plan, and the plan that is paid for if the API tool is missing from it (A7)."""
    slug = b'"%s"' % caller.plan.slug.encode()
    if caller.souscrit is None:
        return slug
    return slug + b',"plan_souscrit":"%s","outil_api":false' % caller.souscrit.encode()
