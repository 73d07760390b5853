"""A list as people keep it: text with a separator, a heading over each column, in any of the languages of Europe.

The separator is that under which the rows have one width and the first row the most known headings
(`seeds/entetes.csv`). What was understood is said, for the visitor to correct. Pure.

The first row is a line, not headings, where one of its cells cannot be a heading: a number of five digits, an e-mail
address or a website, a name with a legal form over others with one, digits written as those below (S1 2AB over
S10 5QR), or a value that comes again. A cell without digits over digits alone is a heading, whatever the others are.

The rows are lines to match, as `POST /api/v1/rapprochement` takes them, each under its number. A date that may mean two
days means what the other dates of its column mean. A row that cannot be a line has an error in its place.
"""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from serve.contract import errors, seed_tables
from serve.contract.errors import ApiError
from serve.contract.parameters import MOST_LINES
from serve.features.matching import encodings, line_list
from serve.features.matching.line_list import LineList, ListedLine
from serve.request.place_names import PlaceNames
from serve.request.scalars import without_time
from shards.codec.folding import fold

LARGEST: Final = 4 << 20  # bytes
MOST_ROWS: Final = 10_000
MOST_COLUMNS: Final = 200
SEPARATORS: Final = (";", ",", "\t", "|")
# Separates nothing: for a list of one column.
_NONE: Final = "\x1f"
_JUDGED: Final = 200  # rows that decide on the separator and on headings
_EVEN: Final = 0.9  # share of rows as wide as the first one
# Words of a heading that say that the column has numbers: `N° SIREN`, `KRS nr`, `HRB-Nr.`; and words between.
_NUMBER: Final = frozenset({"n", "no", "nr", "num", "numero", "number", "nummer", "numer"})
_BETWEEN: Final = frozenset({"d", "de", "du", "des", "of"})
_LONG_NUMBER: Final = 5  # digits
_SHORT_NUMBER: Final = 2  # digits
_SHORTEST: Final = 2  # letters of a value that comes again
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")  # a heading may have some: CA 2022-2023
_ADDRESS: Final = re.compile(r"(?:[a-z]+://|www\.|[^\s@]+@)\S+", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_DIGITS: Final = re.compile(r"\d+")

# 03/04/2010: two days, unless the column tells which one.
_TWO_NUMBERS: Final = re.compile(r"(\d\d?)[/ -](\d\d?)[/ -](\d{4})")
_LAST_MONTH: Final = 12
# A text that a spreadsheet was told to leave as it is: ="00944111", '00944111
_KEPT: Final = re.compile(r"""^=?"(.*)"$|^'(.*)$""")


class ListFile(NamedTuple):
    """The table of a list.

    Attributes:
        encoding: a name of `encodings.CHOICES`, or the sheet of a workbook.
        separator: "" for a list of one column.
        headings: as they are written; `nom`, or `colonne 1` and so on, where the list has none.
        is_headed: the list has headings.
        rows: the cells of each row that has any.
        columns: the place of the column of each field that was recognised.
        blank: rows without any text, which are left out.
    """

    encoding: str
    separator: str
    headings: tuple[str, ...]
    is_headed: bool
    rows: Sequence[Sequence[str]]
    columns: Mapping[str, int]
    blank: int

    @property
    def own_headings(self) -> tuple[str, ...]:
        """The headings that the list has itself."""
        return self.headings if self.is_headed else ()

    def free(self) -> None:
        """Free the cells, which may be two million: 20 ms of the thread that drops the last name of them."""
        assert isinstance(self.rows, list)
        self.rows.clear()

    @property
    def unused_headings(self) -> tuple[str, ...]:
        """The headings of the columns that no field was recognised in."""
        used = set(self.columns.values())
        return tuple(text for place, text in enumerate(self.headings) if place not in used)


def read(
    raw: bytes,
    encoding: str = "",
    separator: str = "",
    columns: Mapping[int, str] | None = None,
    is_headed: bool | None = None,
) -> ListFile:
    """The table of a file; what is not given is found out.

    Args:
        columns: what columns mean whatever their headings say: a field by its place, "" for none.

    Raises:
        ApiError: 400: it is no list; 413: it is too long.

    >>> found = read("Firma;PLZ\\nMüller GmbH;10115".encode("cp1252"))
    >>> found.encoding, found.separator, found.columns
    ('Windows-1252', ';', {'nom': 0, 'code_postal': 1})
    """
    text, name = encodings.decode_file(raw, encoding)
    first, _, rest = text.partition("\n")
    if len(first.strip()) == 5 and first.lower().startswith("sep="):  # Excel writes it
        separator, text = separator or first[4], rest
    if separator and separator not in SEPARATORS:
        admitted = ", ".join(map(repr, SEPARATORS))
        raise errors.invalid_parameter(
            "separateur", "pas_un_separateur", shown=repr(separator[:50]), known=admitted
        )
    separator = separator or _separator(text)
    all_rows = _rows(text, separator or _NONE)
    rows = [row for row in all_rows if any(cell.strip() for cell in row)]
    blank = len(all_rows) - len(rows)
    if not rows:
        raise ApiError("corps_invalide", "liste_vide")
    headings = tuple(cell.strip() for cell in rows[0])
    width = len(headings)
    known = {} if is_headed is False else _columns(headings)
    if is_headed is None:
        is_headed = bool(known) or not (width == 1 or _is_line(rows))
    if is_headed:
        rows = rows[1:]
    elif width == 1:
        headings, known = ("nom",), {"nom": 0}
    else:
        headings = tuple(f"colonne {place}" for place in range(1, width + 1))
    if len(rows) > MOST_ROWS:
        raise ApiError("trop_de_lignes", count=len(rows), most=MOST_ROWS)
    chosen_columns = _chosen_columns(columns or {}, known, width)
    return ListFile(name, separator, headings, is_headed, rows, chosen_columns, blank)


def check_columns(table: ListFile) -> None:
    """Raise ApiError 400 if the list has no column of names or identifiers."""
    if not any(field in table.columns for field in line_list.TO_GO_BY):
        if not table.is_headed:
            raise ApiError("corps_invalide", "sans_titres")
        raise _nothing_to_go_by(table.headings)


def lines(table: ListFile, names: PlaceNames, limit: int, country: str = "") -> LineList:
    """The lines of a table of at most 1 000 rows, whose keys are the numbers of the rows.

    Args:
        limit: candidates for each line.
        country: the code of the country of rows that name none; "" for any.

    Raises:
        ApiError: 413: there are more rows.
    """
    if len(table.rows) > MOST_LINES:
        raise ApiError("trop_de_lignes", count=len(table.rows), most=MOST_LINES)
    month_first = _is_month_first(table)
    given = [
        _line(table, row, number, country, month_first=month_first)
        for number, row in enumerate(table.rows, 1)
    ]
    asked = line_list.of_document({"lignes": given, "limite": limit}, names)
    return asked._replace(
        lines=tuple(
            _check_width(one, len(row), len(table.headings))
            for one, row in zip(asked.lines, table.rows, strict=True)
        )
    )


def write(headings: Sequence[str], rows: Sequence[Sequence[str]], separator: str = ";") -> str:
    """A table as CSV (RFC 4180)."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    if headings:
        writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()


def _rows(text: str, separator: str) -> list[list[str]]:
    """All rows, blank ones too."""
    rows = []
    try:
        for number, row in enumerate(_reader(text, separator), 1):
            if len(row) > MOST_COLUMNS:
                raise ApiError(
                    "corps_invalide",
                    "trop_de_colonnes",
                    number=number,
                    count=len(row),
                    most=MOST_COLUMNS,
                )
            if number > 2 * MOST_ROWS:  # so many blank rows are no list either
                raise ApiError("trop_de_lignes", count=number, most=MOST_ROWS)
            rows.append(row)
    except csv.Error as error:
        raise ApiError("corps_invalide", "csv_illisible", error=error) from error
    return rows


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _separator(text: str) -> str:
    """The separator of a text; "" for one column."""
    best: tuple[int, float, int, str] = (0, 0.0, 1, "")
    for separator in SEPARATORS:
        try:
            head = [row for row in itertools.islice(_reader(text, separator), _JUDGED) if row]
        except csv.Error:
            continue  # a quotation mark that is none with this separator
        width = len(head[0]) if head else 1
        if width < 2:
            continue
        even = Counter(map(len, head))[width] / len(head)
        known = len(_columns(head[0]))
        if known > 1 or even >= _EVEN:
            best = max(best, (known, even, width, separator))
    return best[3]


def _columns(headings: Sequence[str]) -> dict[str, int]:
    """The column of each field: of several with one meaning, the first."""
    found: dict[str, int] = {}
    for place, text in enumerate(headings):
        field = _field(text)
        if field is not None:
            found.setdefault(field, place)
    return found


def _chosen_columns(
    columns: Mapping[int, str], known: Mapping[str, int], width: int
) -> dict[str, int]:
    """The column of each field: those that were chosen, then those of other columns that are known.

    >>> _chosen_columns({0: "", 1: "nom", 9: "id"}, {"nom": 0, "ville": 2}, 3)
    {'nom': 1, 'ville': 2}
    """
    pairs = [(place, field) for place, field in columns.items() if field and place < width]
    found = {field: place for place, field in reversed(sorted(pairs))}
    others = {field: place for field, place in known.items() if place not in columns}
    return dict(sorted((others | found).items(), key=lambda one: one[1]))


def _field(heading: str) -> str | None:
    """The field that a heading means; a column of numbers is none of names, so `N° client` means nothing.

    >>> [_field(text) for text in ("Client", "N° client", "KRS nr", "N° de SIREN", "n° entreprise", "N°")]
    ['nom', None, 'id', 'id', 'id', None]
    """
    known, (numbered, words) = _known_headings(), _words(heading)
    if (numbered, words) in known:
        return known[numbered, words]
    plain = known.get((False, words))
    return None if plain == "nom" and numbered else plain


def _words(heading: str) -> tuple[bool, str]:
    """Whether a heading speaks of numbers, and its words without those that say so."""
    words = fold(heading).split()
    left = [word for word in words if word not in _NUMBER]
    if len(left) == len(words):
        return False, " ".join(words)
    return True, " ".join(word for word in left if word not in _BETWEEN)


@cache
def _known_headings() -> Mapping[tuple[bool, str], str]:
    """The field of each heading, by its words."""
    found: dict[tuple[bool, str], str] = {}
    for row in seed_tables.rows("entetes.csv"):
        found.setdefault(_words(row["entete"]), row["champ"])
    return found


def _nothing_to_go_by(headings: Sequence[str]) -> ApiError:
    shown = ", ".join(repr(text[:40]) for text in headings[:8])
    return ApiError("corps_invalide", "aucune_colonne", shown=shown)


def _is_line(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a line as those below.

    >>> _is_line([["Siemens AG", "80333"], ["Bosch GmbH", "70839"]])
    True
    >>> _is_line([["Firma X", "PLZ X"], ["Bosch", "70839"]])
    False
    """
    first, below = rows[0], [row for row in rows[1:_JUDGED] if row != rows[0]]
    columns = [
        (
            cell.strip(),
            [row[place].strip() for row in below if place < len(row) and row[place].strip()],
        )
        for place, cell in enumerate(first)
        if cell.strip()
    ]
    return not any(_is_title(*column) for column in columns) and any(
        _is_value(*column) for column in columns
    )


def _is_title(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell without digits is over cells that all have some, but for names of companies."""
    if not below or _DIGITS.search(cell) or not all(map(_DIGITS.search, below)):
        return False
    return not _is_name(cell, below)


def _is_value(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a value, by itself or by those below."""
    left = _YEAR.sub("", cell)
    digits, letters = (sum(map(len, kind.findall(left))) for kind in (_DIGITS, _LETTERS))
    if digits >= _LONG_NUMBER and digits > letters:
        return True
    if _ADDRESS.fullmatch(cell) or _comes_again(fold(cell), below):
        return True
    if digits >= _SHORT_NUMBER and _are_most(_shape(cell), below):
        return True
    return _is_name(cell, below)


def _comes_again(folded: str, below: Sequence[str]) -> bool:
    if len(folded) < _SHORTEST or folded.isdigit():
        return False
    return any(fold(one) == folded for one in below)


def _are_most(shape: str, below: Sequence[str]) -> bool:
    return bool(below) and 2 * sum(_shape(one) == shape for one in below) >= len(below)


def _shape(cell: str) -> str:
    """How letters, digits and marks follow each other; of digits alone, how many they are.

    >>> _shape("S10 5QR"), _shape("13/12/1968"), _shape("1050")
    ('a9 9a', '9/9/9', '9999')
    """
    if cell.isdigit():
        return "9" * len(cell)
    return _DIGITS.sub("9", _LETTERS.sub("a", cell))


def _is_name(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a name with a legal form, over others with one if there are any."""
    return _has_legal_form(cell) and (not below or any(map(_has_legal_form, below)))


def _has_legal_form(cell: str) -> bool:
    """Whether a legal form of some country is in a cell, with other words."""
    words = tuple(fold(cell).split())
    return bool(words) and any(
        form.classe for form in seed_tables.name_tables().bare_name(words, "").forms
    )


def _line(
    table: ListFile,
    row: Sequence[str],
    number: int,
    country: str,
    *,
    month_first: bool | None,
) -> dict[str, str]:
    cells = {
        field: _KEPT.sub(r"\1\2", row[place].strip())
        for field, place in table.columns.items()
        if place < len(row)
    }
    values = {"cle": str(number), **cells}
    if country and not values.get("pays"):
        values["pays"] = country
    given_date = without_time(values.get("date_creation", ""))
    if month_first is not None and (two := _TWO_NUMBERS.fullmatch(given_date)):
        day, month = (two[2], two[1]) if month_first else (two[1], two[2])
        values["date_creation"] = f"{two[3]}-{month:0>2}-{day:0>2}"
    return values


def _is_month_first(table: ListFile) -> bool | None:
    """Whether the dates of a list have the month first; None where they tell both, or nothing."""
    place = table.columns.get("date_creation")
    told = set()
    for row in table.rows:
        if place is not None and place < len(row):
            cell = _KEPT.sub(r"\1\2", row[place].strip())
            if two := _TWO_NUMBERS.fullmatch(without_time(cell)):
                told |= {False} if int(two[1]) > _LAST_MONTH else set()
                told |= {True} if int(two[2]) > _LAST_MONTH else set()
    return told.pop() if len(told) == 1 else None


def _check_width(line: ListedLine, cells: int, headings: int) -> ListedLine:
    """The line, or an error if its row has more cells than there are columns."""
    if cells <= headings:
        return line
    return ListedLine(
        line.cle,
        None,
        ApiError("ligne_invalide", "trop_de_cellules", cells=cells, headings=headings),
    )
