"""Tools of analyses: of a company, of a market, and comparable companies."""

from collections.abc import Mapping
from typing import Any, Final

from serve.access.call import Request, Result
from serve.contract import reasons
from serve.contract.declaration import members, plain_value
from serve.features.analyses.answers import AnalyseEntreprise, AnalyseMarche, Comparables
from serve.surfaces.mcp import results
from serve.surfaces.mcp.tool_list import OperationTool

COMPANY_ANALYSIS: Final = results.answer_schema(
    AnalyseEntreprise,
    "societe",
    "plan",
    "ratios",
    "rangs",
    "alertes",
    "score",
    further=results.CREDITS,
)

MARKET_ANALYSIS: Final = results.answer_schema(
    AnalyseMarche,
    total=results.TOTAL,
    ratios={**results.array_of(results.OBJECT), "description": "Quartiles by country."},
    **results.ABOUT_SEARCH,
    further={**results.CREDITS, **results.NOTE},
)

COMPARABLES: Final = results.answer_schema(Comparables)

_FEWER_COUNTRIES: Final = "Not every ratio fits; ask for fewer countries."


def market(_call: Request, result: Result[AnalyseMarche]) -> Mapping[str, Any]:
    """The analysis of a market, as far as it fits: ratios without formulas."""
    analysis = results.known_values(plain_value(result.content))
    unknown = results.unknown_part(analysis.get("ids_inconnus", ()))
    about = {
        name: value for name, value in analysis.items() if name not in ("module", "ids_inconnus")
    }
    about |= unknown | results.credits(result.headers)
    if result.content is not None:
        about |= results.understood_part(result.content.activites_comprises)

    def document(ratios: list[Any]) -> dict[str, Any]:
        return {**about, "ratios": ratios}

    ratios = [
        {name: one[name] for name in ("code", "libelle_en", "unite", "pays")}
        for one in analysis["ratios"]
        if one["pays"]
    ]
    shown = results.longest_fitting(ratios, document)
    note = {"note": _FEWER_COUNTRIES} if len(shown) < len(ratios) else {}
    return {**document(shown), **note}


def analysis(_call: Request, result: Result[AnalyseEntreprise]) -> Mapping[str, Any]:
    """The analysis of one company, as far as it fits: names in English, no sources."""
    found = plain_value(result.content)
    kept = ("societe", "plan", "rangs", "alertes", "score")
    about = {name: found[name] for name in kept} | results.credits(result.headers)

    def document(ratios: list[Any]) -> dict[str, Any]:
        return {**about, "ratios": ratios}

    ratios = [_ratio(one) for one in found["ratios"]]
    return document(results.longest_fitting(ratios, document))


def _ratio(ratio: Mapping[str, Any]) -> dict[str, Any]:
    """A ratio without nulls: its values by year, or the reasons why there are none."""
    values = [results.in_words(value) for value in ratio["valeurs"]]
    named = {name: ratio[name] for name in ("code", "libelle_en", "formule", "unite")}
    return {
        **named,
        "valeurs": values,
        "secteur": results.in_words(ratio["secteur"] or {"motif": ratio["motif"]}),
    }


def comparables(_call: Request, result: Result[Comparables]) -> Mapping[str, Any]:
    """The companies nearest to one, as short rows with their distances."""
    content = result.content
    assert content is not None  # as the caller of a shape knows
    rows = [
        results.in_words(plain_value(one))
        | {"societe": results.known_values({name: one.societe[name] for name in results.COMPACT})}
        for one in content.comparables
    ]

    def document(shown: list[Any]) -> dict[str, Any]:
        about = {"societe": results.known_values(members(content.societe)), "plan": content.plan}
        motif = {"motif": reasons.motif(content.motif_code, "en")} if content.motif_code else {}
        return {**about, "comparables": shown, **motif}

    return document(results.longest_fitting(rows, document))


TOOLS: Final = (
    OperationTool("analyse_market", market, MARKET_ANALYSIS, place=80),
    OperationTool("analyse_company", analysis, COMPANY_ANALYSIS, place=120),
    OperationTool("comparable_companies", comparables, COMPARABLES, place=130),
)
