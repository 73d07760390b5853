"""The errors of the API: one function per code of §7 and contract G7.

Each function makes the message in French and in English (X0), which names the value and the remedy; its
caller passes the values. serve/contract/error_codes.py has the status and the keys beside `erreur` (G6).
serve/http turns an ApiError into a response.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from serve.contract.error_codes import CODES

Suggestions = Mapping[str, Sequence[str]]
Texts = tuple[str, str]  # the same in French and in English

LANGUAGES: Final = ("fr", "en")  # the first is the default

# Seconds until a client should retry after a passing fault: a build publishes by one rename, and the
# store of counters is reopened by itself.
RETRY_AFTER: Final = "5"

NO_GENERATION: Final = (
    "Aucune génération de données n'est chargée",
    "No generation of the data is loaded",
)
NO_COUNTERS: Final = (
    "Les compteurs des comptes ne peuvent être tenus pour l'instant",
    "The counters of the accounts cannot be kept for the moment",
)
NO_CHANGES: Final = (
    "Les modifications ne peuvent être lues pour l'instant",
    "The changes cannot be read for the moment",
)
NO_ROOM: Final = (
    "Trop de corps de requête arrivent à la fois",
    "Too many request bodies arrive at once",
)
NO_WORKBOOK: Final = (
    "Le fichier n'a pas pu être produit et l'export n'est pas décompté",
    "The file could not be made, and the export is not counted",
)

# Names of the parts of a request that are no parameters.
_PARTS: Final[Mapping[str, str]] = {
    "chaîne de requête": "query string",
    "en-tête": "header",
    "requête": "request",
}


class ApiError(Exception):
    """A response `{"erreur": {"code", "message"}, **extra}` with an HTTP status and headers.

    serve/contract/error_codes.py declares the status of the code and the keys of `extra`.

    Attributes:
        texts: the message in French and in English.
    """

    def __init__(
        self,
        code: str,
        texts: Texts,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.status = CODES[code].status
        super().__init__(f"{self.status} {code}: {texts[0]}")
        self.code = code
        self.texts = texts
        self.headers = dict(headers or {})
        self.extra = extra

    @property
    def message(self) -> str:
        """The message in French."""
        return self.texts[0]

    def body(self, lang: str) -> bytes:
        """The JSON object (§2.6) in one of LANGUAGES."""
        return orjson.dumps({"erreur": self.erreur(lang), **self.extra})

    def erreur(self, lang: str) -> dict[str, str]:
        return {"code": self.code, "message": self.texts[LANGUAGES.index(lang)]}


# -- 400: the request ------------------------------------------------------------


def pays_inconnu(unknown: Sequence[str], suggestions: Suggestions, **others: Any) -> ApiError:
    """Unknown countries. `others`: the arrays of sectors that are unknown too (contract B4)."""
    texts = (
        f"Pays inconnu : {_quoted(unknown)}. Liste des pays : /api/v1/pays",
        f"Unknown country: {_quoted(unknown)}. List of countries: /api/v1/pays",
    )
    return ApiError("pays_inconnu", texts, pays_inconnus=unknown, suggestions=suggestions, **others)


def secteur_inconnu(
    unknown: Sequence[str], suggestions: Suggestions, sous_secteurs: Sequence[str] = ()
) -> ApiError:
    """Unknown sectors, unknown sub-sectors (contract B8), or both."""
    french, english = [], []
    extra: dict[str, Any] = {"secteurs_inconnus": unknown}
    if unknown:
        french.append(f"Secteur inconnu : {_quoted(unknown)}. Liste : /api/v1/secteurs")
        english.append(f"Unknown sector: {_quoted(unknown)}. List: /api/v1/secteurs")
    if sous_secteurs:
        extra["sous_secteurs_inconnus"] = sous_secteurs
        shown, path = _quoted(sous_secteurs), "/api/v1/sous-secteurs?secteur=…"
        french.append(f"Sous-secteur inconnu : {shown}. Liste : {path}")
        english.append(f"Unknown sub-sector: {shown}. List: {path}")
    texts = (". ".join(french), ". ".join(english))
    return ApiError("secteur_inconnu", texts, suggestions=suggestions, **extra)


def secteur_requis() -> ApiError:
    """`/sous-secteurs` without a sector (contract G4)."""
    texts = (
        "secteur requis : ajoutez secteur=… (libellé ou slug). Liste : /api/v1/secteurs",
        "secteur is required: add secteur=… (label or slug). List: /api/v1/secteurs",
    )
    return ApiError("secteur_inconnu", texts, secteurs_inconnus=[])


def forme_inconnue(unknown: Sequence[str], suggestions: Suggestions) -> ApiError:
    """Legal forms that no company of the generation has (extensions X2)."""
    names = _quoted(unknown)
    texts = (
        f"Forme juridique inconnue : {names}. Écrivez-la comme la clé forme d'une société",
        f"Unknown legal form: {names}. Write it as the key forme of a company",
    )
    return ApiError("forme_inconnue", texts, formes_inconnues=unknown, suggestions=suggestions)


def nace_inconnu(unknown: Sequence[str], suggestions: Suggestions) -> ApiError:
    """Codes that NACE does not have (extensions X2)."""
    codes = _quoted(unknown)
    texts = (
        f"Code NACE inconnu : {codes}. Envoyez une division, un groupe ou une classe de la NACE "
        "Rév. 2 ou 2.1 : 56, 56.1 ou 56.10",
        f"Unknown NACE code: {codes}. Send a division, a group or a class of NACE Rev. 2 or 2.1: "
        "56, 56.1 or 56.10",
    )
    return ApiError("nace_inconnu", texts, nace_inconnus=unknown, suggestions=suggestions)


def parametre_invalide(name: str, why: Texts, **extra: Any) -> ApiError:
    texts = (f"{name} : {why[0]}", f"{_PARTS.get(name, name)}: {why[1]}")
    return ApiError("parametre_invalide", texts, parametre=name, **extra)


def parametre_inconnu(
    unknown: Sequence[str], allowed: Sequence[str], suggestions: Suggestions
) -> ApiError:
    """Unknown names, never their values: one may be a key put into the URL (contract A5)."""
    names = ", ".join(allowed)
    french = f"Paramètres admis : {names}" if allowed else "Cette route n'en a aucun"
    english = f"Parameters that are there: {names}" if allowed else "This route has none"
    texts = (
        f"Paramètre inconnu : {_quoted(unknown)}. {french}",
        f"Unknown parameter: {_quoted(unknown)}. {english}",
    )
    return ApiError(
        "parametre_inconnu",
        texts,
        parametres_inconnus=unknown,
        parametres_admis=allowed,
        suggestions=suggestions,
    )


def identifiant_invalide(why: Texts) -> ApiError:
    texts = (f"Identifiant invalide : {why[0]}", f"Invalid identifier: {why[1]}")
    return ApiError("identifiant_invalide", texts)


def corps_invalide(why: Texts) -> ApiError:
    texts = (f"Corps de requête invalide : {why[0]}", f"Invalid request body: {why[1]}")
    return ApiError("corps_invalide", texts)


def ligne_invalide(why: Texts) -> ApiError:
    """A line of a list that cannot be matched (extensions X5); its answer has the error, not the response."""
    texts = (f"Ligne invalide : {why[0]}", f"Invalid line: {why[1]}")
    return ApiError("ligne_invalide", texts)


# -- 401 to 403: the caller --------------------------------------------------------


def cle_invalide() -> ApiError:
    """One text for every bad key: revoked and unknown keys must look the same (contract A4)."""
    texts = (
        "Clé d'API invalide ou révoquée : l'appel est servi au niveau visiteur. "
        "Envoyez « Authorization: Bearer <clé> », ou aucun en-tête Authorization",
        "Invalid or revoked API key: the call is served as a visitor's. "
        "Send “Authorization: Bearer <key>”, or no Authorization header",
    )
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"', "Cache-Control": "no-store"}
    return ApiError("cle_invalide", texts, headers=headers)


def compte_requis(*, refused: bool) -> ApiError:
    """A resource that visitors cannot have (§7). `refused`: a key was sent, but is not valid."""
    texts = (
        "Cette ressource demande une clé d'API valide. Créer un compte : /inscription",
        "This resource needs a valid API key. Create an account: /inscription",
    )
    challenge = 'Bearer error="invalid_token"' if refused else "Bearer"  # RFC 6750 §3.1
    return ApiError("compte_requis", texts, headers={"WWW-Authenticate": challenge})


def lignes_d_un_visiteur(lines: int) -> ApiError:
    """A line that a visitor sent after the first `lines`; its answer has the error, not the response."""
    texts = (
        f"Sans clé, {lines} lignes par requête. Créer un compte : /inscription",
        f"Without a key, {lines} lines a request. Create an account: /inscription",
    )
    return ApiError("compte_requis", texts)


def credits_epuises(cout: int, solde: int, reinitialisation: str) -> ApiError:
    texts = (
        f"Crédits épuisés : il en coûte {cout} crédits, il en reste {solde}. Les débits "
        f"reprennent le {reinitialisation}, ou après l'achat d'un pack : /tarifs",
        f"Credits used up: this costs {cout} credits, {solde} are left. New credits come on "
        f"{reinitialisation}, or with a pack: /tarifs",
    )
    credits = {"cout": cout, "solde": solde, "reinitialisation": reinitialisation}
    return ApiError("credits_epuises", texts, credits=credits)


def module_non_inclus(module: str, offre: str) -> ApiError:
    texts = (
        f"Le module {module} n'est pas inclus dans votre offre ; il l'est dans {offre} (/tarifs)",
        f"The module {module} is not part of your plan; it is part of {offre} (/tarifs)",
    )
    return ApiError("module_non_inclus", texts, module=module, offre=offre)


def essai_epuise(analyses: int, offre: str, reinitialisation: str) -> ApiError:
    texts = (
        f"Essai épuisé : {analyses} analyses par mois. Sans limite d'essai : {offre} ; "
        f"remise à zéro le {reinitialisation}",
        f"Trial used up: {analyses} analyses a month. Without that limit: {offre}; "
        f"it begins again on {reinitialisation}",
    )
    return ApiError(
        "essai_epuise", texts, analyses=analyses, offre=offre, reinitialisation=reinitialisation
    )


# -- 404 to 415: the resource --------------------------------------------------------


def societe_introuvable(iso2: str, identifiant: str, proches: Sequence[str] = ()) -> ApiError:
    """No company, or several that it could be; `proches`: the nearest ones, as `UK:00944111`."""
    search = f"/api/v1/societes?{f'pays={iso2}&' if iso2 else ''}q=…"
    where = (f" en {iso2}", f" in {iso2}") if iso2 else ("", "")
    remedies = (f"Recherche : {search}", f"Search: {search}")
    if proches:
        remedies = (f"Proches : {', '.join(proches)}", f"Near: {', '.join(proches)}")
    texts = (
        f"Aucune société {identifiant!r}{where[0]}. {remedies[0]}",
        f"No company {identifiant!r}{where[1]}. {remedies[1]}",
    )
    return ApiError("societe_introuvable", texts, proches=proches)


def route_inconnue() -> ApiError:
    routes = "/api/v1/pays, secteurs, sous-secteurs, societes, modifications, rapprochement, export, compte"
    return ApiError(
        "route_inconnue",
        (f"Route inconnue. Routes : {routes}", f"Unknown path. Paths: {routes}"),
    )


def methode_non_autorisee(method: str, allowed: str) -> ApiError:
    texts = (
        f"Méthode {method} non autorisée ici. Méthodes : {allowed}",
        f"Method {method} is not allowed here. Methods: {allowed}",
    )
    return ApiError("methode_non_autorisee", texts, headers={"Allow": allowed})


def format_non_acceptable(accepted: str, types: Sequence[str]) -> ApiError:
    """No format of an export is one of `Accept` (X7)."""
    texts = (
        f"Aucun format ne convient à « Accept: {accepted[:100]} ». Types : {', '.join(types)} ; ou nommez "
        "`format`, qui l'emporte",
        f"No format is of a type in 'Accept: {accepted[:100]}'. Types: {', '.join(types)}; or name `format`, "
        "which goes first",
    )
    return ApiError("format_non_acceptable", texts, valeurs=types)


def version_expiree(version: str, versions: Sequence[str]) -> ApiError:
    """`version` is closed; `versions` are the generations that can still be requested (G10)."""
    known = ", ".join(versions)
    texts = (
        f"La génération {version} n'est plus servie ; recommencez sans version, ou avec : {known}",
        f"Generation {version} is no longer served; begin again without version, or with: {known}",
    )
    return ApiError("version_expiree", texts, version=version, versions=versions)


def trop_ancienne(version: str, current: str) -> ApiError:
    """No known chain of changes leads from `version` to the current generation."""
    texts = (
        f"Rien ne mène plus de la génération {version} à {current} ; relisez les données, puis "
        f"demandez depuis={current}",
        f"No known changes lead from generation {version} to {current}; read the data again, then "
        f"ask with depuis={current}",
    )
    return ApiError("version_expiree", texts, version=version, versions=[current])


def corps_trop_grand(limit: int) -> ApiError:
    texts = (
        f"Corps de plus de {limit} octets : réduisez-le",
        f"The body is larger than {limit} bytes: make it smaller",
    )
    return ApiError("corps_trop_grand", texts)


def trop_de_lignes(count: int, most: int) -> ApiError:
    texts = (
        f"{count} lignes, {most} au plus par requête : envoyez-les en plusieurs fois",
        f"{count} lines, {most} a request at most: send them in several",
    )
    return ApiError("corps_trop_grand", texts)


def uri_trop_longue(limit: int) -> ApiError:
    """The path is not known, so the advice must be right for every route."""
    texts = (
        f"Ligne de requête de plus de {limit} octets : réduisez les listes (un export prend aussi ses "
        "paramètres dans le corps d'un POST)",
        f"The request line is longer than {limit} bytes: shorten the lists (an export also takes its "
        "parameters in the body of a POST)",
    )
    return ApiError("uri_trop_longue", texts)


def type_non_supporte(media_type: str, wanted: str = "application/json") -> ApiError:
    texts = (
        f"Type {media_type!r} non supporté : envoyez {wanted}",
        f"Type {media_type!r} is not supported: send {wanted}",
    )
    return ApiError("type_non_supporte", texts)


# -- 429: the limits -----------------------------------------------------------------


def attente_refusee(expected: str) -> ApiError:
    shown = repr(expected[:100])
    texts = (
        f"En-tête Expect {shown} non supporté : seul 100-continue l'est",
        f"The header Expect {shown} is not supported: only 100-continue is",
    )
    return ApiError("attente_refusee", texts)


def quota_api(quota: Mapping[str, Any], retry_after: int, remedy: Texts) -> ApiError:
    """`remedy` names the next plan and its figure, or another way on."""
    limit, reset = quota["limite"], quota["reinitialisation"]
    texts = (
        f"Quota de {limit} appels par jour atteint ; remise à zéro à minuit UTC, "
        f"le {reset}. {remedy[0]}",
        f"The {limit} calls of the day are used up; they come again at midnight UTC, "
        f"on {reset}. {remedy[1]}",
    )
    return _too_many("quota_api", texts, quota, retry_after)


def quota_export(quota: Mapping[str, Any], retry_after: int, remedy: Texts) -> ApiError:
    """`remedy` names the next plan and its figure, or the reset date if there is no next plan (F10)."""
    limit = quota["limite"]
    texts = (
        f"Quota de {limit} exports par mois atteint. {remedy[0]}",
        f"The {limit} exports of the month are used up. {remedy[1]}",
    )
    return _too_many("quota_export", texts, quota, retry_after)


def trop_de_requetes(quota: Mapping[str, Any], retry_after: int, window: str) -> ApiError:
    """Too many calls in a `window`: a `minute`, or a `jour`, which ends at midnight UTC."""
    limit, day = quota["limite"], window == "jour"
    again = "à minuit UTC" if day else f"dans {retry_after} s"
    later = "at midnight UTC" if day else f"in {retry_after} s"
    texts = (
        f"Plus de {limit} requêtes par {window} ; réessayez {again}",
        f"More than {limit} requests a {'day' if day else 'minute'}; try again {later}",
    )
    return _too_many("trop_de_requetes", texts, quota, retry_after)


def exports_simultanes(quota: Mapping[str, Any], retry_after: int) -> ApiError:
    """Too many exports of one organisation at the same time (contract D7)."""
    limit = quota["limite"]
    texts = (
        f"{limit} exports sont déjà en cours ; réessayez dans {retry_after} s",
        f"{limit} exports are being made already; try again in {retry_after} s",
    )
    return _too_many("trop_de_requetes", texts, quota, retry_after)


def _too_many(code: str, texts: Texts, quota: Mapping[str, Any], retry_after: int) -> ApiError:
    headers = {"Retry-After": str(retry_after)}
    return ApiError(code, texts, headers=headers, quota=quota)


# -- 5xx: the service ----------------------------------------------------------------


def erreur_interne(request_id: str) -> ApiError:
    texts = (
        f"Erreur interne, sans effet sur vos compteurs. Signalez la requête {request_id}",
        f"Internal error; your counters are untouched. Please report request {request_id}",
    )
    return ApiError("erreur_interne", texts)


def pays_endommage(iso2: str) -> ApiError:
    """The data of a country that this server has found damaged."""
    return indisponible(
        (
            f"Les données de ce pays sont endommagées sur ce serveur : {iso2}",
            f"The data of this country are damaged on this server: {iso2}",
        )
    )


def indisponible(what: Texts) -> ApiError:
    """`what` cannot be used for the moment: the generations, the store of counters… (G9)."""
    texts = (
        f"{what[0]} ; l'appel est sans effet, réessayez dans {RETRY_AFTER} s",
        f"{what[1]}; nothing was done, try again in {RETRY_AFTER} s",
    )
    return ApiError("indisponible", texts, headers={"Retry-After": RETRY_AFTER})


def config(what: Texts) -> ApiError:
    """`what` is not set up here. Waiting does not help, so there is no Retry-After."""
    texts = (
        f"Service non configuré : {what[0]}. L'appel est sans effet ; écrivez à l'exploitant",
        f"Not set up on this server: {what[1]}. Nothing was done; write to its operator",
    )
    return ApiError("config", texts)


def _quoted(values: Sequence[str]) -> str:
    # The arrays have every value, the sentence the first few.
    shown = ", ".join(value[:100].strip() or repr(value[:100]) for value in values[:10])
    return f"{shown}, …" if len(values) > 10 else shown
