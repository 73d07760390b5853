"""Values of parameters by kind: from their texts to what a Query holds. Errors name the value and what is admitted.

Lists drop blanks and duplicates (B1); a repeated parameter is a longer list, and a repeated value that is no list must
be the same each time (B5). The identifier in a path is no parameter; it is checked here, too (E1). The options of the
file of an export are its format, its columns, and whether it has statement lines (X7).
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

Texts = Sequence[str]
# The value of a parameter from its texts, of which there is at least one; None where all are empty.
Reader = Callable[[Texts, Parameter, PlaceNames], Any]

_CLASS_DIGITS: Final = 4
# The replacement of bytes that are not UTF-8 (serve/http/router.py); no register uses it.
_NO_TEXT: Final = "\ufffd"
_MOST_ALIKE: Final = 3  # activities that are suggested for one that is unknown


@dataclass(frozen=True, slots=True)
class AskedCompany:
    """An item of `ids`: as it was written, and the country and identifier that it means."""

    given: str
    iso2: str
    identifier: str


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of the file of an export.

    Attributes:
        format: one of `files.FORMATS`.
        colonnes: the columns of the companies, in their order; none means all.
        comptes: statement lines are wanted as a second table; a workbook has them anyway.
    """

    format: str = files.WORKBOOK
    colonnes: tuple[str, ...] = ()
    comptes: bool = False

    @property
    def is_table(self) -> bool:
        """Whether the file is a table, or a `.zip` of two, and no workbook."""
        return self.format != files.WORKBOOK

    @property
    def media_type(self) -> str:
        return files.ZIP if self.has_two_tables else files.MEDIA_TYPES[self.format]

    @property
    def extension(self) -> str:
        """The end of the file name, with its dot."""
        return f".{self.format}.zip" if self.has_two_tables else f".{self.format}"

    @property
    def has_two_tables(self) -> bool:
        return self.is_table and self.comptes


WORKBOOK: Final = FileOptions()


def value(texts: Texts, parameter: Parameter, names: PlaceNames) -> Any:
    """The value of one parameter, None where all its texts are blank. Raises ApiError 400."""
    return READERS[parameter.kind]([text.strip() for text in texts], parameter, names)


def companies(given: Sequence[str], names: PlaceNames) -> tuple[AskedCompany, ...]:
    """Companies as they are written in a query string or a body: country code, `:` and identifier.

    Raises:
        ApiError: 400 `parametre_invalide` for an item of another form, `pays_inconnu`.
    """
    parts = [(one, *one.partition(":")[::2]) for one in dict.fromkeys(map(str.strip, given))]
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
        AskedCompany(one, code, nfc(identifier.strip()))
        for one, word, identifier in parts
        if (code := codes[word]) is not None
    )


def check_identifier(
    identifier: str,
    longest: int = LONGEST_ID,
    path: str = "/api/v1/societes/{pays}/{identifiant}",
) -> str:
    """An identifier of 1 to `longest` characters without control characters (E1), in NFC; `path` shows its place.

    Blanks of any width are well-formed: `552 059 024` is found by its digits (E2).

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
    if _NO_TEXT in identifier:
        raise ApiError("identifiant_invalide", "pas_de_l_utf8", shown=repr(identifier))
    # An identifier typed on a Mac may arrive decomposed; it is the same one.
    return unicodedata.normalize("NFC", identifier)


def missing_value(parameter: Parameter) -> ApiError:
    """The error for a parameter without which a route or a tool has no answer; it says what to send."""
    needed, allowed = parameter.what_to_send, parameter.enum
    if not needed.en:
        needed = errors.text("valeur_comme", example=parameter.example)
    known = ", ".join(allowed)
    wanted = errors.text("une_de", needed=needed, known=known) if known else needed
    beside = {"valeurs": allowed} if allowed else {}
    return errors.invalid_parameter(parameter.name, "a_envoyer", wanted=wanted, **beside)


def _single_text(texts: Texts, parameter: Parameter) -> str:
    """The text of a value that is no list; if repeated, all texts must be equal (B5)."""
    if len(texts) == 1:
        return texts[0]
    different = list(dict.fromkeys(texts))
    if len(different) > 1:
        shown = ", ".join(repr(text[:100]) for text in different[:5])
        raise errors.invalid_parameter(parameter.name, "plusieurs_valeurs", shown=shown)
    return different[0]


def _text(texts: Texts, parameter: Parameter, _names: PlaceNames) -> str | None:
    text = unicodedata.normalize("NFC", _single_text(texts, parameter))
    if parameter.longest is not None and len(text) > parameter.longest:
        raise errors.invalid_parameter(
            parameter.name, "trop_long", count=len(text), longest=parameter.longest
        )
    return text or None


def _code(texts: Texts, parameter: Parameter, _names: PlaceNames) -> str | None:
    """A text that matches the pattern of the parameter."""
    text = _single_text(texts, parameter)
    if text and not re.fullmatch(parameter.pattern, text):
        raise errors.invalid_parameter(
            parameter.name, "autre_forme", shown=repr(text[:100]), example=parameter.example
        )
    return text or None


def _choice(texts: Texts, parameter: Parameter, _names: PlaceNames) -> str | None:
    text = _single_text(texts, parameter)
    return _check_enum([text], parameter)[0] if text else None


def _flag(texts: Texts, parameter: Parameter, _names: PlaceNames) -> bool | None:
    """True if it has its only value; an empty value counts as absent (B23)."""
    text, only = _single_text(texts, parameter), parameter.enum[0]
    if text and text != only:
        raise errors.invalid_parameter(
            parameter.name, "seule_valeur", shown=repr(text[:100]), only=only
        )
    return bool(text) or None


def _reader_of(parse: Callable[[str], Any]) -> Reader:
    """The reader of a number or a date."""

    def read_one(texts: Texts, parameter: Parameter, _names: PlaceNames) -> Any:
        text = _single_text(texts, parameter)
        try:
            return parse(text) if text else None
        except NumberError as error:
            raise errors.invalid_parameter(parameter.name, error.texts) from error

    return read_one


def _integer(texts: Texts, parameter: Parameter, names: PlaceNames) -> int | None:
    """A whole number not below the minimum, and at most the maximum (B18)."""
    number: int | None = _WHOLE(texts, parameter, names)
    if number is None:
        return None
    least, most = parameter.minimum, parameter.maximum
    if least is not None and number < least:
        text = texts[0][:100]
        raise errors.invalid_parameter(parameter.name, "trop_petit", text=text, least=least)
    return number if most is None else min(number, most)


_WHOLE: Final = _reader_of(scalars.parse_integer)
_SPECIAL: Final = re.compile(r"[|\\]")
_ESCAPED: Final = re.compile(r"\\([|\\])")
_ITEM: Final = re.compile(r"(?:\\[|\\]|[^|])+")


def escape_item(text: str) -> str:
    """A value as an item of a list that is separated by `|`.

    >>> escape_item("A|B"), split_items("A\\\\|B|C", "|")
    ('A\\\\|B', ['A|B', 'C'])
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def split_items(text: str, separator: str) -> list[str]:
    """The items of a list; within one, `\\|` is a bar and `\\\\` is a backslash (X3)."""
    if separator != "|" or "\\" not in text:
        return text.split(separator)
    return [_ESCAPED.sub(r"\1", item) for item in _ITEM.findall(text)]


def items(texts: Texts, parameter: Parameter) -> list[str]:
    """The items of a list, which may be repeated (B5), without blanks or duplicates (B1).

    Raises:
        ApiError: 400 `parametre_invalide`: there are more than the parameter allows.
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
    """`values`, which must be values of the parameter's enum."""
    if unknown := [text for text in values if text not in parameter.enum]:
        shown, known = repr(unknown[0][:100]), ", ".join(parameter.enum)
        raise errors.invalid_parameter(
            parameter.name, "valeur_inconnue", shown=shown, known=known, valeurs=parameter.enum
        )
    return values


def _choices(texts: Texts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...] | None:
    """Some values of the enum, in its order."""
    found = _check_enum(items(texts, parameter), parameter)
    return tuple(value for value in parameter.enum if value in found) or None


def _texts(texts: Texts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    return tuple(sorted(items(texts, parameter)))


def _postcodes(texts: Texts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    return tuple(sorted({"".join(one.upper().split()) for one in items(texts, parameter)}))


def _companies(
    texts: Texts, parameter: Parameter, names: PlaceNames
) -> tuple[AskedCompany, ...] | None:
    """Companies; a list that has separators only is refused, since it does not mean all (X2)."""
    found = companies(items(texts, parameter), names)
    if not found and any(texts):
        shown = repr(",".join(texts)[:100])
        raise errors.invalid_parameter(parameter.name, "sans_societe", shown=shown)
    return found or None


def _columns(texts: Texts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    names, known = items(texts, parameter), files.company_columns()
    if unknown := [name for name in names if name not in known]:
        shown = ", ".join(repr(name[:100]) for name in unknown[:5])
        why = errors.text("pas_une_colonne", shown=shown, shown_2=", ".join(known))
        alike = suggestions(unknown, _columns_by_spelling())
        raise errors.invalid_parameter(COLONNES.name, why, valeurs=tuple(known), suggestions=alike)
    return tuple(names)


def _forms(texts: Texts, parameter: Parameter, names: PlaceNames) -> tuple[str, ...]:
    """Legal forms. Raises ApiError 400 `forme_inconnue`."""
    found = [nfc(one) for one in items(texts, parameter)]
    if unknown := [one for one in found if one not in names.formes]:
        raise ApiError(
            "forme_inconnue",
            formes_inconnues=unknown,
            suggestions=suggestions(unknown, names.formes_alike),
        )
    return tuple(sorted(set(found)))


def _activities(texts: Texts, parameter: Parameter, _names: PlaceNames) -> tuple[str, ...]:
    """The NACE codes with their dots. Raises ApiError 400 `nace_inconnu`."""
    known = seed_tables.nace_labels()
    codes = {word: _with_dot(word) for word in items(texts, parameter)}
    if unknown := [word for word, code in codes.items() if code not in known]:
        divisions = {word[:2] for word in unknown}
        # What a code may have been meant to be: those of its division.
        alike = {fold(code): code for code in sorted(known) if code[:2] in divisions}
        raise ApiError(
            "nace_inconnu", nace_inconnus=unknown, suggestions=suggestions(unknown, alike)
        )
    return tuple(sorted(set(codes.values())))


def _activity_words(
    texts: Texts, parameter: Parameter, names: PlaceNames
) -> tuple[str, ...] | None:
    """The classes of NACE that words name. Raises ApiError 400 `activite_inconnue`."""
    text = _text(texts, parameter, names)
    if text is None:
        return None
    if not (found := activities.classes(text)):
        raise ApiError(
            "activite_inconnue",
            activites_inconnues=[text],
            suggestions={text: _known_activities(text)},
        )
    return found


def _known_activities(text: str) -> list[str]:
    """Words that may have been meant: the nearest of the index for unknown ones, then each known word alone."""
    words = activities.content(text)
    known = [word for word in words if activities.classes(word)]
    alike = [
        [word] if word in known else nearest_values(word, _words_from(word[:1])) or [""]
        for word in words
    ]
    whole = (" ".join(filter(None, chosen)) for chosen in islice(product(*alike), _MOST_ALIKE))
    found = [one for one in (*whole, *known) if activities.classes(one)]
    return list(dict.fromkeys(found))[:_MOST_ALIKE]


def _words_from(letter: str) -> dict[str, str]:
    """The words of the index that begin with a letter: a typing error is seldom in the first one."""
    return {word: word for word in activities.activity_index().words_beginning(letter)}


def _with_dot(word: str) -> str:
    """A division, group or class with its dot; any other text as it is.

    >>> _with_dot("56"), _with_dot("561"), _with_dot("56.10"), _with_dot("5.610")
    ('56', '56.1', '56.10', '5.610')
    """
    digits = word[:2] + word[2:].removeprefix(".")
    if not (digits.isascii() and digits.isdigit() and 2 < len(digits) <= _CLASS_DIGITS):
        return word
    return f"{digits[:2]}.{digits[2:]}"


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
    wanted: str | None, colonnes: tuple[str, ...] | None, comptes: bool | None, accepted: str | None
) -> FileOptions:
    """The options that were asked for; the header Accept decides where there is no `format`.

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    return FileOptions(wanted or _preferred_format(accepted), colonnes or (), bool(comptes))


def _preferred_format(header: str | None) -> str:
    """The format that the header Accept likes best; of several that it likes alike, the first one that it means.

    A quality of 0 takes a type out of a range (RFC 9110 §12.5.1).

    >>> [_preferred_format(accept) for accept in ("text/html, text/csv;q=0.9", "text/html, */*;q=0.8", None)]
    ['csv', 'xlsx', 'xlsx']

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    if not (header or "").strip():
        return files.WORKBOOK
    items = accept.qualities(header)
    refused = {files.ACCEPTED.get(word) for word, quality in items if quality == 0}
    for word in accept.best_first(header):
        for media_type, name in files.ACCEPTED.items():
            meant = word in (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
            if meant and name not in refused:
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
