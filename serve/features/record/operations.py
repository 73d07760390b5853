"""The operations of a record."""

from typing import Final

from serve.contract import parameters, search_answers
from serve.contract import record_answers as answers
from serve.contract.feature import Feature
from serve.contract.operation import RECORD_PATH, Operation, company_link
from serve.features.record import answers as groups
from serve.features.record.groupe import groupe
from serve.features.record.identifiants import VALEUR, identifiants
from serve.features.record.societe import societe

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readCompany", RECORD_PATH, "societe", "call", "Companies",
            societe, answers.Fiche, answers.FicheRefusee, answers.FicheIndisponible, place=100,
            path_parameters=parameters.RECORD, parameters=parameters.PINNED, credits="fiche",
            headers=["Content-Location", "Content-Language"],
        ),
        Operation(
            "readGroup", f"{RECORD_PATH}/groupe", "groupe", "call", "Companies",
            groupe, groups.Groupe, groups.GroupeRefuse, place=130,
            path_parameters=parameters.RECORD, tool="company_group", parameters=parameters.PINNED,
            headers=["Content-Location", "Content-Language"],
            links=[company_link("parents/0/societe")],
        ),
        Operation(
            "lookUp", "/api/v1/identifiants/{valeur}", "identifiants", "call", "Companies",
            identifiants, search_answers.Identification, search_answers.IdentificationRefusee, place=160,
            path_parameters=(VALEUR,), tool="look_up", parameters=parameters.PINNED,
            links=[company_link("candidats/0")],
        ),
    ),
)  # fmt: skip
