"""The second noise: the changes of names in lists of suppliers, customers and payments, beyond typing errors.

Kinds and shares follow published sources. `[egapro]` is counted: in the French index of equality, whose names are as
companies type them, 5 799 companies have 14 691 declarations, with 1 980 names that differ from their last name. Of
these, 34 % differ only in the legal form or an abbreviation, 24 % by words at an end, 12 % in some words, 18 % in all
words (other brands, new names, a form alone), 8 % by typing errors, 2 % by blanks, 2 % are initials, 0.3 % have another
order (`seeds/raw/fr/index-egalite-fh.csv.zip` is a part). `[edq]` are Oracle's entity matching rules for customer
screening (suffixes, ordinals and cardinals, acronyms, "contains", typing errors), `[sas]` SAS' match definitions of
organisations (initials), `[nk]` the kinds of the name benchmark of nomenklatura (no blanks, split words, swapped
letters, ordinals, other alphabets), `[han]` the names of one patent applicant in Magerman et al. 2006 (points, hyphens
and forms), `[b2b]` the first examples of suppliers of list cleaning (branches, countries, departments, subsidiaries).
Only `[egapro]` has frequencies; within its groups, and for kinds of other sources, the shares are ours.

Every line gets one kind, and about a third of the lines also a change of the first noise. Brands without a word of the
name come with a number, because nothing else can find their company.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from serve.contract.seed_tables import rows
from shards.codec.folding import fold
from shards.matching.line import Line
from tests.bench.matching.noise import WRONG, Noise, NoiseTables

# Shares of lines; each comment says which lines, and of which other lines they are a share.
SECOND: Final = 0.35  # with a change of the first noise too
OTHER_COUNTRY: Final = 0.06  # with a wrong country, of the lines with a country
VAT: Final = 0.1  # with a VAT number, of the companies that have one
ADDRESS: Final = 0.3  # with an address, of the companies that have one
ACTIVITY: Final = 0.15  # with an activity, of the companies that have one
# The share of the lines with an activity whose activity is not that of the register.
OTHER_ACTIVITY: Final = 0.3
OTHER_NAME: Final = 0.2  # of the lines with an identifier
OTHER_NUMBER: Final = 0.02  # with the number of another company
SIBLING: Final = "sibling"  # a kind whose line means no company of the register
OTHER_BRAND: Final = "other_brand"  # a kind whose line is found by its number alone
# Kinds after which a line may mean several companies; `labelled` counts these.
VAGUE: Final = frozenset(("brand", "truncated", "initials"))

# Words that the name of another company of the group has in addition.
_KIN: Final = (
    "Group",
    "Holdings",
    "Holding",
    "International",
    "UK",
    "Trust",
    "Services",
    "2",
    "II",
)
_REMARKS: Final = (
    "{} - account closed", "{} (formerly supplier)", "{} c/o accounts payable", "{} Head Office",
    "{} Branch", "{} Zweigniederlassung", "{} (UK)", "{} Europe", "{}, Attn. Accounts",
)  # fmt: skip
# Spellings of a legal form, by the folded form.
_FORMS: Final[Mapping[str, Sequence[str]]] = {
    "limited": ("Ltd", "Limited", "Ltd.", "LIMITED", "Co Ltd", "Company Ltd", "L.T.D."),
    "gmbh": ("Gesellschaft m.b.H.", "GesmbH", "G.m.b.H.", "Gesellschaft mit beschr. Haftung"),
    "gmbh co kg": ("Gesellschaft m.b.H. & Co. KG", "GmbH und Co. KG", "GmbH & Co. Kommanditges."),
    "ag": ("A.G.", "Aktienges.", "AG"), "ou": ("Osaühing", "OÜ.", "O.Ü."),
    "as": ("Aktsiaselts", "A/S", "JSC"), "sarl": ("S.à r.l.", "Sté à responsabilité limitée"),
    "sas": ("S.A.S.", "Société par actions simplifiée"), "sa": ("S.A.", "Société anonyme"),
    "bv": ("B.V.", "Besloten Vennootschap"), "srl": ("S.R.L.", "SRL"),
}  # fmt: skip
# The syllables of invented brands.
_SYLLABLES: Final = ("vo", "zen", "ki", "lumo", "qua", "trix", "nera", "fyo", "bax", "oru")
# `Company` or `Co` before the legal form.
_COMPANY: Final = re.compile(r"(?i)\b(company|co\.?)(?= (?:limited|ltd)\b)")


class ListNoise(Noise):
    """The second noise, which changes names as lists of customers do (noise of lists), with the state of its draws."""

    other_number = OTHER_NUMBER

    def __init__(self, seed: int, tables: NoiseTables) -> None:
        """Seed the draws, and read the tables of number words and of the letters of other alphabets."""
        super().__init__(seed, tables)
        self._draw = random.Random(seed + 1)
        self._digits = {row["ecriture"]: row["nombre"] for row in rows("nombres.csv")}
        self._words: dict[str, str] = {}
        for word, number in self._digits.items():  # the first word of each number
            self._words.setdefault(number, word)
        letters = [(row["latin"], row["lettre"]) for row in rows("lettres.csv")]
        # Cyrillic and Greek: Latin letters with their letter, the longest Latin text first.
        self._alphabets = [
            sorted(
                {
                    latin: letter
                    for latin, letter in letters
                    if latin and first <= letter[0] <= last
                }.items(),
                key=lambda pair: -len(pair[0]),
            )
            for first, last in (("а", "я"), ("α", "ω"))
        ]
        self._isos = [row["iso2"] for row in rows("pays.csv")]

    def line(
        self, company: Mapping[str, Any], towns: Sequence[str]
    ) -> tuple[Line, tuple[str, ...]]:
        """Draw a line that means `company` or a sibling (a similar name); return it with the names of its changes.

        Adds to the line of `Noise` what customers' lists have: wrong countries, VAT numbers, addresses, activities.
        """
        line, changes = super().line(company, towns)
        draw = self._draw.random
        if SIBLING in changes:
            return replace(line, id=None, ville=None, code_postal=None, date_creation=None), changes
        if line.pays and draw() < OTHER_COUNTRY:
            line = replace(line, pays=(self._draw.choice(self._isos),))
            changes = (*changes, "country")
        if company.get("tva") and draw() < VAT:
            line = replace(line, tva=company["tva"])
        if company.get("adresse") and draw() < ADDRESS:
            line = replace(line, adresse=company["adresse"] if draw() > WRONG else "1 rue Neuve")
        if company.get("nace_code") and draw() < ACTIVITY:
            right = draw() > OTHER_ACTIVITY
            line = replace(line, activite=company["nace_code"] if right else "43.21")
        if line.id and line.nom and draw() < OTHER_NAME:
            line = replace(line, nom=self._draw.choice(("Vermieter", "Kunde 7", "Paul Dupont")))
            changes = (*changes, "other name")
        if OTHER_BRAND in changes:  # only a number can find the company
            vat = company.get("tva") if draw() < VAT else None
            number = None if vat else company["id"]
            return replace(line, id=number, tva=vat, ville=company["ville"]), changes
        if "initials" in changes and company["ville"]:
            line = replace(line, ville=company["ville"])
        return line, changes

    def _draw_name(self, company: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """Change the name in one way of this noise, sometimes also in ways of the first noise."""
        kind = self._draw.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
        name = KINDS[kind][1](self, company["nom"], company)
        changed = bool(fold(name)) and name != company["nom"]
        changes: tuple[str, ...] = (kind,) if changed else ()
        if not changed:
            name = company["nom"]
        if self._draw.random() < SECOND and kind not in ("initials", SIBLING, OTHER_BRAND):
            name, further_changes = super()._draw_name({**company, "nom": name})
            changes += further_changes
        return name, changes

    def whole(self, name: str, company: Mapping[str, Any]) -> str:
        """The complete name, in a random case."""
        return self._random_case(name)

    def brand(self, name: str, company: Mapping[str, Any]) -> str:
        """The first words of the name, which are the most distinctive."""
        words = self._split_form(name, company["iso2"])[0].split()
        return " ".join(words[: max(1, len(words) - self._draw.randint(1, 2))])

    def remark(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with a branch, a country or a remark."""
        return self._draw.choice(_REMARKS).format(self._split_form(name, company["iso2"])[0])

    def sibling(self, name: str, company: Mapping[str, Any]) -> str:
        """The name of another company of the same group."""
        return f"{self._split_form(name, company['iso2'])[0]} {self._draw.choice(_KIN)}"

    def form_of_parts(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with another spelling of its legal form, or of `Company` before it."""
        if _COMPANY.search(name):
            return _COMPANY.sub(self._draw.choice(("Co", "Company", "Co.")), name)
        words, form = self._split_form(name, company["iso2"])
        form = {"ltd": "limited", "osauhing": "ou"}.get(form, form)
        return f"{words} {self._draw.choice(_FORMS[form])}" if form in _FORMS else name

    def wrong_form(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with a typing error in its legal form."""
        words, form = self._split_form(name, company["iso2"])
        return f"{words} {self._misspell(form)}" if len(form) > 1 else name

    def other_form(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with another legal form: the company changed it, or the author of the list guessed."""
        words, form = self._split_form(name, company["iso2"])
        classes = self._tables.forms.get(company["iso2"], {})
        other_spellings = [group[0] for group in classes.values() if form not in map(fold, group)]
        return f"{words} {self._draw.choice(other_spellings)}" if form and other_spellings else name

    def errors(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with one or two typing errors."""
        for _ in range(self._draw.randint(1, 2)):
            name = self.typo(name, company)
        return name

    def left_out(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without one of its words, except the legal form; unchanged if it has fewer than three."""
        words, form = self._split_form(name, company["iso2"])
        parts = words.split()
        if len(parts) < 3:
            return name
        del parts[self._draw.randrange(len(parts))]
        return " ".join([*parts, form]).rstrip()

    def short_word(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without a letter of a word that has three to five letters."""
        words = name.split()
        short = [
            number for number, word in enumerate(words) if 3 <= len(word) <= 5 and word.isalpha()
        ]
        if not short:
            return name
        number = self._draw.choice(short)
        cut = self._draw.randrange(1, len(words[number]))
        words[number] = words[number][:cut] + words[number][cut + 1 :]
        return " ".join(words)

    def no_blanks(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with all words joined; the legal form is joined to them, or comes after a blank."""
        words, form = self._split_form(name, company["iso2"])
        end = form.upper() if self._draw.random() < 0.3 and len(form) <= 4 else f" {form}"
        return "".join(words.split()) + end.rstrip()

    def parted(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with a long word split in two."""
        words = name.split()
        long_words = [
            number for number, word in enumerate(words) if len(word) >= 7 and word.isalpha()
        ]
        if long_words:
            number = self._draw.choice(long_words)
            cut = self._draw.randint(3, len(words[number]) - 3)
            words[number] = f"{words[number][:cut]} {words[number][cut:]}"
        return " ".join(words)

    def numbers(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with number words as digits, and digits as number words."""
        return " ".join(
            self._digits.get(fold(word)) or self._words.get(fold(word)) or word
            for word in name.split()
        )

    def initials(self, name: str, company: Mapping[str, Any]) -> str:
        """The initials of a name of three words or more, without its legal form; a shorter name is unchanged."""
        words = self._split_form(name, company["iso2"])[0].split()
        return "".join(word[0] for word in words if word[0].isalpha()) if len(words) > 2 else name

    def inner_initials(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with the initials of three or four of its words in their place."""
        words, form = self._split_form(name, company["iso2"])
        parts = [word for word in words.split() if word[0].isalpha()]
        if len(parts) < 4:
            return name
        count = self._draw.randint(3, min(4, len(parts) - 1))
        start = self._draw.randrange(len(parts) - count + 1)
        short = "".join(word[0] for word in parts[start : start + count] if len(word) > 3)
        if len(short) < 3:
            return name
        parts[start : start + count] = [short.upper()]
        return " ".join([*parts, form]).rstrip()

    def cyrillic(self, name: str, company: Mapping[str, Any]) -> str:
        """The name in Cyrillic letters."""
        return self._transliterate(name, self._alphabets[0])

    def greek(self, name: str, company: Mapping[str, Any]) -> str:
        """The name in Greek letters."""
        return self._transliterate(name, self._alphabets[1])

    def _transliterate(self, name: str, letters: Sequence[tuple[str, str]]) -> str:
        """The folded name in other letters, the longest Latin texts first."""
        text = fold(name)
        for latin, letter in letters:
            text = text.replace(latin, letter)
        return text

    def other_brand(self, name: str, company: Mapping[str, Any]) -> str:
        """An invented brand, which has no word of the name."""
        return " ".join(self._draw.choice(_SYLLABLES) for _ in range(2)).replace(" ", "").title()

    def lost_letters(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without the letters that are not ASCII, or with a mark in their place."""
        replacement = self._draw.choice(("", "?", "\ufffd"))
        return "".join(c if c.isascii() else replacement for c in name)

    def truncated(self, name: str, company: Mapping[str, Any]) -> str:
        """The beginning of the name, as a field of 20 to 35 characters cuts it off."""
        return name[: self._draw.choice((20, 25, 30, 35))].rstrip()

    def _misspell(self, word: str) -> str:
        """The word without a letter, or with two neighbouring letters swapped."""
        place = self._draw.randrange(len(word) - 1)
        if self._draw.random() < 0.5:
            return word[:place] + word[place + 1 :]
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


Kind = Callable[[ListNoise, str, Mapping[str, Any]], str]
# The kinds of changes, with their shares and the methods that make them. [egapro], [edq] … are the sources of the
# shares and kinds (see above); a comment counts for the lines up to the next comment.
KINDS: Final[Mapping[str, tuple[float, Kind]]] = {
    # [egapro] 34 % differ in the form alone; the first noise takes out or changes some of these forms; [han] [edq E040]
    "whole": (0.10, ListNoise.whole),
    "form_of_parts": (0.12, ListNoise.form_of_parts),
    "wrong_form": (0.05, ListNoise.wrong_form),  # [nk]
    "other_form": (0.02, ListNoise.other_form),
    "errors": (0.06, ListNoise.errors),
    "left_out": (0.04, ListNoise.left_out),
    "lost_letters": (0.04, ListNoise.lost_letters),
    # [egapro] 24 % differ by words at an end, 12 % by some words; [edq E430-E450] "contains", "starts with"; [b2b]
    # branches
    "brand": (0.11, ListNoise.brand),
    "remark": (0.08, ListNoise.remark),
    "truncated": (0.05, ListNoise.truncated),
    SIBLING: (0.06, ListNoise.sibling),  # [b2b] a subsidiary that is not in the register
    # [egapro] 18 % share no word: mostly new names, which the register has as former names, and forms alone
    OTHER_BRAND: (0.04, ListNoise.other_brand),
    # [egapro] 8 % have typing errors; the first noise makes those in long words
    "short_word": (0.06, ListNoise.short_word),
    # [egapro] 2 % differ by blanks; [nk] words joined, words split
    "no_blanks": (0.04, ListNoise.no_blanks),
    "parted": (0.02, ListNoise.parted),
    # [egapro] 2 % are initials; [sas], [edq] acronyms
    "initials": (0.02, ListNoise.initials),
    "inner_initials": (0.02, ListNoise.inner_initials),
    # [nk], [edq E020] name these kinds, but do not count them.
    "numbers": (0.03, ListNoise.numbers),
    "cyrillic": (0.02, ListNoise.cyrillic),
    "greek": (0.02, ListNoise.greek),
}
