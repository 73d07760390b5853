"""The errors of the API: one function per code of §7 and contract G7, and one per further message of a code.

The messages are French and English (X0), name the value and the remedy, and stand in tables/errors.csv; why something
cannot be used stands in tables/refusals.csv, what only pages say in surfaces/site/page_errors.csv. A row without a code
is a part of a message.
tables/error_codes.csv has the status of a code and the keys beside `erreur` (G6). serve/http turns an ApiError into a
response.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from serve.contract import seed_tables
from serve.contract.secret_mask import mask_keys
from serve.contract.text import TABLES, Text, ending, read_rows, read_texts

Suggestions = Mapping[str, Sequence[str]]

LANGUAGES: Final = ("fr", "en")  # the first is the default

# Seconds until a client should retry after a passing fault: a build publishes by one rename, and the
# store of counters is reopened by itself.
RETRY_AFTER: Final = "5"


class Code(NamedTuple):
    """An error code. `extra`: keys that may stand beside `erreur` (G6); `meaning`: for documents."""

    status: int
    meaning: Text
    extra: tuple[str, ...] = ()


CODES: Final[Mapping[str, Code]] = MappingProxyType({
    row["code"]: Code(
        int(row["status"]), Text(row["fr"], row["en"]), tuple(row["extra"].split())
    )
    for row in read_rows(TABLES / "error_codes.csv")
})  # fmt: skip

# The code and the text of each message.
MESSAGES: Final[Mapping[str, tuple[str, Text]]] = {
    row["name"]: (row["code"], Text(row["fr"], row["en"]))
    for row in read_rows(TABLES / "errors.csv")
}
_REFUSALS: Final = read_texts(TABLES / "refusals.csv")

# Names of the parts of a request that are no parameters.
PARTS: Final = frozenset(("chaîne de requête", "en-tête", "requête"))

_NOTHING: Final[Mapping[str, Any]] = {}


class ApiError(Exception):
    """A response `{"erreur": {"code", "message"}, **extra}` with an HTTP status and headers.

    tables/error_codes.csv declares the status of the code and the keys of `extra`.

    Attributes:
        texts: the message in French and in English.

    It repeats what was sent, but for keys: one may be there by mistake (A5).
    """

    def __init__(
        self,
        code: str,
        texts: Text,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.status = CODES[code].status
        self.texts = Text(*map(mask_keys, texts))
        super().__init__(f"{self.status} {code}: {self.texts.fr}")
        self.code = code
        self.headers = dict(headers or {})
        self.extra: dict[str, Any] = mask_keys(extra)

    @property
    def message(self) -> str:
        """The message in French."""
        return self.texts.fr

    def body(self, lang: str) -> bytes:
        """The JSON object (§2.6) in one of LANGUAGES."""
        return orjson.dumps({"erreur": self.erreur(lang), **self.extra})

    def add_remedy(self, remedy: Text | None) -> None:
        """Another sentence of the message; None adds nothing."""
        if remedy is not None:
            self.texts = _message("faute_et_remede", error=self.texts, remedy=remedy)

    def erreur(self, lang: str) -> dict[str, str]:
        return {"code": self.code, "message": self.texts.in_language(lang)}


def why(name: str, /, **values: object) -> Text:
    """Why what was sent cannot be used: the part of a message that says so (tables/refusals.csv)."""
    return _REFUSALS[name].fill(**values)


def part(name: str, /, **values: object) -> Text:
    """A part of a message that is chosen elsewhere: a row of tables/errors.csv without a code."""
    return _message(name, **values)


def _message(name: str, /, **values: object) -> Text:
    return MESSAGES[name][1].fill(**values)


def _error(
    name: str,
    extra: Mapping[str, Any] = _NOTHING,
    headers: Mapping[str, str] = _NOTHING,
    /,
    **values: object,
) -> ApiError:
    """The error with the message of that name; `extra`: the keys beside `erreur`."""
    return ApiError(MESSAGES[name][0], _message(name, **values), headers=headers, **extra)


NO_GENERATION: Final = _message("sans_generation")
STORE_CLOSED: Final = _message("magasin_ferme")
READING: Final = _message("en_lecture")
NO_COUNTERS: Final = _message("sans_compteurs")
NO_CHANGES: Final = _message("sans_modifications")
NO_ROOM: Final = _message("sans_place")
NO_WORKBOOK: Final = _message("sans_fichier")
# Why the record of a visitor has no statements: that is no refusal (A6).
COMPTES_MESSAGE: Final = _message("comptes_d_un_visiteur")


# -- 400: the request ------------------------------------------------------------


def pays_inconnu(unknown: Sequence[str], suggestions: Suggestions, **others: Any) -> ApiError:
    """Unknown countries. `others`: the arrays of sectors that are unknown too (contract B4)."""
    extra = {"pays_inconnus": unknown, "suggestions": suggestions, **others}
    names = seed_tables.country_names()
    meant = [
        (names[code][0], names[code][1], code)
        for word in unknown
        for code in suggestions.get(word, ())
        if code in names
    ]
    if not meant:
        return _error("pays_inconnu", extra, unknown=_quote(unknown))
    french, english = (
        ", ".join(dict.fromkeys(f"{one[place]} ({one[2]})" for one in meant)) for place in (0, 1)
    )
    return _error(
        "pays_inconnu_propose", extra, unknown=_quote(unknown), meant=Text(french, english)
    )


def secteur_inconnu(
    unknown: Sequence[str], suggestions: Suggestions, sous_secteurs: Sequence[str] = ()
) -> ApiError:
    """Unknown sectors, unknown sub-sectors (contract B8), or both."""
    extra: dict[str, Any] = {"secteurs_inconnus": unknown}
    texts = []
    if unknown:
        texts.append(_message("secteur_inconnu", unknown=_quote(unknown)))
    if sous_secteurs:
        extra["sous_secteurs_inconnus"] = sous_secteurs
        texts.append(_message("sous_secteur_inconnu", unknown=_quote(sous_secteurs)))
    text = Text(". ".join(one.fr for one in texts), ". ".join(one.en for one in texts))
    return ApiError("secteur_inconnu", text, suggestions=suggestions, **extra)


def secteur_requis() -> ApiError:
    """`/sous-secteurs` without a sector (contract G4)."""
    return _error("secteur_requis", {"secteurs_inconnus": []})


def forme_inconnue(unknown: Sequence[str], suggestions: Suggestions) -> ApiError:
    """Legal forms that no company of the generation has (extensions X2)."""
    extra = {"formes_inconnues": unknown, "suggestions": suggestions}
    return _error("forme_inconnue", extra, unknown=_quote(unknown))


def nace_inconnu(unknown: Sequence[str], suggestions: Suggestions) -> ApiError:
    """Codes that NACE does not have (extensions X2)."""
    extra = {"nace_inconnus": unknown, "suggestions": suggestions}
    return _error("nace_inconnu", extra, unknown=_quote(unknown))


def activite_inconnue(unknown: Sequence[str], suggestions: Suggestions) -> ApiError:
    """Words that no label and no index term of a class of NACE has together (extensions X13)."""
    extra = {"activites_inconnues": unknown, "suggestions": suggestions}
    return _error("activite_inconnue", extra, unknown=_quote(unknown))


def parametre_invalide(name: str, why: Text, **extra: Any) -> ApiError:
    """A parameter, or a part of the request that is none and has a French and an English name."""
    shown = MESSAGES[name][1] if name in PARTS else name
    return _error("parametre_invalide", {"parametre": name, **extra}, name=shown, why=why)


def parametre_inconnu(
    unknown: Sequence[str], allowed: Sequence[str], suggestions: Suggestions
) -> ApiError:
    """Unknown names, never their values: one may be a key put into the URL (contract A5)."""
    names = ", ".join(allowed)
    remedy = (
        _message("parametres_admis", names=names) if allowed else _message("parametres_absents")
    )
    extra = {
        "parametres_inconnus": unknown,
        "parametres_admis": allowed,
        "suggestions": suggestions,
    }
    return _error("parametre_inconnu", extra, unknown=_quote(unknown), allowed=remedy)


def identifiant_invalide(why: Text) -> ApiError:
    return _error("identifiant_invalide", why=why)


def corps_invalide(why: Text) -> ApiError:
    return _error("corps_invalide", why=why)


def ligne_invalide(why: Text) -> ApiError:
    """A line of a list that cannot be matched (extensions X5); its answer has the error, not the response."""
    return _error("ligne_invalide", why=why)


# -- 401 to 403: the caller --------------------------------------------------------


def cle_invalide(*, served: bool = True, address: str = "") -> ApiError:
    """One text for every bad key: revoked and unknown keys must look the same (contract A4).

    Args:
        served: what a visitor gets is beside the error.
        address: the open reconciliation address, where another one was called that is not valid (extensions X5).
    """
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"', "Cache-Control": "no-store"}
    if address:
        return _error("adresse_invalide", _NOTHING, headers, address=address)
    if served:
        return _error("cle_invalide", _NOTHING, headers)
    return _error("cle_sans_reponse", _NOTHING, headers)


def compte_requis(*, refused: bool) -> ApiError:
    """A resource that visitors cannot have (§7). `refused`: a key was sent, but is not valid."""
    challenge = 'Bearer error="invalid_token"' if refused else "Bearer"  # RFC 6750 §3.1
    return _error("compte_requis", _NOTHING, {"WWW-Authenticate": challenge})


def lignes_d_un_visiteur(lines: int) -> ApiError:
    """A line that a visitor sent after the first `lines`; its answer has the error, not the response."""
    return _error("lignes_d_un_visiteur", lines=lines)


def credits_epuises(
    cout: int, solde: int, reinitialisation: str, remedy: Text | None = None
) -> ApiError:
    """`remedy`: another way on than to wait and to buy a pack."""
    credits = {"cout": cout, "solde": solde, "reinitialisation": reinitialisation}
    error = _error("credits_epuises", {"credits": credits}, **credits)
    error.add_remedy(remedy)
    return error


def module_non_inclus(
    module: str, offre: str, tool_price: object = None, own: Text | None = None
) -> ApiError:
    """The plan `offre` has the module.

    Args:
        tool_price: that of the API tool, if keys need it to have the module on that plan (A7).
        own: the name of that plan, where the caller has it without the tool.
    """
    extra = {"module": module, "offre": offre}
    if own is not None:
        beside = {**extra, "outil_api": False}
        return _error("module_sans_outil", beside, module=module, plan=own, price=tool_price)
    error = _error("module_non_inclus", extra, **extra)
    if tool_price is not None:
        error.add_remedy(_message("outil_necessaire", price=tool_price))
    return error


def essai_epuise(analyses: int, offre: str, reinitialisation: str) -> ApiError:
    extra = {"analyses": analyses, "offre": offre, "reinitialisation": reinitialisation}
    return _error("essai_epuise", extra, **extra)


# -- 404 to 417: the resource --------------------------------------------------------


def societe_introuvable(iso2: str, identifiant: str, proches: Sequence[str] = ()) -> ApiError:
    """No company, or several that it could be; `proches`: the nearest ones, as `UK:00944111`."""
    if proches:
        remedy = _message("proches", proches=", ".join(proches))
    else:
        country = f"pays={iso2}&" if iso2 else ""
        remedy = _message("recherche", path=f"/api/v1/societes?{country}q=…")
    values = {"identifiant": identifiant, "remedy": remedy}
    if iso2:
        return _error("societe_introuvable_du_pays", {"proches": proches}, iso2=iso2, **values)
    return _error("societe_introuvable", {"proches": proches}, **values)


def societe_supprimee(iso2: str, identifiant: str, date: str | None) -> ApiError:
    """A company that was deleted; `date`: that of the data that lack it."""
    extra: dict[str, Any] = {"proches": [], "supprimee_le": date}
    values = {"iso2": iso2, "identifiant": identifiant}
    if date:
        return _error("societe_supprimee_le", extra, date=date, **values)
    return _error("societe_supprimee", extra, **values)


def route_inconnue(path: str, routes: Sequence[str]) -> ApiError:
    """
    Args:
        routes: the names below /api/v1 (`Product.unknown_path`).
    """
    return _error("route_inconnue", path=path[:100], routes=", ".join(routes))


def methode_non_autorisee(method: str, allowed: str) -> ApiError:
    return _error(
        "methode_non_autorisee", _NOTHING, {"Allow": allowed}, method=method, allowed=allowed
    )


def format_non_acceptable(accepted: str, types: Sequence[str]) -> ApiError:
    """No format of an export is one of `Accept` (X7)."""
    shown = {"accepted": accepted[:100], "types": ", ".join(types)}
    return _error("format_non_acceptable", {"valeurs": types}, **shown)


def version_expiree(version: str, versions: Sequence[str]) -> ApiError:
    """`version` is closed; `versions` are the generations that can still be requested (G10)."""
    extra = {"version": version, "versions": versions}
    return _error("version_expiree", extra, version=version, versions=", ".join(versions))


def trop_ancienne(version: str, current: str) -> ApiError:
    """No known chain of changes leads from `version` to the current generation."""
    extra = {"version": version, "versions": [current]}
    return _error("trop_ancienne", extra, version=version, current=current)


def corps_trop_grand(limit: int, most: int = 0) -> ApiError:
    """A body of more than `limit` bytes; `most`: those that a caller with a key may send, where they are more."""
    if most > limit:
        return _error("corps_trop_grand_sans_compte", limit=limit, most=most)
    return _error("corps_trop_grand", limit=limit)


def trop_de_lignes(count: int, most: int) -> ApiError:
    return _error("trop_de_lignes", count=count, most=most)


def uri_trop_longue(limit: int) -> ApiError:
    """The path is not known, so the advice must be right for every route."""
    return _error("uri_trop_longue", limit=limit)


def type_non_supporte(media_type: str, wanted: str = "application/json") -> ApiError:
    return _error("type_non_supporte", media_type=media_type, wanted=wanted)


def codage_non_supporte(coding: str) -> ApiError:
    """A compressed body: `type_non_supporte`."""
    return _error("codage_non_supporte", coding=coding[:100])


def attente_refusee(expected: str) -> ApiError:
    return _error("attente_refusee", expected=expected[:100])


# -- 429: the limits -----------------------------------------------------------------


def quota_api(quota: Mapping[str, Any], retry_after: int, remedy: Text) -> ApiError:
    """`remedy` names the next plan and its figure, or another way on."""
    reset = quota["reinitialisation"]
    return _too_many("quota_api", quota, retry_after, reset=reset, remedy=remedy)


def quota_export(quota: Mapping[str, Any], retry_after: int, remedy: Text) -> ApiError:
    """`remedy` names the next plan and its figure, or the reset date if there is no next plan (F10)."""
    return _too_many("quota_export", quota, retry_after, remedy=remedy)


def trop_de_requetes(quota: Mapping[str, Any], retry_after: int, window: str) -> ApiError:
    """Too many calls in a `window`: a `minute`, or a `jour`, which ends at midnight UTC."""
    if window == "jour":
        return _too_many("trop_de_requetes_du_jour", quota, retry_after)
    return _too_many("trop_de_requetes", quota, retry_after)


def exports_simultanes(quota: Mapping[str, Any], retry_after: int) -> ApiError:
    """Too many exports of one organisation at the same time (contract D7)."""
    return _too_many("exports_simultanes", quota, retry_after)


def _too_many(name: str, quota: Mapping[str, Any], retry_after: int, **values: object) -> ApiError:
    values |= {"limit": quota["limite"], "retry_after": retry_after}
    return _error(name, {"quota": quota}, {"Retry-After": str(retry_after)}, **values)


# -- 5xx: the service ----------------------------------------------------------------


def erreur_interne(request_id: str) -> ApiError:
    return _error("erreur_interne", request_id=request_id)


def pays_endommage(iso2: str) -> ApiError:
    """The data of a country that this server has found damaged."""
    return indisponible(_message("pays_endommage", iso2=iso2))


def indisponible(what: Text, *, maybe_counted: bool = False) -> ApiError:
    """`what` cannot be used for the moment: the generations, the store of counters… (G9).

    `maybe_counted`: the store got the call, and its reply was lost.
    """
    headers = {"Retry-After": RETRY_AFTER}
    values = {"what": what, "retry_after": RETRY_AFTER}
    if maybe_counted:
        return _error("indisponible_incertain", _NOTHING, headers, **values)
    return _error("indisponible", _NOTHING, headers, **values)


def config(what: Text, contact: str | None = None) -> ApiError:
    """`what` is not set up here. Waiting does not help, so there is no Retry-After.

    `contact`: the address of the operator, where the server has it.
    """
    return _error("config", what=what, at=ending(contact))


def _quote(values: Sequence[str]) -> str:
    # The arrays have every value, the sentence the first few.
    shown = ", ".join(value[:100].strip() or repr(value[:100]) for value in values[:10])
    return f"{shown}, …" if len(values) > 10 else shown
