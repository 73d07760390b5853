"""The second noise: what lists of suppliers, customers and payments do to a name, beside typing errors.

The kinds follow what matching rules of such programs are written for (Oracle's entity matching rules for customer
screening, SAS' match definitions for organisations) and the lines that strangers' lists lost here. No list says how
often each happens: the shares of `KINDS` are ours. Every line gets one kind, and half of them a change of the first
noise too. Brands that have no word of the company's name are not in it: only another number can find these.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from shards.codec.folding import fold
from shards.search.matching.line import Line
from tests.bench.matching.noise import WRONG, Noise, NoiseTables
from tests.bench.matching.seed_tables import rows

# A change of the first noise too; another country than the right one; the VAT number; a name that says nothing.
SECOND: Final = 0.35
OTHER_COUNTRY: Final = 0.06
VAT: Final = 0.1
ADDRESS: Final = 0.3
ACTIVITY: Final = 0.15
OTHER_ACTIVITY: Final = 0.3  # whoever keeps a list calls the activity something else
OTHER_NAME: Final = 0.2  # of the lines with an identifier
SIBLING: Final = "sibling"
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
_COMPANY: Final = re.compile(r"(?i)\b(company|co\.?)(?= (?:limited|ltd)\b)")


class ListNoise(Noise):
    """Draws lines as lists have them."""

    def __init__(self, seed: int, tables: NoiseTables) -> None:
        super().__init__(seed, tables)
        self._draw = random.Random(seed + 1)
        self._digits = {row["ecriture"]: row["nombre"] for row in rows("nombres.csv")}
        self._words: dict[str, str] = {}
        for word, number in self._digits.items():
            self._words.setdefault(number, word)
        letters = [(row["latin"], row["lettre"]) for row in rows("lettres.csv")]
        self._cyrillic = sorted(
            {latin: one for latin, one in letters if latin and "а" <= one <= "я"}.items(),
            key=lambda pair: -len(pair[0]),
        )
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
        if self._draw.random() < SECOND and kind not in ("initials", SIBLING):
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
        return f"{words} {self._error(form)}" if len(form) > 3 else name

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

    def alphabet(self, name: str, company: Mapping[str, Any]) -> str:
        """In Cyrillic letters."""
        text = fold(name)
        for latin, letter in self._cyrillic:
            text = text.replace(latin, letter)
        return text

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
    "whole": (0.14, ListNoise.whole),
    "brand": (0.12, ListNoise.brand),
    "remark": (0.08, ListNoise.remark),
    SIBLING: (0.06, ListNoise.sibling),
    "form_of_parts": (0.16, ListNoise.form_of_parts),
    "wrong_form": (0.07, ListNoise.wrong_form),
    "short_word": (0.08, ListNoise.short_word),
    "no_blanks": (0.06, ListNoise.no_blanks),
    "parted": (0.04, ListNoise.parted),
    "numbers": (0.03, ListNoise.numbers),
    "initials": (0.03, ListNoise.initials),
    "alphabet": (0.02, ListNoise.alphabet),
    "lost_letters": (0.05, ListNoise.lost_letters),
    "truncated": (0.06, ListNoise.truncated),
}
