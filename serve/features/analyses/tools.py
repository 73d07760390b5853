"""The tools of analyses: of a company, of a market, and comparable companies."""

from typing import Any, Final

from serve.access.call import Request
from serve.surfaces.mcp.tool_list import OperationTool


def drop_empty_ratios(_call: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """Remove the ratios that no country has from the analysis of a market."""
    return {**answer, "ratios": [ratio for ratio in answer["ratios"] if ratio["pays"]]}


TOOLS: Final = (
    OperationTool(
        "analyse_market",
        without=("libelle", "formule", "formule_code", "source"),
        nulls=("valeur",),
        rows="ratios",
        advice="Ask for fewer countries.",
        adapt=drop_empty_ratios,
        place=80,
    ),
    OperationTool(
        "analyse_company",
        without=("libelle", "formule_code", "source", "sens"),
        nulls=("pays",),  # null means a comparison with all countries
        rows="ratios",
        advice="The API has all ratios.",
        place=120,
    ),
    OperationTool("comparable_companies", rows="comparables", advice="Ask for fewer.", place=130),
)
