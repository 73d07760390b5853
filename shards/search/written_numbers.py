"""Numbers of companies as people write them, and the numbers that they mean (extensions X6, X19).

`RCS Versailles 542 065 479`, `Amtsgericht Freiburg HRB 260632`, `FR7801.542065479`, `0208:0403227515`, `542065479.0`:
a label names the type of number and its countries, a court names its register, and other words have no meaning here. A
text can contain several numbers. A number can have several readings: the letters and digits that may be meant, the
closest to the text first. Labels, courts, schemes of electronic addresses and placeholders are tables (`seeds/`). This
module looks up no company.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from shards.codec.folding import SPELLINGS, fold, fold_id

# Types of numbers, as in the tables of `seeds/` and in answers.
IDENTIFIER: Final = "immatriculation"
LEI: Final = "lei"
SIRET: Final = "siret"
VAT: Final = "tva"
_OTHER: Final = "autre"  # a number that no company of the base has: DUNS, GLN, REGON
_WORD: Final = "mot"  # a word near a number that says nothing about the number: `number`, `under`

TableRow = Mapping[str, str]

# The most pieces of a text that are read (a piece is a run of letters or of digits), and the most letters of a piece
# that can belong to a number: HRB, CHE, MWST.
_MOST_PIECES: Final = 60
_MOST_LETTERS: Final = 4
# The fewest digits of a number that is read if the text also contains words that are in no table.
_LEAST_UNLABELLED: Final = 8
# The fewest digits of a text that counts as a number, not as a name, alone and after letters: `28860` and `B 8916` are
# numbers, `Studio 54` is a name.
_LEAST_CERTAIN: Final = 5
_CERTAIN_AFTER_LETTERS: Final = 3
# A word shorter than this is not a label if digits follow directly: `IČ` is a label, the `N` of `N0012345A` is not.
_LEAST_ATTACHED: Final = 3
_MOST_LABEL_PIECES: Final = 7  # the most pieces of a label

_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_PIECE: Final = re.compile(r"[^\W\d_]+|\d+")
# Marks between two numbers; a number may contain blanks, dots, dashes and slashes.
_BREAK: Final = re.compile(r"[;|()\[\]{}\n\t]|,\s|\s/\s")
# A text marked so that a spreadsheet does not change it: '00944111, ="00944111"
_QUOTED: Final = re.compile(r"""^(?:=\s*"(.*)"|['’`‘](.*?)['’]?|"(.*)")$""", re.DOTALL)
# A number as a spreadsheet rewrites it: 542065479.0, 542 065 479,00, 9.707484E+06.
_DECIMAL: Final = re.compile(
    r"(?:(?<!\d)\d{4,}|(?<![\d.,])\d{1,3}(?:([ .,'’])\d{3})(?:\1\d{3})*)([.,])00?$"
)
# The digits before the power, the decimals among them, and the power of ten.
_POWER: Final = re.compile(r"(\d(?:[.,](\d+))?)[eE]\+?0?(\d{1,2})")
# The scheme of a Peppol participant and its value: iso6523-actorid-upis::0208:0403227515
_SCHEME: Final = re.compile(r"(?:.*[:/])?(\d{4}):+(?=[^:]*\d)([^:]+)", re.DOTALL)
# Regulation (EU) 2021/1042: country, register, `.`, number, and `_` with a check digit. Some people omit the point.
# If the register is digits, the number has no further point: `BE 0403.227.515` is not an EUID.
_EUID: Final = re.compile(
    r"(?:EUID\W+)?([A-Z]{2})(?:([A-Z]{2,}|[A-Z]\d{4}[A-Z]?|\d+(?=\.[^.]*$))\.\s?|([A-Z]{3,14})(?=\d))"
    r"([A-Z]{0,3}[\d ./–-]*\d ?[A-Z]?(?:_[0-9A-Z])?)"
)
# After the number of an EUID: a check digit, or the unit within an Austrian company.
_CHECK_OR_UNIT: Final = re.compile(r"(?:_[0-9A-Z]|-000)$")
# The code of a German court.
_COURT: Final = re.compile(r"[A-Z]\d{4}[A-Z]?")
# A German number with the code of its court, so it is unique.
_OF_COURT: Final = re.compile(r"(?:DE)?(?:[A-Z]\d{4}[A-Z]?){1,2}[A-Z]{2,3}\d+[A-Z]{0,3}")
# German words before the number that a company had at another court, folded.
_FORMERLY: Final = frozenset(("fruher", "vormals", "ehemals"))
# Between the parts of an identifier with the code of its list: GB-COH-00944111
_JOINTS: Final = ("-", ":", "/")


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a number of type `type` contains the identifier of a company of the country `iso2`.

    Attributes:
        pattern: matches the number.
        identifier: the replacement that yields the identifier; "" if the number does not contain it.
    """

    type: str
    iso2: str
    pattern: re.Pattern[str]
    identifier: str

    @classmethod
    def load_rows(cls, rows: Iterable[TableRow]) -> "tuple[Derivation, ...]":
        """The rows of `seeds/numeros.csv`, in the order in which they are tried."""
        return tuple(
            cls(row["type"], row["iso2"], re.compile(row["motif"]), row["identifiant"])
            for row in rows
        )


class Reading(NamedTuple):
    """One possible meaning of a number in a text.

    Attributes:
        folded: the letters and digits of the number.
        isos: the possible countries; empty for all.
        type: VAT if the number can only be a VAT number; else "".
    """

    folded: str
    isos: frozenset[str] = frozenset()
    type: str = ""


class WrittenNumber(NamedTuple):
    """The numbers of a text.

    Attributes:
        whole: the whole text as one number, since some identifiers do not look like numbers; None if it cannot be one.
        numbers: the readings of each number, the closest first; the first reading with a company counts.
        beside_words: the text also contains words that are in no table, and may be a name.
    """

    whole: Reading | None
    numbers: tuple[tuple[Reading, ...], ...]
    beside_words: bool = False

    @property
    def is_number(self) -> bool:
        """Does the text contain a number that a company may have?"""
        return bool(self.numbers)

    @property
    def is_certain(self) -> bool:
        """Is the text a number, not a name: five digits, or three after letters, and no more letters than digits?"""
        return not self.beside_words and any(
            _is_certain(readings[0].folded) for readings in self.numbers
        )

    @property
    def distinct_numbers(self) -> frozenset[str]:
        """The numbers by their letters and digits, in each reading."""
        whole = () if self.whole is None else (self.whole,)
        groups = (whole, *self.numbers)
        return frozenset(reading.folded for group in groups for reading in group)

    @property
    def is_labelled(self) -> bool:
        """Does the text name the type of a number, or its country?"""
        return any(reading.isos or reading.type for group in self.numbers for reading in group)


class _Label(NamedTuple):
    """The meaning of a label: the type of number, its countries (empty for all), and letters that belong before it."""

    type: str
    isos: frozenset[str]
    prefix: str = ""


@dataclass(slots=True)
class _Piece:
    """A run of letters or of digits in a text.

    Attributes:
        gap: the marks and blanks before it.
    """

    text: str
    gap: str

    @property
    def is_attached(self) -> bool:
        """Is there nothing between the piece and the piece before it?"""
        return not self.gap

    @property
    def follows_break(self) -> bool:
        """Is there a mark before the piece that ends a number?"""
        return bool(_BREAK.search(self.gap))

    @property
    def is_digits(self) -> bool:
        """Is the piece a run of digits?"""
        return self.text[0].isdigit()


@dataclass(slots=True)
class _Chunk:
    """Pieces that may be one number: digits, and letters before, between and after.

    Attributes:
        is_attached: no blank or mark is between the digits and the last letters before them.
    """

    before: list[str]
    core: str
    after: list[str]
    is_attached: bool

    @property
    def digits(self) -> int:
        """The number of digits."""
        return sum(map(str.isdigit, self.core))


_Item = _Label | _Chunk | str  # a string is a word without a meaning


@dataclass(frozen=True, slots=True)
class NumberNotation:
    """The tables of `seeds/` by which texts are read.

    Attributes:
        derivations: how numbers contain identifiers.
        labels: the meaning of each label, by its folded letters without blanks.
        schemes: the meaning of each scheme of electronic addresses, by its four digits.
        placeholders: the texts that mean "no value", as the keys of `labels`.
        courts: the words of the name of each court, and its code; the longest names first.
        countries: the code of a country in this project, by each code in use.
        lettered: countries whose identifiers have letters.
    """

    derivations: tuple[Derivation, ...]
    labels: Mapping[str, _Label]
    schemes: Mapping[str, _Label]
    placeholders: frozenset[str]
    courts: Sequence[tuple[frozenset[str], str]]
    countries: Mapping[str, str]
    lettered: frozenset[str] = field(default=frozenset())

    @classmethod
    def load_rows(
        cls,
        derivations: Iterable[TableRow],
        labels: Iterable[TableRow],
        schemes: Iterable[TableRow],
        placeholders: Iterable[TableRow],
        courts: Iterable[TableRow],
        countries: Sequence[TableRow],
        names: Iterable[TableRow],
    ) -> "NumberNotation":
        """Read the tables of `seeds/`: numeros, mentions, icd, valeurs_absentes, tribunaux, pays, noms_de_pays."""
        codes = {row["iso2"]: row["iso2"] for row in countries}
        lettered = (row for row in countries if re.search("[A-Z]", row["id_regex"]))
        courts_by_words = [(frozenset(fold(row["nom"]).split()), row["code"]) for row in courts]
        return cls(
            Derivation.load_rows(derivations),
            {
                # `Luxembourg B 82454`: the name of a country is a word with a country. A name of up to _MOST_LETTERS
                # letters is left out, because so few letters can belong to a number.
                _join_letters(row["nom"]): _Label(_WORD, frozenset((row["iso2"],)))
                for row in names
                if row["iso2"] in codes and len(_join_letters(row["nom"])) > _MOST_LETTERS
            }
            | {
                _join_letters(row["mention"]): _Label(
                    row["type"], frozenset(row["iso2"].split()), row["prefixe"]
                )
                for row in labels
            },
            {row["code"]: _Label(row["type"], frozenset(row["iso2"].split())) for row in schemes},
            frozenset(_join_letters(row["valeur"]) for row in placeholders),
            sorted(courts_by_words, key=lambda pair: -len(pair[0])),
            codes | {other: code for other, code in SPELLINGS.items() if code in codes},
            frozenset(row["iso2"] for row in lettered),
        )

    def is_placeholder(self, text: str) -> bool:
        """Does a text mean "no value": `n/a`, `-`, `NULL`, or only zeros?"""
        plain = plain_text(text)
        if digits := {char for char in plain if char.isdigit()}:
            return digits == {"0"}
        joined = _join_letters(plain)
        return not joined.strip("x") or joined in self.placeholders

    def is_no_number(self, text: str) -> bool:
        """Is a text a placeholder, alone or after a label: `SIREN : néant`?"""
        if self.is_placeholder(text):
            return True
        items = self._labels_and_numbers(_pieces(plain_text(text)))
        labels = [item for item in items if isinstance(item, _Label) and item.type != _WORD]
        words = "".join(_join_letters(item) for item in items if isinstance(item, str))
        is_empty = not any(isinstance(item, _Chunk) for item in items)
        return bool(labels) and is_empty and (not words or words in self.placeholders)

    def incomparable(self, text: str, *, vat: bool = False) -> frozenset[str]:
        """The countries where this number cannot match identifiers, because their VAT numbers have other digits.

        Args:
            vat: the number is a VAT number, whatever its form.
        """
        without_identifier = [
            derivation for derivation in self.derivations if not derivation.identifier
        ]
        comparable = {
            derivation.iso2
            for derivation in self.derivations
            if derivation.type == VAT and derivation.identifier
        }
        countries = set(self.countries.values())
        result: set[str] = set()
        for reading in (reading for group in self.read(text).numbers for reading in group):
            result |= {
                derivation.iso2
                for derivation in without_identifier
                if derivation.pattern.fullmatch(reading.folded)
            }
            if vat or reading.type == VAT:
                result |= (reading.isos or countries) - comparable
        return frozenset(result)

    def read(self, text: str) -> WrittenNumber:
        """The numbers of a text; empty if the text has no number or is a placeholder."""
        plain = plain_text(text)
        nothing = WrittenNumber(Reading(fold_id(plain)), ())
        if not any(map(str.isdigit, plain)) or self.is_placeholder(plain):
            return nothing
        if power := _POWER.fullmatch(plain):
            if len(power[2] or "") < int(power[3]):  # the last digits of the number are lost
                return nothing
            plain = str(int(Decimal(power[1].replace(",", ".")).scaleb(int(power[3]))))
        decimal = _DECIMAL.search(plain)
        if decimal and decimal[1] != decimal[2]:
            # `542065479.0` is more likely a number that a spreadsheet rewrote than one with a zero after a point. Both
            # are readings, the number without the zero first.
            read = self.read(plain[: decimal.start(2)])
            return read._replace(numbers=(*read.numbers, (Reading(fold_id(plain)),)))
        scheme = _SCHEME.fullmatch(plain)
        if scheme and scheme[1] in self.schemes:
            return self._read_scheme(self.schemes[scheme[1]], scheme[2])
        folded = fold_id(plain)
        whole = Reading(folded)
        is_labelled = bool(self._label_length(_pieces(plain), 0))
        if _OF_COURT.fullmatch(folded) or (not is_labelled and _may_be_lei(folded)):
            return WrittenNumber(whole, ((whole,),))
        if euid := self._euid_readings(plain):
            return WrittenNumber(whole, euid)
        return self._read_labels(plain, whole)

    def _read_scheme(self, scheme: _Label, value: str) -> WrittenNumber:
        """The number of an electronic address, whose scheme names the type and the countries."""
        readings = self._readings(scheme, fold_id(value))
        return WrittenNumber(None, () if scheme.type == _OTHER else (tuple(readings),))

    def _readings(self, label: _Label, folded: str) -> Iterator[Reading]:
        """The readings of a number with a label: as written, and for VAT also with the code of each country."""
        type_if_vat = VAT if label.type == VAT else ""
        yield Reading(folded, label.isos, type_if_vat)
        if type_if_vat:
            for code, iso2 in self.countries.items():
                if not label.isos or iso2 in label.isos:
                    yield Reading(code + folded, frozenset((iso2,)), type_if_vat)

    def _euid_readings(self, plain: str) -> tuple[tuple[Reading, ...], ...]:
        """The readings of an EUID, as written and without a check digit; empty if the text is no EUID."""
        matched = _EUID.fullmatch(plain.upper())
        if matched is None or matched[1] not in self.countries:
            return ()
        register, number = matched[2] or matched[3] or "", matched[4]
        isos = frozenset((self.countries[matched[1]],))
        spellings = [number]
        if (without_check := _CHECK_OR_UNIT.sub("", number)) != number:
            spellings.append(without_check)
        if _COURT.fullmatch(register):  # the register is a part of the number
            spellings = [register + spelling for spelling in spellings]
        return (tuple(Reading(fold_id(spelling), isos) for spelling in spellings),)

    # -- labels ------------------------------------------------------------------------------

    def _read_labels(self, plain: str, whole: Reading) -> WrittenNumber:
        """The numbers of a text that have a label (a word such as SIREN that names the kind of a number).

        In a text without labels all numbers are read; if it also has unknown words, only long numbers are.
        """
        items = self._labels_and_numbers(_pieces(plain))
        chunks = [item for item in items if isinstance(item, _Chunk)]
        words = [item for item in items if isinstance(item, str)]
        labelled_chunks = _pair_labels(items)
        if labelled_chunks or any(
            isinstance(item, _Label) and item.type != _WORD for item in items
        ):
            numbers = (
                self._readings_of(label, chunk, words)
                for label, chunk in labelled_chunks
                if label.type != _OTHER
            )
            return WrittenNumber(whole, tuple(numbers))
        countries = [item.isos for item in items if isinstance(item, _Label)]
        label = _Label("", frozenset().union(*countries))
        if any(self._is_unknown_word(word) for word in words):
            chunks = [chunk for chunk in chunks if chunk.digits >= _LEAST_UNLABELLED]
            numbers = (self._readings_of(label, chunk, words) for chunk in chunks)
            return WrittenNumber(whole, tuple(numbers), beside_words=True)
        if len(chunks) == 1 and len(items) == 1:
            return WrittenNumber(whole, ((whole, *self._readings_of(label, chunks[0], words)[1:]),))
        numbers = (self._readings_of(label, chunk, words) for chunk in chunks)
        return WrittenNumber(whole, tuple(numbers))

    def _is_unknown_word(self, word: str) -> bool:
        """Is this a word that no table contains?"""
        label = self.labels.get(_join_letters(word))
        return label is None and word.upper() not in self.countries

    def _readings_of(
        self, label: _Label, chunk: _Chunk, words: Sequence[str]
    ) -> tuple[Reading, ...]:
        """The distinct readings of a number, the closest to the text first."""
        return tuple(dict.fromkeys(self._each_reading(label, chunk, words)))

    def _each_reading(
        self, label: _Label, chunk: _Chunk, words: Sequence[str]
    ) -> Iterator[Reading]:
        """The readings of a number: with all letters around it, then without letters that may not belong to it.

        With a label that has a prefix (a register such as HRB), the readings with the prefix come first; if the words
        also name a German court, no other readings follow, because the court decides.
        """
        isos = label.isos
        before = chunk.before
        if not isos:  # GB-COH-00944111: a country and a register
            code = next((text for text in (*before[:1], *chunk.after[-1:])), "")
            isos = frozenset(filter(None, (self.countries.get(code.upper()),)))
        surrounding_words = (*words, *before, *chunk.after)
        courts = self._courts_of(surrounding_words) if label.prefix and "DE" in isos else ()
        if label.prefix:
            for after in _letters_or_none(chunk.after):
                spelling = label.prefix + chunk.core + after
                for code in courts or ("",):
                    yield Reading(fold_id(code + spelling), isos)
            if courts:
                return
        with_all_letters = "".join(before) + chunk.core + "".join(chunk.after)
        yield from self._readings(label._replace(isos=isos), fold_id(with_all_letters))
        # Without a country, a short number is not read without its letters.
        if not isos and chunk.digits < _LEAST_UNLABELLED:
            return
        # In `J40/1234/2005` the letter is a part of the number.
        most_dropped = len(before) - (chunk.is_attached and not label.type)
        for start in range(most_dropped + 1):
            for after in _letters_or_none(chunk.after):
                dropped = [*before[:start], *([] if after else chunk.after)]
                if not dropped:
                    continue
                shortened = "".join(before[start:]) + chunk.core + after
                if possible_isos := self._exclude_by_letters(isos, dropped):
                    yield from self._readings(
                        label._replace(isos=possible_isos), fold_id(shortened)
                    )

    def _exclude_by_letters(self, isos: frozenset[str], dropped: Sequence[str]) -> frozenset[str]:
        """The countries in which a number can stand without the letters that were dropped from it.

        Countries with letters in their numbers are left out: `SC` is a part of British numbers. They stay if no dropped
        text is short, or if all short ones are codes of the only country in `isos`.
        """
        countries = isos or frozenset(self.countries.values())
        short_letters = [text for text in dropped if len(text) < _LEAST_ATTACHED]
        if not short_letters or (
            len(isos) == 1
            and all(self.countries.get(text.upper()) in isos for text in short_letters)
        ):
            return countries
        return countries - self.lettered

    def _courts_of(self, words: Sequence[str]) -> Sequence[str]:
        """The codes of the court that the words name; of several courts, the one with the longest name."""
        folded = {part for word in words for part in fold(word).split()}
        if folded & _FORMERLY:  # the text has the number of another court
            return []
        named_courts = [(names, code) for names, code in self.courts if names <= folded]
        return [code for names, code in named_courts if len(names) == len(named_courts[0][0])]

    def _labels_and_numbers(self, pieces: Sequence[_Piece]) -> list[_Item]:
        """Labels, numbers and other words of a text, in its order.

        A label names the kind of a number, such as SIREN. The pieces between two labels are split into numbers and
        words.
        """
        items: list[_Item] = []
        index = 0
        unlabelled: list[_Piece] = []
        while index < len(pieces):
            length = self._label_length(pieces, index)
            if not length:
                if unlabelled and pieces[index].follows_break:
                    items += _numbers_and_words(unlabelled)
                    unlabelled = []
                unlabelled.append(pieces[index])
                index += 1
                continue
            items += _numbers_and_words(unlabelled)
            unlabelled = []
            label = self.labels[
                "".join(_join_letters(piece.text) for piece in pieces[index : index + length])
            ]
            items.append(label)
            index += length
        return items + _numbers_and_words(unlabelled)

    def _label_length(self, pieces: Sequence[_Piece], start: int) -> int:
        """The number of pieces of the longest label that begins at piece `start`; 0 if no label begins there.

        A label is a word before a number that names its kind, such as SIREN; a piece is a run of letters or of digits.
        """
        if pieces[start].is_digits or (
            start and pieces[start].is_attached and not pieces[start - 1].is_digits
        ):
            return 0
        joined, longest = "", 0
        for length in range(1, _MOST_LABEL_PIECES + 1):
            if start + length > len(pieces) or pieces[start + length - 1].is_digits:
                break
            if length > 1 and pieces[start + length - 1].follows_break:
                break
            joined += _join_letters(pieces[start + length - 1].text)
            gap = pieces[start + length].gap if start + length < len(pieces) else " "
            # A short text that touches other letters or digits belongs to a number: the `N` of `N0012345A`.
            is_short = len(joined) < _LEAST_ATTACHED and (not gap or pieces[start].is_attached)
            is_country = gap in _JOINTS and pieces[start].text.upper() in self.countries
            if joined in self.labels and not (is_short or is_country):
                longest = length
        return longest


def plain_text(text: str) -> str:
    """A text without the marks of a spreadsheet around it, with digits and letters of usual width.

    >>> plain_text("'００９４４１１１"), plain_text('="00944111"'), plain_text("542\\u00a0065\\u200b 479")
    ('00944111', '00944111', '542 065 479')
    """
    text = unicodedata.normalize("NFKC", text)
    text = "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char
        for char in text
        if unicodedata.category(char) != "Cf"
    ).strip()
    if quoted := _QUOTED.fullmatch(text):
        text = next(part for part in quoted.groups() if part is not None).strip()
    return text


def is_lei(number: str) -> bool:
    """Does this text have the form of a LEI?

    >>> is_lei("2138 00WS KXQ2 B5PQ HK86"), is_lei("Société Générale 1864")
    (True, False)
    """
    return bool(_LEI.fullmatch(fold_id(number)))


def _is_certain(number: str) -> bool:
    """Does a number have enough digits to be no name, or the form of a LEI?"""
    digits = sum(map(str.isdigit, number))
    least_digits = _CERTAIN_AFTER_LETTERS if number[0].isalpha() else _LEAST_CERTAIN
    return is_lei(number) or (digits >= least_digits and digits >= len(number) - digits)


def _may_be_lei(folded: str) -> bool:
    """Is this a LEI, and not words and a number of the same form?

    A LEI begins with a digit, or its check digits are right.
    """
    if not is_lei(folded):
        return False
    return folded[0].isdigit() or int("".join(str(int(char, 36)) for char in folded)) % 97 == 1


def _join_letters(text: str) -> str:
    """The folded letters and digits of a text without blanks: `R.C.S.` is `rcs`."""
    return "".join(fold(text).split())


def _pieces(plain: str) -> list[_Piece]:
    """The runs of letters and of digits of a text, at most _MOST_PIECES."""
    pieces: list[_Piece] = []
    end = 0
    for matched in _PIECE.finditer(plain):
        gap = plain[end : matched.start()] if pieces else " "
        pieces.append(_Piece(matched.group(), gap))
        end = matched.end()
    return pieces[:_MOST_PIECES]


def _numbers_and_words(run: Sequence[_Piece]) -> list[_Item]:
    """The numbers and other words of pieces without labels and breaks.

    A number is all runs of digits up to a longer word, with up to two short runs of letters before and after.
    """
    items: list[_Item] = []
    next_piece = 0
    while next_piece < len(run):
        first_digits = next((i for i in range(next_piece, len(run)) if run[i].is_digits), len(run))
        # [start, first_digits) are the letters before the number; longer words before them are items of their own.
        start = first_digits
        while (
            start > next_piece
            and len(run[start - 1].text) <= _MOST_LETTERS
            and first_digits - start < 2
        ):
            start -= 1
        items += [piece.text for piece in run[next_piece:start]]
        if first_digits == len(run):
            items += [piece.text for piece in run[start:first_digits]]
            break
        # A longer word ends the number, unless it touches the pieces on both sides.
        last_digits = first_digits
        for i in range(first_digits + 1, len(run)):
            if run[i].is_digits:
                last_digits = i
            elif len(run[i].text) > _MOST_LETTERS and not (
                run[i].is_attached and i + 1 < len(run) and run[i + 1].is_attached
            ):
                break
        end = last_digits + 1
        while end < len(run) and len(run[end].text) <= _MOST_LETTERS and end - last_digits < 3:
            end += 1
        core = "".join(piece.text for piece in run[first_digits : last_digits + 1])
        items.append(
            _Chunk(
                [piece.text for piece in run[start:first_digits]],
                core,
                [piece.text for piece in run[last_digits + 1 : end]],
                start < first_digits and run[first_digits].is_attached,
            )
        )
        next_piece = end
    return items


def _pair_labels(items: Sequence[_Item]) -> list[tuple[_Label, _Chunk]]:
    """Labels with their numbers: the number after the label, else the number before.

    A label names the kind of a number, such as SIREN. Adjacent labels count as one label. Labels without a number and
    numbers without a label are left out.
    """
    pairs: list[tuple[_Label, _Chunk]] = []
    unowned: _Chunk | None = None  # the last number, if no label has it
    pending: _Label | None = None  # the last label, if it has no number
    for index, item in enumerate(items):
        if isinstance(item, _Chunk):
            if pending is not None:
                pairs.append((pending, item))
                pending, unowned = None, None
            else:
                unowned = item
        elif isinstance(item, _Label) and item.type != _WORD:
            if pending is not None:
                pending = _combine_labels(pending, item)
            elif unowned is not None and not _is_before_number(items[index + 1 :]):
                pairs.append((item, unowned))
                unowned = None
            else:
                pending = item
    if pending is not None and unowned is not None:
        pairs.append((pending, unowned))
    return pairs


def _is_before_number(items: Sequence[_Item]) -> bool:
    """Is there a number before the next label?"""
    for item in items:
        if isinstance(item, _Chunk):
            return True
        if isinstance(item, _Label) and item.type != _WORD:
            return False
    return False


def _combine_labels(first: _Label, second: _Label) -> _Label:
    """One label from two adjacent labels: the second decides, except where it names no country or prefix."""
    isos = (first.isos & second.isos) or second.isos or first.isos
    return _Label(second.type, isos, second.prefix or first.prefix)


def _letters_or_none(letters_after: Sequence[str]) -> Sequence[str]:
    """The letters after a number as one text, and the empty text: the number may be read with or without them."""
    return ("".join(letters_after), "") if letters_after else ("",)
