"""Tools of analyses: of a company, of a market, and comparable companies."""

from typing import Any, Final

from serve.access.call import Request
from serve.surfaces.mcp.tool_list import OperationTool


def market(_call: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """The analysis of a market without the ratios that no country has."""
    return {**answer, "ratios": [ratio for ratio in answer["ratios"] if ratio["pays"]]}


TOOLS: Final = (
    OperationTool(
        "analyse_market",
        without=("libelle", "formule", "formule_code", "source"),
        nulls=("valeur",),
        rows="ratios",
        advice="Ask for fewer countries.",
        adapt=market,
        place=80,
    ),
    OperationTool(
        "analyse_company",
        without=("libelle", "formule_code", "source", "sens"),
        nulls=("pays",),  # a comparison with all countries
        rows="ratios",
        advice="The API has all of them.",
        place=120,
    ),
    OperationTool("comparable_companies", rows="comparables", advice="Ask for fewer.", place=130),
)
