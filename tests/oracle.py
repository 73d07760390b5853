"""The oracle: §4.4 and contract B in plain Python, over a list of companies.

Every test of search compares the fast answer with this one. Nothing here is optimised, and nothing is shared with the
fast code except the query (`shards.query.Query`). A company is a dict of the fields of §2.1, with `division`, `groupe`,
`capital_eur`, `actif_eur` (total assets) and `a_comptes` (whether it has statements).
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
C = TypeVar("C", bound=Company)

# X8: a change of these alone is none. The date of the register's file changes for all companies at once.
SILENT = {"score", "date_source", "forme_fr", "statut_fr"}

LIGATURES = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}


def search(companies: Sequence[C], query: Query) -> list[C]:
    """All companies that match, in order; their number is the total."""
    return sorted((c for c in companies if matches(c, query)), key=lambda c: sort_key(c, query.tri))


def matches(company: Company, query: Query) -> bool:
    """Whether a company passes every filter."""
    return all(
        (
            not query.pays or company["iso2"] in query.pays,
            not query.secteurs or company["division"] in query.secteurs,
            query.sous_secteurs is None or company["groupe"] in query.sous_secteurs,
            query.q is None or named(company, query.q),
            within(company["ca_eur"], query, "ca_eur"),
            within(company["effectif"], query, "effectif"),
            not query.site_web or company["site_web"] is not None,
            not query.avec_ca or company["ca_eur"] is not None,
            query.ids is None or (company["iso2"], company["id"]) in query.ids,
            not query.etats or (company["etat"] or "inconnu") in query.etats,
            not query.villes or in_town(company["ville"], query.villes),
            not query.codes_postaux or in_area(company["code_postal"], query.codes_postaux),
            not query.formes or company["forme"] in query.formes,
            not query.nace or (company["nace_code"] or "-").startswith(query.nace),
            not query.activites or company["nace_code"] in query.activites,
            within(first_day(company["date_creation"]), query, "creation"),
            within(company["actif_eur"], query, "actif_eur"),
            not query.avec_comptes or company["a_comptes"],
        )
    )


def in_town(ville: str | None, villes: Sequence[str]) -> bool:
    """X2: one of the towns is that of the company, both folded; what folds to nothing is no town."""
    return bool(folded(ville or "")) and folded(ville or "") in map(folded, villes)


def in_area(code_postal: str | None, beginnings: Sequence[str]) -> bool:
    """X2: the postcode begins with one of these, both in upper case and without blanks."""
    postcode = "".join((code_postal or "").upper().split())
    wanted = ["".join(one.upper().split()) for one in beginnings]
    return any(one and postcode.startswith(one) for one in wanted)


def first_day(date: str | None) -> int | None:
    """X2: a date that is less precise than a day counts as its first day; yyyymmdd."""
    if date is None:
        return None
    year, month, day = [*date.split("-"), "01", "01"][:3]
    return int(year + month + day)


def within(value: float | None, query: Query, column: str) -> bool:
    """B22: bounds are inclusive, and a null passes none."""
    _, least, most = query.range_of(column)
    if least is None and most is None:
        return True
    if value is None:
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def named(company: Company, q: str) -> bool:
    """B15, B16: the folded name, or that of former times, contains the folded q, or the identifier begins with q."""
    return known_as(company, q) or former_name(company, q) is not None


def known_as(company: Company, q: str) -> bool:
    """Whether a company has q in its present name, or at the beginning of its identifier."""
    if not folded(q):
        return False
    if folded(q) in folded(company["nom"]):
        return True
    prefix = letters_and_digits(q)
    return bool(prefix) and letters_and_digits(company["id"]).startswith(prefix)


def former_name(company: Company, q: str) -> str | None:
    """The first former name that contains q, of a company that has it nowhere else."""
    if not folded(q) or known_as(company, q):
        return None
    names = company["noms_anterieurs"] or ()
    return next((name for name in names if folded(q) in folded(name)), None)


@lru_cache(1 << 16)  # the same texts are asked for example after example
def folded(text: str) -> str:
    """B15, one character after the other; a soft hyphen parts no word."""
    out = ""
    for char in unicodedata.normalize("NFKD", text):
        if unicodedata.category(char).startswith("M") or unicodedata.category(char) == "Cf":
            continue
        for small in char.casefold():
            out += LIGATURES.get(small, small) if small.isalnum() else " "
    while "  " in out:
        out = out.replace("  ", " ")
    return out.strip(" ")


def state(iso2: str, statut: str | None, table: Sequence[Mapping[str, str]]) -> str | None:
    """X1: the state of a published status; None for one that no row of its country, or of all countries, has."""
    if statut is None:
        return "inconnu"
    for place in (iso2, ""):
        for row in table:
            if row["iso2"] == place and folded(row["statut"]) == folded(statut):
                return row["etat"]
    return None


def letters_and_digits(text: str) -> str:
    return "".join(char for char in text.upper() if char.isalnum())


def sort_key(company: Company, tri: str) -> tuple[Any, ...]:
    """B27 to B32: nulls last, ties by country, then identifier."""
    tie = (company["iso2"], company["id"])
    if tri == "nom":
        return (folded(company["nom"]), company["nom"], *tie)
    if tri == "recent":
        # ISO dates of any precision compare as texts; the latest first.
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
    """X8: what happened to the companies of which `concerns` is true before, or after, by country and identifier.

    Each has its kind, and those of `fields` that changed with both values; None if the company came or went.
    """
    was, now = ({(c["iso2"], c["id"]): c for c in found} for found in (before, after))
    told = {}
    for key in was.keys() | now.keys():
        old, new = was.get(key), now.get(key)
        found, finds = (c is not None and concerns(c) for c in (old, new))
        champs = None
        if old is not None and new is not None:
            names = [name for name in fields if name not in SILENT and old[name] != new[name]]
            champs = {name: (old[name], new[name]) for name in names}
        if found and not finds:
            told[key] = ("sortie", champs)
        elif finds and not found:
            told[key] = ("entree", champs)
        elif found and champs:
            told[key] = ("modifiee", champs)
    return told


TURNOVERS = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
HEADCOUNTS = {"0": 0, "1-9": 9, "10-19": 19, "20-49": 49, "50-249": 249, "250-999": 999}
# INSEE, Sirene: the code of each band of employees, and its numbers.
PUBLISHED_BANDS = {
    "00": "0", "01": "1-2", "02": "3-5", "03": "6-9", "11": "10-19", "12": "20-49", "21": "50-99", "22": "100-199",
    "31": "200-249", "32": "250-499", "41": "500-999", "42": "1000-1999", "51": "2000-4999", "52": "5000-9999",
    "53": "10000+",
}  # fmt: skip


def distribution(
    found: Sequence[Company], dimension: str, limit: int | None = None
) -> tuple[list[tuple[str, int]], int, int]:
    """X3: the `limit` most frequent values with their companies, those of the other values, those of none.

    Towns are folded, sectors and sub-sectors are codes.
    """
    values = [value(company, dimension) for company in found]
    counts = {one: values.count(one) for one in set(values) - {None}}
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    others = sum(n for _, n in ranked[limit:]) if limit is not None else 0
    return ranked[:limit], others, values.count(None)


def value(company: Company, dimension: str) -> Any:
    """X3: what a company counts for."""
    amount, staff, date = company["ca_eur"], company["effectif"], company["date_creation"]
    if dimension == "tranche_ca":
        return None if amount is None else turnover_band(amount)
    if dimension == "tranche_effectif":
        published = company["tranche_effectif"]
        return headcount_band(staff) if staff is not None else published_band(published)
    if dimension == "annee_creation":
        return date[:4] if date else None
    if dimension == "ville":
        return folded(company["ville"] or "") or None
    if dimension == "etat":
        return company["etat"] or "inconnu"
    field = {"pays": "iso2", "secteur": "division", "sous_secteur": "groupe", "nace": "nace_code"}
    return company[field.get(dimension, dimension)]


def headcount_band(staff: int) -> str:
    """X3: the band of a number of persons."""
    if staff < 0:
        return "<0"
    return next((name for name, most in HEADCOUNTS.items() if staff <= most), "1000+")


def published_band(published: str | None) -> str | None:
    """X3: the band that a published one is wholly in, be it a code or its numbers; None if there is none."""
    numbers = PUBLISHED_BANDS.get(published or "", published or "")
    if re.fullmatch("[0-9]+[+]", numbers):
        return "1000+" if int(numbers[:-1]) >= 1000 else None
    if not re.fullmatch("[0-9]+(-[0-9]+)?", numbers):
        return None
    least, most = (headcount_band(int(number)) for number in (numbers.split("-") * 2)[:2])
    return least if least == most else None


def turnover_band(amount: float) -> str:
    """X3: each band includes its lower bound."""
    for place, bound in enumerate(TURNOVERS):
        if amount < bound:
            return f"{TURNOVERS[place - 1]}-{bound}" if place else "<0"
    return f"{TURNOVERS[-1]}+"


def spelling(companies: Sequence[Company], town: str) -> str:
    """X3: the most frequent spelling of a folded town in all countries; of equally frequent ones the first."""
    spelt = [c["ville"] for c in companies if folded(c["ville"] or "") == town]
    return str(min(set(spelt), key=lambda text: (-spelt.count(text), text)))


def without_data(companies: Sequence[Company], countries: Sequence[str]) -> list[str]:
    """X9: the countries of which there is no company at all."""
    return [iso2 for iso2 in countries if all(company["iso2"] != iso2 for company in companies)]


def filled(companies: Sequence[Company], iso2: str, field: str) -> int:
    """X9: the companies of a country that have a value in `field`."""
    return sum(company["iso2"] == iso2 and company[field] is not None for company in companies)


def suggested(companies: Sequence[C], q: str, pays: Sequence[str] = ()) -> list[C]:
    """X4: the companies that complete q, the best first."""
    found = [c for c in companies if (not pays or c["iso2"] in pays) and completes(c, q)]
    return sorted(
        found,
        key=lambda c: (not folded(c["nom"]).startswith(folded(q)), -c["score"], c["iso2"], c["id"]),
    )


def completes(company: Company, q: str) -> bool:
    """X4: whether one name has every word of q but the last, and a word that begins with the last."""
    *whole, last = folded(q).split() or [""]
    return bool(last) and any(
        set(whole) <= set(words) and any(word.startswith(last) for word in words)
        for words in words_of_names(company)
    )


def words_of_names(company: Company) -> list[list[str]]:
    """The folded words of the present name, and of each former name."""
    return [folded(nom).split() for nom in (company["nom"], *(company["noms_anterieurs"] or ()))]


def suggested_words(
    companies: Sequence[Company], q: str, pays: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """X4: the words that begin with the last one of q, with their companies, the most frequent first."""
    counts: dict[str, int] = {}
    for company in companies:
        if not pays or company["iso2"] in pays:
            for word in {word for words in words_of_names(company) for word in words}:
                counts[word] = counts.get(word, 0) + 1
    last = (folded(q).split() or ["\n"])[-1]
    found = [(word, n) for word, n in counts.items() if word.startswith(last)]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def suggested_towns(
    companies: Sequence[Company], q: str, pays: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """X4: the folded towns that begin with q, with their companies, the largest first."""
    counts: dict[str, int] = {}
    for company in companies:
        town = folded(company["ville"] or "")
        if (not pays or company["iso2"] in pays) and folded(q) and town.startswith(folded(q)):
            counts[town] = counts.get(town, 0) + 1
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


# X13: words that say nothing of an activity, and what a plural ends in, with what a singular has there.
ENGLISH = "a an and at by for from in of on or the to with"
FRENCH = "au aux avec d dans de des du en et l la le les ou par pour sur un une"
SILENT_WORDS = {*ENGLISH.split(), *FRENCH.split()}
PLURALS = {
    "ies": "y", "oes": "o", "ves": "f fe", "ches": "ch", "shes": "sh", "sses": "ss", "xes": "x", "zes": "z",
    "aux": "al ail", "ux": "u",
}  # fmt: skip


def activities(labels: Sequence[tuple[str, str]], text: str) -> list[str]:
    """X13: the classes of which one label or term (class, text) holds every word of a text."""
    words = _said(text)
    return sorted(
        {
            code
            for code, label in labels
            if words and all(any(same_word(w, own) for own in _said(label)) for w in words)
        }
    )


def _said(label: str) -> list[str]:
    return [word for word in folded(label).split() if word not in SILENT_WORDS]


# X13: words that say what is done with a thing.
ENGLISH_KINDS = "activities manufacture products retail sale sales service services wholesale"
FRENCH_KINDS = "activites articles commerce detail fabrication gros produits"
KIND_WORDS = {*ENGLISH_KINDS.split(), *FRENCH_KINDS.split()}


def named_activities(labels: Sequence[tuple[str, str]], text: str) -> list[str]:
    """X13: those of words that alone are a label or term, or what it has before a bracket or comma; else none."""
    words = sorted({*_said(text)} - KIND_WORDS)
    names = [name for _, label in labels for name in (label, re.split("[(,;:]", label)[0])]
    alone = any(
        len({*_said(name)} - KIND_WORDS) == len(words) and activities([("", name)], " ".join(words))
        for name in names
    )
    return activities(labels, text) if alone else []


def same_word(one: str, other: str) -> bool:
    """X13: the same word, or the plural of it, or plurals of the same one."""
    return bool(may_be_singular(one) & may_be_singular(other))


@lru_cache(1 << 16)
def may_be_singular(word: str) -> frozenset[str]:
    """The word, and what it may be a plural of: of three letters at least."""
    found = {word}
    for ending, endings in PLURALS.items():
        if word.endswith(ending):
            found |= {word[: -len(ending)] + one for one in endings.split(" ")}
    if word.endswith("s") and not word.endswith("ss"):
        found.add(word[:-1])
    return frozenset(one for one in found if one == word or len(one) >= 3)


def suggested_activities(
    companies: Sequence[Company],
    labels: Sequence[tuple[str, str]],
    terms: Sequence[tuple[str, str]],
    q: str,
    pays: Sequence[str] = (),
) -> list[tuple[str, int]]:
    """X13: the classes that complete q, with their companies: those of a label first, then the largest."""
    chosen = [c["nace_code"] for c in companies if not pays or c["iso2"] in pays]
    named = {code for code, text in labels if completes_activity(text, q)}
    found = {code for code, text in terms if completes_activity(text, q)} | named
    counts = [(code, chosen.count(code)) for code in found if code in chosen]
    return sorted(counts, key=lambda one: (one[0] not in named, -one[1], one[0]))


def completes_activity(text: str, q: str) -> bool:
    """X13: every word of q but the last, and a word that begins with the last."""
    *whole, last = folded(q).split() or [""]
    own = _said(text)
    return (
        bool(last)
        and any(word.startswith(last) for word in own)
        and all(any(same_word(w, one) for one in own) for w in whole if w not in SILENT_WORDS)
    )


def proposed(
    companies: Sequence[Company], labels: Sequence[tuple[str, str]], query: Query
) -> list[tuple[str, str, str, int]]:
    """X13: of a search that finds nothing: activity, town, rest of q and total of what finds something instead."""
    words = (query.q or "").split()
    inside = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    towns = {folded(c["ville"] or "") for c in inside} - {""}
    whole, all_words, trades, places = " ".join(words), [], [], []
    for first in range(len(words) if len(words) <= 8 else 0):
        for last in range(first + 1, len(words) + 1):
            middle = " ".join(words[first:last])
            rest = words[:first] + words[last:]
            while rest and folded(rest[0]) in SILENT_WORDS:
                del rest[0]
            while rest and folded(rest[-1]) in SILENT_WORDS:
                del rest[-1]
            if not query.activites and _names_activity(labels, words[first:last]):
                trades.append((middle, first, last))
                if first == 0 or last == len(words):
                    all_words.append((middle, "", " ".join(rest)))
            if not query.villes and folded(middle) in towns:
                town = spelling(inside, folded(middle))
                places.append((town, first, last))
                both = not query.activites and _names_activity(labels, rest)
                text = " ".join(rest)
                all_words.append((text, town, "") if both else ("", town, text))
    meaning = activities if len(_said(whole)) > 1 else named_activities
    whole_trade = [(whole, "", "")] if not query.activites and meaning(labels, whole) else []
    whole_town = [("", town, "") for town, first, last in places if last - first == len(words)]
    trades, places = _longest(trades), _longest(places)
    some_words = [(one[0], "", "") for one in trades] + [("", one[0], "") for one in places]
    for trade, place in product(trades, places):
        if trade[2] <= place[1] or place[2] <= trade[1]:
            some_words.append((trade[0], place[0], ""))
    for splits in (whole_trade if len(words) <= 8 else [], whole_town, all_words, some_words):
        counted = []
        for activite, ville, q in set(splits):
            wanted = replace(query, q=q or None)
            if activite:
                wanted = replace(wanted, activites=tuple(activities(labels, activite)))
            if ville:
                wanted = replace(wanted, villes=(ville,))
            counted.append((activite, ville, q, len(search(companies, wanted))))
        counted.sort(
            key=lambda one: (bool(one[2]), not (one[0] and one[1]), not one[0], -one[3], one)
        )
        if found := [one for one in counted if one[3]]:
            return found[:3]
    return []


def _names_activity(labels: Sequence[tuple[str, str]], words: Sequence[str]) -> bool:
    ends = {folded(word) for word in (*words[:1], *words[-1:])}
    return not ends & SILENT_WORDS and bool(named_activities(labels, " ".join(words)))


def _longest(found: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Of neighbouring words, those that are most: a text, the first and the last."""
    return [
        one for one in found if one[2] - one[1] == max(last - first for _, first, last in found)
    ]


def meant(companies: Sequence[Company], query: Query) -> list[tuple[str, int]]:
    """X4: of a search that finds nothing, the nearest texts that find something, with their totals."""
    words = folded(query.q or "").split()
    chosen = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    known = {word for c in chosen for name in words_of_names(c) for word in name}
    texts: dict[str, int] = {}
    changed = [[(0, word), *_near(word, known)] for word in words]
    for one in product(*changed):
        far = sum(distance for distance, _ in one)
        text = " ".join(word for _, word in one)
        if 1 <= far <= 2:
            texts[text] = min(far, texts.get(text, far))
    found = [
        (far, -len(search(companies, replace(query, q=text))), text) for text, far in texts.items()
    ]
    return [(text, -total) for _, total, text in sorted(found) if total][:3]


def parts(
    companies: Sequence[Company], query: Query, silent: Collection[str]
) -> list[tuple[str, int]]:
    """X4: of a search that finds nothing, the longest parts of its words that find something, with their totals."""
    words = folded(query.q or "").split()
    inside = [c for c in companies if not query.pays or c["iso2"] in query.pays]
    telling = {
        word
        for word in {*words} - {*silent}
        if 0 < len(search(inside, Query(q=word))) < len(inside) / 2
    }
    found = []
    for size in range(len(words) - 1, 0, -1) if len(words) <= 8 else ():
        neighbours = [words[first : first + size] for first in range(len(words) - size + 1)]
        if size == len(words) - 1:
            neighbours = [words[:gap] + words[gap + 1 :] for gap in range(len(words))]
        texts = {" ".join(one) for one in neighbours if {one[0], one[-1]} <= telling}
        counted = [
            (text, len(search(companies, replace(query, q=text))))
            for text in sorted(texts, key=lambda text: (-len(text), text))
        ]
        found += [one for one in counted if one[1]]
    return found[:3]


def _near(word: str, known: set[str]) -> list[tuple[int, str]]:
    allowed = 0 if not 3 <= len(word) <= 30 else 1 if len(word) < 5 else 2
    far = ((damerau_levenshtein(word, other), other) for other in known)
    return [(distance, other) for distance, other in far if 1 <= distance <= allowed]


def damerau_levenshtein(one: str, other: str) -> int:
    """The fewest insertions, deletions, substitutions and swaps of neighbours, no letter edited twice."""
    rows = [[i + j if not i * j else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (one[i - 1] != other[j - 1]),
            )
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 1] + other[j - 2]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def comparables(companies: Sequence[C], subject: C, n: int) -> list[tuple[C, float]]:
    """X11: the companies of the same sub-sector nearest to one, with their distances.

    Beside a company with a turnover those with a turnover first; then its country first.
    """
    if subject["division"] is None:
        return []
    found = [
        (other, distance(subject, other))
        for other in companies
        if (other["division"], other["groupe"]) == (subject["division"], subject["groupe"])
        and (other["iso2"], other["id"]) != (subject["iso2"], subject["id"])
        and other["etat"] != "cessee"
    ]
    found.sort(
        key=lambda one: (
            subject["ca_eur"] is not None and one[0]["ca_eur"] is None,
            one[0]["iso2"] != subject["iso2"],
            round(one[1], 9),
            one[0]["iso2"],
            math.inf if one[0]["ca_eur"] is None else -one[0]["ca_eur"],
            one[0]["id"],
        )
    )
    return found[:n]


def distance(one: Company, other: Company) -> float:
    """X11: the gaps of turnover, headcount and place."""
    turnovers = [company["ca_eur"] for company in (one, other)]
    return figure_gap(*turnovers) + figure_gap(*headcounts(one, other)) + place_gap(one, other)


def headcounts(one: Company, other: Company) -> list[float | None]:
    """The numbers of two companies, or the least of their bands where one has no number."""
    numbers = [company["effectif"] for company in (one, other)]
    if None not in numbers:
        return numbers
    named = [value(company, "tranche_effectif") for company in (one, other)]
    least = {None: None, "<0": -1.0}
    return [least[b] if b in least else float(re.findall("[0-9]+", b)[0]) for b in named]


def figure_gap(own: float | None, other: float | None) -> float:
    """The difference of the logarithms; 3 where the other is unknown, 1 where the own is, 0 where both are."""
    if own is None:
        return 0.0 if other is None else 1.0
    if other is None:
        return 3.0
    logs = [math.copysign(math.log1p(abs(figure)), figure) for figure in (own, other)]
    return abs(logs[0] - logs[1])


def place_gap(one: Company, other: Company) -> float:
    """X11: none in a town, a quarter in an area of the same two characters of the postcode, else a half."""
    if one["iso2"] != other["iso2"]:
        return 0.5
    towns = [folded(company["ville"] or "") for company in (one, other)]
    if towns[0] and towns[0] == towns[1]:
        return 0.0
    areas = [
        "".join((company["code_postal"] or "").upper().split())[:2] for company in (one, other)
    ]
    return 0.25 if areas[0] and areas[0] == areas[1] else 0.5


def quantile(figures: Sequence[float], share: float) -> float | None:
    """X11: between the two figures beside the place, which counts from 0 to n - 1; None of none."""
    ranked = sorted(figures)
    if not ranked:
        return None
    place = (len(ranked) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


def concentration(figures: Sequence[float]) -> dict[str, float] | None:
    """X11: of the positive figures; Gini as half the mean difference of all pairs over the mean."""
    positive = sorted((figure for figure in figures if figure > 0), reverse=True)
    whole = math.fsum(positive)
    if not positive:
        return None
    pairs = math.fsum(abs(one - other) for one in positive for other in positive)
    return {
        "hhi": math.fsum((100 * figure / whole) ** 2 for figure in positive),
        "cr4": math.fsum(positive[:4]) / whole,
        "cr10": math.fsum(positive[:10]) / whole,
        "gini": pairs / (2 * len(positive) * whole),
    }


# X6: where a number of a country contains the identifier, as a pattern of its letters and digits.
INSIDE = (
    ("siret", "FR", r"([0-9]{9})[0-9]{5}"),
    ("tva", "FR", r"FR[0-9A-HJ-NP-Z]{2}([0-9]{9})"),
)


def numbered(companies: Sequence[C], number: str) -> tuple[str, list[C]]:
    """X6: what a number is, and whose: the first reading that finds some company, in any spelling."""
    asked = letters_and_digits(re.sub(r"(\d{4})\.00?$", r"\1", number.strip()))  # of a spreadsheet
    for kind, fields in (("immatriculation", ("id",)), ("lei", ("lei",)), ("tva", ("tva",))):
        if found := [
            c
            for c in companies
            if asked and asked in [letters_and_digits(c[f] or "") for f in fields]
        ]:
            return kind, found
    for kind, iso2, pattern in INSIDE:
        inside = re.fullmatch(pattern, asked)
        if inside and (found := [c for c in companies if _is_inside(c, iso2, inside[1])]):
            return kind, found
    found = [c for c in companies if asked and _same_but_zeros(c, asked)]
    return "immatriculation", found


def _is_inside(company: Company, iso2: str, identifier: str) -> bool:
    """Not of a company that publishes another VAT number."""
    return bool(
        company["iso2"] == iso2
        and letters_and_digits(company["id"]) == identifier
        and company["tva"] is None
    )


def _same_but_zeros(company: Company, asked: str) -> bool:
    """Other zeros before the digits, with or without the code of the country."""
    codes = ("", "UK", "GB") if company["iso2"] == "UK" else ("", company["iso2"])
    spellings = [asked[len(code) :] for code in codes if asked.startswith(code)]
    own = without_zeros(letters_and_digits(company["id"]))
    return own in [without_zeros(spelling) for spelling in spellings if spelling]


def without_zeros(number: str) -> str:
    """A number without the zeros between its first letters and a further digit."""
    letters = re.match("[A-Z]*", number)
    assert letters
    rest = number[letters.end() :]
    while len(rest) > 1 and rest[0] == "0" and rest[1].isdigit():
        rest = rest[1:]
    return letters[0] + rest


# X19: some words of legal forms of a country, and of siblings; a test keeps to these.
FORM_WORDS = {"EE": "ou as", "FR": "sarl sas", "UK": "limited ltd plc"}
SIBLING_WORDS = {"group", "groupe", "holding", "holdings"}


def bare_words(nom: str, iso2: str) -> list[str]:
    """X5: the words of a name in any order, without legal forms; all of them where it has no other."""
    words = sorted(folded(nom).split())
    return [word for word in words if word not in FORM_WORDS[iso2].split()] or words


def meant_by(companies: Sequence[C], line: Mapping[str, Any]) -> list[C]:
    """X5, X19: whom a line surely may mean: by its number in any spelling, else by its whole name, now or before."""
    inside = [c for c in companies if not line["pays"] or c["iso2"] in line["pays"]]
    if line["id"] is not None:
        return numbered(inside, line["id"])[1]
    return [c for c in inside if line["nom"] and _has_name(c, line["nom"])]


def _has_name(company: Company, nom: str) -> bool:
    names, iso2 = (company["nom"], *(company["noms_anterieurs"] or ())), company["iso2"]
    return bool(folded(nom)) and any(
        bare_words(nom, iso2) == bare_words(name, iso2) for name in names
    )


def name_says_enough(companies: Sequence[Company], line: Mapping[str, Any]) -> bool:
    """X19: whether a name alone may be `sur`: without namesake or sibling, no initials and no common word."""
    inside = [c for c in companies if not line["pays"] or c["iso2"] in line["pays"]]
    if any(_is_sibling(c, line["nom"], inside) for c in inside):
        return False
    written = sorted(folded(line["nom"]).split())
    namesakes = meant_by(companies, line)
    exact = [c for c in namesakes if sorted(folded(c["nom"]).split()) == written]
    (first, *others) = bare_words(line["nom"], namesakes[0]["iso2"])
    having = [c for c in inside if first in folded(c["nom"]).split()]
    vague = not others and (len(first) <= 4 or len(having) >= 5)
    return not vague and len(exact or namesakes) <= 1


def _is_sibling(company: Company, nom: str, others: Sequence[Company]) -> bool:
    """X19: the name, and words of a group, holding, town or number besides."""
    towns = {folded(c["ville"] or "") for c in others if c["iso2"] == company["iso2"]}
    more = bare_words(company["nom"], company["iso2"])
    for word in bare_words(nom, company["iso2"]):
        if word not in more:
            return False
        more.remove(word)
    return bool(more) and all(word in SIBLING_WORDS | towns or word.isdigit() for word in more)


Link = tuple[str, str, str, str | None, str | None]  # child, parent, nature, first day, last day


def parents(links: Sequence[Link], lei: str) -> list[Link]:
    """X12: link by link to the top: the latest that has not ended, a direct parent before a head office."""
    chain: list[Link] = []
    seen = set()
    while lei not in seen:
        seen.add(lei)
        above = [one for one in links if one[0] == lei and one[2] != "ultime" and one[4] is None]
        if not above:
            break
        chain.append(max(above, key=lambda one: (one[2] == "directe", one[3] or "")))
        lei = chain[-1][1]
    return chain


def children(links: Sequence[Link], lei: str, nature: str) -> list[str]:
    """X12: whose parent it is today, in the order of their LEI."""
    return sorted(one[0] for one in links if one[1:3] == (lei, nature) and one[4] is None)


Figures = Mapping[str, float]


def ratios(years: Mapping[int, Figures]) -> dict[tuple[str, int], float | None]:
    """X11: the ratios of accounts in euros by code and year, as a textbook writes them; None where a part lacks."""
    found: dict[tuple[str, int], float | None] = {}
    for year, a in years.items():
        for code, value in _ratios(a, years.get(year - 1)).items():
            found[code, year] = value
    return found


def _ratios(a: Figures, before: Figures | None) -> dict[str, float | None]:
    sales, profit = a.get("TurnoverRevenue"), a.get("ProfitLoss")
    equity = _first(a.get("Equity"), a.get("NetAssetsLiabilities"))
    assets = _first(
        a.get("TotalAssets"),
        a.get("LiabilitiesAndEquity"),
        _plus(
            a, "FixedAssets", "CurrentAssets", perhaps=("CalledUpShareCapitalNotPaid",
            "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal"),
        ),
    )  # fmt: skip
    due = a.get("CreditorsDueWithinOneYear")
    debts = _first(
        a.get("Liabilities"),
        _plus(
            a, "CreditorsDueWithinOneYear", perhaps=("CreditorsDueAfterOneYear", "ProvisionsForLiabilities",
            "AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal"),
        ),
        _plus(a, "Creditors", perhaps=("ProvisionsForLiabilities",)),
    )  # fmt: skip
    a_year = 12 / (a.get("PeriodMonths", 0) if a.get("PeriodMonths", 0) > 0 else 12)
    year_sales = None if sales is None else sales * a_year
    operating, stock = a.get("OperatingProfitLoss"), a.get("TotalInventories")
    last_sales = None if before is None else _ratios(before, None)["chiffre_affaires_annuel"]
    x1 = _by(
        _first(_less(a.get("CurrentAssets"), due), a.get("NetCurrentAssetsLiabilities")), assets
    )
    x3 = _by(operating, assets, a_year)
    x4 = _by(equity, debts)
    x2 = _by(
        _first(
            a.get("ProfitLossAccountReserve"),
            _plus(
                a, "RetainedEarnings", perhaps=("ProfitLossForYearWithinEquity", "LegalReserve",
                "StatutoryReserves", "OtherAggregateReserves"),
            ),
        ),
        assets,
    )  # fmt: skip
    bought = _plus(a, "RawMaterialsConsumablesUsed", perhaps=("OtherExternalCharges",))
    quick = _first(
        _less(a.get("CurrentAssets"), stock),
        _plus(a, "Debtors", "CashBankOnHand", perhaps=("InvestmentsCurrentAssets",)),
    )
    parts = (x1, x2, x3, x4)
    return {
        "chiffre_affaires_annuel": year_sales,
        "croissance_ca": _by(_less(year_sales, last_sales), last_sales),
        "marge_brute": _by(
            _first(a.get("GrossProfitLoss"), _less(sales, a.get("CostSales"))), sales
        ),
        "marge_operationnelle": _by(operating, sales),
        "marge_nette": _by(profit, sales),
        "rentabilite_actif": _by(profit, assets, a_year),
        "rentabilite_capitaux_propres": _by(profit, equity, a_year),
        "autonomie_financiere": _by(equity, assets),
        "endettement": _by(debts, equity),
        "liquidite_generale": _by(a.get("CurrentAssets"), due),
        "liquidite_reduite": _by(quick, due),
        "delai_clients": _by(a.get("TradeDebtorsTradeReceivables"), sales, 365 / a_year),
        "delai_fournisseurs": _by(
            a.get("TradeCreditorsTradePayables"), _first(a.get("CostSales"), bought), 365 / a_year
        ),
        "delai_stocks": _by(
            stock, _first(a.get("CostSales"), a.get("RawMaterialsConsumablesUsed")), 365 / a_year
        ),
        "rotation_actif": _by(sales, assets, a_year),
        "z_altman": None
        if None in parts
        else 6.56 * parts[0] + 3.26 * parts[1] + 6.72 * parts[2] + 1.05 * parts[3],  # type: ignore[operator]
    }


def _first(*figures: float | None) -> float | None:
    return next((one for one in figures if one is not None), None)


def _plus(a: Figures, *names: str, perhaps: Sequence[str] = ()) -> float | None:
    """The sum of lines, of which the last ones count as zero where they were not filed."""
    if any(name not in a for name in names):
        return None
    return sum(a[name] for name in names) + sum(a.get(name, 0.0) for name in perhaps)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _by(one: float | None, other: float | None, factor: float = 1.0) -> float | None:
    """A part of something; of nothing, or of less than nothing, there is none."""
    return None if one is None or other is None or other <= 0 else factor * one / other


def is_date(text: str) -> bool:
    """C8: a day of the calendar, a month or a year, from the year 1000 to 2999."""
    if not re.fullmatch(r"[12][0-9]{3}(-[0-9]{2}(-[0-9]{2})?)?", text):
        return False
    year, month, day = [*map(int, text.split("-")), 1, 1][:3]
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def date_of_creation(created: str, source: str | None, last_year: int) -> str | None:
    """A published date of creation as it is served: none that is impossible, or after the date of its file.

    Args:
        source: the date of the file; one that is impossible, or after `last_year`, counts as none.
        last_year: the last year of a row whose file has no date.
    """
    if not is_date(created) or int(created[:4]) > last_year:
        return None
    if source is None or not is_date(source) or int(source[:4]) > last_year:
        return created
    return None if created[: len(source)] > source else created
