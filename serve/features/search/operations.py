"""The operations of a search."""

from typing import Final

from serve.contract import parameters
from serve.contract import search_answers as answers
from serve.contract.feature import Feature
from serve.contract.operation import Operation, company_link
from serve.features.search import repartition, suggestions
from serve.features.search.societes import societes

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
)  # fmt: skip
