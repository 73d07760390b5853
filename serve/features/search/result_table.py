"""The table of results: its columns, and the link of each column head."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.search.search_form import SearchForm


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column.

    Attributes:
        orders: the orders that its head leads to, that of the first click first.
        look: CSS classes.
    """

    name: str
    fr: str
    en: str
    orders: tuple[str, ...] = ()
    look: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; `sorted` is a value of aria-sort, or ""."""

    name: str
    label: str
    look: str
    href: str | None
    sorted: str


COLUMNS: Final = (
    ResultColumn("nom", "Société", "Company", ("nom",)),
    ResultColumn("secteur", "Secteur", "Sector", look="wide"),
    ResultColumn("creation", "Création", "Founded", ("recent",), look="num wide"),
    ResultColumn("effectif", "Effectif", "Headcount", ("effectif_desc",), look="num"),
    ResultColumn("capital", "Capital", "Capital", ("capital_desc",), look="num wide"),
    ResultColumn("ca", "Chiffre d’affaires", "Turnover", ("ca_desc", "ca_asc"), look="num"),
)
_ASCENDING: Final = ("nom", "ca_asc")

ORDER_NAMES: Final = {
    "ca_desc": ("Chiffre d’affaires, décroissant", "Turnover, highest first"),
    "ca_asc": ("Chiffre d’affaires, croissant", "Turnover, lowest first"),
    "nom": ("Nom, de A à Z", "Name, A to Z"),
    "effectif_desc": ("Effectif, décroissant", "Headcount, highest first"),
    "recent": ("Création, la plus récente", "Founded most recently"),
    "capital_desc": ("Capital social, décroissant", "Share capital, highest first"),
    "score": ("Fiches les plus complètes", "Most complete records"),
}


def heads(request: PageRequest, form: SearchForm) -> Sequence[Head]:
    """The heads of the table for this search."""
    return [
        Head(
            column.name,
            _label(request, form, column),
            column.look,
            form.href(tri=_next_order(column, form.tri)) if column.orders else None,
            _aria_sort(column, form.tri),
        )
        for column in COLUMNS
    ]


def _label(request: PageRequest, form: SearchForm, column: ResultColumn) -> str:
    """The label of a column; in one sector its rows have their sub-sectors."""
    if column.name == "secteur" and len(form.secteurs) == 1:
        return request.t("Sous-secteur", "Sub-sector")
    return request.t(column.fr, column.en)


def _next_order(column: ResultColumn, tri: str) -> str:
    """The order after a click: the other one if the column has two and one of them applies."""
    if tri not in column.orders:
        return column.orders[0]
    return column.orders[(column.orders.index(tri) + 1) % len(column.orders)]


def _aria_sort(column: ResultColumn, tri: str) -> str:
    if tri not in column.orders:
        return ""
    return "ascending" if tri in _ASCENDING else "descending"
