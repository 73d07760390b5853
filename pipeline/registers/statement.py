"""From the facts of one filing to statement lines: pure, no file and no library.

The rules, in order:
1. A balance on the first day of a period is the close of the year before.
2. `exercice` is the year of the closing date. A date is one only if a balance sheet or an income
   statement stands at it; of two in one calendar year the later counts.
3. Of equal facts one is kept; of unequal ones the longest period, then the more precise, then the
   first. In `annexe`, where they are rows of a table (share classes), none is.
4. Of the concepts that give one line, the first in seeds/frc.csv.
5. A balance sheet tagged upside down is turned over (`_upright`).
6. UK accounts seldom state total assets: they are added up (`total_assets`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple

from pipeline.registers.filing import Fact, day_before
from pipeline.registers.frc_taxonomy import ConceptLine, Taxonomy

TOTAL: Final = "TotalAssets"
FIXED: Final = (
    "IntangibleAssets",
    "PropertyPlantEquipment",
    "InvestmentProperty",
    "InvestmentsFixedAssets",
)
CURRENT: Final = ("TotalInventories", "Debtors", "InvestmentsCurrentAssets", "CashBankOnHand")
APART: Final = (
    "CalledUpShareCapitalNotPaid",
    "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal",
)
SUBTOTALS: Final = (
    "NetCurrentAssetsLiabilities",
    "TotalAssetsLessCurrentLiabilities",
    "NetAssetsLiabilities",
)
ROUNDING: Final = 2  # one unit for each of two rounded figures
YEARS_BACK: Final = 10  # a date further from the filing's own is a slip of the pen


class Amount(NamedTuple):
    """A line with its value in one fiscal year."""

    exercice: int
    line: ConceptLine
    libelle: str
    valeur: float
    devise: str | None


@dataclass(slots=True)
class Tally:
    """What happened to the facts, added up over filings."""

    compte: Counter[str] = field(default_factory=Counter)
    ignores: Counter[str] = field(default_factory=Counter)  # by reason
    inconnus: Counter[str] = field(default_factory=Counter)  # by concept


def amounts(facts: Sequence[Fact], cloture: date, taxonomy: Taxonomy, tally: Tally) -> list[Amount]:
    """The lines of every fiscal year of a filing closed on `cloture`; counts go to `tally`."""
    tally.compte["faits lus"] += len(facts)
    shifted = _closing(facts)
    mapped = [(f, line) for f in shifted if (line := _line(f, taxonomy, tally)) is not None]
    closings = _closings(mapped, cloture)
    by_year: dict[int, dict[str, list[tuple[Fact, ConceptLine]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for fact, line in mapped:
        if closings.get(fact.jour.year) == fact.jour:
            by_year[fact.jour.year][fact.cle].append((fact, line))
        else:
            tally.compte["faits à une autre date que la clôture"] += 1
    found: list[Amount] = []
    for year, keys in sorted(by_year.items()):
        chosen = _one_per_line(year, keys.values(), tally)
        chosen = _upright(chosen, tally)
        total = total_assets(year, chosen, taxonomy, tally)
        found += [*chosen.values(), *([total] if total else [])]
    return found


def total_assets(
    exercice: int, found: Mapping[str, Amount], taxonomy: Taxonomy, tally: Tally
) -> Amount | None:
    """Fixed and current assets, with unpaid capital and prepayments where they are shown apart.

    None if the filing states the total itself, or has neither kind of assets. Held against total
    assets less current liabilities plus creditors within one year, where both are filed.
    """
    fixed = _sum(found, ("FixedAssets",)) or _sum(found, FIXED)
    current = _sum(found, ("CurrentAssets",)) or _sum(found, CURRENT)
    if TOTAL in found or not (fixed or current):
        return None
    parts = [*fixed, *current, *_sum(found, APART)]
    devises = {part.devise for part in parts}
    if len(devises) != 1:
        tally.compte["total de l'actif non calculé (plusieurs devises)"] += 1
        return None
    total = sum(part.valeur for part in parts)
    if total < 0:
        tally.compte["total de l'actif non calculé (négatif)"] += 1
        return None
    _verify(total, found, tally)
    line = taxonomy.lines[TOTAL]
    return Amount(exercice, line, f"{line.libelle} (calculé)", total, devises.pop())


def _upright(found: dict[str, Amount], tally: Tally) -> dict[str, Amount]:
    """Undo the sign that some software sets on every asset and subtotal (4 filings of 283).

    The page shows 7 044, the tag says -7 044. It is certain when assets are negative and the
    balance holds only if they are not.
    """
    net = found.get("TotalAssetsLessCurrentLiabilities")
    owed = found.get("CreditorsDueWithinOneYear")
    assets = sum(part.valeur for part in _sum(found, ("FixedAssets", "CurrentAssets")))
    if net is None or owed is None or assets >= 0 or owed.valeur <= 0:
        return found
    if abs(assets - (net.valeur - owed.valeur)) > ROUNDING:
        return found
    tally.compte["bilans aux signes inversés, rétablis"] += 1
    return {
        code: amount._replace(valeur=-amount.valeur)
        if code in SUBTOTALS or (amount.line.etat == "bilan_actif" and amount.valeur < 0)
        else amount
        for code, amount in found.items()
    }


def _verify(total: float, found: Mapping[str, Amount], tally: Tally) -> None:
    net = found.get("TotalAssetsLessCurrentLiabilities")
    owed = found.get("CreditorsDueWithinOneYear")
    if net and owed:
        agrees = abs(net.valeur + owed.valeur - total) <= ROUNDING
        tally.compte[f"total de l'actif {'confirmé' if agrees else 'contredit'}"] += 1


def _sum(found: Mapping[str, Amount], codes: Iterable[str]) -> list[Amount]:
    return [found[code] for code in codes if code in found]


def _closing(facts: Sequence[Fact]) -> list[Fact]:
    opening = {fact.debut for fact in facts if fact.debut}
    return [
        fact._replace(jour=day_before(fact.jour))
        if fact.debut is None and fact.jour in opening
        else fact
        for fact in facts
    ]


def _line(fact: Fact, taxonomy: Taxonomy, tally: Tally) -> ConceptLine | None:
    line = taxonomy.lines.get(fact.cle)
    if line is not None:
        return line
    concept, _, member = fact.cle.partition("[")
    reason = taxonomy.reason(concept)
    if reason is not None:
        tally.ignores[reason] += 1
    elif member and concept in taxonomy.known:
        tally.compte["faits ventilés (le total est repris)"] += 1
    else:
        tally.inconnus[fact.cle] += 1
    return None


def _closings(mapped: Iterable[tuple[Fact, ConceptLine]], cloture: date) -> dict[int, date]:
    """The closing date of each fiscal year of the filing."""
    latest: dict[int, date] = {}
    for fact, line in mapped:
        near = cloture.year - YEARS_BACK <= fact.jour.year and fact.jour <= cloture
        if near and line.etat != "annexe":
            latest[fact.jour.year] = max(fact.jour, latest.get(fact.jour.year, fact.jour))
    return latest


def _one_per_line(
    year: int, keys: Iterable[Sequence[tuple[Fact, ConceptLine]]], tally: Tally
) -> dict[str, Amount]:
    chosen: dict[str, tuple[int, Amount]] = {}
    for same in keys:
        fact, line = _best(same, tally)
        if fact is None:
            continue
        amount = Amount(year, line, line.libelle, line.signed(fact.valeur), fact.devise)
        tally.compte["faits repris sous un autre concept"] += line.code in chosen
        if line.code not in chosen or line.rang < chosen[line.code][0]:
            chosen[line.code] = (line.rang, amount)
    return {code: amount for code, (_, amount) in chosen.items()}


def _best(
    same: Sequence[tuple[Fact, ConceptLine]], tally: Tally
) -> tuple[Fact | None, ConceptLine]:
    """One of the facts of one key and one date, or none of them (rule 3)."""
    line = same[0][1]
    ordered = sorted((fact for fact, _ in same), key=_preference)
    first = ordered[0]
    period = [fact for fact in ordered if _length(fact) == _length(first)]
    rivals = [fact for fact in period if fact.precision == first.precision]
    tally.compte["faits répétés"] += len(same) - 1
    if len({fact.valeur for fact in period}) > 1:
        tally.compte["faits contradictoires"] += 1
    if line.etat == "annexe" and len({fact.valeur for fact in rivals}) > 1:
        tally.compte["lignes d'annexe écartées (contradictoires)"] += 1
        return None, line
    return first, line


def _preference(fact: Fact) -> tuple[int, float]:
    return -_length(fact), -fact.precision


def _length(fact: Fact) -> int:
    return (fact.jour - fact.debut).days if fact.debut else 0
