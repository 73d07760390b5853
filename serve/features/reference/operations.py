"""The operations of the reference lists."""

from typing import Final

from serve.contract import parameters
from serve.contract.feature import Feature
from serve.contract.operation import Link, Operation
from serve.features.reference import answers, lists

_FIRST_COUNTRY: Final = "$response.body#/pays/0/iso2"
_FIRST_SECTOR: Final = "$response.body#/secteurs/0/slug"


def _companies(**given: str) -> Link:
    """A search by values of the first entry of a list."""
    return Link("companies", "searchCompanies", given)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "listCountries", "/api/v1/pays", "pays", "list", "Lists",
            lists.pays, answers.ListePays, place=10,
            tool="list_countries", parameters=parameters.PINNED, links=[_companies(pays=_FIRST_COUNTRY)],
        ),
        Operation(
            "listSectors", "/api/v1/secteurs", "secteurs", "list", "Lists",
            lists.secteurs, answers.ListeSecteurs, place=20,
            tool="list_sectors", parameters=lists.SECTORS,
            links=[
                _companies(secteur=_FIRST_SECTOR),
                Link("sub_sectors", "listSubSectors", {"secteur": _FIRST_SECTOR}),
            ],
        ),
        Operation(
            "listSubSectors", "/api/v1/sous-secteurs", "sous-secteurs", "list", "Lists",
            lists.sous_secteurs, answers.ListeSousSecteurs, place=30,
            tool="list_subsectors", parameters=lists.SUB_SECTORS,
            links=[
                _companies(
                    secteur="$request.query.secteur",
                    sous_secteur="$response.body#/sous_secteurs/0/sous_secteur",
                )
            ],
        ),
        Operation(
            "listSources", "/api/v1/sources", "sources", "list", "Lists",
            lists.sources, answers.ListeSources, place=40,
            tool="list_sources", parameters=lists.SOURCES, links=[_companies(pays=_FIRST_COUNTRY)],
        ),
    ),
)  # fmt: skip
