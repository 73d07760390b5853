"""The second noise: what lists of suppliers, customers and payments do to a name, beside typing errors.

Kinds and shares follow what others have written down. `[egapro]` is counted: in the French index of equality, names as
companies type them, 5 799 companies have 14 691 declarations, and 1 980 other names than their last one, of which
34 % differ in the legal form or an abbreviation alone, 24 % by words at an end, 12 % in some words, 18 % in all
of them (other brands, new names, a form alone), 8 % by typing errors, 2 % by blanks, 2 % are initials, 0.3 % an order
(`seeds/raw/fr/index-egalite-fh.csv.zip` is a part). `[edq]` are Oracle's entity matching rules for customer screening
(suffixes, ordinals and cardinals, acronyms, "contains", typing errors), `[sas]` SAS' match definitions of
organisations (initials), `[nk]` the kinds of the name benchmark of nomenklatura (no blanks, words parted, swapped
letters, ordinals, other alphabets), `[han]` the names of one patent applicant in Magerman et al. 2006 (points, hyphens
and forms), `[b2b]` what suppliers of list cleaning name first (branches, countries, departments, subsidiaries). Only
`[egapro]` says how often; within its groups, and where others only name a kind, the shares are ours.

Every line gets one kind, and a third a change of the first noise too. Brands without a word of the name come with a
number: nothing else can find these.
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

# A change of the first noise too; another country than the right one; the VAT number; a name that says nothing.
SECOND: Final = 0.35
OTHER_COUNTRY: Final = 0.06
VAT: Final = 0.1
ADDRESS: Final = 0.3
ACTIVITY: Final = 0.15
OTHER_ACTIVITY: Final = 0.3  # whoever keeps a list calls the activity something else
OTHER_NAME: Final = 0.2  # of the lines with an identifier
OTHER_NUMBER: Final = 0.02  # that of another company
SIBLING: Final = "sibling"
OTHER_BRAND: Final = "other_brand"
# Kinds after which a line may mean several companies: how many is counted in the register.
VAGUE: Final = frozenset(("brand", "truncated", "initials"))

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
_FORMS: Final[Mapping[str, Sequence[str]]] = {
    "limited": ("Ltd", "Limited", "Ltd.", "LIMITED", "Co Ltd", "Company Ltd", "L.T.D."),
    "gmbh": ("Gesellschaft m.b.H.", "GesmbH", "G.m.b.H.", "Gesellschaft mit beschr. Haftung"),
    "gmbh co kg": ("Gesellschaft m.b.H. & Co. KG", "GmbH und Co. KG", "GmbH & Co. Kommanditges."),
    "ag": ("A.G.", "Aktienges.", "AG"), "ou": ("Osaühing", "OÜ.", "O.Ü."),
    "as": ("Aktsiaselts", "A/S", "JSC"), "sarl": ("S.à r.l.", "Sté à responsabilité limitée"),
    "sas": ("S.A.S.", "Société par actions simplifiée"), "sa": ("S.A.", "Société anonyme"),
    "bv": ("B.V.", "Besloten Vennootschap"), "srl": ("S.R.L.", "SRL"),
}  # fmt: skip
_SYLLABLES: Final = ("vo", "zen", "ki", "lumo", "qua", "trix", "nera", "fyo", "bax", "oru")
_COMPANY: Final = re.compile(r"(?i)\b(company|co\.?)(?= (?:limited|ltd)\b)")


class ListNoise(Noise):
    """Draws lines as lists have them."""

    other_number = OTHER_NUMBER

    def __init__(self, seed: int, tables: NoiseTables) -> None:
        super().__init__(seed, tables)
        self._draw = random.Random(seed + 1)
        self._digits = {row["ecriture"]: row["nombre"] for row in rows("nombres.csv")}
        self._words: dict[str, str] = {}
        for word, number in self._digits.items():
            self._words.setdefault(number, word)
        letters = [(row["latin"], row["lettre"]) for row in rows("lettres.csv")]
        self._alphabets = [
            sorted(
                {latin: one for latin, one in letters if latin and first <= one[0] <= last}.items(),
                key=lambda pair: -len(pair[0]),
            )
            for first, last in (("а", "я"), ("α", "ω"))
        ]
        self._isos = [row["iso2"] for row in rows("pays.csv")]

    def line(
        self, company: Mapping[str, Any], towns: Sequence[str]
    ) -> tuple[Line, tuple[str, ...]]:
        """A line that means `company`, or a sibling of it, and what happened to it."""
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
        if OTHER_BRAND in changes:  # only a number can find it
            known = company.get("tva") if draw() < VAT else None
            number = None if known else company["id"]
            return replace(line, id=number, tva=known, ville=company["ville"]), changes
        if "initials" in changes and company["ville"]:
            line = replace(line, ville=company["ville"])
        return line, changes

    def _name(self, company: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        kind = self._draw.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
        name = KINDS[kind][1](self, company["nom"], company)
        changed = bool(fold(name)) and name != company["nom"]
        done: tuple[str, ...] = (kind,) if changed else ()
        if not changed:
            name = company["nom"]
        if self._draw.random() < SECOND and kind not in ("initials", SIBLING, OTHER_BRAND):
            name, more = super()._name({**company, "nom": name})
            done += more
        return name, done

    def whole(self, name: str, company: Mapping[str, Any]) -> str:
        """The name."""
        return self._case(name)

    def brand(self, name: str, company: Mapping[str, Any]) -> str:
        """The first words, which say most."""
        words = self._split_form(name, company["iso2"])[0].split()
        return " ".join(words[: max(1, len(words) - self._draw.randint(1, 2))])

    def remark(self, name: str, company: Mapping[str, Any]) -> str:
        """A branch, a country, a remark of the one who keeps the list."""
        return self._draw.choice(_REMARKS).format(self._split_form(name, company["iso2"])[0])

    def sibling(self, name: str, company: Mapping[str, Any]) -> str:
        """A company of the same group, which is another one."""
        return f"{self._split_form(name, company['iso2'])[0]} {self._draw.choice(_KIN)}"

    def form_of_parts(self, name: str, company: Mapping[str, Any]) -> str:
        """A legal form with its parts written otherwise."""
        if _COMPANY.search(name):
            return _COMPANY.sub(self._draw.choice(("Co", "Company", "Co.")), name)
        words, form = self._split_form(name, company["iso2"])
        form = {"ltd": "limited", "osauhing": "ou"}.get(form, form)
        return f"{words} {self._draw.choice(_FORMS[form])}" if form in _FORMS else name

    def wrong_form(self, name: str, company: Mapping[str, Any]) -> str:
        """A typing error in the legal form."""
        words, form = self._split_form(name, company["iso2"])
        return f"{words} {self._error(form)}" if len(form) > 1 else name

    def other_form(self, name: str, company: Mapping[str, Any]) -> str:
        """Another legal form: the company changed it, or the keeper of the list guessed."""
        words, form = self._split_form(name, company["iso2"])
        classes = self._tables.forms.get(company["iso2"], {})
        others = [group[0] for group in classes.values() if form not in map(fold, group)]
        return f"{words} {self._draw.choice(others)}" if form and others else name

    def errors(self, name: str, company: Mapping[str, Any]) -> str:
        """One or two typing errors."""
        for _ in range(self._draw.randint(1, 2)):
            name = self.typo(name, company)
        return name

    def left_out(self, name: str, company: Mapping[str, Any]) -> str:
        """Without a word."""
        words, form = self._split_form(name, company["iso2"])
        parts = words.split()
        if len(parts) < 3:
            return name
        del parts[self._draw.randrange(len(parts))]
        return " ".join([*parts, form]).rstrip()

    def short_word(self, name: str, company: Mapping[str, Any]) -> str:
        """A letter lost in a word of three to five letters, or added."""
        words = name.split()
        short = [i for i, word in enumerate(words) if 3 <= len(word) <= 5 and word.isalpha()]
        if not short:
            return name
        i = self._draw.choice(short)
        place = self._draw.randrange(1, len(words[i]))
        words[i] = words[i][:place] + words[i][place + 1 :]
        return " ".join(words)

    def no_blanks(self, name: str, company: Mapping[str, Any]) -> str:
        """All in one word, with the legal form or without."""
        words, form = self._split_form(name, company["iso2"])
        end = form.upper() if self._draw.random() < 0.3 and len(form) <= 4 else f" {form}"
        return "".join(words.split()) + end.rstrip()

    def parted(self, name: str, company: Mapping[str, Any]) -> str:
        """A word as two."""
        words = name.split()
        long = [i for i, word in enumerate(words) if len(word) >= 7 and word.isalpha()]
        if long:
            i = self._draw.choice(long)
            cut = self._draw.randint(3, len(words[i]) - 3)
            words[i] = f"{words[i][:cut]} {words[i][cut:]}"
        return " ".join(words)

    def numbers(self, name: str, company: Mapping[str, Any]) -> str:
        """Numbers in words as digits, or the other way round."""
        return " ".join(
            self._digits.get(fold(word)) or self._words.get(fold(word)) or word
            for word in name.split()
        )

    def initials(self, name: str, company: Mapping[str, Any]) -> str:
        """Initials of three words or more."""
        words = self._split_form(name, company["iso2"])[0].split()
        return "".join(word[0] for word in words if word[0].isalpha()) if len(words) > 2 else name

    def inner_initials(self, name: str, company: Mapping[str, Any]) -> str:
        """Initials in the place of three or four words, beside others."""
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
        """In Cyrillic letters."""
        return self._in_letters(name, self._alphabets[0])

    def greek(self, name: str, company: Mapping[str, Any]) -> str:
        """In Greek letters."""
        return self._in_letters(name, self._alphabets[1])

    def _in_letters(self, name: str, letters: Sequence[tuple[str, str]]) -> str:
        text = fold(name)
        for latin, letter in letters:
            text = text.replace(latin, letter)
        return text

    def other_brand(self, name: str, company: Mapping[str, Any]) -> str:
        """A brand that has no word of the name."""
        return " ".join(self._draw.choice(_SYLLABLES) for _ in range(2)).replace(" ", "").title()

    def lost_letters(self, name: str, company: Mapping[str, Any]) -> str:
        """Without the letters that a program could not write, or with a question mark for them."""
        mark = self._draw.choice(("", "?", "\ufffd"))
        return "".join(c if c.isascii() else mark for c in name)

    def truncated(self, name: str, company: Mapping[str, Any]) -> str:
        """Cut off by a field of 20 to 35 characters."""
        return name[: self._draw.choice((20, 25, 30, 35))].rstrip()

    def _error(self, word: str) -> str:
        i = self._draw.randrange(len(word) - 1)
        if self._draw.random() < 0.5:
            return word[:i] + word[i + 1 :]
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


Kind = Callable[[ListNoise, str, Mapping[str, Any]], str]
KINDS: Final[Mapping[str, tuple[float, Kind]]] = {
    # [egapro] 34 % form alone, less the forms that the first noise takes out or changes; [han] [edq E040]
    "whole": (0.10, ListNoise.whole),
    "form_of_parts": (0.12, ListNoise.form_of_parts),
    "wrong_form": (0.05, ListNoise.wrong_form),  # [nk]
    "other_form": (0.02, ListNoise.other_form),
    "errors": (0.06, ListNoise.errors),
    "left_out": (0.04, ListNoise.left_out),
    "lost_letters": (0.04, ListNoise.lost_letters),
    # [egapro] 24 % words at an end, 12 % some words; [edq E430-E450] "contains", "starts with"; [b2b] branches
    "brand": (0.11, ListNoise.brand),
    "remark": (0.08, ListNoise.remark),
    "truncated": (0.05, ListNoise.truncated),
    SIBLING: (0.06, ListNoise.sibling),  # [b2b] a subsidiary that is not in the register
    # [egapro] 18 % share no word: mostly new names, which the register has as former ones, and forms alone
    OTHER_BRAND: (0.04, ListNoise.other_brand),
    # [egapro] 8 % typing errors: the first noise has those of long words
    "short_word": (0.06, ListNoise.short_word),
    # [egapro] 2 % blanks; [nk] words joined, words split
    "no_blanks": (0.04, ListNoise.no_blanks),
    "parted": (0.02, ListNoise.parted),
    # [egapro] 2 % initials; [sas], [edq] acronyms
    "initials": (0.02, ListNoise.initials),
    "inner_initials": (0.02, ListNoise.inner_initials),
    # [nk], [edq E020]: named, not counted
    "numbers": (0.03, ListNoise.numbers),
    "cyrillic": (0.02, ListNoise.cyrillic),
    "greek": (0.02, ListNoise.greek),
}
