"""Routes and prices of matching: a list of names, and the reconciliation service for OpenRefine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from serve.contract.declaration import body_of_parameters
from serve.contract.feature import BodyExample, Feature, Operation
from serve.contract.parameters import PINNED, Parameter
from serve.contract.text import Text
from serve.features.matching import answers, line_list
from serve.features.matching import reconciliation_adapter as adapter
from serve.features.matching.rapprochement import match_body
from serve.features.matching.reconciliation import PATH

_AT_ADDRESS: Final = f"{PATH}/{{jeton}}"


def _reconciliation_operation(
    name: str, path: str, route: str, place: int, answer: Any = None, run: Callable[..., Any] = adapter.respond,
    *, path_parameters: Sequence[Parameter] = (adapter.JETON,), headers: Sequence[str] = ("Content-Language",),
    **options: Any,
) -> Operation:  # fmt: skip
    """A route of the reconciliation service; `options` are further attributes of its `Operation`."""
    return Operation(
        name, path, route, "reconciliation", "Companies", run, answer,
        answers.ReconciliationRefusee,
        path_parameters=path_parameters, place=place, headers=headers, key_in_path=True, **options,
    )  # fmt: skip


FormulaireReconciliation: Final = body_of_parameters("FormulaireReconciliation", adapter.PARAMETERS)

_QUERIES_EXAMPLE: Final = BodyExample(
    "queries",
    Text("Une société par son nom", "A company by its name"),
    {adapter.QUERIES.name: adapter.QUERIES.example},
)
# The options of the routes that take queries in the address, and of those that take them in a form.
_QUERY_OPTIONS: Final[Mapping[str, Any]] = {"parameters": adapter.PARAMETERS, "refusals": [413]}
_FORM_OPTIONS: Final[Mapping[str, Any]] = {
    "method": "POST", "body": FormulaireReconciliation, "bodies": [_QUERIES_EXAMPLE],
    "headers": ["ETag", "Vary", "Content-Language", "X-Donnees-Version"],
}  # fmt: skip

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "matchCompanies", "/api/v1/rapprochement", "rapprochement", "body", "Companies",
            match_body, answers.Rapprochement, answers.RapprochementRefuse, place=150,
            method="POST", body=line_list.DemandeRapprochement, bodies=line_list.BODIES, largest=line_list.LARGEST,
            headers=["Vary", "Content-Language", "X-Donnees-Version"],
        ),
        # The reconciliation protocol. Its manifest names the other paths; `{jeton}` is the token of the caller.
        _reconciliation_operation(
            "reconcile", PATH, "reconciliation", 210, answers.ReconciliationReponse,
            path_parameters=(), **_QUERY_OPTIONS,
        ),
        _reconciliation_operation(
            "reconcileFromForm", PATH, "reconciliation", 220, answers.ReconciliationReponse,
            path_parameters=(), **_FORM_OPTIONS,
        ),
        _reconciliation_operation(
            "reconcileAtAddress", _AT_ADDRESS, "reconciliation-adresse", 230, answers.ReconciliationReponse,
            text="reconcile", **_QUERY_OPTIONS,
        ),
        _reconciliation_operation(
            "reconcileFromFormAtAddress", _AT_ADDRESS, "reconciliation-adresse", 240,
            answers.ReconciliationReponse, text="reconcileFromForm", **_FORM_OPTIONS,
        ),
        _reconciliation_operation(
            "proposeFields", f"{_AT_ADDRESS}/properties", "reconciliation-champs", 250,
            answers.ReconciliationChamps, adapter.propose_fields, parameters=(adapter.CHAMPS,),
        ),
        _reconciliation_operation(
            "suggestEntities", f"{_AT_ADDRESS}/suggest/{{quoi}}", "reconciliation-suggestions", 260,
            answers.ReconciliationSuggestions, adapter.suggest, parameters=adapter.SUGGESTIONS, refusals=[404],
            path_parameters=(adapter.JETON, adapter.QUOI),
        ),
        _reconciliation_operation(
            "previewEntity", f"{_AT_ADDRESS}/preview/{{societe}}", "reconciliation-apercu", 270,
            run=adapter.preview_company, media=["text/html"], refusals=[404], parameters=PINNED,
            path_parameters=(adapter.JETON, adapter.SOCIETE),
        ),
        _reconciliation_operation(
            "viewEntity", f"{_AT_ADDRESS}/view/{{societe}}", "reconciliation-vue", 280, run=adapter.redirect_to_company,
            headers=(), refusals=[404], parameters=PINNED, path_parameters=(adapter.JETON, adapter.SOCIETE),
        ),
    ),
    guides={"rapprochement": 60},
)  # fmt: skip
