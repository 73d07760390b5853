"""From the facts of one filing to statement lines and canonical rows, in pure functions.

The rules, in order:

1. A balance on the first day of a period is the closing balance of the year before.
2. `exercice` is the year of the closing date. A date is a closing date only if a fact of a balance sheet or an
   income statement has that date; of two closing dates in one calendar year, the later counts.
3. Of equal facts, the first is kept. Of unequal facts, the longest period is kept, then the more
   precise fact, then the first. In `annexe`, unequal facts are rows of a table (share classes), and all
   of these facts are left out.
4. Of several concepts for one line, the first in `seeds/elements.csv` is kept.
5. A balance sheet tagged with reversed signs is corrected (`_correct_signs`).
6. UK accounts seldom have total assets, so these are summed up (`total_assets`).
7. A fiscal year of 1 to 24 months has a line with the number of its months (`_months_amount`). The import omits
   twelve months in the end: a filing of twelve months replaces the length that an earlier filing has.

A part of a line is labelled as a part (`dont …`) only if its parent is in the same accounts: without the parent, the
label would seem to name a part of whatever line is above.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import isnan
from typing import Final, NamedTuple

from pipeline.canonical import GROUP_SUFFIX
from pipeline.registers.accounts import chart
from pipeline.registers.accounts.chart import GROUP_PLACE_OFFSET, ChartLine, Element, Taxonomy
from pipeline.registers.accounts.filing import Fact, day_before
from shards.codec.record import ETATS

BATCH: Final = 50_000  # rows written at a time
COMPUTED: Final = " (calculé)"  # the end of the label of a computed line
OF_GROUP: Final = " (comptes consolidés)"  # the end of the label of a line of group accounts

CanonicalRow = dict[str, object]  # the canonical columns of a row (COMPTES)
TOTAL_ASSETS: Final = "TotalAssets"  # the code of the line
# The lines that add up to fixed assets, then those that add up to current assets, if a filing lacks the subtotal.
FIXED_ASSET_LINES: Final = (
    "IntangibleAssets",
    "PropertyPlantEquipment",
    "InvestmentProperty",
    "InvestmentsFixedAssets",
)
CURRENT_ASSET_LINES: Final = (
    "TotalInventories",
    "Debtors",
    "InvestmentsCurrentAssets",
    "CashBankOnHand",
)
# Assets that some filings have outside fixed and current assets.
OTHER_ASSET_LINES: Final = (
    "CalledUpShareCapitalNotPaid",
    "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal",
)
# Lines whose sign is reversed, too, when `_correct_signs` corrects a balance sheet.
SUBTOTAL_LINES: Final = (
    "NetCurrentAssetsLiabilities",
    "TotalAssetsLessCurrentLiabilities",
    "NetAssetsLiabilities",
)
ROUNDING: Final = 2  # units of currency by which a sum can differ: one per rounded amount of two
MONTHS_LINE: Final = "PeriodMonths"  # the code of the line with the months of a fiscal year
DAYS_A_YEAR: Final = 365.25  # the mean number of days in a year
MOST_MONTHS: Final = 24  # a longer period is not a fiscal year
UNLIKELY_LENGTH: Final = "durées d'exercice invraisemblables"
YEARS_BACK: Final = 10  # years before the closing date; an older date in a filing is a typing error


class Amount(NamedTuple):
    """The value of a line in one fiscal year.

    Attributes:
        exercice: the year of the closing date.
        devise: None if the value is not an amount of money.
        closing: the closing date; None for an amount that is not from a filing.
        computed: whether the value is a sum of other amounts of the filing; the label says so.
        group: whether the value is from group accounts.
    """

    exercice: int
    line: ChartLine
    valeur: float
    devise: str | None
    computed: bool = False
    group: bool = False
    closing: date | None = None


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
    unread: Sequence[Fact] = (),
) -> list[Amount]:
    """The amounts of every fiscal year in a filing whose fiscal year closes on `closing`; counts go to `tally`.

    Args:
        start: the first day of the year that closes on `closing`, if the facts have no periods.
        unread: facts whose number cannot be read (NaN); a total with such a part is not computed.
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
    unread_by_year = _unread_amounts(facts, unread, taxonomy)
    lines: list[Amount] = []
    for year, facts_by_key in sorted(by_year.items()):
        chosen = _choose_amounts(year, facts_by_key.values(), tally)
        chosen = _correct_signs(chosen, tally)
        total = total_assets(year, unread_by_year.get(year, {}) | chosen, tally)
        facts_of_year = [fact for facts in facts_by_key.values() for fact, _ in facts]
        first_day = start if closings[year] == closing else None
        months = _months_amount(year, facts_of_year, first_day, tally) if chosen else None
        of_year = [*chosen.values(), *(line for line in (total, months) if line)]
        lines += [line._replace(closing=closings[year]) for line in of_year]
    return lines


def total_assets(exercice: int, amounts: Mapping[str, Amount], tally: Tally) -> Amount | None:
    """Sum fixed and current assets, with unpaid capital and prepayments if these are separate lines.

    None if the filing has the total itself or no assets, or if the parts are in several currencies, have a negative
    sum, or have a part that cannot be read (NaN). If the filing has total assets less current liabilities, and
    creditors within one year, their sum is compared with the computed total, and the comparison is counted in `tally`.
    """
    fixed = _present_amounts(amounts, ("FixedAssets",)) or _present_amounts(
        amounts, FIXED_ASSET_LINES
    )
    current = _present_amounts(amounts, ("CurrentAssets",)) or _present_amounts(
        amounts, CURRENT_ASSET_LINES
    )
    if TOTAL_ASSETS in amounts or not (fixed or current):
        return None
    parts = [*fixed, *current, *_present_amounts(amounts, OTHER_ASSET_LINES)]
    currencies = {part.devise for part in parts}
    if len(currencies) != 1:
        tally.counts["total de l'actif non calculé (plusieurs devises)"] += 1
        return None
    total = sum(part.valeur for part in parts)
    if isnan(total):
        tally.counts["total de l'actif non calculé (montant illisible)"] += 1
        return None
    if total < 0:
        tally.counts["total de l'actif non calculé (négatif)"] += 1
        return None
    _count_agreement(total, amounts, tally)
    return Amount(
        exercice, chart.load_lines()[TOTAL_ASSETS], total, currencies.pop(), computed=True
    )


def _unread_amounts(
    facts: Sequence[Fact], unread: Sequence[Fact], taxonomy: Taxonomy
) -> dict[int, dict[str, Amount]]:
    """By year and code of the line: the amounts of facts whose number cannot be read, which are NaN."""
    dated = _date_opening_balances([*facts, *unread])[len(facts) :]
    by_year: dict[int, dict[str, Amount]] = defaultdict(dict)
    for fact in dated:
        if element := taxonomy.lines.get(fact.key):
            amount = Amount(fact.day.year, element.line, fact.value, fact.currency)
            by_year[fact.day.year][element.line.code] = amount
    return by_year


def _months_amount(
    exercice: int, facts: Sequence[Fact], first_day: date | None, tally: Tally
) -> Amount | None:
    """The months of a fiscal year, from the longest period of its facts or from `first_day`.

    None if the length is unknown or not of a fiscal year. Years of 52 or 53 weeks count as twelve months.
    """
    starts = [fact.start for fact in facts if fact.start is not None] + (
        [first_day] if first_day else []
    )
    if not starts:
        return None
    days = (facts[0].day - min(starts)).days + 1
    months = round(days * 12 / DAYS_A_YEAR)
    if not 1 <= months <= MOST_MONTHS:
        tally.counts[UNLIKELY_LENGTH] += 1
        return None
    return Amount(exercice, chart.load_lines()[MONTHS_LINE], float(months), None)


def _correct_signs(amounts: dict[str, Amount], tally: Tally) -> dict[str, Amount]:
    """Undo the minus sign that some software puts on every asset and subtotal (4 of 283 filings).

    The filed page shows 7 044 and its XBRL tag has -7 044. The error is certain if assets are negative and the
    balance sheet balances only with reversed signs.
    """
    net_assets = amounts.get("TotalAssetsLessCurrentLiabilities")
    creditors = amounts.get("CreditorsDueWithinOneYear")
    assets = sum(
        part.valeur for part in _present_amounts(amounts, ("FixedAssets", "CurrentAssets"))
    )
    if net_assets is None or creditors is None or assets >= 0 or creditors.valeur <= 0:
        return amounts
    # With right signs, assets = net assets + creditors. If the signs of assets and net assets are reversed,
    # assets = net assets - creditors.
    if abs(assets - (net_assets.valeur - creditors.valeur)) > ROUNDING:
        return amounts
    tally.counts["bilans aux signes inversés, rétablis"] += 1
    return {
        code: amount._replace(valeur=-amount.valeur)
        if code in SUBTOTAL_LINES or (amount.line.etat == "bilan_actif" and amount.valeur < 0)
        else amount
        for code, amount in amounts.items()
    }


def _count_agreement(total: float, amounts: Mapping[str, Amount], tally: Tally) -> None:
    """Count in `tally` whether the filing confirms or contradicts the computed total assets."""
    net_assets = amounts.get("TotalAssetsLessCurrentLiabilities")
    creditors = amounts.get("CreditorsDueWithinOneYear")
    if net_assets and creditors:
        agrees = abs(net_assets.valeur + creditors.valeur - total) <= ROUNDING
        tally.counts[f"total de l'actif {'confirmé' if agrees else 'contredit'}"] += 1


def _present_amounts(amounts: Mapping[str, Amount], codes: Iterable[str]) -> list[Amount]:
    """The amounts of those lines in `codes` that the filing has."""
    return [amounts[code] for code in codes if code in amounts]


def _date_opening_balances(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, with each opening balance moved to the closing date of the year before (rule 1)."""
    first_days = {fact.start for fact in facts if fact.start}
    return [
        fact._replace(day=day_before(fact.day))
        if fact.start is None and fact.day in first_days
        else fact
        for fact in facts
    ]


def _element(fact: Fact, taxonomy: Taxonomy, tally: Tally) -> Element | None:
    """The element of a fact; None if the fact has no line, and then `tally` counts why."""
    element = taxonomy.lines.get(fact.key)
    if element is not None:
        return element
    concept, _, member = fact.key.partition("[")
    reason = taxonomy.reason(concept)
    if reason is not None:
        tally.ignored[reason] += 1
    elif member and concept in taxonomy.concepts:
        tally.counts["faits ventilés (le total est repris)"] += 1
    else:
        tally.unknown[fact.key] += 1
    return None


def _closings(mapped: Iterable[tuple[Fact, Element]], closing: date) -> dict[int, date]:
    """By calendar year: the last closing date on which a fact of a balance sheet or income statement is (rule 2).

    Args:
        closing: the closing date of the filing; later dates are errors.
    """
    latest: dict[int, date] = {}
    for fact, element in mapped:
        # A date after the closing date, or more than YEARS_BACK years before it, is a typing error.
        is_plausible = closing.year - YEARS_BACK <= fact.day.year and fact.day <= closing
        if is_plausible and element.line.etat != "annexe":
            latest[fact.day.year] = max(fact.day, latest.get(fact.day.year, fact.day))
    return latest


def _choose_amounts(
    year: int, keys: Iterable[Sequence[tuple[Fact, Element]]], tally: Tally
) -> dict[str, Amount]:
    """The amount of each line of a year, by code (rules 3 and 4 of this file).

    Several facts can be published for a line. Of the elements that map to it, the one of the lowest rank is taken.

    Args:
        keys: the facts with their elements, grouped by the key and date that they share.
        tally: counts the facts that are not taken.
    """
    chosen: dict[str, tuple[int, Amount]] = {}
    for same_key in keys:
        fact, element = _choose_fact(same_key, tally)
        if fact is None:
            continue
        code = element.line.code
        amount = Amount(year, element.line, element.apply_sign(fact.value), fact.currency)
        tally.counts["faits repris sous un autre concept"] += code in chosen
        if code not in chosen or element.rank < chosen[code][0]:
            chosen[code] = (element.rank, amount)
    return {code: amount for code, (_, amount) in chosen.items()}


def _choose_fact(
    same_key: Sequence[tuple[Fact, Element]], tally: Tally
) -> tuple[Fact | None, Element]:
    """Choose the fact of the longest period, then of the highest precision, among those with one key and date (rule 3).

    The fact is None for a line of the notes whose most precise facts differ. `tally` counts repetitions and
    contradictions. The element, which all these facts share, is always returned.
    """
    element = same_key[0][1]
    facts = (fact for fact, _ in same_key)
    ordered = sorted(facts, key=lambda fact: (-_period_days(fact), -fact.precision))
    first = ordered[0]
    longest = [fact for fact in ordered if _period_days(fact) == _period_days(first)]
    most_precise = [fact for fact in longest if fact.precision == first.precision]
    tally.counts["faits répétés"] += len(same_key) - 1
    if len({fact.value for fact in longest}) > 1:
        tally.counts["faits contradictoires"] += 1
    if element.line.etat == "annexe" and len({fact.value for fact in most_precise}) > 1:
        tally.counts["lignes d'annexe écartées (contradictoires)"] += 1
        return None, element
    return first, element


def _period_days(fact: Fact) -> int:
    """The days from the first to the last day of the period of a fact; 0 for an instant."""
    return (fact.day - fact.start).days if fact.start else 0


# -- amounts as canonical rows -------------------------------------------------------


def amount_rows(iso2: str, identifier: str, amounts: Iterable[Amount]) -> list[CanonicalRow]:
    """The canonical rows of one company, sorted by fiscal year, statement and place in the statement."""
    ordered = sorted(amounts, key=_sort_key)
    present_lines = {(amount.exercice, amount.group, amount.line.code) for amount in ordered}
    return [
        _row(
            iso2,
            identifier,
            amount,
            (amount.exercice, amount.group, amount.line.parent) in present_lines,
        )
        for amount in ordered
    ]


def _sort_key(amount: Amount) -> tuple[int, int, bool, int]:
    """The order of canonical rows: fiscal year, statement, company before group, place in the statement."""
    line = amount.line
    return amount.exercice, ETATS.index(line.etat), amount.group, line.ordre


def _row(iso2: str, identifier: str, amount: Amount, below_parent: bool) -> CanonicalRow:
    """The canonical row of an amount; `below_parent` says whether its parent is in the same accounts."""
    line, group = amount.line, amount.group
    label = line.label_below_parent if below_parent else line.libelle_fr
    return {
        "iso2": iso2,
        "id": identifier,
        "exercice": amount.exercice,
        "etat": line.etat,
        "code": line.code + GROUP_SUFFIX * group,
        "libelle": label + COMPUTED * amount.computed + OF_GROUP * group,
        "valeur": amount.valeur,
        "devise": amount.devise,
        "ordre": line.ordre + GROUP_PLACE_OFFSET * group,
    }
