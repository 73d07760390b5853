"""From the facts of one filing to statement lines, and to canonical rows. Pure functions, no file and no library.

The rules, in order:

1. A balance on the first day of a period is the closing balance of the year before.
2. `exercice` is the year of the closing date. A date is a closing date only if a balance sheet or an
   income statement is dated so; of two in one calendar year the later one counts.
3. Of equal facts one is kept. Of unequal facts the longest period is kept, then the more precise
   fact, then the first. In `annexe`, where unequal facts are rows of a table (share classes), none
   is kept.
4. Of the concepts that give one line, the first in `seeds/elements.csv` is kept.
5. A balance sheet tagged with reversed signs is corrected (`_correct_signs`).
6. UK accounts seldom state total assets; they are summed up (`total_assets`).
7. A fiscal year of 1 to 24 months, but not twelve, has a line that says its months (`_months`).

In a row a part of a line is named as one (`dont …`) only where that line is in the same accounts: alone, it would read
as a part of the line above it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple

from pipeline.canonical import GROUP
from pipeline.registers.accounts import chart
from pipeline.registers.accounts.chart import GROUP_PLACES, ChartLine, Element, Taxonomy
from pipeline.registers.accounts.filing import Fact, day_before
from shards.codec.record import ETATS

BATCH: Final = 50_000  # lines written at a time
COMPUTED: Final = " (calculé)"
OF_GROUP: Final = " (comptes consolidés)"

Row = dict[str, object]
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
MONTHS: Final = "PeriodMonths"
DAYS: Final = 365.25  # of a year
MOST_MONTHS: Final = 24  # longer periods are not those of a fiscal year
UNLIKELY_LENGTH: Final = "durées d'exercice invraisemblables"
YEARS_BACK: Final = 10  # an older date than this before the closing is a typing error


class Amount(NamedTuple):
    """The value of a line in one fiscal year.

    Attributes:
        exercice: the year of the closing date.
        devise: null where the value is no amount of money.
        computed: the filing has its parts only; the label says so.
        group: from group accounts.
    """

    exercice: int
    line: ChartLine
    valeur: float
    devise: str | None
    computed: bool = False
    group: bool = False


@dataclass(slots=True)
class Tally:
    """Counts of facts, summed over filings. The keys of `counts` go to the import report."""

    counts: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)  # by reason
    unknown: Counter[str] = field(default_factory=Counter)  # by concept


def amounts(
    facts: Sequence[Fact],
    closing: date,
    taxonomy: Taxonomy,
    tally: Tally,
    start: date | None = None,
) -> list[Amount]:
    """The lines of every fiscal year of a filing that closes on `closing`; counts go to `tally`.

    Args:
        start: the first day of the year that closes on `closing`, where the facts have no periods.
    """
    tally.counts["faits lus"] += len(facts)
    dated = _date_opening_balances(facts)
    mapped = [(f, element) for f in dated if (element := _element(f, taxonomy, tally)) is not None]
    closings = _closings(mapped, closing)
    by_year: dict[int, dict[str, list[tuple[Fact, Element]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for fact, element in mapped:
        if closings.get(fact.day.year) == fact.day:
            by_year[fact.day.year][fact.key].append((fact, element))
        else:
            tally.counts["faits à une autre date que la clôture"] += 1
    lines: list[Amount] = []
    for year, keys in sorted(by_year.items()):
        chosen = _one_per_line(year, keys.values(), tally)
        chosen = _correct_signs(chosen, tally)
        total = total_assets(year, chosen, tally)
        of_year = [fact for facts in keys.values() for fact, _ in facts]
        first = start if closings[year] == closing else None
        length = _months(year, of_year, first, tally) if chosen else None
        lines += [*chosen.values(), *(line for line in (total, length) if line)]
    return lines


def total_assets(exercice: int, amounts: Mapping[str, Amount], tally: Tally) -> Amount | None:
    """Sum fixed and current assets, with unpaid capital and prepayments where they stand apart.

    None if the filing states the total itself or has neither kind of assets. The sum is compared
    with total assets less current liabilities plus creditors within one year, where both are filed,
    and the comparison is counted in `tally`.
    """
    fixed = _present_amounts(amounts, ("FixedAssets",)) or _present_amounts(amounts, FIXED)
    current = _present_amounts(amounts, ("CurrentAssets",)) or _present_amounts(amounts, CURRENT)
    if TOTAL in amounts or not (fixed or current):
        return None
    parts = [*fixed, *current, *_present_amounts(amounts, APART)]
    currencies = {part.devise for part in parts}
    if len(currencies) != 1:
        tally.counts["total de l'actif non calculé (plusieurs devises)"] += 1
        return None
    total = sum(part.valeur for part in parts)
    if total < 0:
        tally.counts["total de l'actif non calculé (négatif)"] += 1
        return None
    _compare(total, amounts, tally)
    return Amount(exercice, chart.load()[TOTAL], total, currencies.pop(), computed=True)


def _months(
    exercice: int, facts: Sequence[Fact], start: date | None, tally: Tally
) -> Amount | None:
    """The months of a fiscal year, as the longest period of its facts or `start` say; None if twelve.

    Years of 52 or 53 weeks have twelve months.
    """
    starts = [fact.start for fact in facts if fact.start is not None] + ([start] if start else [])
    if not starts:
        return None
    days = (facts[0].day - min(starts)).days + 1
    months = round(days * 12 / DAYS)
    if months == 12:
        return None
    if not 1 <= months <= MOST_MONTHS:
        tally.counts[UNLIKELY_LENGTH] += 1
        return None
    return Amount(exercice, chart.load()[MONTHS], float(months), None)


def _correct_signs(amounts: dict[str, Amount], tally: Tally) -> dict[str, Amount]:
    """Undo the minus sign that some software puts on every asset and subtotal (4 of 283 filings).

    The page shows 7 044, the tag says -7 044. The case is certain if assets are negative and the
    balance sheet balances only with positive ones.
    """
    net = amounts.get("TotalAssetsLessCurrentLiabilities")
    owed = amounts.get("CreditorsDueWithinOneYear")
    assets = sum(
        part.valeur for part in _present_amounts(amounts, ("FixedAssets", "CurrentAssets"))
    )
    if net is None or owed is None or assets >= 0 or owed.valeur <= 0:
        return amounts
    if abs(assets - (net.valeur - owed.valeur)) > ROUNDING:
        return amounts
    tally.counts["bilans aux signes inversés, rétablis"] += 1
    return {
        code: amount._replace(valeur=-amount.valeur)
        if code in SUBTOTALS or (amount.line.etat == "bilan_actif" and amount.valeur < 0)
        else amount
        for code, amount in amounts.items()
    }


def _compare(total: float, amounts: Mapping[str, Amount], tally: Tally) -> None:
    net = amounts.get("TotalAssetsLessCurrentLiabilities")
    owed = amounts.get("CreditorsDueWithinOneYear")
    if net and owed:
        agrees = abs(net.valeur + owed.valeur - total) <= ROUNDING
        tally.counts[f"total de l'actif {'confirmé' if agrees else 'contredit'}"] += 1


def _present_amounts(amounts: Mapping[str, Amount], codes: Iterable[str]) -> list[Amount]:
    return [amounts[code] for code in codes if code in amounts]


def _date_opening_balances(facts: Sequence[Fact]) -> list[Fact]:
    opening = {fact.start for fact in facts if fact.start}
    return [
        fact._replace(day=day_before(fact.day))
        if fact.start is None and fact.day in opening
        else fact
        for fact in facts
    ]


def _element(fact: Fact, taxonomy: Taxonomy, tally: Tally) -> Element | None:
    element = taxonomy.lines.get(fact.key)
    if element is not None:
        return element
    concept, _, member = fact.key.partition("[")
    reason = taxonomy.reason(concept)
    if reason is not None:
        tally.ignored[reason] += 1
    elif member and concept in taxonomy.known:
        tally.counts["faits ventilés (le total est repris)"] += 1
    else:
        tally.unknown[fact.key] += 1
    return None


def _closings(mapped: Iterable[tuple[Fact, Element]], closing: date) -> dict[int, date]:
    """The closing date of each fiscal year of the filing."""
    latest: dict[int, date] = {}
    for fact, element in mapped:
        near = closing.year - YEARS_BACK <= fact.day.year and fact.day <= closing
        if near and element.line.etat != "annexe":
            latest[fact.day.year] = max(fact.day, latest.get(fact.day.year, fact.day))
    return latest


def _one_per_line(
    year: int, keys: Iterable[Sequence[tuple[Fact, Element]]], tally: Tally
) -> dict[str, Amount]:
    chosen: dict[str, tuple[int, Amount]] = {}
    for same in keys:
        fact, element = _choose_fact(same, tally)
        if fact is None:
            continue
        code = element.line.code
        amount = Amount(year, element.line, element.apply_sign(fact.value), fact.currency)
        tally.counts["faits repris sous un autre concept"] += code in chosen
        if code not in chosen or element.rank < chosen[code][0]:
            chosen[code] = (element.rank, amount)
    return {code: amount for code, (_, amount) in chosen.items()}


def _choose_fact(same: Sequence[tuple[Fact, Element]], tally: Tally) -> tuple[Fact | None, Element]:
    """Choose one of the facts of one key and one date, or none (rule 3)."""
    element = same[0][1]
    facts = (fact for fact, _ in same)
    ordered = sorted(facts, key=lambda fact: (-_length(fact), -fact.precision))
    first = ordered[0]
    period = [fact for fact in ordered if _length(fact) == _length(first)]
    rivals = [fact for fact in period if fact.precision == first.precision]
    tally.counts["faits répétés"] += len(same) - 1
    if len({fact.value for fact in period}) > 1:
        tally.counts["faits contradictoires"] += 1
    if element.line.etat == "annexe" and len({fact.value for fact in rivals}) > 1:
        tally.counts["lignes d'annexe écartées (contradictoires)"] += 1
        return None, element
    return first, element


def _length(fact: Fact) -> int:
    return (fact.day - fact.start).days if fact.start else 0


# -- amounts as canonical rows -------------------------------------------------------


def canonical_rows(iso2: str, identifier: str, amounts: Iterable[Amount]) -> list[Row]:
    """The canonical rows of one company, by fiscal year, statement and place."""
    ordered = sorted(amounts, key=_position)
    there = {(one.exercice, one.group, one.line.code) for one in ordered}
    return [
        _row(iso2, identifier, one, (one.exercice, one.group, one.line.parent) in there)
        for one in ordered
    ]


def _position(amount: Amount) -> tuple[int, int, bool, int]:
    line = amount.line
    return amount.exercice, ETATS.index(line.etat), amount.group, line.ordre


def _row(iso2: str, identifier: str, amount: Amount, below_parent: bool) -> Row:
    line, group = amount.line, amount.group
    label = line.as_part if below_parent else line.libelle_fr
    return {
        "iso2": iso2,
        "id": identifier,
        "exercice": amount.exercice,
        "etat": line.etat,
        "code": line.code + GROUP * group,
        "libelle": label + COMPUTED * amount.computed + OF_GROUP * group,
        "valeur": amount.valeur,
        "devise": amount.devise,
        "ordre": line.ordre + GROUP_PLACES * group,
    }
