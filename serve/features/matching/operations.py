"""The operations of matching: a list of lines, and the protocol of reconciliation."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.contract.declaration import body_of_parameters
from serve.contract.feature import Feature, Operation
from serve.contract.parameters import PINNED, Parameter
from serve.features.matching import answers, line_list
from serve.features.matching import reconciliation_adapter as adapter
from serve.features.matching.rapprochement import lines_of_body
from serve.features.matching.reconciliation import PATH

_AT_ADDRESS: Final = f"{PATH}/{{jeton}}"


def _reconciliation(
    name: str, path: str, route: str, place: int, answer: Any = None,
    *, path_parameters: Sequence[Parameter] = (adapter.JETON,), headers: Sequence[str] = ("Content-Language",),
    **more: Any,
) -> Operation:  # fmt: skip
    return Operation(
        name, path, route, "reconciliation", "Companies", adapter.respond, answer,
        answers.ReconciliationRefusee,
        path_parameters=path_parameters, place=place, headers=headers, key_in_path=True, **more,
    )  # fmt: skip


FormulaireReconciliation: Final = body_of_parameters("FormulaireReconciliation", adapter.PARAMETERS)

_ASKED: Final[Mapping[str, Any]] = {"parameters": adapter.PARAMETERS, "refusals": [413]}
_FORM: Final[Mapping[str, Any]] = {
    "method": "POST", "body": FormulaireReconciliation,
    "headers": ["ETag", "Vary", "Content-Language", "X-Donnees-Version"],
}  # fmt: skip

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "matchCompanies", "/api/v1/rapprochement", "rapprochement", "body", "Companies",
            lines_of_body, answers.Rapprochement, answers.RapprochementRefuse, place=150,
            method="POST", body=line_list.DemandeRapprochement, bodies=line_list.BODIES, largest=line_list.LARGEST,
            headers=["Vary", "Content-Language", "X-Donnees-Version"],
        ),
        # A protocol, whose manifest names the paths below it; `{jeton}` is the token of the caller.
        _reconciliation(
            "reconcile", PATH, "reconciliation", 210, answers.ReconciliationReponse,
            path_parameters=(), **_ASKED,
        ),
        _reconciliation(
            "reconcileFromForm", PATH, "reconciliation", 220, answers.ReconciliationReponse,
            path_parameters=(), **_FORM,
        ),
        _reconciliation(
            "reconcileAtAddress", _AT_ADDRESS, "reconciliation-adresse", 230, answers.ReconciliationReponse,
            text="reconcile", **_ASKED,
        ),
        _reconciliation(
            "reconcileFromFormAtAddress", _AT_ADDRESS, "reconciliation-adresse", 240,
            answers.ReconciliationReponse, text="reconcileFromForm", **_FORM,
        ),
        _reconciliation(
            "proposeFields", f"{_AT_ADDRESS}/properties", "reconciliation-champs", 250,
            answers.ReconciliationChamps, parameters=(adapter.CHAMPS,),
        ),
        _reconciliation(
            "suggestEntities", f"{_AT_ADDRESS}/suggest/{{quoi}}", "reconciliation-suggestions", 260,
            answers.ReconciliationSuggestions, parameters=adapter.SUGGESTIONS, refusals=[404],
            path_parameters=(adapter.JETON, adapter.QUOI),
        ),
        _reconciliation(
            "previewEntity", f"{_AT_ADDRESS}/preview/{{societe}}", "reconciliation-apercu", 270,
            media=["text/html"], refusals=[404], parameters=PINNED, path_parameters=(adapter.JETON, adapter.SOCIETE),
        ),
        _reconciliation(
            "viewEntity", f"{_AT_ADDRESS}/view/{{societe}}", "reconciliation-vue", 280,
            headers=(), refusals=[404], parameters=PINNED, path_parameters=(adapter.JETON, adapter.SOCIETE),
        ),
    ),
    guides={"rapprochement": 60},
)  # fmt: skip
