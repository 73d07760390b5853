"""The schemas of analyses (extension X11), as components. Pure."""

from typing import Final

from serve.docs.openapi.schema import (
    FORMULA,
    Schema,
    array,
    either,
    nullable,
    number,
    reason,
    ref,
    shape,
    text,
    whole,
)

_NULL: Final[Schema] = {"type": "null"}
_NEXT: Final = either(ref("Offre"), _NULL)
_RANK: Final = nullable(whole("Place, the greatest first; null without a value.", minimum=1))

_VALUE: Final = shape(
    "A ratio of a year.",
    {
        "exercice": whole("Fiscal year."),
        "valeur": nullable(number("The value, in `unite`; null with a `motif`.")),
        **reason(
            "`poste_absent` with the lines that lack, `exercice_absent` (the year before), "
            "`denominateur_nul`, `denominateur_negatif`, `taux_absent`, `devise_changee`, "
            "`comptes_retenus` (accounts that contradict themselves)."
        ),
    },
)

_SECTOR: Final = shape(
    "The sector, each company by its own last year; null for a company without a sector.",
    {
        "perimetre": shape(
            "Who is compared.",
            {
                "pays": nullable(text("Country; null for all, where it has under 30 companies.")),
                "secteur": nullable(text("Sector, French.")),
                "exercices": array(whole("Fiscal year."), "First and last year of the peers."),
                "exercice_compare": whole("The company's own year, which has the `rang`."),
            },
        ),
        "n": whole("Companies with a value.", minimum=0),
        **{
            name: nullable(number(f"Quantile {level} (type 7 of Hyndman and Fan)."))
            for name, level in (
                ("p10", "0.10"), ("p25", "0.25"), ("mediane", "0.50"), ("p75", "0.75"),
                ("p90", "0.90"),
            )
        },
        "rang": nullable(
            whole("Place, the greatest first; null without a value, and where `n` is 0.", minimum=1)
        ),
        **reason("`aucun_ratio`: no company has a value, so there are no quantiles and no rank."),
    },
)  # fmt: skip

_RANKING: Final = shape(
    "A place by turnover.", {"rang": _RANK, "n": whole("Companies with a turnover.", minimum=0)}
)

ANALYSES: Final[dict[str, Schema]] = {
    "Ratio": shape(
        "A ratio of annual accounts.",
        {
            "code": text("Code."),
            "libelle": text("Name, French."),
            "libelle_en": text("Name, English."),
            **FORMULA,
            "unite": text("`part` (of 1), `fois`, `jours`, `EUR` or `indice`."),
            "source": text("Textbook or standard."),
            "valeurs": array(_VALUE, "The last year first."),
            "secteur": either(_SECTOR, _NULL),
        },
    ),
    "AnalyseEntreprise": shape(
        "The analysis of a company.",
        {
            "societe": shape(
                "The company.",
                {
                    "iso2": text("Country."),
                    "id": text("National identifier."),
                    "nom": text("Name."),
                    "secteur": nullable(text("Sector, French.")),
                },
            ),
            "plan": ref("CodePlan"),
            "module": text("Module."),
            "exercices": array(
                shape(
                    "A year with statements.",
                    {
                        "exercice": whole("Fiscal year."),
                        "devise": nullable(text("Currency; null where several were used.")),
                        "duree_mois": number(
                            "Months; where they are not 12, flows count as those of twelve months."
                        ),
                    },
                ),
                "The last year first.",
            ),
            "ratios": array(ref("Ratio"), "None where no statements are known."),
            "rangs": shape("Places by turnover.", {"pays": _RANKING, "europe": _RANKING}),
            "alertes": array(
                shape(
                    "What the accounts warn of.",
                    {
                        "code": text(
                            "`capitaux_propres_negatifs`, `pertes_consecutives` (two years), "
                            "`ca_en_baisse` or `comptes_anciens` (before the years of the peers)."
                        ),
                        "exercice": whole("The last fiscal year."),
                    },
                ),
                "Warnings, none if the figures give no cause.",
            ),
            "score": shape(
                "The score and its parts.",
                {
                    "valeur": nullable(whole("As in the record.")),
                    "maximum": whole("The most that it can be."),
                    "parts": array(
                        shape(
                            "What a field adds.",
                            {
                                "champ": text("Field of the company."),
                                "points": whole("Points; 0 where the field is not known."),
                                "maximum": whole("Points of the field where it is known."),
                            },
                        ),
                        "In the order of the table.",
                    ),
                },
            ),
            "offre_suivante": _NEXT,
        },
    ),
}
