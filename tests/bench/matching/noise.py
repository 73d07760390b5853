"""The noise model: what happens to a company on its way into somebody's list.

A name gets 0 to 3 of the changes of `CHANGES`, drawn by their weights; each is one that extensions X5 lists. Then the
line gets the other fields, each with its own probability, some of them wrong. Everything follows from a seed.
"""

import random
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shards.codec.folding import fold
from shards.matching.line import Line

# How many changes a name gets.
COUNTS: Final[Mapping[int, float]] = {0: 0.2, 1: 0.45, 2: 0.28, 3: 0.07}
# The probabilities of the fields of a line, and that a field is wrong.
COUNTRY: Final = 0.8
TOWN: Final = 0.5
POSTCODE: Final = 0.25
DATE: Final = 0.1
IDENTIFIER: Final = 0.12
ONLY_IDENTIFIER: Final = 0.03
WRONG: Final = 0.03

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_AND: Final = {"DE": "und", "AT": "und", "FR": "et", "BE": "et", "EE": "ja"}


@dataclass(frozen=True, slots=True)
class NoiseTables:
    """Legal forms by country and class, as they are written, and abbreviations of words."""

    forms: Mapping[str, Mapping[str, Sequence[str]]]
    short: Mapping[str, str]

    @classmethod
    def of_rows(
        cls, forms: Sequence[Mapping[str, str]], abbreviations: Sequence[Mapping[str, str]]
    ) -> "NoiseTables":
        """The tables of `seeds/`, by column."""
        known: dict[str, dict[str, list[str]]] = {}
        for row in forms:
            if (
                row["iso2"] and row["classe"]
            ):  # the others are no forms that names of a register have
                group = known.setdefault(row["iso2"], {}).setdefault(row["classe"], [])
                group.append(row["forme"])
        short = {row["mot"]: row["abreviation"] for row in abbreviations if row["mot"]}
        return cls(known, short)


class Noise:
    """Draws lines.

    Attributes:
        other_number: the share of lines with the number of another company.
    """

    other_number = 0.0

    def __init__(self, seed: int, tables: NoiseTables) -> None:
        self._random = random.Random(seed)
        self._tables = tables

    def line(
        self, company: Mapping[str, Any], towns: Sequence[str]
    ) -> tuple[Line, tuple[str, ...]]:
        """A line that means `company`, and the changes that its name got."""
        draw = self._random.random
        nom, changes = self._name(company)
        wrong_town = self._random.choice(towns) if towns else None
        identifier = None
        if draw() < IDENTIFIER:
            identifier = self.identifier(company)
        only = draw() < ONLY_IDENTIFIER
        if only:
            identifier = self.identifier(company)
        has_town = company["ville"] and "town" not in changes and draw() < TOWN
        town = (wrong_town if draw() < WRONG else company["ville"]) if has_town else None
        postcode = company["code_postal"] if draw() < POSTCODE else None
        if postcode and draw() < WRONG:
            postcode = self._digit(postcode)
        date = company["date_creation"] if draw() < DATE else None
        return Line(
            nom=None if only else nom,
            pays=(company["iso2"],) if draw() < COUNTRY else (),
            id=identifier,
            ville=self._case(town) if town else None,
            code_postal=postcode,
            date_creation=str(date) if date else None,
        ), changes

    def _name(self, company: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        name, done = company["nom"], []
        count = self._random.choices(list(COUNTS), list(COUNTS.values()))[0]
        for _ in range(count):
            kind = self._random.choices(list(CHANGES), [weight for weight, _ in CHANGES.values()])[
                0
            ]
            changed = CHANGES[kind][1](self, name, company)
            if changed and fold(changed) and changed != name:
                name = changed
                done.append(kind)
        return self._case(name), tuple(done)

    # -- changes of a name -----------------------------------------------------------------

    def form_out(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without its legal form."""
        words, form = self._split_form(name, company["iso2"])
        return words if form else name

    def form_otherwise(self, name: str, company: Mapping[str, Any]) -> str:
        """The legal form written otherwise, or with dots."""
        words, form = self._split_form(name, company["iso2"])
        if not form:
            return name
        known = self._tables.forms[company["iso2"]].values()
        alike = next(group for group in known if form in map(fold, group))
        given = [
            other for other in alike if fold(other) != form and (len(other) > 5) != (len(form) > 5)
        ]
        if len(form) <= 4 and self._random.random() < 0.4:
            return f"{words} {'.'.join(form.replace(' ', '').upper())}."
        same = {
            "ltd": "limited", "limited": "ltd", "gmbh": "gesellschaft mit beschränkter haftung",
            "ou": "osaühing", "osauhing": "oü", "sarl": "S.à r.l.", "mtu": "mittetulundusühing",
            "gmbh co kg": "GmbH & Co. KG", "ag": "aktiengesellschaft", "as": "aktsiaselts",
            "plc": "public limited company", "llp": "limited liability partnership",
        }  # fmt: skip
        other = same.get(form) or (self._random.choice(given) if given else form)
        return f"{words} {other}"

    def form_moved(self, name: str, company: Mapping[str, Any]) -> str:
        """The legal form at the other end."""
        words, form = self._split_form(name, company["iso2"])
        return f"{form} {words}" if form else name

    def ampersand(self, name: str, company: Mapping[str, Any]) -> str:
        """`&` as a word, or the other way round."""
        word = _AND.get(company["iso2"], "and")
        if "&" in name:
            return name.replace("&", f" {word} ")
        return name.replace(f" {word} ", " & ").replace(f" {word.upper()} ", " & ")

    def accents(self, name: str, company: Mapping[str, Any]) -> str:
        """Without accents; in German as two letters, half of the time."""
        if company["iso2"] in ("DE", "AT") and self._random.random() < 0.5:
            for one, two in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
                name = name.replace(one, two).replace(one.upper(), two.upper())
            return name
        return "".join(
            c for c in unicodedata.normalize("NFKD", name) if unicodedata.category(c)[0] != "M"
        )

    def order(self, name: str, company: Mapping[str, Any]) -> str:
        """Two words changed places."""
        words = name.split()
        if len(words) < 3:
            return name
        i = self._random.randrange(len(words) - 2)
        words[i], words[i + 1] = words[i + 1], words[i]
        return " ".join(words)

    def spacing(self, name: str, company: Mapping[str, Any]) -> str:
        """Initials with dots or without, two words as one, or a hyphen as a blank."""
        bare, form = self._split_form(name, company["iso2"])
        words = bare.split()
        if 2 <= len(words[0]) <= 4 and words[0].isalpha() and words[0].isupper():
            words[0] = (
                (".".join(words[0]) + ".") if self._random.random() < 0.5 else " ".join(words[0])
            )
        elif "-" in bare:
            words = [bare.replace("-", self._random.choice((" ", "")))]
        elif len(words) >= 2:
            i = self._random.randrange(len(words) - 1)
            words[i : i + 2] = [words[i] + words[i + 1].lower()]
        return " ".join([*words, form]).strip()

    def typo(self, name: str, company: Mapping[str, Any]) -> str:
        """A letter left out, doubled, replaced, or two letters that changed places."""
        words, form = self._split_form(name, company["iso2"])
        places = [i for i, c in enumerate(words) if c.isalpha()]
        if len(places) < 5:
            return name
        i = self._random.choice(places)
        kind = self._random.randrange(4)
        if kind == 0:
            words = words[:i] + words[i + 1 :]
        elif kind == 1:
            words = words[:i] + words[i] + words[i:]
        elif kind == 2:
            words = words[:i] + self._random.choice(_LETTERS) + words[i + 1 :]
        elif i + 1 < len(words) and words[i + 1].isalpha():
            words = words[:i] + words[i + 1] + words[i] + words[i + 2 :]
        return f"{words} {form}" if form else words

    def short(self, name: str, company: Mapping[str, Any]) -> str:
        """An abbreviation."""
        words = name.split()
        for i, word in enumerate(words):
            known = self._tables.short.get(fold(word))
            if known:
                words[i] = known
                return " ".join(words)
        return name

    def town(self, name: str, company: Mapping[str, Any]) -> str:
        """The town behind the name."""
        return f"{name}, {company['ville']}" if company["ville"] else name

    def _split_form(self, name: str, iso2: str) -> tuple[str, str]:
        """The name without the legal form at its end, and this form, folded."""
        words = name.split()
        known = {
            fold(form): True
            for group in self._tables.forms.get(iso2, {}).values()
            for form in group
        }
        for size in range(min(7, len(words) - 1), 0, -1):
            last = fold(" ".join(words[-size:]))
            for form in (last, last.replace(" ", "")):
                if form in known:
                    return " ".join(words[:-size]).rstrip(","), form
        return name, ""

    # -- other fields ------------------------------------------------------------------------

    def identifier(self, company: Mapping[str, Any]) -> str:
        """The identifier as lists have it: without zeros, with a prefix, with blanks; seldom wrong."""
        found: str = company["id"]
        draw = self._random.random()
        if draw < WRONG:
            return self._digit(found)
        if draw < 0.3:
            return found.lstrip("0")
        if draw < 0.5:
            return ("GB" if company["iso2"] == "UK" else company["iso2"]) + found
        if draw < 0.6:
            return f"{found[:3]} {found[3:]}"
        return found

    def _digit(self, text: str) -> str:
        places = [i for i, c in enumerate(text) if c.isdigit()]
        if not places:
            return text
        i = self._random.choice(places)
        return text[:i] + str((int(text[i]) + self._random.randrange(1, 10)) % 10) + text[i + 1 :]

    def _case(self, text: str) -> str:
        return self._random.choice((str, str.upper, str.lower, str.title))(text)


Change = Callable[[Noise, str, Mapping[str, Any]], str]
# Each change of a name, with its weight.
CHANGES: Final[Mapping[str, tuple[float, Change]]] = {
    "form_out": (0.18, Noise.form_out),
    "form_otherwise": (0.18, Noise.form_otherwise),
    "form_moved": (0.04, Noise.form_moved),
    "ampersand": (0.06, Noise.ampersand),
    "accents": (0.08, Noise.accents),
    "order": (0.08, Noise.order),
    "spacing": (0.08, Noise.spacing),
    "typo": (0.22, Noise.typo),
    "short": (0.04, Noise.short),
    "town": (0.04, Noise.town),
}
