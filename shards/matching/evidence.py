"""Evidence for and against a company: numbers with names, one for each row of `seeds/rapprochement.csv`.

A piece of evidence is 0 where it is absent. Most are 0 or 1; what words tell is in tens of nats.
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
from shards.search.written_numbers import is_lei

_CODE: Final = re.compile(r"[A-U]? ?(\d{2})\.?(\d)?(\d)?\.?\d{0,3}[A-Z]?")
_HOST: Final = re.compile(r"(?:[a-z]+://)?(?:[^/@]*@)?(?:www\d?\.)?([^/:?#\s]+)")
# Words that agree in so many letters at the beginning are the same in another number or gender.
_STEM: Final = 5
_ALIKE: Final = 0.6
_LABELS: Final = ("activite", "secteur", "sous_secteur", "nace_libelle", "description")

Evidence = dict[str, float]
Forms = frozenset[LegalForm]
Place = tuple[int, int]  # a shard, by its place in the table, and a row

_TOLD: Final = 10.0
_MOST: Final = 2.0
# Letters of a word in which an error says little: another such word may have it.
_SHORT_WORD: Final = 6
# Sums of the same information in another order differ by less.
_NOTHING: Final = 1e-6
# Beyond so much, more that the words of both names tell counts for less.
_ENOUGH: Final = 0.7
_POSTCODE: Final = re.compile(r"[^0-9A-Za-z]")

# The evidence that is a reason of an answer, in the order of an answer.
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
    """The companies that have the number of a cell of a line, in whatever spelling.

    Attributes:
        numbers: the cell as numbers, by their letters and digits.
        incomparable: the countries whose identifiers say nothing of such a number.
    """

    places: frozenset[Place] = frozenset()
    numbers: frozenset[str] = frozenset()
    incomparable: frozenset[str] = frozenset()


class LineNumbers(NamedTuple):
    """The companies with the numbers of a line, each of which may be in the cell of another."""

    id: NumberedPlaces = NumberedPlaces()
    tva: NumberedPlaces = NumberedPlaces()
    lei: NumberedPlaces = NumberedPlaces()

    @property
    def places(self) -> frozenset[Place]:
        """All of the companies."""
        return self.id.places | self.tva.places | self.lei.places


@dataclass(frozen=True, slots=True)
class WeighedCompany:
    """A company and what speaks for it."""

    company: Mapping[str, Any]
    evidence: Evidence
    compared: NameComparison | None = None


def of_name(
    compared: NameComparison,
    forms: tuple[Forms, Forms],
    companies: int,
    *,
    town: float,
    remarks: float,
) -> Evidence:
    """What the names say.

    Args:
        forms: the legal forms of the line and of the company.
        companies: how many there are in the countries that were asked for.
        town: what the words tell that only the line has, and that are the company's town.
        remarks: the same of words that whoever keeps the list wrote behind the name.
    """
    ours, theirs = (classes(each) for each in forms)
    if compared.form_errors:
        ours = theirs
    errors = compared.errors
    lacking = max(0.0, compared.lacking - town - remarks)
    if lacking < _NOTHING:
        lacking = 0.0
    same = compared.has_same_words and not compared.reordered
    surplus = _clip((compared.common - log(companies + 1)) / _TOLD)
    return {
        "nom_identique": float(same),
        "surplus": surplus,
        "surplus_haut": max(0.0, surplus - _ENOUGH),
        "manque": _clip(lacking / _TOLD),
        "en_plus": _clip(compared.extra / _TOLD),
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
        "faute_longue": _clip((compared.error_letters - _SHORT_WORD) / _SHORT_WORD) * (errors > 0),
        "faute_memes_lettres": float(errors > 0 and compared.slips == errors),
        "faute_initiale": float(compared.first_letters > 0),
        "faute_connue": float(min(2, compared.known_errors)),
        "abreviation": float(min(2, compared.abbreviations)),
        "debut_de_mot": float(min(2, compared.beginnings)),
        "espace": float(min(1, compared.respaced)),
        "ordre": float(compared.reordered),
        "nombre_different": float(compared.numbers > 0),
        "forme_identique": float(bool(same and ours and forms[0] == forms[1])),
        "forme_sans_nom": float(bool(ours) and not same),
        "forme_autre": float(bool(ours and theirs) and not ours & theirs),
        "forme_absente": float(bool(ours) != bool(theirs)),
        "ville_dans_le_nom": float(town > 0),
    }


def of_added_words(
    compared: NameComparison,
    kin: Collection[str],
    country: Collection[str],
    countries: Collection[str],
    remarks: Collection[str],
    surplus: float,
) -> Evidence:
    """What words say that only the line has: `X Group` is another company than X, `X branch` is X.

    The more X tells, the likelier its group has it, too, and its companies in other countries. `X France` is mostly X,
    if that is French.

    Args:
        country: the names of the country of the company.
        countries: those of all.
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
    """The classes of legal forms; of some forms none is known."""
    return frozenset(form.classe for form in forms if form.classe)


def beside_the_name(
    line: Line, company: Mapping[str, Any], place: Place, numbers: LineNumbers
) -> Evidence:
    """What place, date, numbers and state say of the company at `place`."""
    found = of_place(line, company) | of_identifiers(line, company, place, numbers)
    if company["etat"] == "cessee":
        found["cessee"] = 1.0
    return found


def of_place(line: Line, company: Mapping[str, Any]) -> Evidence:
    """What town, postcode and date of creation say; nothing where one side does not have them."""
    found: Evidence = {}
    if line.ville and company["ville"]:
        found[f"ville_{_town(fold(line.ville), fold(company['ville']))}"] = 1.0
    if line.code_postal and company["code_postal"]:
        one, other = _postcode(line.code_postal), _postcode(company["code_postal"])
        near = one[:2] == other[:2]
        found[
            "code_postal_identique"
            if one == other
            else "code_postal_proche"
            if near
            else "code_postal_different"
        ] = 1.0
    if line.date_creation and company["date_creation"]:
        length = min(len(line.date_creation), len(company["date_creation"]))
        same = line.date_creation[:length] == company["date_creation"][:length]
        found["date_identique" if same else "date_differente"] = 1.0
    return found


def of_identifiers(
    line: Line, company: Mapping[str, Any], place: Place, numbers: LineNumbers
) -> Evidence:
    """What the identifier, the VAT number and the LEI say.

    A number says that it is another only where the company has such a number: no register publishes German VAT numbers.
    """
    found: Evidence = {}
    if not (line.id or line.tva or line.lei):
        return found
    known, iso2 = fold_id(company["id"]), company["iso2"]
    vat, lei = (fold_id(company.get(name) or "") for name in ("tva", "lei"))
    if line.id:
        if known in numbers.id.numbers:
            found["id_identique"] = 1.0
        elif place in numbers.id.places:
            found["id_corrige"] = 1.0
            found["id_zeros"] = float(
                any(_has_more_zeros(number, known) for number in numbers.id.numbers)
            )
        elif "id_illisible" not in line.illisibles and (vat or iso2 not in numbers.id.incomparable):
            found["id_different"] = 1.0
            found["id_d_une_autre"] = float(bool(numbers.id.places))
    if line.tva:
        given = [_core(number, iso2) for number in numbers.tva.numbers]
        by_vat = place in numbers.tva.places
        if vat and by_vat and any(map(vat.endswith, given)):
            found["tva_identique"] = 1.0
        elif by_vat or any(_core(known, iso2) in number for number in given):
            found["id_corrige"] = 1.0
        elif (
            not line.id
            and "tva_illisible" not in line.illisibles
            and (vat or iso2 not in numbers.tva.incomparable)
        ):
            found["id_different"] = 1.0
    if line.lei:
        if lei in numbers.lei.numbers:
            found["lei_identique"] = 1.0
        elif place in numbers.lei.places:
            found["id_corrige"] = 1.0
        elif lei and any(map(is_lei, numbers.lei.numbers)):
            found["lei_different"] = 1.0
    return found


def _has_more_zeros(given: str, known: str) -> bool:
    """Whether the identifier of the company has zeros that the number does not have: 00944111 of 944111.

    >>> _has_more_zeros("SC12345", "SC012345"), _has_more_zeros("GB00944111", "00944111")
    (True, False)
    """
    digits = known.lstrip(ascii_uppercase)
    letters = known.removesuffix(digits)
    return known not in given and (letters + digits.lstrip("0")) in given


def information_in(
    words: Collection[str], compared: NameComparison, told: Mapping[str, float]
) -> float:
    """The information of the words that only the line has and that are among `words`."""
    return sum(told[word] for word in compared.lacking_words if word in words)


def reasons(evidence: Evidence) -> tuple[str, ...]:
    """The codes of the evidence that holds, in the order of REASONS."""
    return tuple(name for name in REASONS if evidence.get(name))


def _core(folded: str, iso2: str) -> str:
    """A folded identifier without the prefix of its country and leading zeros."""
    for prefix in (iso2, "GB" if iso2 == "UK" else iso2):
        if folded.startswith(prefix) and len(folded) > len(prefix) + 3:
            folded = folded.removeprefix(prefix)
    return folded.lstrip("0")


def _town(town: str, other: str) -> str:
    if town == other:
        return "identique"
    parts = set(town.split()) & set(other.split())
    near = OSA.distance(town, other, score_cutoff=2) <= min(2, len(town) // 4)
    return "proche" if near or any(len(part) > 3 for part in parts) else "differente"


def _postcode(text: str) -> str:
    return _POSTCODE.sub("", text).upper()


def _clip(value: float) -> float:
    return max(-_MOST, min(_MOST, value))


# -- address, activity, website and e-mail address (extension X19) -----------------------------


def contact_evidence(
    line: Line,
    company: Mapping[str, Any],
    mail_providers: Collection[str],
    classes: Collection[str] = (),
) -> dict[str, float]:
    """The evidence of address, activity, website and e-mail address; nothing where one side does not have a value.

    Of a website and an e-mail address only the domain is compared; one of a provider of mailboxes says nothing. Where
    the contacts of the company are null, because it has none or the caller has no right to them, only its name is
    compared.

    Args:
        mail_providers: domains that anybody may have an e-mail address of.
        classes: the classes of the NACE that the words of the activity of the line name.
    """
    if not (line.adresse or line.activite or line.site_web or line.email):
        return {}
    codes = [
        line.adresse and company["adresse"] and _address(line.adresse, company),
        line.activite and _activity(line.activite, company, classes),
        *(
            _domain(domain, company)
            for given in (line.site_web, line.email)
            if (domain := domain_of(given)) and domain not in mail_providers
        ),
    ]
    return {code: 1.0 for code in codes if code}


def domain_of(text: str | None) -> str:
    """The domain of a website or an e-mail address.

    >>> domain_of("https://www.Example.co.uk/fr"), domain_of("a@example.fr"), domain_of(None)
    ('example.co.uk', 'example.fr', '')
    """
    matched = _HOST.match((text or "").strip().lower())
    return matched[1].strip(".") if matched and "." in matched[1] else ""


def _address(given: str, company: Mapping[str, Any]) -> str:
    """How much of the shorter address is in the longer one; the numbers must be there."""
    place = set(fold(f"{company['ville'] or ''} {company['code_postal'] or ''}").split())
    one, other = (set(fold(text).split()) - place for text in (given, company["adresse"]))
    least = min(len(one), len(other))
    if not least:
        return ""
    numbers = {word for word in one if word.isdigit()}, {word for word in other if word.isdigit()}
    same_number = not all(numbers) or bool(numbers[0] & numbers[1])
    if same_number and len(one & other) >= _ALIKE * least:
        return "adresse_identique"
    return "" if any(len(word) >= _STEM for word in one & other) else "adresse_differente"


def _activity(given: str, company: Mapping[str, Any], classes: Collection[str]) -> str:
    """A code is compared with the code, words with the classes that they name and all labels of the company."""
    if matched := _CODE.fullmatch(given.strip()):
        code = (company["nace_code"] or "").replace(".", "")
        asked = "".join(digit for digit in matched.groups() if digit)
        if not code:
            return ""
        length = min(len(code), len(asked))
        if code[:length] == asked[:length]:
            return "activite_identique"
        return "" if code[:2] == asked[:2] else "activite_differente"
    if company["nace_code"] in classes:
        return "activite_identique"
    words = {word[:_STEM] for word in fold(given).split() if len(word) >= _STEM - 1}
    known = " ".join(str(company[field]) for field in _LABELS if company[field])
    stems = {word[:_STEM] for word in fold(known).split()}
    return "activite_identique" if words & stems else ""


def _domain(domain: str, company: Mapping[str, Any]) -> str:
    if domain in (domain_of(company[field]) for field in ("site_web", "domaine", "email")):
        return "site_identique"
    label, name = (
        fold(text).replace(" ", "") for text in (domain.partition(".")[0], company["nom"])
    )
    return "site_du_nom" if len(label) >= _STEM - 1 and label in name else ""
