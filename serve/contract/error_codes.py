"""The error codes (§7, contract G7), declared once: HTTP status, meaning, keys beside `erreur`.

`serve/contract/errors.py` has one function per code and takes the status from here; /openapi.json
documents the rest. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Code(NamedTuple):
    """An error code. `extra`: keys that may stand beside `erreur` (G6); `meaning`: for documents."""

    status: int
    meaning: str
    extra: tuple[str, ...] = ()


CODES: Final[Mapping[str, Code]] = MappingProxyType({
    "pays_inconnu": Code(
        400,
        "a country (pays) that was sent is unknown",
        ("pays_inconnus", "secteurs_inconnus", "sous_secteurs_inconnus", "suggestions"),
    ),
    "secteur_inconnu": Code(
        400,
        "a sector (secteur) or sub-sector is unknown, or the sector is missing where one is needed",
        ("secteurs_inconnus", "sous_secteurs_inconnus", "suggestions"),
    ),
    "forme_inconnue": Code(
        400, "a legal form (forme) that no company has", ("formes_inconnues", "suggestions")
    ),
    "nace_inconnu": Code(
        400, "a code that NACE does not have", ("nace_inconnus", "suggestions")
    ),
    "parametre_invalide": Code(
        400,
        "the value of a parameter cannot be used",
        ("parametre", "valeurs", "suggestions"),
    ),
    "parametre_inconnu": Code(
        400,
        "a parameter that the route does not have",
        ("parametres_inconnus", "parametres_admis", "suggestions"),
    ),
    "identifiant_invalide": Code(400, "the identifier is empty, too long or not text"),
    "ligne_invalide": Code(
        400, "a line of a list cannot be matched; in the place of its answer, the others are served"
    ),
    "corps_invalide": Code(400, "the body is not a JSON object"),
    "cle_invalide": Code(
        401, "the key is not valid; the call is served as a visitor's, in the same body"
    ),
    "compte_requis": Code(401, "only for accounts: a valid key is needed"),
    "credits_epuises": Code(
        402, "the credits of the month and of all packs are used up", ("credits",)
    ),
    "module_non_inclus": Code(403, "a module that the plan lacks", ("module", "offre")),
    "essai_epuise": Code(
        403, "the trial of a module is used up", ("analyses", "offre", "reinitialisation")
    ),
    "societe_introuvable": Code(404, "no such company", ("proches",)),
    "route_inconnue": Code(404, "no such path"),
    "methode_non_autorisee": Code(405, "the path does not have this method; see `Allow`"),
    "format_non_acceptable": Code(
        406, "the header `Accept` names no type that the file can have; `format` goes before it", ("valeurs",)
    ),
    "version_expiree": Code(
        409,
        "the generation that was named is not kept any more: begin anew with one that is",
        ("version", "versions"),
    ),
    "corps_trop_grand": Code(413, "the body is too large"),
    "uri_trop_longue": Code(414, "the request line is too long"),
    "type_non_supporte": Code(415, "the body is not of type application/json"),
    "attente_refusee": Code(417, "the header `Expect` asks for something else than `100-continue`"),
    "quota_api": Code(429, "the calls of the day are used up, until midnight UTC", ("quota",)),
    "quota_export": Code(429, "the exports of the month are used up", ("quota",)),
    "trop_de_requetes": Code(
        429,
        "too many requests in a minute or, without a key, in a day, or too many exports at once; "
        "see `Retry-After`",
        ("quota",),
    ),
    "erreur_interne": Code(500, "a fault of the service; nothing was counted"),
    "indisponible": Code(503, "cannot be answered for the moment; nothing was counted, retry"),
    "config": Code(503, "not set up on this server; nothing was counted"),
})  # fmt: skip


def of_status(status: int) -> list[str]:
    """The codes with an HTTP status.

    >>> of_status(404)
    ['societe_introuvable', 'route_inconnue']
    """
    return [code for code, declared in CODES.items() if declared.status == status]
