"""The oracle: §4.4 and contract B in plain Python, over a list of companies.

Tests of search compare the fast results with these functions. Nothing here is optimised, and the only code shared with
the fast search is the query (`shards.query.Query`). A company is a dict of the fields of §2.1, with `division`,
`groupe`, `capital_eur`, `actif_eur` (total assets) and `a_comptes` (whether it has statements).
"""

import calendar
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, TypeVar

from shards.query import Query

Company = Mapping[str, Any]
SomeCompany = TypeVar("SomeCompany", bound=Company)

# X8: a change of only these fields is not a change. For example, all companies of a file get its new date.
UNCOUNTED_FIELDS = {"score", "date_source", "forme_fr", "statut_fr"}

# B15: letters that folding replaces by plain letters although they have no accent that could be taken off.
LIGATURES = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}


def search(companies: Sequence[SomeCompany], query: Query) -> list[SomeCompany]:
    """All companies that match, in order; their number is the total."""
    return sorted((c for c in companies if matches(c, query)), key=lambda c: sort_key(c, query.tri))


def matches(company: Company, query: Query) -> bool:
    """Whether a company passes every filter."""
    return all(
        (
            not query.pays or company["iso2"] in query.pays,
            not query.secteurs or company["division"] in query.secteurs,
            query.sous_secteurs is None or company["groupe"] in query.sous_secteurs,
            query.q is None or matches_text(company, query.q),
            is_within(company["ca_eur"], query, "ca_eur"),
            is_within(company["effectif"], query, "effectif"),
            not query.site_web or company["site_web"] is not None,
            not query.avec_ca or company["ca_eur"] is not None,
            query.ids is None or (company["iso2"], company["id"]) in query.ids,
            not query.etats or (company["etat"] or "inconnu") in query.etats,
            not query.villes or is_in_town(company["ville"], query.villes),
            not query.codes_postaux or has_postcode(company["code_postal"], query.codes_postaux),
            not query.formes or company["forme"] in query.formes,
            not query.nace or (company["nace_code"] or "-").startswith(query.nace),
            not query.activites or company["nace_code"] in query.activites,
            is_within(first_day(company["date_creation"]), query, "creation"),
            is_within(company["actif_eur"], query, "actif_eur"),
            not query.avec_comptes or company["a_comptes"],
        )
    )


def is_in_town(ville: str | None, villes: Sequence[str]) -> bool:
    """X2: the town of the company is in the list, compared folded; a text that folds to nothing is not a town."""
    return bool(folded_text(ville or "")) and folded_text(ville or "") in map(folded_text, villes)


def has_postcode(code_postal: str | None, beginnings: Sequence[str]) -> bool:
    """X2: the postcode begins with a text of the list, both in upper case and without blanks."""
    postcode = "".join((code_postal or "").upper().split())
    prefixes = ["".join(prefix.upper().split()) for prefix in beginnings]
    return any(prefix and postcode.startswith(prefix) for prefix in prefixes)


def first_day(date: str | None) -> int | None:
    """X2: a date that is less precise than a day counts as its first day; yyyymmdd."""
    if date is None:
        return None
    year, month, day = [*date.split("-"), "01", "01"][:3]
    return int(year + month + day)


def is_within(value: float | None, query: Query, column: str) -> bool:
    """B22: whether a value is within the bounds of a query on a column: they are inclusive; null is in no range."""
    _, least, most = query.range_of(column)
    if least is None and most is None:
        return True
    if value is None:
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def matches_text(company: Company, q: str) -> bool:
    """B15, B16: a folded name, present or former, contains the folded q, or the identifier begins with q."""
    return has_present_name(company, q) or former_name(company, q) is not None


def has_present_name(company: Company, q: str) -> bool:
    """Whether a company has q in its present name, or at the beginning of its identifier."""
    if not folded_text(q):
        return False
    if folded_text(q) in folded_text(company["nom"]):
        return True
    prefix = letters_and_digits(q)
    return bool(prefix) and letters_and_digits(company["id"]).startswith(prefix)


def former_name(company: Company, q: str) -> str | None:
    """The first former name that contains q, if q is not in the present name or identifier."""
    if not folded_text(q) or has_present_name(company, q):
        return None
    names = company["noms_anterieurs"] or ()
    return next((name for name in names if folded_text(q) in folded_text(name)), None)


@lru_cache(1 << 16)  # the same texts occur in many examples
def folded_text(text: str) -> str:
    """B15, character by character; a soft hyphen does not separate words."""
    folded = ""
    for char in unicodedata.normalize("NFKD", text):
        if unicodedata.category(char).startswith("M") or unicodedata.category(char) == "Cf":
            continue
        for small in char.casefold():
            folded += LIGATURES.get(small, small) if small.isalnum() else " "
    while "  " in folded:
        folded = folded.replace("  ", " ")
    return folded.strip(" ")


def state(iso2: str, statut: str | None, table: Sequence[Mapping[str, str]]) -> str | None:
    """X1: the state of a published status; None if no row for its country, or for all countries, has the status."""
    if statut is None:
        return "inconnu"
    for country in (iso2, ""):
        for row in table:
            if row["iso2"] == country and folded_text(row["statut"]) == folded_text(statut):
                return row["etat"]
    return None


def letters_and_digits(text: str) -> str:
    """The letters and digits of a text, in upper case."""
    return "".join(char for char in text.upper() if char.isalnum())


def sort_key(company: Company, tri: str) -> tuple[Any, ...]:
    """B27 to B32: the sort key of a company in the order `tri`: nulls last, ties by country and identifier."""
    tie = (company["iso2"], company["id"])
    if tri == "nom":
        return (folded_text(company["nom"]), company["nom"], *tie)
    if tri == "recent":
        # ISO dates of any precision sort as texts; the latest first.
        date = company["date_creation"]
        return (date is None, [-ord(char) for char in (date or "").ljust(10, "\0")], *tie)
    field, sign = {
        "ca_desc": ("ca_eur", -1),
        "ca_asc": ("ca_eur", 1),
        "effectif_desc": ("effectif", -1),
        "capital_desc": ("capital_eur", -1),
        "score": ("score", -1),
    }[tri]
    value = company[field]
    return (value is None, 0 if value is None else sign * value, *tie)


def changes(
    before: Sequence[Company],
    after: Sequence[Company],
    fields: Sequence[str],
    concerns: Callable[[Company], bool],
) -> dict[tuple[str, str], tuple[str, dict[str, tuple[Any, Any]] | None]]:
    """X8: the changes of companies for which `concerns` is true before or after, by country and identifier.

    A change has a kind, and the `fields` that changed with both values; None if the company was added or removed.
    """
    entries_before, entries_after = (
        {(c["iso2"], c["id"]): c for c in companies} for companies in (before, after)
    )
    result = {}
    for key in entries_before.keys() | entries_after.keys():
        old, new = entries_before.get(key), entries_after.get(key)
        concerned_before, concerned_after = (c is not None and concerns(c) for c in (old, new))
        champs = None
        if old is not None and new is not None:
            names = [
                name for name in fields if name not in UNCOUNTED_FIELDS and old[name] != new[name]
            ]
            champs = {name: (old[name], new[name]) for name in names}
        if concerned_before and not concerned_after:
            result[key] = ("sortie", champs)
        elif concerned_after and not concerned_before:
            result[key] = ("entree", champs)
        elif concerned_before and champs:
            result[key] = ("modifiee", champs)
    return result


# X3: the lower bounds of the bands of turnover, in euros.
TURNOVERS = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# X3: the greatest headcount of each band but the last.
HEADCOUNTS = {"0": 0, "1-9": 9, "10-19": 19, "20-49": 49, "50-249": 249, "250-999": 999}
# The code of each band of employees in INSEE's register Sirene, and the numbers of employees of the band.
PUBLISHED_BANDS = {
    "00": "0", "01": "1-2", "02": "3-5", "03": "6-9", "11": "10-19", "12": "20-49", "21": "50-99", "22": "100-199",
    "31": "200-249", "32": "250-499", "41": "500-999", "42": "1000-1999", "51": "2000-4999", "52": "5000-9999",
    "53": "10000+",
}  # fmt: skip


def distribution(
    companies: Sequence[Company], dimension: str, limit: int | None = None
) -> tuple[list[tuple[str, int]], int, int]:
    """X3: the `limit` most frequent values with their counts, the count of the other values, the count of nulls.

    Towns are folded, sectors and sub-sectors are codes.
    """
    values = [dimension_value(company, dimension) for company in companies]
    counts = {item: values.count(item) for item in set(values) - {None}}
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    other_count = sum(count for _, count in ranked[limit:]) if limit is not None else 0
    return ranked[:limit], other_count, values.count(None)


def dimension_value(company: Company, dimension: str) -> Any:
    """X3: the value under which a company is counted in a dimension such as `tranche_ca`; None if it is unknown."""
    amount, staff, date = company["ca_eur"], company["effectif"], company["date_creation"]
    if dimension == "tranche_ca":
        return None if amount is None else turnover_band(amount)
    if dimension == "tranche_effectif":
        published = company["tranche_effectif"]
        return headcount_band(staff) if staff is not None else published_band(published)
    if dimension == "annee_creation":
        return date[:4] if date else None
    if dimension == "ville":
        return folded_text(company["ville"] or "") or None
    if dimension == "etat":
        return company["etat"] or "inconnu"
    field = {"pays": "iso2", "secteur": "division", "sous_secteur": "groupe", "nace": "nace_code"}
    return company[field.get(dimension, dimension)]


def headcount_band(staff: int) -> str:
    """X3: the name of the band in which a number of persons is counted, such as "10-19"; "<0" if it is negative."""
    if staff < 0:
        return "<0"
    return next((name for name, most in HEADCOUNTS.items() if staff <= most), "1000+")


def published_band(published: str | None) -> str | None:
    """X3: the band that contains the whole published band, a code or two numbers; None if no band does."""
    numbers = PUBLISHED_BANDS.get(published or "", published or "")
    if re.fullmatch("[0-9]+[+]", numbers):
        return "1000+" if int(numbers[:-1]) >= 1000 else None
    if not re.fullmatch("[0-9]+(-[0-9]+)?", numbers):
        return None
    least, most = (headcount_band(int(number)) for number in (numbers.split("-") * 2)[:2])
    return least if least == most else None


def turnover_band(amount: float) -> str:
    """X3: the band of a turnover, such as `10000-100000`; a band includes its lower bound."""
    for number, bound in enumerate(TURNOVERS):
        if amount < bound:
            return f"{TURNOVERS[number - 1]}-{bound}" if number else "<0"
    return f"{TURNOVERS[-1]}+"


def spelling(companies: Sequence[Company], town: str) -> str:
    """X3: the most frequent spelling of a folded town in all countries; the first of equally frequent spellings."""
    spellings = [c["ville"] for c in companies if folded_text(c["ville"] or "") == town]
    return str(min(set(spellings), key=lambda text: (-spellings.count(text), text)))


def countries_without_data(companies: Sequence[Company], countries: Sequence[str]) -> list[str]:
    """X9: the countries without any company."""
    return [iso2 for iso2 in countries if all(company["iso2"] != iso2 for company in companies)]


def count_filled(companies: Sequence[Company], iso2: str, field: str) -> int:
    """X9: the number of companies of a country with a value in `field`."""
    return sum(company["iso2"] == iso2 and company[field] is not None for company in companies)


def suggested_companies(
    companies: Sequence[SomeCompany], q: str, pays: Sequence[str] = ()
) -> list[SomeCompany]:
    """X4: the companies that complete q, the best first."""
    matching = [c for c in companies if (not pays or c["iso2"] in pays) and completes(c, q)]
    return sorted(
        matching,
        key=lambda c: (
            not folded_text(c["nom"]).startswith(folded_text(q)),
            -c["score"],
            c["iso2"],
            c["id"],
        ),
    )


def completes(company: Company, q: str) -> bool:
    """X4: whether a name has every word of q except the last, and a word that begins with the last."""
    *complete_words, beginning = folded_text(q).split() or [""]
    return bool(beginning) and any(
        set(complete_words) <= set(words) and any(word.startswith(beginning) for word in words)
        for words in words_of_names(company)
    )


def words_of_names(company: Company) -> list[list[str]]:
    """The folded words of the present name, and of each former name."""
    return [
        folded_text(nom).split() for nom in (company["nom"], *(company["noms_anterieurs"] or ()))
    ]


def suggested_words(
    companies: Sequence[Company], q: str, pays: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """X4: the words that begin with the last word of q, with their number of companies, the most frequent first."""
    counts: dict[str, int] = {}
    for company in companies:
        if not pays or company["iso2"] in pays:
            for word in {word for words in words_of_names(company) for word in words}:
                counts[word] = counts.get(word, 0) + 1
    beginning = (folded_text(q).split() or ["\n"])[-1]
    completions = [(word, count) for word, count in counts.items() if word.startswith(beginning)]
    return sorted(completions, key=lambda item: (-item[1], item[0]))


def suggested_towns(
    companies: Sequence[Company], q: str, pays: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """X4: the folded towns that begin with q, with their number of companies, the largest first."""
    counts: dict[str, int] = {}
    for company in companies:
        town = folded_text(company["ville"] or "")
        if (
            (not pays or company["iso2"] in pays)
            and folded_text(q)
            and town.startswith(folded_text(q))
        ):
            counts[town] = counts.get(town, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


# X13: words without meaning for an activity, and the endings of plurals, with the endings of their singulars.
ENGLISH = "a an and at by for from in of on or the to with"
FRENCH = "au aux avec d dans de des du en et l la le les ou par pour sur un une"
SILENT_WORDS = {*ENGLISH.split(), *FRENCH.split()}
PLURALS = {
    "ies": "y", "oes": "o", "ves": "f fe", "ches": "ch", "shes": "sh", "sses": "ss", "xes": "x", "zes": "z",
    "aux": "al ail", "ux": "u",
}  # fmt: skip


def activities(labels: Sequence[tuple[str, str]], text: str) -> list[str]:
    """X13: the classes of the pairs (class, text) in `labels` whose text has every word of `text`."""
    words = _meaningful_words(text)
    return sorted(
        {
            code
            for code, label in labels
            if words
            and all(
                any(same_word(word, label_word) for label_word in _meaningful_words(label))
                for word in words
            )
        }
    )


def _meaningful_words(label: str) -> list[str]:
    """The folded words of a label, without articles and prepositions."""
    return [word for word in folded_text(label).split() if word not in SILENT_WORDS]


# X13: words for an operation on goods, such as "sale". They do not tell one activity from another.
ENGLISH_KINDS = "activities manufacture products retail sale sales service services wholesale"
FRENCH_KINDS = "activites articles commerce detail fabrication gros produits"
KIND_WORDS = {*ENGLISH_KINDS.split(), *FRENCH_KINDS.split()}


def named_activities(labels: Sequence[tuple[str, str]], text: str) -> list[str]:
    """X13: the classes of a text, if it has the words of a whole label, or of its part before a bracket or comma.

    KIND_WORDS do not count.
    """
    words = sorted({*_meaningful_words(text)} - KIND_WORDS)
    names = [name for _, label in labels for name in (label, re.split("[(,;:]", label)[0])]
    # The text has all words of a label, and the label all words of the text.
    is_label = any(
        len({*_meaningful_words(name)} - KIND_WORDS) == len(words)
        and activities([("", name)], " ".join(words))
        for name in names
    )
    return activities(labels, text) if is_label else []


def same_word(first: str, second: str) -> bool:
    """X13: whether two words are equal, singular and plural, or plurals of the same word."""
    return bool(possible_singulars(first) & possible_singulars(second))


@lru_cache(1 << 16)
def possible_singulars(word: str) -> frozenset[str]:
    """The word, and its possible singulars, of at least three letters."""
    singulars = {word}
    for ending, endings in PLURALS.items():
        if word.endswith(ending):
            singulars |= {word[: -len(ending)] + short for short in endings.split(" ")}
    if word.endswith("s") and not word.endswith("ss"):
        singulars.add(word[:-1])
    return frozenset(text for text in singulars if text == word or len(text) >= 3)


def suggested_activities(
    companies: Sequence[Company],
    labels: Sequence[tuple[str, str]],
    terms: Sequence[tuple[str, str]],
    q: str,
    pays: Sequence[str] = (),
) -> list[tuple[str, int]]:
    """X13: the classes that complete q, with their number of companies: matches by label first, then the largest."""
    codes_of_companies = [c["nace_code"] for c in companies if not pays or c["iso2"] in pays]
    by_label = {code for code, text in labels if completes_activity(text, q)}
    codes = {code for code, text in terms if completes_activity(text, q)} | by_label
    counts = [
        (code, codes_of_companies.count(code)) for code in codes if code in codes_of_companies
    ]
    return sorted(counts, key=lambda item: (item[0] not in by_label, -item[1], item[0]))


def completes_activity(text: str, q: str) -> bool:
    """X13: whether a text has every word of q except the last, and a word that begins with the last."""
    *complete_words, beginning = folded_text(q).split() or [""]
    label_words = _meaningful_words(text)
    return (
        bool(beginning)
        and any(word.startswith(beginning) for word in label_words)
        and all(
            any(same_word(w, label_word) for label_word in label_words)
            for w in complete_words
            if w not in SILENT_WORDS
        )
    )


def proposals(
    companies: Sequence[Company], labels: Sequence[tuple[str, str]], query: Query
) -> list[tuple[str, str, str, int]]:
    """X13: for a search without results: activity, town, remaining words and total of searches with results.

    The words of q are split in four ways; the first way with results gives the proposals.
    """
    words = (query.q or "").split()
    local_companies = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    towns = {folded_text(c["ville"] or "") for c in local_companies} - {""}
    all_text, splits_of_all_words, activity_ranges, town_ranges = " ".join(words), [], [], []
    for start in range(len(words) if len(words) <= 8 else 0):
        for end in range(start + 1, len(words) + 1):
            part = " ".join(words[start:end])
            remaining = words[:start] + words[end:]
            while remaining and folded_text(remaining[0]) in SILENT_WORDS:
                del remaining[0]
            while remaining and folded_text(remaining[-1]) in SILENT_WORDS:
                del remaining[-1]
            if not query.activites and _names_activity(labels, words[start:end]):
                activity_ranges.append((part, start, end))
                if start == 0 or end == len(words):
                    splits_of_all_words.append((part, "", " ".join(remaining)))
            if not query.villes and folded_text(part) in towns:
                town = spelling(local_companies, folded_text(part))
                town_ranges.append((town, start, end))
                is_remaining_activity = not query.activites and _names_activity(labels, remaining)
                remaining_text = " ".join(remaining)
                splits_of_all_words.append(
                    (remaining_text, town, "")
                    if is_remaining_activity
                    else ("", town, remaining_text)
                )
    classes_of_text = activities if len(_meaningful_words(all_text)) > 1 else named_activities
    split_as_activity = (
        [(all_text, "", "")] if not query.activites and classes_of_text(labels, all_text) else []
    )
    splits_as_town = [
        ("", town, "") for town, start, end in town_ranges if end - start == len(words)
    ]
    activity_ranges, town_ranges = _longest(activity_ranges), _longest(town_ranges)
    splits_of_some_words = [(proposal[0], "", "") for proposal in activity_ranges] + [
        ("", proposal[0], "") for proposal in town_ranges
    ]
    for activity_range, town_range in product(activity_ranges, town_ranges):
        if activity_range[2] <= town_range[1] or town_range[2] <= activity_range[1]:
            splits_of_some_words.append((activity_range[0], town_range[0], ""))
    for splits in (
        split_as_activity if len(words) <= 8 else [],
        splits_as_town,
        splits_of_all_words,
        splits_of_some_words,
    ):
        counted_splits = []
        for activite, ville, q in set(splits):
            split_query = replace(query, q=q or None)
            if activite:
                split_query = replace(split_query, activites=tuple(activities(labels, activite)))
            if ville:
                split_query = replace(split_query, villes=(ville,))
            counted_splits.append((activite, ville, q, len(search(companies, split_query))))
        # First without remaining words, then with both activity and town, then with an activity, then the largest.
        counted_splits.sort(
            key=lambda proposal: (
                bool(proposal[2]),
                not (proposal[0] and proposal[1]),
                not proposal[0],
                -proposal[3],
                proposal,
            )
        )
        if proposals := [proposal for proposal in counted_splits if proposal[3]]:
            return proposals[:3]
    return []


def _names_activity(labels: Sequence[tuple[str, str]], words: Sequence[str]) -> bool:
    """Whether words are an activity, and neither begin nor end with an article or preposition."""
    ends = {folded_text(word) for word in (*words[:1], *words[-1:])}
    return not ends & SILENT_WORDS and bool(named_activities(labels, " ".join(words)))


def _longest(ranges: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The longest ranges of neighbouring words: each a text, its first word and its end."""
    return [
        range_
        for range_ in ranges
        if range_[2] - range_[1] == max(last - first for _, first, last in ranges)
    ]


def meant_texts(companies: Sequence[Company], query: Query) -> list[tuple[str, int]]:
    """X4: for a search without results, the nearest texts with results, with their totals."""
    words = folded_text(query.q or "").split()
    local_companies = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    vocabulary = {word for c in local_companies for name in words_of_names(c) for word in name}
    errors_by_text: dict[str, int] = {}
    similar_words = [[(0, word), *_similar_words(word, vocabulary)] for word in words]
    for combination in product(*similar_words):
        errors = sum(distance for distance, _ in combination)
        text = " ".join(word for _, word in combination)
        if 1 <= errors <= 2:
            errors_by_text[text] = min(errors, errors_by_text.get(text, errors))
    ranked = [
        (errors, -len(search(companies, replace(query, q=text))), text)
        for text, errors in errors_by_text.items()
    ]
    return [(text, -total) for _, total, text in sorted(ranked) if total][:3]


def parts(
    companies: Sequence[Company], query: Query, silent: Collection[str]
) -> list[tuple[str, int]]:
    """X4: for a search without results, the longest parts of its words with results, with their totals."""
    words = folded_text(query.q or "").split()
    local_companies = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    informative = {
        word
        for word in {*words} - {*silent}
        if 0 < len(search(local_companies, Query(q=word))) < len(local_companies) / 2
    }
    result = []
    for word_count in range(len(words) - 1, 0, -1) if len(words) <= 8 else ():
        neighbours = [
            words[first : first + word_count] for first in range(len(words) - word_count + 1)
        ]
        if word_count == len(words) - 1:  # any single word may be left out, also in the middle
            neighbours = [
                words[:left_out] + words[left_out + 1 :] for left_out in range(len(words))
            ]
        texts = {" ".join(part) for part in neighbours if {part[0], part[-1]} <= informative}
        texts_and_totals = [
            (text, len(search(companies, replace(query, q=text))))
            for text in sorted(texts, key=lambda text: (-len(text), text))
        ]
        result += [pair for pair in texts_and_totals if pair[1]]
    return result[:3]


def _similar_words(word: str, vocabulary: set[str]) -> list[tuple[int, str]]:
    """The words of a vocabulary that differ from a word by one or two errors, with their number of errors."""
    allowed = 0 if not 3 <= len(word) <= 30 else 1 if len(word) < 5 else 2
    distances = ((damerau_levenshtein(word, similar), similar) for similar in vocabulary)
    return [(distance, similar) for distance, similar in distances if 1 <= distance <= allowed]


def damerau_levenshtein(first: str, second: str) -> int:
    """The fewest insertions, deletions, substitutions and swaps of neighbours, with no letter edited twice."""
    # distances[i][j] is the distance of the first i letters of one word from the first j letters of the other.
    distances = [
        [i + j if not i * j else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)
    ]
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            distances[i][j] = min(
                distances[i - 1][j] + 1,
                distances[i][j - 1] + 1,
                distances[i - 1][j - 1] + (first[i - 1] != second[j - 1]),
            )
            if i > 1 and j > 1 and first[i - 2 : i] == second[j - 1] + second[j - 2]:
                distances[i][j] = min(distances[i][j], distances[i - 2][j - 2] + 1)
    return distances[-1][-1]


def comparables(
    companies: Sequence[SomeCompany], subject: SomeCompany, count: int
) -> list[tuple[SomeCompany, float]]:
    """X11: the companies of the same sub-sector nearest to `subject`, with their distances.

    If `subject` has a turnover, companies with a turnover come first; then companies of its country.
    """
    if subject["division"] is None:
        return []
    neighbours = [
        (candidate, distance(subject, candidate))
        for candidate in companies
        if (candidate["division"], candidate["groupe"]) == (subject["division"], subject["groupe"])
        and (candidate["iso2"], candidate["id"]) != (subject["iso2"], subject["id"])
        and candidate["etat"] != "cessee"
    ]
    neighbours.sort(
        key=lambda pair: (
            subject["ca_eur"] is not None and pair[0]["ca_eur"] is None,
            pair[0]["iso2"] != subject["iso2"],
            round(pair[1], 9),
            pair[0]["iso2"],
            math.inf if pair[0]["ca_eur"] is None else -pair[0]["ca_eur"],
            pair[0]["id"],
        )
    )
    return neighbours[:count]


def distance(first: Company, second: Company) -> float:
    """X11: how different two companies are: the sum of the gaps of turnover, headcount and place."""
    turnovers = [company["ca_eur"] for company in (first, second)]
    return (
        figure_gap(*turnovers) + figure_gap(*headcounts(first, second)) + place_gap(first, second)
    )


def headcounts(first: Company, second: Company) -> list[float | None]:
    """The headcounts of two companies, or the lower bounds of their bands if one has no number."""
    numbers = [company["effectif"] for company in (first, second)]
    if None not in numbers:
        return numbers
    bands = [dimension_value(company, "tranche_effectif") for company in (first, second)]
    least = {None: None, "<0": -1.0}
    return [least[b] if b in least else float(re.findall("[0-9]+", b)[0]) for b in bands]


def figure_gap(own_figure: float | None, other_figure: float | None) -> float:
    """The difference of the logarithms; 3 if only the other is unknown, 1 if only the own is unknown, 0 if both are."""
    if own_figure is None:
        return 0.0 if other_figure is None else 1.0
    if other_figure is None:
        return 3.0
    logs = [math.copysign(math.log1p(abs(figure)), figure) for figure in (own_figure, other_figure)]
    return abs(logs[0] - logs[1])


def place_gap(first: Company, second: Company) -> float:
    """X11: 0 in the same town, 0.25 if the first two characters of the postcode are equal, else 0.5."""
    if first["iso2"] != second["iso2"]:
        return 0.5
    towns = [folded_text(company["ville"] or "") for company in (first, second)]
    if towns[0] and towns[0] == towns[1]:
        return 0.0
    areas = [
        "".join((company["code_postal"] or "").upper().split())[:2] for company in (first, second)
    ]
    return 0.25 if areas[0] and areas[0] == areas[1] else 0.5


def quantile(figures: Sequence[float], share: float) -> float | None:
    """X11: the figure at a share (0 to 1) of the sorted figures, interpolated; None without figures."""
    ranked = sorted(figures)
    if not ranked:
        return None
    position = (len(ranked) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (position - low) * (ranked[high] - ranked[low])


def concentration(figures: Sequence[float]) -> dict[str, float] | None:
    """X11: the concentration of the positive figures; Gini is half the mean difference of all pairs over the mean."""
    positive = sorted((figure for figure in figures if figure > 0), reverse=True)
    total = math.fsum(positive)
    if not positive:
        return None
    sum_of_gaps = math.fsum(abs(first - second) for first in positive for second in positive)
    return {
        "hhi": math.fsum((100 * figure / total) ** 2 for figure in positive),
        "cr4": math.fsum(positive[:4]) / total,
        "cr10": math.fsum(positive[:10]) / total,
        "gini": sum_of_gaps / (2 * len(positive) * total),
    }


# X6: the numbers of a country that contain the identifier, as patterns of their letters and digits.
NUMBERS_WITH_IDENTIFIER = (
    ("siret", "FR", r"([0-9]{9})[0-9]{5}"),
    ("tva", "FR", r"FR[0-9A-HJ-NP-Z]{2}([0-9]{9})"),
)


def companies_by_number(
    companies: Sequence[SomeCompany], number: str
) -> tuple[str, list[SomeCompany]]:
    """X6: the kind of a number, such as `lei`, and the companies that have it, in any spelling.

    Tried are `immatriculation`, `lei`, `tva`, numbers that contain an identifier, and numbers with other zeros.
    The first with a company decides; without any, the kind is `immatriculation` and the list is empty.
    """
    # A spreadsheet writes the number 944111 as "944111.0" or "944111.00".
    folded_number = letters_and_digits(re.sub(r"(\d{4})\.00?$", r"\1", number.strip()))
    for kind, fields in (("immatriculation", ("id",)), ("lei", ("lei",)), ("tva", ("tva",))):
        if owners := [
            c
            for c in companies
            if folded_number
            and folded_number in [letters_and_digits(c[field] or "") for field in fields]
        ]:
            return kind, owners
    for kind, iso2, pattern in NUMBERS_WITH_IDENTIFIER:
        inside = re.fullmatch(pattern, folded_number)
        if inside and (owners := [c for c in companies if _is_inside(c, iso2, inside[1])]):
            return kind, owners
    owners = [c for c in companies if folded_number and _same_but_zeros(c, folded_number)]
    return "immatriculation", owners


def _is_inside(company: Company, iso2: str, identifier: str) -> bool:
    """Whether a number contains the identifier of a company that publishes no VAT number."""
    return bool(
        company["iso2"] == iso2
        and letters_and_digits(company["id"]) == identifier
        and company["tva"] is None
    )


def _same_but_zeros(company: Company, folded_number: str) -> bool:
    """Whether the numbers differ only by zeros before the digits, with or without the code of the country."""
    codes = ("", "UK", "GB") if company["iso2"] == "UK" else ("", company["iso2"])
    spellings = [folded_number[len(code) :] for code in codes if folded_number.startswith(code)]
    own_number = strip_zeros(letters_and_digits(company["id"]))
    return own_number in [strip_zeros(spelling) for spelling in spellings if spelling]


def strip_zeros(number: str) -> str:
    """A number without the zeros between its first letters and a further digit."""
    letters = re.match("[A-Z]*", number)
    assert letters
    digits = number[letters.end() :]
    while len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        digits = digits[1:]
    return letters[0] + digits


# X19: some words of legal forms by country, and words of siblings; tests use only these.
FORM_WORDS = {"EE": "ou as", "FR": "sarl sas", "UK": "limited ltd plc"}
SIBLING_WORDS = {"group", "groupe", "holding", "holdings"}


def bare_words(nom: str, iso2: str) -> list[str]:
    """X5: the words of a name in any order, without legal forms; all words if there are no others."""
    words = sorted(folded_text(nom).split())
    return [word for word in words if word not in FORM_WORDS[iso2].split()] or words


def meant_companies(companies: Sequence[SomeCompany], line: Mapping[str, Any]) -> list[SomeCompany]:
    """X5, X19: the companies that a line may mean: by number in any spelling, else by whole name, present or former."""
    local_companies = [c for c in companies if not line["pays"] or c["iso2"] in line["pays"]]
    if line["id"] is not None:
        return companies_by_number(local_companies, line["id"])[1]
    return [c for c in local_companies if line["nom"] and _has_name(c, line["nom"])]


def _has_name(company: Company, nom: str) -> bool:
    """Whether a present or former name of the company has the words of a text in any order."""
    names, iso2 = (company["nom"], *(company["noms_anterieurs"] or ())), company["iso2"]
    return bool(folded_text(nom)) and any(
        bare_words(nom, iso2) == bare_words(name, iso2) for name in names
    )


def name_says_enough(companies: Sequence[Company], line: Mapping[str, Any]) -> bool:
    """X19: whether a name alone may be `sur`: no namesake, no sibling, no initials, no common word."""
    local_companies = [c for c in companies if not line["pays"] or c["iso2"] in line["pays"]]
    if any(_is_sibling(c, line["nom"], local_companies) for c in local_companies):
        return False
    written = sorted(folded_text(line["nom"]).split())
    namesakes = meant_companies(companies, line)
    exact = [c for c in namesakes if sorted(folded_text(c["nom"]).split()) == written]
    (first, *other_words) = bare_words(line["nom"], namesakes[0]["iso2"])
    with_first_word = [c for c in local_companies if first in folded_text(c["nom"]).split()]
    is_common_word = not other_words and (len(first) <= 4 or len(with_first_word) >= 5)
    return not is_common_word and len(exact or namesakes) <= 1


def _is_sibling(company: Company, nom: str, local_companies: Sequence[Company]) -> bool:
    """X19: whether a company has the name with additional words of a group, a holding, a town or a number."""
    towns = {folded_text(c["ville"] or "") for c in local_companies if c["iso2"] == company["iso2"]}
    additional_words = bare_words(company["nom"], company["iso2"])
    for word in bare_words(nom, company["iso2"]):
        if word not in additional_words:
            return False
        additional_words.remove(word)
    return bool(additional_words) and all(
        word in SIBLING_WORDS | towns or word.isdigit() for word in additional_words
    )


Link = tuple[str, str, str, str | None, str | None]  # child, parent, nature, first day, last day


def parents(links: Sequence[Link], lei: str) -> list[Link]:
    """X12: the links from a company up to the top: the latest current link, a direct parent before a head office."""
    chain: list[Link] = []
    visited = set()
    while lei not in visited:
        visited.add(lei)
        current_links = [
            link for link in links if link[0] == lei and link[2] != "ultime" and link[4] is None
        ]
        if not current_links:
            break
        chain.append(max(current_links, key=lambda link: (link[2] == "directe", link[3] or "")))
        lei = chain[-1][1]
    return chain


def children(links: Sequence[Link], lei: str, nature: str) -> list[str]:
    """X12: the LEIs of current children, sorted."""
    return sorted(link[0] for link in links if link[1:3] == (lei, nature) and link[4] is None)


Figures = Mapping[str, float]


def ratios(years: Mapping[int, Figures]) -> dict[tuple[str, int], float | None]:
    """X11: the ratios of accounts in euros by code and year, by textbook formulas; None if a part is missing."""
    result: dict[tuple[str, int], float | None] = {}
    for year, lines in years.items():
        for code, value in _ratios(lines, years.get(year - 1)).items():
            result[code, year] = value
    return result


def _ratios(lines: Figures, lines_before: Figures | None) -> dict[str, float | None]:
    """The ratios of a year by code, from its statement lines and those of the year before (None: no such year).

    A ratio is None if a line that it needs is missing.
    """
    sales, profit = lines.get("TurnoverRevenue"), lines.get("ProfitLoss")
    equity = _first_filed(lines.get("Equity"), lines.get("NetAssetsLiabilities"))
    assets = _first_filed(
        lines.get("TotalAssets"),
        lines.get("LiabilitiesAndEquity"),
        _sum_of(
            lines, "FixedAssets", "CurrentAssets", perhaps=("CalledUpShareCapitalNotPaid",
            "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal"),
        ),
    )  # fmt: skip
    short_debts = lines.get("CreditorsDueWithinOneYear")
    debts = _first_filed(
        lines.get("Liabilities"),
        _sum_of(
            lines, "CreditorsDueWithinOneYear", perhaps=("CreditorsDueAfterOneYear", "ProvisionsForLiabilities",
            "AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal"),
        ),
        _sum_of(lines, "Creditors", perhaps=("ProvisionsForLiabilities",)),
    )  # fmt: skip
    to_year = 12 / (lines.get("PeriodMonths", 0) if lines.get("PeriodMonths", 0) > 0 else 12)
    year_sales = None if sales is None else sales * to_year
    operating, stock = lines.get("OperatingProfitLoss"), lines.get("TotalInventories")
    last_sales = (
        None if lines_before is None else _ratios(lines_before, None)["chiffre_affaires_annuel"]
    )
    working_capital = _quotient(
        _first_filed(
            _difference(lines.get("CurrentAssets"), short_debts),
            lines.get("NetCurrentAssetsLiabilities"),
        ),
        assets,
    )
    return_on_assets = _quotient(operating, assets, to_year)
    equity_to_debts = _quotient(equity, debts)
    reserves = _quotient(
        _first_filed(
            lines.get("ProfitLossAccountReserve"),
            _sum_of(
                lines, "RetainedEarnings", perhaps=("ProfitLossForYearWithinEquity", "LegalReserve",
                "StatutoryReserves", "OtherAggregateReserves"),
            ),
        ),
        assets,
    )  # fmt: skip
    purchases = _sum_of(lines, "RawMaterialsConsumablesUsed", perhaps=("OtherExternalCharges",))
    quick = _first_filed(
        _difference(lines.get("CurrentAssets"), stock),
        _sum_of(lines, "Debtors", "CashBankOnHand", perhaps=("InvestmentsCurrentAssets",)),
    )
    altman_parts = (working_capital, reserves, return_on_assets, equity_to_debts)
    # Altman's Z'' has no value if a part is missing.
    altman_terms = [
        weight * part
        for weight, part in zip((6.56, 3.26, 6.72, 1.05), altman_parts, strict=True)
        if part is not None
    ]
    return {
        "chiffre_affaires_annuel": year_sales,
        "croissance_ca": _quotient(_difference(year_sales, last_sales), last_sales),
        "marge_brute": _quotient(
            _first_filed(lines.get("GrossProfitLoss"), _difference(sales, lines.get("CostSales"))),
            sales,
        ),
        "marge_operationnelle": _quotient(operating, sales),
        "marge_nette": _quotient(profit, sales),
        "rentabilite_actif": _quotient(profit, assets, to_year),
        "rentabilite_capitaux_propres": _quotient(profit, equity, to_year),
        "autonomie_financiere": _quotient(equity, assets),
        "endettement": _quotient(debts, equity),
        "liquidite_generale": _quotient(lines.get("CurrentAssets"), short_debts),
        "liquidite_reduite": _quotient(quick, short_debts),
        "delai_clients": _quotient(lines.get("TradeDebtorsTradeReceivables"), sales, 365 / to_year),
        "delai_fournisseurs": _quotient(
            lines.get("TradeCreditorsTradePayables"),
            _first_filed(lines.get("CostSales"), purchases),
            365 / to_year,
        ),
        "delai_stocks": _quotient(
            stock,
            _first_filed(lines.get("CostSales"), lines.get("RawMaterialsConsumablesUsed")),
            365 / to_year,
        ),
        "rotation_actif": _quotient(sales, assets, to_year),
        "z_altman": sum(altman_terms) if len(altman_terms) == 4 else None,
    }


def _first_filed(*figures: float | None) -> float | None:
    """The first figure that is known."""
    return next((figure for figure in figures if figure is not None), None)


def _sum_of(lines: Figures, *names: str, perhaps: Sequence[str] = ()) -> float | None:
    """The sum of lines; lines of `perhaps` count as zero if they were not filed."""
    if any(name not in lines for name in names):
        return None
    return sum(lines[name] for name in names) + sum(lines.get(name, 0.0) for name in perhaps)


def _difference(minuend: float | None, subtrahend: float | None) -> float | None:
    """A difference; None if a figure is unknown."""
    return None if minuend is None or subtrahend is None else minuend - subtrahend


def _quotient(dividend: float | None, divisor: float | None, factor: float = 1.0) -> float | None:
    """A quotient times a factor; None if a figure is unknown or the divisor is not positive."""
    return (
        None if dividend is None or divisor is None or divisor <= 0 else factor * dividend / divisor
    )


def is_date(text: str) -> bool:
    """C8: a day of the calendar, a month or a year, from the year 1000 to 2999."""
    if not re.fullmatch(r"[12][0-9]{3}(-[0-9]{2}(-[0-9]{2})?)?", text):
        return False
    year, month, day = [*map(int, text.split("-")), 1, 1][:3]
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def date_of_creation(created: str, source: str | None, last_year: int) -> str | None:
    """A published date of creation as it is served; None if it is impossible, or after the date of its file.

    Args:
        source: the date of the file; an impossible date, or a date after `last_year`, is ignored.
        last_year: the last year of a row whose file has no date.
    """
    if not is_date(created) or int(created[:4]) > last_year:
        return None
    if source is None or not is_date(source) or int(source[:4]) > last_year:
        return created
    return None if created[: len(source)] > source else created
