"""Tools for countries, sectors, sub-sectors and sources, with the counts of the served data."""

from typing import Any, Final

from serve.access.call import Request
from serve.contract.parameters import PAYS
from serve.surfaces.mcp.tool_list import OperationTool


def sources(call: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """The countries with data; the shares of the fields only for countries that the call names."""
    has_countries = any(name == PAYS.name for name, _ in call.pairs)
    left_out = () if has_countries else ("champs",)
    countries = [
        {name: value for name, value in country.items() if name not in left_out}
        for country in answer["pays"]
        if country["n_societes"]
    ]
    return {**answer, "pays": countries}


TOOLS: Final = (
    OperationTool(
        "list_countries", without=("slug", "devise", "registre"), place=10, quotes=False
    ),
    OperationTool("list_sectors", without=("secteur", "grand_secteur"), place=20, quotes=False),
    OperationTool(
        "list_subsectors",
        without=("perimetre", "sous_secteur_en"),  # `sous_secteur` is the value of its filter
        rows="sous_secteurs",
        advice="Ask for fewer sectors at a time.",
        place=30,
        quotes=False,
    ),
    OperationTool(
        "list_sources",
        without=(
            "date_min", "date_max", "slug", "nom_fr", "pays.registre", "source", "complement",
            "adresse", "attribution", "importe", "lignes", "fichiers",
        ),
        rows="pays",
        advice="Name fewer countries.",
        adapt=sources,
        place=40,
        quotes=False,
    ),
)  # fmt: skip
