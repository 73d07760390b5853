"""Evidence for and against a company: named numbers, each with a weight in `seeds/rapprochement.csv`.

Absent evidence is 0. Most evidence is 0 or 1; the information of words is in tens of nats.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import log
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import OSA

from shards.codec.folding import fold, fold_id
from shards.matching.legal_forms import LegalForm
from shards.matching.line import UNREADABLE, Line
from shards.matching.name_comparison import NameComparison, is_number
from shards.reader.shard import ShardRow
from shards.search.written_numbers import is_lei

# A NACE code, also with its section, without dots, or with the further digits of a national code.
_NACE_CODE: Final = re.compile(r"[A-U]? ?(\d{2})\.?(\d)?(\d)?\.?\d{0,3}[A-Z]?")
_URL_OR_EMAIL: Final = re.compile(r"(?:[a-z]+://)?(?:[^/@]*@)?(?:www\d?\.)?([^/:?#\s]+)")
# Words with this many equal first letters count as forms of the same word (plural, feminine).
_STEM_LETTERS: Final = 5
# The share of the words of the shorter address that the longer address must contain.
_SHARED_WORDS: Final = 0.6
# The fields of a company with words about its activity.
_ACTIVITY_FIELDS: Final = ("activite", "secteur", "sous_secteur", "nace_libelle", "description")

# Values of evidence by name.
Evidence = dict[str, float]
Forms = frozenset[LegalForm]  # the legal forms of a name

# Information as evidence is in units of this number of nats, from -_MOST_UNITS to _MOST_UNITS units.
_NATS_PER_UNIT: Final = 10.0
_MOST_UNITS: Final = 2.0
# In a word of up to this number of letters, an error is little evidence: another word can differ by one letter.
_SHORT_WORD: Final = 6
# Sums of the same information in another order differ by less (rounding).
_ROUNDING: Final = 1e-6
# The part of `surplus` above this value counts less, because its evidence `surplus_haut` has a negative weight.
_HIGH_SURPLUS: Final = 0.7
# Characters that are ignored when postcodes are compared.
_NOT_IN_POSTCODE: Final = re.compile(r"[^0-9A-Za-z]")

# The evidence that an answer lists as reasons, in this order.
REASONS: Final = (
    "id_identique", "id_corrige", "id_different", "tva_identique", "lei_identique",
    "lei_different", "nom_identique", "nom_different", "ancien_nom", "initiales", "faute", "fautes", "faute_de_forme",
    "abreviation", "debut_de_mot", "espace", "ordre", "mot_manquant", "mot_en_plus",
    "nombre_different", "forme_autre", "forme_absente", "ville_identique", "ville_dans_le_nom",
    "ville_proche", "ville_differente", "code_postal_identique", "code_postal_proche",
    "code_postal_different", "adresse_identique", "adresse_differente", "date_identique",
    "date_differente", "activite_identique", "activite_differente", "site_identique",
    "site_du_nom", "pays_different", *UNREADABLE,
)  # fmt: skip


class NumberedPlaces(NamedTuple):
    """The companies that have the number in a cell of a line, in any spelling.

    Attributes:
        places: the shard and row of each company.
        numbers: the numbers that the cell can stand for, with letters and digits only.
        incomparable: the countries whose identifiers cannot be compared with such a number.
    """

    places: frozenset[ShardRow] = frozenset()
    numbers: frozenset[str] = frozenset()
    incomparable: frozenset[str] = frozenset()


class LineNumbers(NamedTuple):
    """The companies with the numbers of a line, by cell; a number can be in the wrong cell."""

    id: NumberedPlaces = NumberedPlaces()
    tva: NumberedPlaces = NumberedPlaces()
    lei: NumberedPlaces = NumberedPlaces()

    @property
    def places(self) -> frozenset[ShardRow]:
        """The companies with any number of the line."""
        return self.id.places | self.tva.places | self.lei.places


@dataclass(frozen=True, slots=True)
class WeighedCompany:
    """A company and its evidence; `compared` is None if the line has no name."""

    company: Mapping[str, Any]
    evidence: Evidence
    compared: NameComparison | None = None


def name_evidence(
    compared: NameComparison,
    forms: tuple[Forms, Forms],
    companies: int,
    *,
    town: float,
    remarks: float,
) -> Evidence:
    """The evidence of the comparison of two names, with every kind of agreement and difference as a number.

    Args:
        forms: the legal forms of the line and of the company.
        companies: the number of companies in the countries that are searched.
        town: the information of the words that only the line has and that are the company's town.
        remarks: the information of the words that only the line has and that the owner of the list added as a remark.
    """
    line_classes, company_classes = (classes(forms_of_name) for forms_of_name in forms)
    if compared.form_errors:
        line_classes = company_classes
    errors = compared.errors
    lacking = max(0.0, compared.lacking - town - remarks)
    if lacking < _ROUNDING:
        lacking = 0.0
    is_same = compared.has_same_words and not compared.reordered
    # By how much the shared words single out one company of all: log(companies + 1) nats name one of `companies`.
    surplus = _clip_units((compared.common - log(companies + 1)) / _NATS_PER_UNIT)
    return {
        "nom_identique": float(is_same),
        "surplus": surplus,
        "surplus_haut": max(0.0, surplus - _HIGH_SURPLUS),
        "manque": _clip_units(lacking / _NATS_PER_UNIT),
        "en_plus": _clip_units(compared.extra / _NATS_PER_UNIT),
        "mot_manquant": float(lacking > 0),
        "mot_en_plus": float(bool(compared.extra_words)),
        "manque_et_plus": float(lacking > 0 and bool(compared.extra_words)),
        "debut_du_nom": float(compared.is_beginning),
        "mot_leger_manquant": float(lacking > 0 and not compared.heavy_lacking),
        "mot_leger_en_plus": float(bool(compared.extra_words) and not compared.heavy_extra),
        "initiales": float(compared.initials or compared.inner_initials > 0),
        "initiales_longues": float(compared.initials_letters),
        "initiales_dedans": float(compared.inner_initials > 0),
        "faute": float(errors == 1),
        "fautes": float(errors > 1),
        "faute_courte": float(min(2, compared.short_errors)),
        "faute_de_forme": float(min(1, compared.form_errors)),
        "faute_surplus": surplus * (errors > 0),
        "faute_longue": _clip_units((compared.error_letters - _SHORT_WORD) / _SHORT_WORD)
        * (errors > 0),
        "faute_memes_lettres": float(errors > 0 and compared.slips == errors),
        "faute_initiale": float(compared.first_letters > 0),
        "faute_connue": float(min(2, compared.known_errors)),
        "abreviation": float(min(2, compared.abbreviations)),
        "debut_de_mot": float(min(2, compared.beginnings)),
        "espace": float(min(1, compared.respaced)),
        "ordre": float(compared.reordered),
        "nombre_different": float(compared.numbers > 0),
        "forme_identique": float(bool(is_same and line_classes and forms[0] == forms[1])),
        "forme_sans_nom": float(bool(line_classes) and not is_same),
        "forme_autre": float(
            bool(line_classes and company_classes) and not line_classes & company_classes
        ),
        "forme_absente": float(bool(line_classes) != bool(company_classes)),
        "ville_dans_le_nom": float(town > 0),
    }


def added_word_evidence(
    compared: NameComparison,
    kin: Collection[str],
    country: Collection[str],
    countries: Collection[str],
    remarks: Collection[str],
    surplus: float,
) -> Evidence:
    """The evidence of words that only the line has: `X Group` is another company than X, `X branch` is X.

    The rarer the words of X, the likelier they are also in the names of its group and of its companies in other
    countries. `X France` is usually X if X is French.

    Args:
        kin: words in the names of siblings: group, holding, branch.
        country: the names of the company's country.
        countries: the names of all countries.
        remarks: words that owners of lists add to names: closed, branch, supplier.
        surplus: the evidence `surplus` of the names.
    """
    added = compared.lacking_words
    if any(word in remarks for word in added):
        return {"remarque": 1.0}
    if added and all(word in country for word in added):
        return {"pays_dans_le_nom": 1.0}
    if added and all(word in countries for word in added):
        return {"autre_pays_dans_le_nom": surplus}
    if added and all(word in kin or is_number(word) for word in added):
        return {"parente": 1.0, "parente_surplus": surplus}
    return {}


def classes(forms: Forms) -> frozenset[str]:
    """The known classes of legal forms."""
    return frozenset(form.classe for form in forms if form.classe)


def other_evidence(
    line: Line, company: Mapping[str, Any], place: ShardRow, numbers: LineNumbers
) -> Evidence:
    """The evidence of place, date, numbers and state for the company at `place`."""
    evidence = place_evidence(line, company) | identifier_evidence(line, company, place, numbers)
    if company["etat"] == "cessee":
        evidence["cessee"] = 1.0
    return evidence


def place_evidence(line: Line, company: Mapping[str, Any]) -> Evidence:
    """The evidence of town, postcode and date of creation: equal, near (towns and postcodes) or different.

    A value that the line or the company does not have gives no evidence. Dates are compared as far as both are known.
    """
    evidence: Evidence = {}
    if line.ville and company["ville"]:
        evidence[f"ville_{_compare_towns(fold(line.ville), fold(company['ville']))}"] = 1.0
    if line.code_postal and company["code_postal"]:
        line_postcode, company_postcode = (
            _postcode(line.code_postal),
            _postcode(company["code_postal"]),
        )
        is_near = line_postcode[:2] == company_postcode[:2]
        evidence[
            "code_postal_identique"
            if line_postcode == company_postcode
            else "code_postal_proche"
            if is_near
            else "code_postal_different"
        ] = 1.0
    if line.date_creation and company["date_creation"]:
        length = min(len(line.date_creation), len(company["date_creation"]))
        is_same = line.date_creation[:length] == company["date_creation"][:length]
        evidence["date_identique" if is_same else "date_differente"] = 1.0
    return evidence


def identifier_evidence(
    line: Line, company: Mapping[str, Any], place: ShardRow, numbers: LineNumbers
) -> Evidence:
    """The evidence of the identifier, the VAT number and the LEI.

    A different number counts against a company only if the two can be compared: no register publishes German VAT
    numbers.
    """
    evidence: Evidence = {}
    if not (line.id or line.tva or line.lei):
        return evidence
    identifier, iso2 = fold_id(company["id"]), company["iso2"]
    vat, lei = (fold_id(company.get(name) or "") for name in ("tva", "lei"))
    if line.id:
        if identifier in numbers.id.numbers:
            evidence["id_identique"] = 1.0
        elif place in numbers.id.places:
            evidence["id_corrige"] = 1.0
            evidence["id_zeros"] = float(
                any(_has_more_zeros(number, identifier) for number in numbers.id.numbers)
            )
        elif "id_illisible" not in line.illisibles and (vat or iso2 not in numbers.id.incomparable):
            evidence["id_different"] = 1.0
            evidence["id_d_une_autre"] = float(bool(numbers.id.places))
    if line.tva:
        bare_numbers = [_number_without_prefix(number, iso2) for number in numbers.tva.numbers]
        by_vat = place in numbers.tva.places
        if vat and by_vat and any(map(vat.endswith, bare_numbers)):
            evidence["tva_identique"] = 1.0
        elif by_vat or any(
            _number_without_prefix(identifier, iso2) in number for number in bare_numbers
        ):
            evidence["id_corrige"] = 1.0
        elif (
            not line.id
            and "tva_illisible" not in line.illisibles
            and (vat or iso2 not in numbers.tva.incomparable)
        ):
            evidence["id_different"] = 1.0
    if line.lei:
        if lei in numbers.lei.numbers:
            evidence["lei_identique"] = 1.0
        elif place in numbers.lei.places:
            evidence["id_corrige"] = 1.0
        elif lei and any(map(is_lei, numbers.lei.numbers)):
            evidence["lei_different"] = 1.0
    return evidence


def _has_more_zeros(number: str, identifier: str) -> bool:
    """Whether the identifier of the company has zeros that the number does not have: 00944111 of 944111.

    >>> _has_more_zeros("SC12345", "SC012345"), _has_more_zeros("GB00944111", "00944111")
    (True, False)
    """
    digits = identifier.lstrip(ascii_uppercase)
    letters = identifier.removesuffix(digits)
    return identifier not in number and (letters + digits.lstrip("0")) in number


def information_in(
    words: Collection[str], compared: NameComparison, word_information: Mapping[str, float]
) -> float:
    """The information of the words that only the line has and that are in `words`."""
    return sum(word_information[word] for word in compared.lacking_words if word in words)


def reasons(evidence: Evidence) -> tuple[str, ...]:
    """The codes of the evidence that holds, in the order of REASONS."""
    return tuple(name for name in REASONS if evidence.get(name))


def _number_without_prefix(folded: str, iso2: str) -> str:
    """A folded identifier without the prefix of its country and leading zeros."""
    # A text with three characters or fewer after the letters is not a number with a prefix.
    for prefix in (iso2, "GB" if iso2 == "UK" else iso2):
        if folded.startswith(prefix) and len(folded) > len(prefix) + 3:
            folded = folded.removeprefix(prefix)
    return folded.lstrip("0")


def _compare_towns(town: str, other_town: str) -> str:
    """How alike two folded towns are: `identique`, `proche` (a common long word, few other letters), `differente`."""
    if town == other_town:
        return "identique"
    common_words = set(town.split()) & set(other_town.split())
    is_near = OSA.distance(town, other_town, score_cutoff=2) <= min(2, len(town) // 4)
    return "proche" if is_near or any(len(part) > 3 for part in common_words) else "differente"


def _postcode(text: str) -> str:
    """The letters and digits of a postcode, in upper case."""
    return _NOT_IN_POSTCODE.sub("", text).upper()


def _clip_units(value: float) -> float:
    """The value, limited to the range from -_MOST_UNITS to _MOST_UNITS."""
    return max(-_MOST_UNITS, min(_MOST_UNITS, value))


# -- address, activity, website and e-mail address (extension X19) -----------------------------


def contact_evidence(
    line: Line,
    company: Mapping[str, Any],
    mail_providers: Collection[str],
    classes: Collection[str] = (),
) -> dict[str, float]:
    """The evidence of address, activity, website and e-mail address; empty where one side has no value.

    Websites and e-mail addresses are compared by their domain; the domain of a mail provider is no evidence. If the
    contacts of the company are null (it has none, or the caller has no right to them), the domain of the line is
    compared only with the company's name.

    Args:
        mail_providers: domains where anybody can have an e-mail address.
        classes: the NACE classes of the words in the activity of the line.
    """
    if not (line.adresse or line.activite or line.site_web or line.email):
        return {}
    codes = [
        line.adresse and company["adresse"] and _compare_addresses(line.adresse, company),
        line.activite and _compare_activities(line.activite, company, classes),
        *(
            _compare_domains(domain, company)
            for text in (line.site_web, line.email)
            if (domain := domain_of(text)) and domain not in mail_providers
        ),
    ]
    return {code: 1.0 for code in codes if code}


def domain_of(text: str | None) -> str:
    """The domain of a website or an e-mail address.

    >>> domain_of("https://www.Example.co.uk/fr"), domain_of("a@example.fr"), domain_of(None)
    ('example.co.uk', 'example.fr', '')
    """
    matched = _URL_OR_EMAIL.match((text or "").strip().lower())
    return matched[1].strip(".") if matched and "." in matched[1] else ""


def _compare_addresses(address: str, company: Mapping[str, Any]) -> str:
    """The evidence of two addresses, or "" if they are neither the same nor clearly different.

    They are the same if the longer one contains most words of the shorter one and, if both have numbers, they share a
    number. They are different if they share no word of _STEM_LETTERS letters or more.
    """
    town_words = set(fold(f"{company['ville'] or ''} {company['code_postal'] or ''}").split())
    line_words, company_words = (
        set(fold(text).split()) - town_words for text in (address, company["adresse"])
    )
    shorter_size = min(len(line_words), len(company_words))
    if not shorter_size:
        return ""
    numbers = (
        {word for word in line_words if word.isdigit()},
        {word for word in company_words if word.isdigit()},
    )
    same_number = not all(numbers) or bool(numbers[0] & numbers[1])
    if same_number and len(line_words & company_words) >= _SHARED_WORDS * shorter_size:
        return "adresse_identique"
    return (
        ""
        if any(len(word) >= _STEM_LETTERS for word in line_words & company_words)
        else "adresse_differente"
    )


def _compare_activities(activity: str, company: Mapping[str, Any], classes: Collection[str]) -> str:
    """The evidence of an activity, or "": a code is compared with the company's code, words with its labels.

    Words of fewer than four letters are left out, because they are often articles and prepositions.
    """
    if matched := _NACE_CODE.fullmatch(activity.strip()):
        code = (company["nace_code"] or "").replace(".", "")
        digits = "".join(digit for digit in matched.groups() if digit)
        if not code:
            return ""
        length = min(len(code), len(digits))
        if code[:length] == digits[:length]:
            return "activite_identique"
        return "" if code[:2] == digits[:2] else "activite_differente"
    if company["nace_code"] in classes:
        return "activite_identique"
    words = {
        word[:_STEM_LETTERS] for word in fold(activity).split() if len(word) >= _STEM_LETTERS - 1
    }
    labels = " ".join(str(company[field]) for field in _ACTIVITY_FIELDS if company[field])
    stems = {word[:_STEM_LETTERS] for word in fold(labels).split()}
    return "activite_identique" if words & stems else ""


def _compare_domains(domain: str, company: Mapping[str, Any]) -> str:
    """The evidence of a domain, or "".

    It is compared with the domains of the company. Then its first label is searched in the company's name; a label of
    fewer than four letters is not, because it can be there by chance.
    """
    if domain in (domain_of(company[field]) for field in ("site_web", "domaine", "email")):
        return "site_identique"
    label, name = (
        fold(text).replace(" ", "") for text in (domain.partition(".")[0], company["nom"])
    )
    return "site_du_nom" if len(label) >= _STEM_LETTERS - 1 and label in name else ""
