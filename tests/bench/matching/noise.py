"""The first noise: the changes of a company on its way into a list.

A name gets 0 to 3 of the changes of `CHANGES`, drawn by their weights; extensions X5 lists all of them. Then the line
gets the other fields, each with its own probability, some of them wrong. Everything follows from a seed.
"""

import random
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shards.codec.folding import fold
from shards.matching.line import Line

# The probability of each number of changes of a name.
COUNTS: Final[Mapping[int, float]] = {0: 0.2, 1: 0.45, 2: 0.28, 3: 0.07}
# The probability that a line has each field, and of a wrong value.
COUNTRY: Final = 0.8
TOWN: Final = 0.5
POSTCODE: Final = 0.25
DATE: Final = 0.1
IDENTIFIER: Final = 0.12  # as well as the name
ONLY_IDENTIFIER: Final = 0.03  # without the name
WRONG: Final = 0.03  # that a field which the line has is wrong

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
# The word for `&` by country, elsewhere `and`.
_AND: Final = {"DE": "und", "AT": "und", "FR": "et", "BE": "et", "EE": "ja"}


@dataclass(frozen=True, slots=True)
class NoiseTables:
    """The spellings of legal forms by country and class, and abbreviations of words."""

    forms: Mapping[str, Mapping[str, Sequence[str]]]
    short: Mapping[str, str]

    @classmethod
    def parse(
        cls, forms: Sequence[Mapping[str, str]], abbreviations: Sequence[Mapping[str, str]]
    ) -> "NoiseTables":
        """Parse rows of tables of `seeds/`."""
        by_country: dict[str, dict[str, list[str]]] = {}
        for row in forms:
            if row["iso2"] and row["classe"]:  # other forms are not in names of a register
                group = by_country.setdefault(row["iso2"], {}).setdefault(row["classe"], [])
                group.append(row["forme"])
        short = {row["mot"]: row["abreviation"] for row in abbreviations if row["mot"]}
        return cls(by_country, short)


class Noise:
    """The first noise, which makes a line of a list from a company by random changes, with the state of its draws.

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
        """Draw a line that means `company`; return it with the names of the changes of its name.

        Each further field is given with its own probability; a town from `towns` is a wrong one.
        """
        draw = self._random.random
        nom, changes = self._draw_name(company)
        wrong_town = self._random.choice(towns) if towns else None
        identifier = None
        if draw() < IDENTIFIER:
            identifier = self.identifier(company)
        only_identifier = draw() < ONLY_IDENTIFIER
        if only_identifier:
            identifier = self.identifier(company)
        has_town = company["ville"] and "town" not in changes and draw() < TOWN
        town = (wrong_town if draw() < WRONG else company["ville"]) if has_town else None
        postcode = company["code_postal"] if draw() < POSTCODE else None
        if postcode and draw() < WRONG:
            postcode = self._change_digit(postcode)
        date = company["date_creation"] if draw() < DATE else None
        return Line(
            nom=None if only_identifier else nom,
            pays=(company["iso2"],) if draw() < COUNTRY else (),
            id=identifier,
            ville=self._random_case(town) if town else None,
            code_postal=postcode,
            date_creation=str(date) if date else None,
        ), changes

    def _draw_name(self, company: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """Change the name in 0 to 3 ways; return it with the changes that had an effect."""
        name, changes = company["nom"], []
        count = self._random.choices(list(COUNTS), list(COUNTS.values()))[0]
        for _ in range(count):
            kind = self._random.choices(list(CHANGES), [weight for weight, _ in CHANGES.values()])[
                0
            ]
            changed = CHANGES[kind][1](self, name, company)
            if changed and fold(changed) and changed != name:
                name = changed
                changes.append(kind)
        return self._random_case(name), tuple(changes)

    # -- changes of a name -----------------------------------------------------------------

    def form_out(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without its legal form."""
        words, form = self._split_form(name, company["iso2"])
        return words if form else name

    def form_otherwise(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with another spelling of its legal form, or with dots between the letters of the form."""
        words, form = self._split_form(name, company["iso2"])
        if not form:
            return name
        classes = self._tables.forms[company["iso2"]].values()
        same_class = next(group for group in classes if form in map(fold, group))
        # A long spelling for a short form, or a short one for a long form.
        spellings = [
            other
            for other in same_class
            if fold(other) != form and (len(other) > 5) != (len(form) > 5)
        ]
        if len(form) <= 4 and self._random.random() < 0.4:
            return f"{words} {'.'.join(form.replace(' ', '').upper())}."
        usual = {
            "ltd": "limited", "limited": "ltd", "gmbh": "gesellschaft mit beschränkter haftung",
            "ou": "osaühing", "osauhing": "oü", "sarl": "S.à r.l.", "mtu": "mittetulundusühing",
            "gmbh co kg": "GmbH & Co. KG", "ag": "aktiengesellschaft", "as": "aktsiaselts",
            "plc": "public limited company", "llp": "limited liability partnership",
        }  # fmt: skip
        other = usual.get(form) or (self._random.choice(spellings) if spellings else form)
        return f"{words} {other}"

    def form_moved(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with its legal form at the beginning."""
        words, form = self._split_form(name, company["iso2"])
        return f"{form} {words}" if form else name

    def ampersand(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with a word such as `and` in place of `&`, or `&` in place of the word."""
        word = _AND.get(company["iso2"], "and")
        if "&" in name:
            return name.replace("&", f" {word} ")
        return name.replace(f" {word} ", " & ").replace(f" {word.upper()} ", " & ")

    def accents(self, name: str, company: Mapping[str, Any]) -> str:
        """The name without accents; half of the German and Austrian names get two letters for an umlaut."""
        if company["iso2"] in ("DE", "AT") and self._random.random() < 0.5:
            for letter, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
                name = name.replace(letter, letters).replace(letter.upper(), letters.upper())
            return name
        return "".join(
            c for c in unicodedata.normalize("NFKD", name) if unicodedata.category(c)[0] != "M"
        )

    def order(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with two neighbouring words swapped; the last word stays last."""
        words = name.split()
        if len(words) < 3:
            return name
        number = self._random.randrange(len(words) - 2)
        words[number], words[number + 1] = words[number + 1], words[number]
        return " ".join(words)

    def spacing(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with dots or blanks between its initials, without a hyphen, or with two words joined."""
        bare, form = self._split_form(name, company["iso2"])
        words = bare.split()
        if 2 <= len(words[0]) <= 4 and words[0].isalpha() and words[0].isupper():
            words[0] = (
                (".".join(words[0]) + ".") if self._random.random() < 0.5 else " ".join(words[0])
            )
        elif "-" in bare:
            words = [bare.replace("-", self._random.choice((" ", "")))]
        elif len(words) >= 2:
            number = self._random.randrange(len(words) - 1)
            words[number : number + 2] = [words[number] + words[number + 1].lower()]
        return " ".join([*words, form]).strip()

    def typo(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with a letter left out, doubled or replaced, or with two letters swapped."""
        words, form = self._split_form(name, company["iso2"])
        places = [place for place, c in enumerate(words) if c.isalpha()]
        if len(places) < 5:
            return name
        place = self._random.choice(places)
        error = self._random.randrange(4)
        if error == 0:
            words = words[:place] + words[place + 1 :]
        elif error == 1:
            words = words[:place] + words[place] + words[place:]
        elif error == 2:
            words = words[:place] + self._random.choice(_LETTERS) + words[place + 1 :]
        elif place + 1 < len(words) and words[place + 1].isalpha():
            words = words[:place] + words[place + 1] + words[place] + words[place + 2 :]
        return f"{words} {form}" if form else words

    def short(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with the abbreviation of its first word that has one."""
        words = name.split()
        for number, word in enumerate(words):
            abbreviation = self._tables.short.get(fold(word))
            if abbreviation:
                words[number] = abbreviation
                return " ".join(words)
        return name

    def town(self, name: str, company: Mapping[str, Any]) -> str:
        """The name with the town of the company after it."""
        return f"{name}, {company['ville']}" if company["ville"] else name

    def _split_form(self, name: str, iso2: str) -> tuple[str, str]:
        """The name without the legal form at its end, and the folded form."""
        words = name.split()
        forms = {
            fold(form): True
            for group in self._tables.forms.get(iso2, {}).values()
            for form in group
        }
        for size in range(min(7, len(words) - 1), 0, -1):
            ending = fold(" ".join(words[-size:]))
            for form in (ending, ending.replace(" ", "")):
                if form in forms:
                    return " ".join(words[:-size]).rstrip(","), form
        return name, ""

    # -- identifiers and letter case ---------------------------------------------------------

    def identifier(self, company: Mapping[str, Any]) -> str:
        """The identifier as lists have it: without zeros, with a prefix, with a blank; rarely wrong."""
        identifier: str = company["id"]
        draw = self._random.random()
        if draw < WRONG:
            return self._change_digit(identifier)
        if draw < 0.3:
            return identifier.lstrip("0")
        if draw < 0.5:
            return ("GB" if company["iso2"] == "UK" else company["iso2"]) + identifier
        if draw < 0.6:
            return f"{identifier[:3]} {identifier[3:]}"
        return identifier

    def _change_digit(self, text: str) -> str:
        """The text with one digit changed."""
        places = [place for place, c in enumerate(text) if c.isdigit()]
        if not places:
            return text
        place = self._random.choice(places)
        return (
            text[:place]
            + str((int(text[place]) + self._random.randrange(1, 10)) % 10)
            + text[place + 1 :]
        )

    def _random_case(self, text: str) -> str:
        """The text as it is, in capitals, in lower case, or with capital initials."""
        return self._random.choice((str, str.upper, str.lower, str.title))(text)


# Takes the noise, the name and the company; returns the changed name.
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
