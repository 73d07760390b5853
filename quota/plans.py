"""The plan grid (§8.1, contract C2, C4, D8): the rights and limits of each plan.

Code reads every figure of the grid from `seeds/plans.csv`, which has one row per plan (contract C5).
This module reads the columns as typed fields, and refuses a table with an unknown or missing column, plan or value.
A plan is data: code reads its limits. Code compares slugs only for visitors, free accounts and burst limits.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import Final

from quota.errors import QuotaError
from seeds import TABLES

# The tiers of §1 (bullet 4), and the values of the field `plan` (§2.2).
SLUGS: Final = ("visiteur", "free", "data", "corporate", "marches", "integral", "carte")

# The modules of §8 that make analyses (extension X11).
MODULES: Final = ("entreprise", "marche")

# How a plan offers the API tool (§8.1). Without the tool a key is served as `free` (§5 rule 3).
API_TOOL: Final = ("aucun", "gratuit", "option", "inclus")


class PlansError(QuotaError):
    """The plan grid cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One row of the grid; the fields have the names of the columns and of the wire (§2.3)."""

    slug: str
    nom: str
    nom_en: str
    resultats_par_recherche: int
    lignes_par_appel: int
    appels_api_par_jour: int
    exports_par_mois: int
    lignes_par_export: int
    societes_avec_comptes_par_export: int
    coordonnees: bool
    etats_financiers: bool
    cles_actives: int
    outil_api: str  # one of API_TOOL
    outil_api_eur: Decimal | None  # per year, excl. VAT; None if the tool is not an option
    prix_annuel_eur: Decimal | None  # per year, excl. VAT; None if no price is published
    credits_par_mois: int
    suivant: str  # slug of the next plan to propose (C1); "" for the highest
    # From MODULES. An account with a plan composed of modules (`sur_mesure`) has modules of its own instead.
    modules: tuple[str, ...]
    essais_par_mois: int  # analyses on trial, of modules that the plan lacks

    @property
    def sur_mesure(self) -> bool:
        """Whether the plan is composed of modules for each organisation: a plan with keys and no published price."""
        return self.outil_api != "aucun" and self.prix_annuel_eur is None


# The end of errors about a price.
_PRICE_REMEDY: Final = "write an amount of euros, as 12.50"
_COLUMNS: Final = tuple(field.name for field in fields(Plan))


def load(path: Path = TABLES / "plans.csv") -> Mapping[str, Plan]:
    """The seven plans by slug, in the order of the file.

    Raises:
        PlansError: a column or a plan is missing or unknown, or a value is not of its type.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            raise PlansError(
                f"{path.name}: the columns are {rows.fieldnames}; write {', '.join(_COLUMNS)}"
            )
        plans = [_parse_plan(row, f"{path.name}, line {rows.line_num}") for row in rows]
    _check_grid(plans, path.name)
    return MappingProxyType({plan.slug: plan for plan in plans})


def _parse_plan(row: Mapping[str, str | None], where: str) -> Plan:
    """The plan in a row of the table; `where` is the file and line for errors."""
    text = {name: value for name, value in row.items() if value is not None}
    if tuple(text) != _COLUMNS:
        raise PlansError(f"{where}: it has {len(text)} values; write {len(_COLUMNS)}")
    return Plan(
        slug=text["slug"],
        nom=text["nom"],
        nom_en=text["nom_en"],
        resultats_par_recherche=_whole_number(text, "resultats_par_recherche", where),
        lignes_par_appel=_whole_number(text, "lignes_par_appel", where),
        appels_api_par_jour=_whole_number(text, "appels_api_par_jour", where),
        exports_par_mois=_whole_number(text, "exports_par_mois", where),
        lignes_par_export=_whole_number(text, "lignes_par_export", where),
        societes_avec_comptes_par_export=_whole_number(
            text, "societes_avec_comptes_par_export", where
        ),
        coordonnees=_boolean(text, "coordonnees", where),
        etats_financiers=_boolean(text, "etats_financiers", where),
        cles_actives=_whole_number(text, "cles_actives", where),
        outil_api=_choice(text, "outil_api", API_TOOL, where),
        outil_api_eur=_price(text, "outil_api_eur", where),
        prix_annuel_eur=_price(text, "prix_annuel_eur", where),
        credits_par_mois=_whole_number(text, "credits_par_mois", where),
        suivant=_choice(text, "suivant", ("", *SLUGS), where),
        modules=tuple(
            _choice({"modules": name}, "modules", MODULES, where)
            for name in text["modules"].split()
        ),
        essais_par_mois=_whole_number(text, "essais_par_mois", where),
    )


def _whole_number(text: Mapping[str, str], name: str, where: str) -> int:
    """The number in the column `name`. Every limit is a number (§1): there is no word for "unlimited"."""
    if not (text[name].isascii() and text[name].isdigit()):
        raise PlansError(f"{where}: {name} is {text[name]!r}; write a whole number")
    return int(text[name])


def _boolean(text: Mapping[str, str], name: str, where: str) -> bool:
    """The truth value in the column `name`."""
    return _choice(text, name, ("true", "false"), where) == "true"


def _choice(text: Mapping[str, str], name: str, allowed: Iterable[str], where: str) -> str:
    """The value in the column `name`, which must be one of `allowed`."""
    if text[name] not in allowed:
        raise PlansError(f"{where}: {name} is {text[name]!r}; write one of {', '.join(allowed)}")
    return text[name]


def _price(text: Mapping[str, str], name: str, where: str) -> Decimal | None:
    """The price in the column `name`; None if the column is empty."""
    if not text[name]:
        return None
    try:
        price = Decimal(text[name])
    except InvalidOperation as error:
        raise PlansError(f"{where}: {name} is {text[name]!r}; {_PRICE_REMEDY}") from error
    if not price.is_finite() or price < 0:
        raise PlansError(f"{where}: {name} is {price}; {_PRICE_REMEDY}")
    return price


def _check_grid(plans: Iterable[Plan], where: str) -> None:
    """Check that there are the seven plans, that each proposed plan has a price, and a tool only if it is an option.

    A tool that is an option must have a price.

    Raises:
        PlansError: one of these conditions is not met.
    """
    slugs = [plan.slug for plan in plans]
    if sorted(slugs) != sorted(SLUGS):
        raise PlansError(f"{where}: the plans are {slugs}; write {list(SLUGS)}, once each")
    proposed = {plan.suivant for plan in plans}
    for plan in plans:
        if plan.outil_api == "option" and plan.outil_api_eur is None:
            raise PlansError(
                f"{where}: {plan.slug} has the tool as an option without a price; give one"
            )
        if plan.outil_api != "option" and plan.outil_api_eur is not None:
            raise PlansError(
                f"{where}: {plan.slug} has a price of a tool that is not an option; remove it"
            )
        if plan.slug in proposed and plan.prix_annuel_eur is None:
            raise PlansError(
                f"{where}: {plan.slug} is proposed as a next plan but has no price; give one"
            )
