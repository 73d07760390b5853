"""The schemas of markets and of comparable companies (extension X11), as components. Pure."""

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
    texts,
    whole,
)

_NEXT: Final = either(ref("Offre"), {"type": "null"})
_N: Final = whole("Companies.", minimum=0)
_REASON: Final = reason("`aucune_societe`, `aucun_ca`, `aucun_ratio`.")
_QUARTILES: Final[dict[str, Schema]] = {
    name: nullable(number(f"Quantile {level} (type 7 of Hyndman and Fan)."))
    for name, level in (("p25", "0.25"), ("mediane", "0.50"), ("p75", "0.75"))
}
_QUANTILES: Final[dict[str, Schema]] = {
    "p10": nullable(number("Quantile 0.10.")),
    **_QUARTILES,
    "p90": nullable(number("Quantile 0.90.")),
}
_BANDS: Final = array(
    shape(
        "A band.",
        {"valeur": nullable(text("As `/repartition` names it; null: no value.")), "n": _N},
    ),
    "Bands, ascending; the companies without a value last.",
)

_COMPARABLES: Final[dict[str, Schema]] = {
    "societe": shape(
        "The company.",
        {
            "iso2": text("Country."),
            "id": text("National identifier."),
            "nom": text("Name."),
            "secteur": nullable(text("Sector, French.")),
            "sous_secteur": nullable(text("Sub-sector, French.")),
        },
    ),
    "plan": ref("CodePlan"),
    **reason("`secteur_absent`: a company without a sector has no comparables."),
    "comparables": array(
        shape(
            "A near company.",
            {
                "distance": number(
                    "Sum of the gaps; one that is null counts 3, or 0 where neither has a figure."
                ),
                "ecarts": shape(
                    "The gaps.",
                    {
                        "ca_eur": nullable(
                            number(
                                "Of turnover: difference of ln(1 + euros); null where one is not known."
                            )
                        ),
                        "effectif": nullable(number("Of headcount: the same of persons.")),
                        "lieu": number(
                            "0: same town; 0.25: same first two characters of the postcode; else 0.5."
                        ),
                    },
                ),
                "societe": ref("Societe"),
                **reason("`ca_inconnu`, `effectif_inconnu`, `taille_inconnue` (both)."),
            },
        ),
        "Those with a turnover first; of these and of the others the country's first, each country's "
        "nearest first.",
    ),
    "offre_suivante": _NEXT,
}

_MARKET: Final[dict[str, Schema]] = {
    "plan": ref("CodePlan"),
    "module": text("Module."),
    "total": whole("Companies that match, in the whole base.", minimum=0),
    "exercices": nullable(
        array(whole("Fiscal year."), "First and last year of the ratios; null without statements.")
    ),
    "taille": shape(
        "The turnovers, in euros.",
        {
            "avec_ca": whole("Companies with a turnover.", minimum=0),
            "ca_total": nullable(number("Sum.")),
            **_QUANTILES,
            **_REASON,
        },
    ),
    "concentration": shape(
        "Shares in the sum of all positive turnovers.",
        {
            "hhi": nullable(
                number("Herfindahl-Hirschman: sum of squared percentages, 0 to 10 000.")
            ),
            "cr4": nullable(number("Share of the 4 largest, 0 to 1.")),
            "cr10": nullable(number("Share of the 10 largest, 0 to 1.")),
            "gini": nullable(
                number("Gini coefficient: 0 where all are equal, near 1 where one has all.")
            ),
            **_REASON,
        },
    ),
    "tranches": shape("Companies by band.", {"ca": _BANDS, "effectif": _BANDS}),
    "creations": shape(
        "Births, of companies that still exist and of others.",
        {
            "annees": array(shape("A year.", {"annee": whole("Year."), "n": _N}), "Ascending."),
            "sans_date": _N,
        },
    ),
    "cessations": shape(
        "Deaths.",
        {
            "annees": nullable(
                array(shape("A year.", {"annee": whole("Year."), "n": _N}), "Years.")
            ),
            **reason("`date_absente`: the data have no day on which a company ceased."),
            "societes": whole("Companies that have ceased, in whatever year.", minimum=0),
        },
    ),
    "croissance": shape(
        "Growth of turnover from the year before, of companies that filed both.",
        {"n": _N, "en_hausse": _N, **_QUANTILES, **_REASON},
    ),
    "ratios": array(
        shape(
            "A ratio.",
            {
                "code": text("Code."),
                "libelle": text("Name, French."),
                "libelle_en": text("Name, English."),
                **FORMULA,
                "unite": text("`part` (of 1), `fois`, `jours`, `EUR` or `indice`."),
                "source": text("Textbook or standard."),
                "pays": array(
                    shape("A country.", {"pays": text("Country."), "n": _N, **_QUARTILES}),
                    "Countries with a value.",
                ),
                **_REASON,
            },
        ),
        "In the order of the table of ratios.",
    ),
    "premieres": array(
        shape(
            "A company.",
            {
                "iso2": text("Country."),
                "id": text("National identifier."),
                "nom": text("Name."),
                "ville": nullable(text("City.")),
                "ca_eur": number("Turnover in euros."),
                "ca_year": nullable(whole("Its fiscal year.")),
                "part": nullable(number("Share in the sum of all positive turnovers, 0 to 1.")),
            },
        ),
        "The ten greatest turnovers.",
    ),
    "pays_sans_donnees": texts(
        "Countries named by `pays` of which there is no company; absent without any."
    ),
    "ids_inconnus": texts("Items of `ids` that name no company; absent without `ids`."),
    "offre_suivante": _NEXT,
}

MARKETS: Final[dict[str, Schema]] = {
    "Comparables": shape("The companies that are most like one.", _COMPARABLES),
    "ComparablesRefuses": shape(
        "The key is not valid: what a visitor gets, and `erreur`.",
        {**_COMPARABLES, "erreur": ref("Erreur")},
    ),
    "AnalyseMarche": shape(
        "The analysis of a market.", _MARKET, ("pays_sans_donnees", "ids_inconnus")
    ),
}
