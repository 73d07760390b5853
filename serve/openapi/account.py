"""The shape of GET /api/v1/compte (contract D15). Pure."""

from typing import Final

from serve.openapi.schema import array, either, moment, ref, shape, text, texts, truth, whole

_LIMITS: Final = shape(
    "What the plan allows.",
    {
        "resultats_par_recherche": whole("Companies that a search may show."),
        "lignes_par_appel": whole("Companies a call."),
        "appels_api_par_minute": whole("Calls a minute, over a longer time."),
        "appels_api_par_jour": whole("Calls a day."),
        "exports_par_mois": whole("Exports a month."),
        "lignes_par_export": whole("Companies an export."),
        "societes_avec_comptes_par_export": whole("Companies with statements an export."),
        "credits_par_mois": whole("Credits a month."),
        "cles_actives": whole("Keys in force at once."),
        "coordonnees": truth("Contact fields are served."),
        "etats_financiers": truth("Financial statements are served."),
    },
)

COMPTE: Final = shape(
    "What the organisation behind a key may do, and has done.",
    {
        "compte": shape(
            "The account.",
            {
                "id": text("Name of the account."),
                "nom": text("Name of the organisation."),
                "modules": texts("Modules of a custom plan."),
                "creation": moment("Creation"),
            },
        ),
        "plan": ref("CodePlan"),
        "plan_souscrit": ref("CodePlan"),
        "outil_api": truth("The plan paid for has the API tool."),
        "limites": _LIMITS,
        "compteurs": shape(
            "The counters.", {"appels_jour": ref("Quota"), "exports_mois": ref("Quota")}
        ),
        "credits": shape(
            "The credits.",
            {
                "dotation": whole("Credits of the month."),
                "utilises": whole("Used of them."),
                "packs": whole("Left of packs that were bought, which do not end with the month."),
                "restants": whole("Left, packs included."),
                "reinitialisation": moment("When the credits of the month come again"),
            },
        ),
        "cles": array(ref("Cle"), "Keys, revoked ones included."),
        "offre_suivante": either(ref("Offre"), {"type": "null"}),
    },
)
