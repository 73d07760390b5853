"""Routes, prices and rights of the analyses: of a company and of a market, and comparable companies."""

from typing import Final

from serve.contract import parameters
from serve.contract.feature import RECORD_PATH, Feature, Operation, company_link
from serve.features.analyses import answers, comparables, marche
from serve.features.analyses.entreprise import entreprise

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "analyseCompany", f"{RECORD_PATH}/analyses/entreprise", "analyse-entreprise", "analysis",
            "Companies", entreprise, answers.AnalyseEntreprise, place=110,
            path_parameters=parameters.RECORD, account=True, tool="analyse_company", parameters=parameters.PINNED,
            credits="entreprise", headers=["Content-Language", "Content-Location"],
        ),
        Operation(
            "findComparables", f"{RECORD_PATH}/comparables", "comparables", "call", "Companies",
            comparables.comparables, answers.Comparables, answers.ComparablesRefuses, place=120,
            path_parameters=parameters.RECORD, tool="comparable_companies", parameters=comparables.PARAMETERS,
            headers=["Content-Location", "Content-Language"],
            links=[company_link("comparables/0/societe")],
        ),
        Operation(
            "analyseMarket", "/api/v1/analyses/marche", "analyse-marche", "analysis", "Companies",
            marche.marche, answers.AnalyseMarche, place=140,
            account=True, tool="analyse_market", parameters=marche.PARAMETERS, credits="marche",
            headers=["Content-Language"],
        ),
    ),
)  # fmt: skip
