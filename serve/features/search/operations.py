"""Routes and rights of the search, its counts and completions; and the memo of counts."""

from typing import Final

from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract import parameters
from serve.contract.feature import Feature, OpenFeature, Operation, company_link
from serve.features.search import answers, repartition, suggestions
from serve.features.search.facet_counts import FacetCounter
from serve.features.search.societes import societes


def open_search(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Create the memo of the counts that pages show, as the service `FacetCounter` of this process."""
    context.services[FacetCounter] = FacetCounter()
    return OpenFeature()


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "suggest", "/api/v1/suggestions", "suggestions", "free", "Companies",
            suggestions.suggestions, answers.Suggestions, answers.SuggestionsRefusees, place=50,
            tool="suggest", parameters=suggestions.PARAMETERS, links=[company_link("societes/0")],
        ),
        Operation(
            "searchCompanies", "/api/v1/societes", "societes", "call", "Companies",
            societes, answers.Recherche, answers.RechercheRefusee, place=60,
            parameters=parameters.SEARCH, headers=["Link"], links=[company_link("societes/0")],
        ),
        Operation(
            "countCompanies", "/api/v1/repartition", "repartition", "call", "Companies",
            repartition.repartition, answers.Repartition, answers.RepartitionRefusee, place=70,
            tool="break_down_companies", parameters=repartition.PARAMETERS,
        ),
    ),
    open_search,
)  # fmt: skip
