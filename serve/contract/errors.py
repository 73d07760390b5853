"""The errors of the API: one function per code of §7 and contract G7.

Each function makes the French message, which names the value and the remedy; its caller passes the
values. serve/contract/error_codes.py has the status and the keys beside `erreur` (G6), and marks the
codes that no route raises yet. serve/http turns an ApiError into a response.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from serve.contract.error_codes import CODES

Suggestions = Mapping[str, Sequence[str]]

# Seconds until a client should retry after a passing fault: a build publishes by one rename, and the
# store of counters is reopened by itself.
RETRY_AFTER: Final = "5"

NO_GENERATION: Final = "Aucune génération de données n'est chargée"
NO_COUNTERS: Final = "Les compteurs des comptes ne peuvent être tenus pour l'instant"
NO_CHANGES: Final = "Les modifications ne peuvent être lues pour l'instant"
NO_WORKBOOK: Final = "Le classeur n'a pas pu être produit et l'export n'est pas décompté"


class ApiError(Exception):
    """A response `{"erreur": {"code", "message"}, **extra}` with an HTTP status and headers.

    serve/contract/error_codes.py declares the status of the code and the keys of `extra`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.status = CODES[code].status
        super().__init__(f"{self.status} {code}: {message}")
        self.code = code
        self.message = message
        self.headers = dict(headers or {})
        self.extra = extra

    @property
    def body(self) -> bytes:
        """The JSON object (§2.6)."""
        return orjson.dumps({"erreur": self.erreur, **self.extra})

    @property
    def erreur(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


# -- 400: the request ------------------------------------------------------------


def pays_inconnu(unknown: Sequence[str], suggestions: Suggestions, **others: Any) -> ApiError:
    """Unknown countries. `others`: the arrays of sectors that are unknown too (contract B4)."""
    message = f"Pays inconnu : {_quoted(unknown)}. Liste des pays : /api/v1/pays"
    return ApiError(
        "pays_inconnu", message, pays_inconnus=unknown, suggestions=suggestions, **others
    )


def secteur_inconnu(
    unknown: Sequence[str], suggestions: Suggestions, sous_secteurs: Sequence[str] = ()
) -> ApiError:
    """Unknown sectors, unknown sub-sectors (contract B8), or both."""
    messages = []
    extra: dict[str, Any] = {"secteurs_inconnus": unknown}
    if unknown:
        messages.append(f"Secteur inconnu : {_quoted(unknown)}. Liste : /api/v1/secteurs")
    if sous_secteurs:
        extra["sous_secteurs_inconnus"] = sous_secteurs
        messages.append(
            f"Sous-secteur inconnu : {_quoted(sous_secteurs)}. Liste : "
            "/api/v1/sous-secteurs?secteur=…"
        )
    return ApiError("secteur_inconnu", ". ".join(messages), suggestions=suggestions, **extra)


def secteur_requis() -> ApiError:
    """`/sous-secteurs` without a sector (contract G4)."""
    message = "secteur requis : ajoutez secteur=… (libellé ou slug). Liste : /api/v1/secteurs"
    return ApiError("secteur_inconnu", message, secteurs_inconnus=[])


def parametre_invalide(name: str, why: str, **extra: Any) -> ApiError:
    return ApiError("parametre_invalide", f"{name} : {why}", parametre=name, **extra)


def parametre_inconnu(
    unknown: Sequence[str], allowed: Sequence[str], suggestions: Suggestions
) -> ApiError:
    """Unknown names, never their values: one may be a key put into the URL (contract A5)."""
    remedy = f"Paramètres admis : {', '.join(allowed)}" if allowed else "Cette route n'en a aucun"
    return ApiError(
        "parametre_inconnu",
        f"Paramètre inconnu : {_quoted(unknown)}. {remedy}",
        parametres_inconnus=unknown,
        parametres_admis=allowed,
        suggestions=suggestions,
    )


def identifiant_invalide(why: str) -> ApiError:
    return ApiError("identifiant_invalide", f"Identifiant invalide : {why}")


def corps_invalide(why: str) -> ApiError:
    return ApiError("corps_invalide", f"Corps de requête invalide : {why}")


def ligne_invalide(why: str) -> ApiError:
    """A line of a list that cannot be matched (extensions X5); its answer has the error, not the response."""
    return ApiError("ligne_invalide", f"Ligne invalide : {why}")


# -- 401 to 403: the caller --------------------------------------------------------


def cle_invalide() -> ApiError:
    """One text for every bad key: revoked and unknown keys must look the same (contract A4)."""
    return ApiError(
        "cle_invalide",
        "Clé d'API invalide ou révoquée : l'appel est servi au niveau visiteur. "
        "Envoyez « Authorization: Bearer <clé> », ou aucun en-tête Authorization",
        headers={"WWW-Authenticate": 'Bearer error="invalid_token"', "Cache-Control": "no-store"},
    )


def compte_requis(*, refused: bool) -> ApiError:
    """A resource that visitors cannot have (§7). `refused`: a key was sent, but is not valid."""
    message = "Cette ressource demande une clé d'API valide. Créer un compte : /inscription"
    challenge = 'Bearer error="invalid_token"' if refused else "Bearer"  # RFC 6750 §3.1
    return ApiError("compte_requis", message, headers={"WWW-Authenticate": challenge})


def lignes_d_un_visiteur(lines: int) -> ApiError:
    """A line that a visitor sent after the first `lines`; its answer has the error, not the response."""
    message = f"Sans clé, {lines} lignes par requête. Créer un compte : /inscription"
    return ApiError("compte_requis", message)


def credits_epuises(cout: int, solde: int, reinitialisation: str) -> ApiError:
    message = (
        f"Crédits épuisés : la fiche coûte {cout} crédits, il en reste {solde}. Les débits "
        f"reprennent le {reinitialisation}, ou après l'achat d'un pack : /tarifs"
    )
    credits = {"cout": cout, "solde": solde, "reinitialisation": reinitialisation}
    return ApiError("credits_epuises", message, credits=credits)


def module_non_inclus(module: str, plan: str) -> ApiError:
    message = f"Le module {module} n'est pas inclus dans votre offre ; il l'est dans {plan}"
    return ApiError("module_non_inclus", message, plan=plan)


def essai_epuise(analyses: int, plan: str, reinitialisation: str) -> ApiError:
    message = (
        f"Essai épuisé : {analyses} analyses par mois. Sans limite d'essai : {plan} ; "
        f"remise à zéro le {reinitialisation}"
    )
    return ApiError(
        "essai_epuise",
        message,
        analyses=analyses,
        plan=plan,
        reinitialisation=reinitialisation,
    )


# -- 404 to 415: the resource --------------------------------------------------------


def societe_introuvable(iso2: str, identifiant: str) -> ApiError:
    return ApiError(
        "societe_introuvable",
        f"Aucune société {identifiant!r} en {iso2}. Recherche : /api/v1/societes?pays={iso2}&q=…",
    )


def route_inconnue() -> ApiError:
    message = (
        "Route inconnue. Routes : /api/v1/pays, secteurs, sous-secteurs, societes, modifications, "
        "rapprochement, export, compte"
    )
    return ApiError("route_inconnue", message)


def methode_non_autorisee(method: str, allowed: str) -> ApiError:
    message = f"Méthode {method} non autorisée ici. Méthodes : {allowed}"
    return ApiError("methode_non_autorisee", message, headers={"Allow": allowed})


def version_expiree(version: str, versions: Sequence[str]) -> ApiError:
    """`version` is closed; `versions` are the generations that can still be requested (G10)."""
    message = (
        f"La génération {version} n'est plus servie ; recommencez sans version, ou avec : "
        f"{', '.join(versions)}"
    )
    return ApiError("version_expiree", message, version=version, versions=versions)


def trop_ancienne(version: str, current: str) -> ApiError:
    """No known chain of changes leads from `version` to the current generation."""
    message = (
        f"Rien ne mène plus de la génération {version} à {current} ; relisez les données, puis "
        f"demandez depuis={current}"
    )
    return ApiError("version_expiree", message, version=version, versions=[current])


def corps_trop_grand(limit: int) -> ApiError:
    return ApiError("corps_trop_grand", f"Corps de plus de {limit} octets : réduisez-le")


def trop_de_lignes(count: int, most: int) -> ApiError:
    message = f"{count} lignes, {most} au plus par requête : envoyez-les en plusieurs fois"
    return ApiError("corps_trop_grand", message)


def uri_trop_longue(limit: int) -> ApiError:
    message = f"Ligne de requête de plus de {limit} octets : réduisez les listes, ou utilisez POST"
    return ApiError("uri_trop_longue", message)


def type_non_supporte(media_type: str, wanted: str = "application/json") -> ApiError:
    message = f"Type {media_type!r} non supporté : envoyez {wanted}"
    return ApiError("type_non_supporte", message)


# -- 429: the limits -----------------------------------------------------------------


def quota_api(quota: Mapping[str, Any], retry_after: int, remedy: str) -> ApiError:
    """`remedy` names the next plan and its figure, or another way on."""
    message = (
        f"Quota de {quota['limite']} appels par jour atteint ; remise à zéro à minuit UTC, "
        f"le {quota['reinitialisation']}. {remedy}"
    )
    return _too_many("quota_api", message, quota, retry_after)


def quota_export(quota: Mapping[str, Any], retry_after: int, remedy: str) -> ApiError:
    """`remedy` names the next plan and its figure, or the reset date if there is no next plan (F10)."""
    message = f"Quota de {quota['limite']} exports par mois atteint. {remedy}"
    return _too_many("quota_export", message, quota, retry_after)


def trop_de_requetes(quota: Mapping[str, Any], retry_after: int, window: str) -> ApiError:
    """Too many calls in a `window`: a `minute`, or a `jour`, which ends at midnight UTC."""
    again = "à minuit UTC" if window == "jour" else f"dans {retry_after} s"
    message = f"Plus de {quota['limite']} requêtes par {window} ; réessayez {again}"
    return _too_many("trop_de_requetes", message, quota, retry_after)


def exports_simultanes(quota: Mapping[str, Any], retry_after: int) -> ApiError:
    """Too many exports of one organisation at the same time (contract D7)."""
    message = f"{quota['limite']} exports sont déjà en cours ; réessayez dans {retry_after} s"
    return _too_many("trop_de_requetes", message, quota, retry_after)


def _too_many(code: str, message: str, quota: Mapping[str, Any], retry_after: int) -> ApiError:
    headers = {"Retry-After": str(retry_after)}
    return ApiError(code, message, headers=headers, quota=quota)


# -- 5xx: the service ----------------------------------------------------------------


def erreur_interne(request_id: str) -> ApiError:
    message = f"Erreur interne, sans effet sur vos compteurs. Signalez la requête {request_id}"
    return ApiError("erreur_interne", message)


def indisponible(what: str) -> ApiError:
    """`what` cannot be used for the moment: the generations, the store of counters… (G9)."""
    message = f"{what} ; l'appel est sans effet, réessayez dans {RETRY_AFTER} s"
    return ApiError("indisponible", message, headers={"Retry-After": RETRY_AFTER})


def config(what: str) -> ApiError:
    message = f"Service non configuré : {what}. L'appel est sans effet ; réessayez plus tard"
    return ApiError("config", message, headers={"Retry-After": RETRY_AFTER})


def _quoted(values: Sequence[str]) -> str:
    # The arrays have every value, the sentence the first few.
    shown = ", ".join(value[:100].strip() or repr(value[:100]) for value in values[:10])
    return f"{shown}, …" if len(values) > 10 else shown
