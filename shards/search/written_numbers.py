"""Numbers of companies as people write them, and the numbers that they mean (extensions X6, X19).

`RCS Versailles 542 065 479`, `Amtsgericht Freiburg HRB 260632`, `FR7801.542065479`, `0208:0403227515`, `542065479.0`:
a label names the kind of number and its countries, a court its register, other words name nothing. A text may have
several numbers, and a number several readings, the closest to the text first. Labels, courts, schemes of electronic
addresses and placeholders are tables (`seeds/`). Pure: no company is looked up here.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from shards.codec.folding import SPELLINGS, fold, fold_id

IDENTIFIER: Final = "immatriculation"
LEI: Final = "lei"
SIRET: Final = "siret"
VAT: Final = "tva"
_OTHER: Final = "autre"  # a number that no company of the base has: DUNS, GLN, REGON
_WORD: Final = "mot"  # a word beside a number that says nothing of it: `number`, `under`

Row = Mapping[str, str]

# Words of one text, and letters that may be a part of a number: HRB, CHE, MWST.
_MOST_PIECES: Final = 60
_LETTERS: Final = 4
# Digits of a number that is understood between words that no table has.
_ALONE: Final = 8
# Digits of a number that is rather one than a name, alone and behind letters: `28860`, `B 8916`, but not `Studio 54`.
_CERTAIN: Final = 5
_BEHIND_LETTERS: Final = 3
# A label of so few letters is none where digits follow directly: IČ, but not the first letters of `N0012345A`.
_GLUED: Final = 3
_LABEL_PIECES: Final = 7

_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_PIECE: Final = re.compile(r"[^\W\d_]+|\d+")
# Marks between two numbers; within one number are blanks, dots, dashes and slashes.
_BREAK: Final = re.compile(r"[;|()\[\]{}\n\t]|,\s|\s/\s")
# A text that a spreadsheet was told to leave as it is: '00944111, ="00944111"
_QUOTED: Final = re.compile(r"""^(?:=\s*"(.*)"|['’`‘](.*?)['’]?|"(.*)")$""", re.DOTALL)
# What a spreadsheet makes of a number: 542065479.0, 542 065 479,00, 9.707484E+06.
_DECIMAL: Final = re.compile(
    r"(?:(?<!\d)\d{4,}|(?<![\d.,])\d{1,3}(?:([ .,'’])\d{3})(?:\1\d{3})*)([.,])00?$"
)
_POWER: Final = re.compile(r"(\d(?:[.,](\d+))?)[eE]\+?0?(\d{1,2})")
# The scheme of a Peppol participant and its value: iso6523-actorid-upis::0208:0403227515
_SCHEME: Final = re.compile(r"(?:.*[:/])?(\d{4}):+(?=[^:]*\d)([^:]+)", re.DOTALL)
# Regulation (EU) 2021/1042: country, register, `.`, number, and `_` with a check digit. Some leave the point out.
# Behind a register of digits the number has no further point: `BE 0403.227.515` is none.
_EUID: Final = re.compile(
    r"(?:EUID\W+)?([A-Z]{2})(?:([A-Z]{2,}|[A-Z]\d{4}[A-Z]?|\d+(?=\.[^.]*$))\.\s?|([A-Z]{3,14})(?=\d))"
    r"([A-Z]{0,3}[\d ./–-]*\d ?[A-Z]?(?:_[0-9A-Z])?)"
)
# Behind the number of an EUID: a check digit, or the unit within a company of Austria.
_CHECK_OR_UNIT: Final = re.compile(r"(?:_[0-9A-Z]|-000)$")
_COURT: Final = re.compile(r"[A-Z]\d{4}[A-Z]?")
# A German number with the code of its court, which no other court has.
_OF_COURT: Final = re.compile(r"(?:DE)?(?:[A-Z]\d{4}[A-Z]?){1,2}[A-Z]{2,3}\d+[A-Z]{0,3}")
_FORMERLY: Final = frozenset(("fruher", "vormals", "ehemals"))
# Between the parts of an identifier with the code of its list: GB-COH-00944111
_JOINTS: Final = ("-", ":", "/")


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a number of this `type` in the country contains the identifier: a pattern of it, and its replacement.

    Attributes:
        identifier: "" where the number does not contain it, so that the two cannot be compared.
    """

    type: str
    iso2: str
    pattern: re.Pattern[str]
    identifier: str

    @classmethod
    def of_rows(cls, rows: Iterable[Row]) -> "tuple[Derivation, ...]":
        """The rows of `seeds/numeros.csv`, in the order in which they are tried."""
        return tuple(
            cls(row["type"], row["iso2"], re.compile(row["motif"]), row["identifiant"])
            for row in rows
        )


class Reading(NamedTuple):
    """A number by its letters and digits.

    Attributes:
        isos: the countries that it may be of; empty for all.
        type: VAT where the number is only one for VAT; else "".
    """

    folded: str
    isos: frozenset[str] = frozenset()
    type: str = ""


class WrittenNumber(NamedTuple):
    """The numbers of a text.

    Attributes:
        whole: the text as one number, which identifiers of some companies may be though it looks like none; None where
            it is certainly none.
        numbers: the readings of each number, the closest first; the first with a company counts.
        beside_words: they are beside words that no table has, which may be a name.
    """

    whole: Reading | None
    numbers: tuple[tuple[Reading, ...], ...]
    beside_words: bool = False

    @property
    def is_number(self) -> bool:
        """Does the text have a number that may be a company's?"""
        return bool(self.numbers)

    @property
    def is_certain(self) -> bool:
        """Is the text rather a number than a name? With five digits, or three behind letters, and no more letters."""
        return not self.beside_words and any(
            _is_certain(readings[0].folded) for readings in self.numbers
        )

    @property
    def all_numbers(self) -> frozenset[str]:
        """The numbers by their letters and digits, in each reading."""
        whole = () if self.whole is None else (self.whole,)
        groups = (whole, *self.numbers)
        return frozenset(reading.folded for group in groups for reading in group)

    @property
    def is_labelled(self) -> bool:
        """Does the text say which kind of number, or of which country?"""
        return any(reading.isos or reading.type for group in self.numbers for reading in group)


class _Label(NamedTuple):
    type: str
    isos: frozenset[str]
    prefix: str = ""


@dataclass(slots=True)
class _Piece:
    """A run of letters or of digits of a text.

    Attributes:
        gap: the marks and blanks before it.
    """

    text: str
    gap: str

    @property
    def glued(self) -> bool:
        return not self.gap

    @property
    def breaks(self) -> bool:
        """Is there a mark before it that ends a number?"""
        return bool(_BREAK.search(self.gap))

    @property
    def is_digits(self) -> bool:
        return self.text[0].isdigit()


@dataclass(slots=True)
class _Chunk:
    """Pieces that may be one number: digits, and letters before, between and behind.

    Attributes:
        is_glued: the last letters before the digits are of the same word.
    """

    before: list[str]
    core: str
    after: list[str]
    is_glued: bool

    @property
    def digits(self) -> int:
        return sum(map(str.isdigit, self.core))


_Item = _Label | _Chunk | str  # a string: a word that says nothing


@dataclass(frozen=True, slots=True)
class NumberNotation:
    """The tables that texts are read by."""

    derivations: tuple[Derivation, ...]
    labels: Mapping[str, _Label]
    schemes: Mapping[str, _Label]
    placeholders: frozenset[str]
    courts: Sequence[tuple[frozenset[str], str]]
    countries: Mapping[str, str]
    # Countries whose identifiers have letters.
    lettered: frozenset[str] = field(default=frozenset())

    @classmethod
    def of_rows(
        cls,
        derivations: Iterable[Row],
        labels: Iterable[Row],
        schemes: Iterable[Row],
        placeholders: Iterable[Row],
        courts: Iterable[Row],
        countries: Sequence[Row],
        names: Iterable[Row],
    ) -> "NumberNotation":
        """Read the tables of `seeds/`: numeros, mentions, icd, valeurs_absentes, tribunaux, pays, noms_de_pays."""
        codes = {row["iso2"]: row["iso2"] for row in countries}
        lettered = (row for row in countries if re.search("[A-Z]", row["id_regex"]))
        courts_by_words = [(frozenset(fold(row["nom"]).split()), row["code"]) for row in courts]
        return cls(
            Derivation.of_rows(derivations),
            {
                # `Luxembourg B 82454`: the name of a country is a word that says which.
                _joined(row["nom"]): _Label(_WORD, frozenset((row["iso2"],)))
                for row in names
                if row["iso2"] in codes and len(_joined(row["nom"])) > _LETTERS
            }
            | {
                _joined(row["mention"]): _Label(
                    row["type"], frozenset(row["iso2"].split()), row["prefixe"]
                )
                for row in labels
            },
            {row["code"]: _Label(row["type"], frozenset(row["iso2"].split())) for row in schemes},
            frozenset(_joined(row["valeur"]) for row in placeholders),
            sorted(courts_by_words, key=lambda pair: -len(pair[0])),
            codes | {other: code for other, code in SPELLINGS.items() if code in codes},
            frozenset(row["iso2"] for row in lettered),
        )

    def is_placeholder(self, text: str) -> bool:
        """Does a text stand for no value: `n/a`, `-`, `NULL`, or nothing but zeros?"""
        plain = plain_text(text)
        if digits := {char for char in plain if char.isdigit()}:
            return digits == {"0"}
        joined = _joined(plain)
        return not joined.strip("x") or joined in self.placeholders

    def is_no_number(self, text: str) -> bool:
        """Is a text a placeholder, alone or behind a label: `SIREN : néant`?"""
        if self.is_placeholder(text):
            return True
        items = self._items(_pieces(plain_text(text)))
        labels = [item for item in items if isinstance(item, _Label) and item.type != _WORD]
        words = "".join(_joined(item) for item in items if isinstance(item, str))
        is_empty = not any(isinstance(item, _Chunk) for item in items)
        return bool(labels) and is_empty and (not words or words in self.placeholders)

    def incomparable(self, text: str, *, vat: bool = False) -> frozenset[str]:
        """The countries whose identifiers say nothing of this number: its VAT numbers have other digits.

        Args:
            vat: the number is one for VAT, whatever it looks like.
        """
        own = [one for one in self.derivations if not one.identifier]
        comparable = {one.iso2 for one in self.derivations if one.type == VAT and one.identifier}
        countries = set(self.countries.values())
        found: set[str] = set()
        for reading in (reading for group in self.read(text).numbers for reading in group):
            found |= {one.iso2 for one in own if one.pattern.fullmatch(reading.folded)}
            if vat or reading.type == VAT:
                found |= (reading.isos or countries) - comparable
        return frozenset(found)

    def read(self, text: str) -> WrittenNumber:
        """The numbers of a text; none where it has none, or is a placeholder."""
        plain = plain_text(text)
        nothing = WrittenNumber(Reading(fold_id(plain)), ())
        if not any(map(str.isdigit, plain)) or self.is_placeholder(plain):
            return nothing
        if power := _POWER.fullmatch(plain):
            if len(power[2] or "") < int(power[3]):  # its last digits are lost
                return nothing
            plain = str(int(Decimal(power[1].replace(",", ".")).scaleb(int(power[3]))))
        decimal = _DECIMAL.search(plain)
        if decimal and decimal[1] != decimal[2]:
            # Rather a number of a spreadsheet than one with a zero behind a point; both are read.
            read = self.read(plain[: decimal.start(2)])
            return read._replace(numbers=(*read.numbers, (Reading(fold_id(plain)),)))
        scheme = _SCHEME.fullmatch(plain)
        if scheme and scheme[1] in self.schemes:
            return self._of_scheme(self.schemes[scheme[1]], scheme[2])
        folded = fold_id(plain)
        whole = Reading(folded)
        is_labelled = bool(self._label_length(_pieces(plain), 0))
        if _OF_COURT.fullmatch(folded) or (not is_labelled and _may_be_lei(folded)):
            return WrittenNumber(whole, ((whole,),))
        if euid := self._euid(plain):
            return WrittenNumber(whole, euid)
        return self._labelled(plain, whole)

    def _of_scheme(self, scheme: _Label, value: str) -> WrittenNumber:
        readings = self._readings(scheme, fold_id(value))
        return WrittenNumber(None, () if scheme.type == _OTHER else (tuple(readings),))

    def _readings(self, label: _Label, folded: str) -> Iterator[Reading]:
        """A number under a label: as it is, and with the code of each of its countries where it is for VAT."""
        kind = VAT if label.type == VAT else ""
        yield Reading(folded, label.isos, kind)
        if kind:
            for code, iso2 in self.countries.items():
                if not label.isos or iso2 in label.isos:
                    yield Reading(code + folded, frozenset((iso2,)), kind)

    def _euid(self, plain: str) -> tuple[tuple[Reading, ...], ...]:
        matched = _EUID.fullmatch(plain.upper())
        if matched is None or matched[1] not in self.countries:
            return ()
        register, number = matched[2] or matched[3] or "", matched[4]
        isos = frozenset((self.countries[matched[1]],))
        spellings = [number]
        if (bare := _CHECK_OR_UNIT.sub("", number)) != number:
            spellings.append(bare)
        if _COURT.fullmatch(register):  # the register is a part of the number
            spellings = [register + spelling for spelling in spellings]
        return (tuple(Reading(fold_id(spelling), isos) for spelling in spellings),)

    # -- labels ------------------------------------------------------------------------------

    def _labelled(self, plain: str, whole: Reading) -> WrittenNumber:
        """The numbers of a text by its labels; without labels, those that no other word can be a part of."""
        items = self._items(_pieces(plain))
        chunks = [item for item in items if isinstance(item, _Chunk)]
        words = [item for item in items if isinstance(item, str)]
        owned = _owned(items)
        if owned or any(isinstance(item, _Label) and item.type != _WORD for item in items):
            numbers = (
                self._readings_of(label, chunk, words)
                for label, chunk in owned
                if label.type != _OTHER
            )
            return WrittenNumber(whole, tuple(numbers))
        countries = [item.isos for item in items if isinstance(item, _Label)]
        label = _Label("", frozenset().union(*countries))
        if any(self._is_free(word) for word in words):
            chunks = [chunk for chunk in chunks if chunk.digits >= _ALONE]
            numbers = (self._readings_of(label, chunk, words) for chunk in chunks)
            return WrittenNumber(whole, tuple(numbers), beside_words=True)
        if len(chunks) == 1 and len(items) == 1:
            return WrittenNumber(whole, ((whole, *self._readings_of(label, chunks[0], words)[1:]),))
        numbers = (self._readings_of(label, chunk, words) for chunk in chunks)
        return WrittenNumber(whole, tuple(numbers))

    def _is_free(self, word: str) -> bool:
        label = self.labels.get(_joined(word))
        return label is None and word.upper() not in self.countries

    def _readings_of(
        self, label: _Label, chunk: _Chunk, words: Sequence[str]
    ) -> tuple[Reading, ...]:
        return tuple(dict.fromkeys(self._each_reading(label, chunk, words)))

    def _each_reading(
        self, label: _Label, chunk: _Chunk, words: Sequence[str]
    ) -> Iterator[Reading]:
        """The readings of a number: with all of its letters, then without those that can be no part of it."""
        isos = label.isos
        before = chunk.before
        if not isos:  # GB-COH-00944111: a country and a register
            code = next((text for text in (*before[:1], *chunk.after[-1:])), "")
            isos = frozenset(filter(None, (self.countries.get(code.upper()),)))
        beside = (*words, *before, *chunk.after)
        courts = self._courts_of(beside) if label.prefix and "DE" in isos else ()
        if label.prefix:
            for after in _ends(chunk.after):
                spelling = label.prefix + chunk.core + after
                for code in courts or ("",):
                    yield Reading(fold_id(code + spelling), isos)
            if courts:
                return
        full = "".join(before) + chunk.core + "".join(chunk.after)
        yield from self._readings(label._replace(isos=isos), fold_id(full))
        if not isos and chunk.digits < _ALONE:  # too few to go without their letters
            return
        # In `J40/1234/2005` the letter is a part of the number.
        most = len(before) - (chunk.is_glued and not label.type)
        for start in range(most + 1):
            for after in _ends(chunk.after):
                dropped = [*before[:start], *([] if after else chunk.after)]
                if not dropped:
                    continue
                kept = "".join(before[start:]) + chunk.core + after
                if of_countries := self._without_letters(isos, dropped):
                    yield from self._readings(label._replace(isos=of_countries), fold_id(kept))

    def _without_letters(self, isos: frozenset[str], dropped: Sequence[str]) -> frozenset[str]:
        """The countries whose numbers cannot have had these letters: `SC` is a part of British ones."""
        every = isos or frozenset(self.countries.values())
        short = [text for text in dropped if len(text) < _GLUED]
        if not short or (
            len(isos) == 1 and all(self.countries.get(text.upper()) in isos for text in short)
        ):
            return every
        return every - self.lettered

    def _courts_of(self, words: Sequence[str]) -> Sequence[str]:
        """The codes of the court that words name: of several, the one with the longest name."""
        said = {part for word in words for part in fold(word).split()}
        if said & _FORMERLY:  # under the number of another court
            return []
        best = [(names, code) for names, code in self.courts if names <= said]
        return [code for names, code in best if len(names) == len(best[0][0])]

    def _items(self, pieces: Sequence[_Piece]) -> list[_Item]:
        """Labels, numbers and other words of a text, in its order."""
        items: list[_Item] = []
        at = 0
        run: list[_Piece] = []
        while at < len(pieces):
            length = self._label_length(pieces, at)
            if not length:
                if run and pieces[at].breaks:
                    items += _chunks(run)
                    run = []
                run.append(pieces[at])
                at += 1
                continue
            items += _chunks(run)
            run = []
            label = self.labels["".join(_joined(one.text) for one in pieces[at : at + length])]
            items.append(label)
            at += length
        return items + _chunks(run)

    def _label_length(self, pieces: Sequence[_Piece], at: int) -> int:
        """The pieces of the longest label that begins at a place; 0 if there is none."""
        if pieces[at].is_digits or (at and pieces[at].glued and not pieces[at - 1].is_digits):
            return 0
        joined, longest = "", 0
        for length in range(1, _LABEL_PIECES + 1):
            if at + length > len(pieces) or pieces[at + length - 1].is_digits:
                break
            if length > 1 and pieces[at + length - 1].breaks:
                break
            joined += _joined(pieces[at + length - 1].text)
            gap = pieces[at + length].gap if at + length < len(pieces) else " "
            is_short = len(joined) < _GLUED and (not gap or pieces[at].glued)
            is_country = gap in _JOINTS and pieces[at].text.upper() in self.countries
            if joined in self.labels and not (is_short or is_country):
                longest = length
        return longest


def plain_text(text: str) -> str:
    """A text as it was meant: no marks of a spreadsheet around it, digits and letters of usual width.

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
    """Is this shaped as a LEI?

    >>> is_lei("2138 00WS KXQ2 B5PQ HK86"), is_lei("Société Générale 1864")
    (True, False)
    """
    return bool(_LEI.fullmatch(fold_id(number)))


def _is_certain(number: str) -> bool:
    digits = sum(map(str.isdigit, number))
    least = _BEHIND_LETTERS if number[0].isalpha() else _CERTAIN
    return is_lei(number) or (digits >= least and digits >= len(number) - digits)


def _may_be_lei(folded: str) -> bool:
    """Is this a LEI rather than a word and a number of as many letters: by its first digit, or its check digits?"""
    if not is_lei(folded):
        return False
    return folded[0].isdigit() or int("".join(str(int(char, 36)) for char in folded)) % 97 == 1


def _joined(text: str) -> str:
    """The folded letters and digits of a text without blanks: `R.C.S.` is `RCS`."""
    return "".join(fold(text).split())


def _pieces(plain: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    end = 0
    for matched in _PIECE.finditer(plain):
        gap = plain[end : matched.start()] if pieces else " "
        pieces.append(_Piece(matched.group(), gap))
        end = matched.end()
    return pieces[:_MOST_PIECES]


def _chunks(run: Sequence[_Piece]) -> list[_Item]:
    """The numbers and other words of pieces without labels and breaks."""
    items: list[_Item] = []
    at = 0
    while at < len(run):
        first = next((i for i in range(at, len(run)) if run[i].is_digits), len(run))
        before = first
        while before > at and len(run[before - 1].text) <= _LETTERS and first - before < 2:
            before -= 1
        items += [piece.text for piece in run[at:before]]
        if first == len(run):
            items += [piece.text for piece in run[before:first]]
            break
        last = first
        for i in range(first + 1, len(run)):
            if run[i].is_digits:
                last = i
            elif len(run[i].text) > _LETTERS and not (
                run[i].glued and i + 1 < len(run) and run[i + 1].glued
            ):
                break
        after = last + 1
        while after < len(run) and len(run[after].text) <= _LETTERS and after - last < 3:
            after += 1
        core = "".join(piece.text for piece in run[first : last + 1])
        items.append(
            _Chunk(
                [piece.text for piece in run[before:first]],
                core,
                [piece.text for piece in run[last + 1 : after]],
                before < first and run[first].glued,
            )
        )
        at = after
    return items


def _owned(items: Sequence[_Item]) -> list[tuple[_Label, _Chunk]]:
    """The number of each label: the one behind it, else the one before it. Labels in a row are one."""
    pairs: list[tuple[_Label, _Chunk]] = []
    last: _Chunk | None = None  # a number that no label owns
    pending: _Label | None = None
    for at, item in enumerate(items):
        if isinstance(item, _Chunk):
            if pending is not None:
                pairs.append((pending, item))
                pending, last = None, None
            else:
                last = item
        elif isinstance(item, _Label) and item.type != _WORD:
            if pending is not None:
                pending = _combined(pending, item)
            elif last is not None and not _is_before_number(items[at + 1 :]):
                pairs.append((item, last))
                last = None
            else:
                pending = item
    if pending is not None and last is not None:
        pairs.append((pending, last))
    return pairs


def _is_before_number(items: Sequence[_Item]) -> bool:
    """Is the next label or number a number?"""
    for item in items:
        if isinstance(item, _Chunk):
            return True
        if isinstance(item, _Label) and item.type != _WORD:
            return False
    return False


def _combined(first: _Label, second: _Label) -> _Label:
    isos = (first.isos & second.isos) or second.isos or first.isos
    return _Label(second.type, isos, second.prefix or first.prefix)


def _ends(after: Sequence[str]) -> Sequence[str]:
    """The letters behind a number, and none."""
    return ("".join(after), "") if after else ("",)
