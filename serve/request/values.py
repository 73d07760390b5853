"""Readers of parameter values, by kind: from texts to the values of a Query. Errors name the sent and valid values.

Lists drop blanks and duplicates (B1). A repeated list parameter is a longer list; any other repeated parameter must
have equal values (B5). The identifier in a path is not a parameter, but is checked here too (E1). The options of an
exported file are its format, its columns, and whether it has statement lines (X7).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any, Final

from serve.contract import activities, company_fields, errors, files, seed_tables
from serve.contract.errors import ApiError
from serve.contract.parameters import COLONNES, IDS, LONGEST_ID, Parameter
from serve.request import accept, scalars
from serve.request.place_names import (
    PlaceNames,
    nearest_values,
    nfc,
    suggestions,
    unknown_countries,
)
from serve.request.scalars import NumberError
from shards.codec.folding import fold

SentTexts = Sequence[str]  # the values of one parameter, as sent and trimmed
# A function that reads the value of a parameter from its texts (one at least); it returns None if all are empty.
Reader = Callable[[SentTexts, Parameter, PlaceNames], Any]

_CLASS_DIGITS: Final = 4  # of a NACE class
# The character for bytes that are not UTF-8 (serve/http/router.py); no register uses it, so it is refused.
_REPLACEMENT_CHARACTER: Final = "\ufffd"
_MOST_ALIKE: Final = 3  # the most suggestions for an unknown activity


@dataclass(frozen=True, slots=True)
class RequestedCompany:
    """An item of `ids`: its text, and its country and identifier."""

    text: str
    iso2: str
    identifier: str


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of an exported file.

    Attributes:
        format: an item of `files.FORMATS`.
        colonnes: the columns of the companies, in order; empty for all.
        comptes: whether a second table has the statement lines; a workbook always has them.
    """

    format: str = files.WORKBOOK
    colonnes: tuple[str, ...] = ()
    comptes: bool = False

    @property
    def is_table(self) -> bool:
        """Whether the file is a table or a `.zip` of two tables, not a workbook."""
        return self.format != files.WORKBOOK

    @property
    def media_type(self) -> str:
        """The Content-Type of the file: that of a `.zip` if it has two tables."""
        return files.ZIP if self.has_two_tables else files.MEDIA_TYPES[self.format]

    @property
    def extension(self) -> str:
        """The end of the file name, with its dot."""
        return f".{self.format}.zip" if self.has_two_tables else f".{self.format}"

    @property
    def has_two_tables(self) -> bool:
        """Whether the file is a `.zip` of two tables: the companies and the statement lines."""
        return self.is_table and self.comptes


WORKBOOK: Final = FileOptions()  # the options of a file for which none were sent


def value(texts: SentTexts, parameter: Parameter, names: PlaceNames) -> Any:
    """The value of a parameter; None if all its texts are blank. Raises ApiError 400."""
    return READERS[parameter.kind]([text.strip() for text in texts], parameter, names)


def companies(given: Sequence[str], names: PlaceNames) -> tuple[RequestedCompany, ...]:
    """Read companies in the form of a query string or a body: country code, `:` and identifier.

    Raises:
        ApiError: 400 `parametre_invalide` for an item of another form; 400 `pays_inconnu`.
    """
    # Of each item: its text, its country and its identifier.
    parts = [(item, *item.partition(":")[::2]) for item in dict.fromkeys(map(str.strip, given))]
    for item, country, identifier in parts:
        if not country.strip() or not identifier.strip() or len(identifier) > LONGEST_ID:
            shown, example = repr(item[:100]), str(IDS.example).partition(",")[0]
            raise errors.invalid_parameter(
                IDS.name, "forme_identifiant", shown=shown, example=example
            )
    codes = {word: names.country(word) for _, word, _ in parts}
    if unknown := [word for word, code in codes.items() if code is None]:
        raise unknown_countries(unknown, names)
    return tuple(
        RequestedCompany(item, code, nfc(identifier.strip()))
        for item, word, identifier in parts
        if (code := codes[word]) is not None
    )


def check_identifier(
    identifier: str,
    longest: int = LONGEST_ID,
    path: str = "/api/v1/societes/{pays}/{identifiant}",
) -> str:
    """Check an identifier (E1) and return it in NFC: 1 to `longest` characters, without control characters.

    Blanks are allowed: the look-up of `552 059 024` uses the digits alone (E2). `path` is the example in an error.

    Raises:
        ApiError: 400 `identifiant_invalide`.
    """
    if not identifier.strip():
        raise ApiError("identifiant_invalide", "identifiant_vide", path=path)
    if (length := len(identifier)) > longest:
        raise ApiError(
            "identifiant_invalide",
            "identifiant_trop_long",
            shown=repr(identifier[:longest]),
            length=length,
            most=longest,
        )
    if any(unicodedata.category(char) == "Cc" for char in identifier):
        raise ApiError("identifiant_invalide", "caractere_de_controle", shown=repr(identifier))
    if _REPLACEMENT_CHARACTER in identifier:
        raise ApiError("identifiant_invalide", "pas_de_l_utf8", shown=repr(identifier))
    # An identifier typed on a Mac may be decomposed (NFD).
    return unicodedata.normalize("NFC", identifier)


def missing_value(parameter: Parameter) -> ApiError:
    """The error for an absent parameter that is required; its message describes a valid value."""
    needed, allowed = parameter.value_to_send, parameter.enum
    if not needed.en:
        needed = errors.text("valeur_comme", example=parameter.example)
    choices = ", ".join(allowed)
    wanted = errors.text("une_de", needed=needed, known=choices) if choices else needed
    extra = {"valeurs": allowed} if allowed else {}
    return errors.invalid_parameter(parameter.name, "a_envoyer", wanted=wanted, **extra)


def single_text(texts: SentTexts, parameter: Parameter) -> str:
    """The text of a value that is not a list; repeated texts must be equal (B5)."""
    if len(texts) == 1:
        return texts[0]
    different = list(dict.fromkeys(texts))
    if len(different) > 1:
        shown = ", ".join(repr(text[:100]) for text in different[:5])
        raise errors.invalid_parameter(parameter.name, "plusieurs_valeurs", shown=shown)
    return different[0]


def _text(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> str | None:
    """A text in NFC, of at most `longest` characters."""
    text = unicodedata.normalize("NFC", single_text(texts, parameter))
    if parameter.longest is not None and len(text) > parameter.longest:
        raise errors.invalid_parameter(
            parameter.name, "trop_long", count=len(text), longest=parameter.longest
        )
    return text or None


def _code(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> str | None:
    """A text that matches the pattern of the parameter."""
    text = single_text(texts, parameter)
    if text and not re.fullmatch(parameter.pattern, text):
        raise errors.invalid_parameter(
            parameter.name, "autre_forme", shown=repr(text[:100]), example=parameter.example
        )
    return text or None


def _choice(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> str | None:
    """The one value, which must be in the parameter's enum; None if the text is empty."""
    text = single_text(texts, parameter)
    return _check_enum([text], parameter)[0] if text else None


def _flag(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> bool | None:
    """True for the only value of a flag; an empty value counts as absent (B23)."""
    text, only_value = single_text(texts, parameter), parameter.enum[0]
    if text and text != only_value:
        raise errors.invalid_parameter(
            parameter.name, "seule_valeur", shown=repr(text[:100]), only=only_value
        )
    return bool(text) or None


def _reader_of(parse: Callable[[str], Any]) -> Reader:
    """The reader of a parameter with one number or date, which `parse` reads; `parse` raises NumberError."""

    def read_one(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> Any:
        """Parse the one text of a parameter; None if it is empty. Raises ApiError 400."""
        text = single_text(texts, parameter)
        try:
            return parse(text) if text else None
        except NumberError as error:
            raise errors.invalid_parameter(parameter.name, error.texts) from error

    return read_one


def _integer(texts: SentTexts, parameter: Parameter, names: PlaceNames) -> int | None:
    """A whole number; below the minimum is an error, above the maximum becomes the maximum (B18)."""
    number: int | None = _READ_INTEGER(texts, parameter, names)
    if number is None:
        return None
    least, most = parameter.minimum, parameter.maximum
    if least is not None and number < least:
        text = texts[0][:100]
        raise errors.invalid_parameter(parameter.name, "trop_petit", text=text, least=least)
    return number if most is None else min(number, most)


_READ_INTEGER: Final = _reader_of(scalars.parse_integer)
# In lists with the separator `|`: a character to escape, an escaped character, an item.
_SPECIAL: Final = re.compile(r"[|\\]")
_ESCAPED: Final = re.compile(r"\\([|\\])")
_ITEM: Final = re.compile(r"(?:\\[|\\]|[^|])+")


def escape_item(text: str) -> str:
    """Escape a value as an item of a list with the separator `|`.

    >>> escape_item("A|B"), split_items("A\\\\|B|C", "|")
    ('A\\\\|B', ['A|B', 'C'])
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def split_items(text: str, separator: str) -> list[str]:
    """The items of a list; in an item, `\\|` is a bar and `\\\\` is a backslash (X3)."""
    if separator != "|" or "\\" not in text:
        return text.split(separator)
    return [_ESCAPED.sub(r"\1", item) for item in _ITEM.findall(text)]


def items(texts: SentTexts, parameter: Parameter) -> list[str]:
    """The items of a list parameter, which may be repeated (B5), without blanks and duplicates (B1).

    Raises:
        ApiError: 400 `parametre_invalide`: the list is too long.
    """
    if not texts:
        return []
    parts = (part.strip() for text in texts for part in split_items(text, parameter.separator))
    distinct_items = list(dict.fromkeys(part for part in parts if part))
    if parameter.most is not None and len(distinct_items) > parameter.most:
        raise errors.invalid_parameter(
            parameter.name, "trop_de_valeurs", count=len(distinct_items), most=parameter.most
        )
    return distinct_items


def _check_enum(values: Sequence[str], parameter: Parameter) -> Sequence[str]:
    """Check that `values` are in the parameter's enum, and return them."""
    if unknown := [text for text in values if text not in parameter.enum]:
        shown, known = repr(unknown[0][:100]), ", ".join(parameter.enum)
        raise errors.invalid_parameter(
            parameter.name, "valeur_inconnue", shown=shown, known=known, valeurs=parameter.enum
        )
    return values


def _choices(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...] | None:
    """The values of a list, which must be in the parameter's enum, in the order of the enum; None for an empty list."""
    chosen = _check_enum(items(texts, parameter), parameter)
    return tuple(value for value in parameter.enum if value in chosen) or None


def _texts(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    """The items of a list, sorted."""
    return tuple(sorted(items(texts, parameter)))


def _postcodes(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    """Postal codes in capitals, without blanks."""
    return tuple(
        sorted({"".join(postcode.upper().split()) for postcode in items(texts, parameter)})
    )


def _companies(
    texts: SentTexts, parameter: Parameter, names: PlaceNames
) -> tuple[RequestedCompany, ...] | None:
    """The companies of `ids`; a list of separators alone is refused, since it must not mean all companies (X2)."""
    requested = companies(items(texts, parameter), names)
    if not requested and any(texts):
        shown = repr(",".join(texts)[:100])
        raise errors.invalid_parameter(parameter.name, "sans_societe", shown=shown)
    return requested or None


def _columns(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    """The names of the columns of a file, in the order of the request. Raises ApiError 400 for an unknown name."""
    names, columns = items(texts, parameter), files.company_columns()
    if unknown := [name for name in names if name not in columns]:
        shown = ", ".join(repr(name[:100]) for name in unknown[:5])
        why = errors.text("pas_une_colonne", shown=shown, shown_2=", ".join(columns))
        similar = suggestions(unknown, _columns_by_spelling())
        raise errors.invalid_parameter(
            COLONNES.name, why, valeurs=tuple(columns), suggestions=similar
        )
    return tuple(names)


def _forms(texts: SentTexts, parameter: Parameter, names: PlaceNames) -> tuple[str, ...]:
    """Legal forms that the generation has, sorted, each once. Raises ApiError 400 `forme_inconnue`."""
    formes = [nfc(forme) for forme in items(texts, parameter)]
    if unknown := [forme for forme in formes if forme not in names.formes]:
        raise ApiError(
            "forme_inconnue",
            formes_inconnues=unknown,
            suggestions=suggestions(unknown, names.formes_alike),
        )
    return tuple(sorted(set(formes)))


def _activities(texts: SentTexts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    """The NACE codes with their dots. Raises ApiError 400 `nace_inconnu`."""
    labels = seed_tables.nace_labels()
    codes = {word: _add_dot(word) for word in items(texts, parameter)}
    if unknown := [word for word, code in codes.items() if code not in labels]:
        divisions = {word[:2] for word in unknown}
        # Only codes in the NACE divisions of the unknown codes are suggested.
        similar = {fold(code): code for code in sorted(labels) if code[:2] in divisions}
        raise ApiError(
            "nace_inconnu", nace_inconnus=unknown, suggestions=suggestions(unknown, similar)
        )
    return tuple(sorted(set(codes.values())))


def _activity_words(
    texts: SentTexts, parameter: Parameter, names: PlaceNames
) -> tuple[str, ...] | None:
    """The NACE classes that the words of an activity name; None if the parameter is absent.

    Raises:
        ApiError: 400 `activite_inconnue`, with suggestions.
    """
    text = _text(texts, parameter, names)
    if text is None:
        return None
    if not (classes := activities.classes(text)):
        raise ApiError(
            "activite_inconnue",
            activites_inconnues=[text],
            suggestions={text: _suggest_activities(text)},
        )
    return classes


def _suggest_activities(text: str) -> list[str]:
    """Suggest activities: the text with unknown words replaced by near ones, then each known word alone."""
    words = activities.content(text)
    known_words = [word for word in words if activities.classes(word)]
    # For each word the words that may replace it; "" leaves out a word without near ones.
    similar = [
        [word] if word in known_words else nearest_values(word, _words_from(word[:1])) or [""]
        for word in words
    ]
    replaced_texts = (
        " ".join(filter(None, chosen)) for chosen in islice(product(*similar), _MOST_ALIKE)
    )
    texts = [
        words_of_text
        for words_of_text in (*replaced_texts, *known_words)
        if activities.classes(words_of_text)
    ]
    return list(dict.fromkeys(texts))[:_MOST_ALIKE]


def _words_from(letter: str) -> dict[str, str]:
    """The words of the index that begin with a letter, for `nearest_values`: the first letter is seldom wrong."""
    return {word: word for word in activities.activity_index().words_beginning(letter)}


def _add_dot(word: str) -> str:
    """Add the dot to a group or class; any other text is returned unchanged.

    >>> _add_dot("56"), _add_dot("561"), _add_dot("56.10"), _add_dot("5.610")
    ('56', '56.1', '56.10', '5.610')
    """
    digits = word[:2] + word[2:].removeprefix(".")
    if not (digits.isascii() and digits.isdigit() and 2 < len(digits) <= _CLASS_DIGITS):
        return word
    return f"{digits[:2]}.{digits[2:]}"


# The reader of each kind of parameter (`Parameter.kind`), except places and objects, which have readers elsewhere.
READERS: Final[Mapping[str, Reader]] = {
    "text": _text,
    "code": _code,
    "choice": _choice,
    "flag": _flag,
    "integer": _integer,
    "number": _reader_of(scalars.parse_decimal),
    "first day": _reader_of(scalars.first_day),
    "last day": _reader_of(scalars.last_day),
    "choices": _choices,
    "texts": _texts,
    "postcodes": _postcodes,
    "companies": _companies,
    "columns": _columns,
    "forms": _forms,
    "activities": _activities,
    "activity words": _activity_words,
}


def chosen_options(
    file_format: str | None,
    colonnes: tuple[str, ...] | None,
    comptes: bool | None,
    accepted: str | None,
) -> FileOptions:
    """The options of a file; the header Accept selects the format if there is no `format`.

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    return FileOptions(file_format or _preferred_format(accepted), colonnes or (), bool(comptes))


def _preferred_format(header: str | None) -> str:
    """The preferred format of the header Accept; of equal preferences, the first.

    A quality of 0 excludes a type from a range (RFC 9110 §12.5.1).

    >>> [_preferred_format(accept) for accept in ("text/html, text/csv;q=0.9", "text/html, */*;q=0.8", None)]
    ['csv', 'xlsx', 'xlsx']

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    if not (header or "").strip():
        return files.WORKBOOK
    qualities = accept.qualities(header)
    refused = {files.ACCEPTED.get(word) for word, quality in qualities if quality == 0}
    for word in accept.best_first(header):
        for media_type, name in files.ACCEPTED.items():
            matches = word in (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
            if matches and name not in refused:
                return name
    raise ApiError(
        "format_non_acceptable", accepted=(header or "")[:100], valeurs=tuple(files.ACCEPTED)
    )


@cache
def _columns_by_spelling() -> Mapping[str, str]:
    """The columns by their folded names and headings."""
    return {
        fold(word): field.champ
        for field in company_fields.fields()
        for word in (field.title["en"], field.title["fr"], field.champ)
    }
