"""A list as people have it: text with a separator, with headings in any language of Europe or without.

The separator is the one that gives the first row the most known headings (`seeds/entetes.csv`), then the most rows of
the same width. The page shows how the list was read, so that the visitor can correct it. Pure.

A first row with a known heading is headings. Otherwise it is a line if one of its cells cannot be a heading: a number
of five digits, an e-mail address or a website, a name with a legal form over others with a legal form, digits written
like the cells below (S1 2AB over S10 5QR), or a value that the column repeats. But if a cell without digits is over
cells that all have digits, the row is headings.

The rows are lines to match, as `POST /api/v1/rapprochement` takes them; the key of a line is its row number. A date
that can mean two days is read as the other dates of its column. A row with too many cells has an error in its place.
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
from serve.request.scalars import strip_time
from shards.codec.folding import fold

# The limits of a list: bytes, rows that are not blank, columns.
LARGEST: Final = 4 << 20
MOST_ROWS: Final = 10_000
MOST_COLUMNS: Final = 200
# The separators between cells that can be detected.
SEPARATORS: Final = (";", ",", "\t", "|")
# Given to the CSV reader for a list of one column; no list contains it.
_NO_SEPARATOR: Final = "\x1f"
_MOST_LINES_OF_ROW: Final = 1_000  # lines of a row whose cells in quotes have several lines
_SAMPLE_ROWS: Final = 200  # first rows, from which the separator and the headings are detected
# The least share of rows with the width of the first row, if no headings are known.
_EVEN_SHARE: Final = 0.9
# Words for "number" in headings (`N° SIREN`, `KRS nr`, `HRB-Nr.`), and words that join them to the next word.
_NUMBER_WORDS: Final = frozenset({"n", "no", "nr", "num", "numero", "number", "nummer", "numer"})
_JOINING_WORDS: Final = frozenset({"d", "de", "du", "des", "of"})
_LONG_NUMBER: Final = 5  # digits from which a cell is a value, since no heading has so many
_SHORT_NUMBER: Final = 2  # digits from which a cell is compared with the shapes of the cells below
_SHORTEST_REPEATED: Final = 2  # characters from which a repeated cell is a value
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")  # a heading may have years: CA 2022-2023
# A website or an e-mail address.
_ADDRESS: Final = re.compile(r"(?:[a-z]+://|www\.|[^\s@]+@)\S+", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_DIGITS: Final = re.compile(r"\d+")

# 03/04/2010 can mean two days; other dates of the column can show whether the month or the day is first.
_NUMERIC_DATE: Final = re.compile(r"(\d\d?)[/ -](\d\d?)[/ -](\d{4})")
_LAST_MONTH: Final = 12
# Notations that keep a spreadsheet from changing a text: ="00944111", '00944111
_PROTECTED_CELL: Final = re.compile(r"""^=?"(.*)"$|^'(.*)$""")


class ListFile(NamedTuple):
    """The table of a list.

    Attributes:
        encoding: a name of `encodings.CHOICES`, or the sheet of a workbook.
        separator: "" for a list of one column.
        headings: as written; a list without headings has `nom`, or `colonne 1` and so on.
        is_headed: whether the list has headings.
        rows: the cells of each row that is not blank, without the headings.
        columns: the place of the column of each recognised field, from 0.
        blank: the number of blank rows, which are left out.
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
        """The headings as the list has them; empty if it has none."""
        return self.headings if self.is_headed else ()

    def free(self) -> None:
        """Free the cells. Two million cells take 20 ms, so the caller frees a large table outside the event loop."""
        assert isinstance(self.rows, list)
        self.rows.clear()

    @property
    def unused_headings(self) -> tuple[str, ...]:
        """The headings of the columns without a recognised field."""
        used = set(self.columns.values())
        return tuple(text for place, text in enumerate(self.headings) if place not in used)


def read(
    raw: bytes,
    encoding: str = "",
    separator: str = "",
    columns: Mapping[int, str] | None = None,
    is_headed: bool | None = None,
) -> ListFile:
    """Read the table of a file. Parameters that are not given are detected.

    Args:
        columns: the fields chosen for columns, by the place of the column, "" for none; they override the headings.
        is_headed: whether the first row has headings, None to detect it.

    Raises:
        ApiError: 400: the file is not a list; 413: it has too many rows.

    >>> table = read("Firma;PLZ\\nMüller GmbH;10115".encode("cp1252"))
    >>> table.encoding, table.separator, table.columns
    ('Windows-1252', ';', {'nom': 0, 'code_postal': 1})
    """
    text, encoding_name = encodings.decode_file(raw, encoding)
    first_line, _, other_lines = text.partition("\n")
    # A first line such as `sep=;` names the separator to Excel.
    if len(first_line.strip()) == 5 and first_line.lower().startswith("sep="):
        separator, text = separator or first_line[4], other_lines
    if separator and separator not in SEPARATORS:
        admitted = ", ".join(map(repr, SEPARATORS))
        raise errors.invalid_parameter(
            "separateur", "pas_un_separateur", shown=repr(separator[:50]), known=admitted
        )
    separator = separator or _detect_separator(text)
    all_rows = _rows(text, separator or _NO_SEPARATOR)
    rows = [row for row in all_rows if any(cell.strip() for cell in row)]
    blank = len(all_rows) - len(rows)
    if not rows:
        raise ApiError("corps_invalide", "liste_vide")
    headings = tuple(cell.strip() for cell in rows[0])
    width = len(headings)
    fields = {} if is_headed is False else _columns_by_field(headings)
    if is_headed is None:
        is_headed = bool(fields) or not (width == 1 or _is_line(rows))
    if is_headed:
        rows = rows[1:]
    elif width == 1:
        headings, fields = ("nom",), {"nom": 0}
    else:
        headings = tuple(f"colonne {place}" for place in range(1, width + 1))
    if len(rows) > MOST_ROWS:
        raise ApiError("trop_de_lignes", count=len(rows), most=MOST_ROWS)
    chosen_columns = _chosen_columns(columns or {}, fields, width)
    return ListFile(encoding_name, separator, headings, is_headed, rows, chosen_columns, blank)


def check_columns(table: ListFile) -> None:
    """Raise ApiError 400 if the list has no column of names, identifiers, VAT numbers or LEIs."""
    if not any(field in table.columns for field in line_list.IDENTIFYING_FIELDS):
        if not table.is_headed:
            raise ApiError("corps_invalide", "sans_titres")
        raise _no_identifying_column(table.headings)


def lines(table: ListFile, names: PlaceNames, limit: int, country: str = "") -> LineList:
    """The lines of a table of at most 1 000 rows. The key of a line is its row number, from 1.

    Args:
        limit: the most candidates of a line.
        country: the country code for rows without a country; "" for any country.

    Raises:
        ApiError: 413: the table has more rows.
    """
    if len(table.rows) > MOST_LINES:
        raise ApiError("trop_de_lignes", count=len(table.rows), most=MOST_LINES)
    month_first = _is_month_first(table)
    documents = [
        _line_members(table, row, number, country, month_first=month_first)
        for number, row in enumerate(table.rows, 1)
    ]
    batch = line_list.read_document({"lignes": documents, "limite": limit}, names)
    return batch._replace(
        lines=tuple(
            _check_width(line, len(row), len(table.headings))
            for line, row in zip(batch.lines, table.rows, strict=True)
        )
    )


def write(headings: Sequence[str], rows: Sequence[Sequence[str]], separator: str = ";") -> str:
    """Write a table as CSV (RFC 4180)."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    if headings:
        writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()


def _rows(text: str, separator: str) -> list[list[str]]:
    """All rows of a CSV text, including blank rows. Raises ApiError 400 or 413 beyond the limits of a list."""
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
            if number > 2 * MOST_ROWS:  # blank rows count here, so that they are limited too
                raise ApiError("trop_de_lignes", count=number, most=MOST_ROWS)
            rows.append(row)
    except csv.Error as error:
        raise ApiError("corps_invalide", "csv_illisible", error=error) from error
    return rows


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    """The rows of a CSV text, read one by one; raises csv.Error.

    A cell in quotes can have several lines, but then its row must be correct CSV. If it is not, the quote is a part of
    the text: people forget to close quotes, and such a quote must not join all rows up to the next quote.
    """
    stream = io.StringIO(text, newline="")
    # The end of the line at which the last row with an open quote turned out to be wrong. A quote that is opened before
    # this line fails there too, so that no line is tried twice.
    failed_at = 0
    for line in stream:
        ended_line = line.rstrip("\r\n") + "\n"
        row = next(csv.reader([ended_line], delimiter=separator))
        if row and row[-1].endswith("\n"):  # the quote is open at the end of the line
            next_line = stream.tell()
            quoted = None if next_line < failed_at else _quoted_row(line, stream, separator)
            if quoted is None:
                failed_at = max(failed_at, stream.tell())
                stream.seek(next_line)
                quoted = next(csv.reader([ended_line], delimiter=separator, quoting=csv.QUOTE_NONE))
            row = quoted
        yield row


def _quoted_row(line: str, stream: io.StringIO, separator: str) -> list[str] | None:
    """The row that begins with `line` and continues in `stream`; None if it is not correct CSV."""
    lines = itertools.chain([line], itertools.islice(stream, _MOST_LINES_OF_ROW - 1))
    try:
        return next(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        return None


def _detect_separator(text: str) -> str:
    """Detect the separator of a text; "" for one column."""
    # Separators are compared by the known headings, the share of rows as wide as the first row, then this width.
    best: tuple[int, float, int, str] = (0, 0.0, 1, "")
    for separator in SEPARATORS:
        try:
            sample = [
                row for row in itertools.islice(_reader(text, separator), _SAMPLE_ROWS) if row
            ]
        except csv.Error:
            continue  # with this separator, a quotation mark is where CSV does not allow it
        width = len(sample[0]) if sample else 1
        if width < 2:
            continue
        even_share = Counter(map(len, sample))[width] / len(sample)
        known_headings = len(_columns_by_field(sample[0]))
        if known_headings > 1 or even_share >= _EVEN_SHARE:
            best = max(best, (known_headings, even_share, width, separator))
    return best[3]


def _columns_by_field(headings: Sequence[str]) -> dict[str, int]:
    """The column of each field; if several headings mean the same field, the first."""
    columns: dict[str, int] = {}
    for place, text in enumerate(headings):
        field = _field_of_heading(text)
        if field is not None:
            columns.setdefault(field, place)
    return columns


def _chosen_columns(
    columns: Mapping[int, str], by_heading: Mapping[str, int], width: int
) -> dict[str, int]:
    """The column of each field, from the chosen columns, then from the headings of the other columns.

    >>> _chosen_columns({0: "", 1: "nom", 9: "id"}, {"nom": 0, "ville": 2}, 3)
    {'nom': 1, 'ville': 2}
    """
    pairs = [(place, field) for place, field in columns.items() if field and place < width]
    chosen = {field: place for place, field in reversed(sorted(pairs))}
    others = {field: place for field, place in by_heading.items() if place not in columns}
    return dict(sorted((others | chosen).items(), key=lambda pair: pair[1]))


def _field_of_heading(heading: str) -> str | None:
    """The field that a heading means, or None. A column of numbers has no names, so `N° client` means no field.

    >>> headings = ("Client", "N° client", "KRS nr", "N° de SIREN", "n° entreprise", "N°")
    >>> [_field_of_heading(heading) for heading in headings]
    ['nom', None, 'id', 'id', 'id', None]
    """
    fields, (numbered, words) = _fields_by_heading(), _words(heading)
    if (numbered, words) in fields:
        return fields[numbered, words]
    unnumbered_field = fields.get((False, words))
    return None if unnumbered_field == "nom" and numbered else unnumbered_field


def _words(heading: str) -> tuple[bool, str]:
    """Whether a heading has a word for "number", and its other words."""
    words = fold(heading).split()
    other_words = [word for word in words if word not in _NUMBER_WORDS]
    if len(other_words) == len(words):
        return False, " ".join(words)
    return True, " ".join(word for word in other_words if word not in _JOINING_WORDS)


@cache
def _fields_by_heading() -> Mapping[tuple[bool, str], str]:
    """The field of each known heading, by `_words` of the heading."""
    fields: dict[tuple[bool, str], str] = {}
    for row in seed_tables.rows("entetes.csv"):
        fields.setdefault(_words(row["entete"]), row["champ"])
    return fields


def _no_identifying_column(headings: Sequence[str]) -> ApiError:
    """The error of a list without a column that identifies companies; it shows the first headings."""
    shown = ", ".join(repr(text[:40]) for text in headings[:8])
    return ApiError("corps_invalide", "aucune_colonne", shown=shown)


def _is_line(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a line, like the rows below it.

    >>> _is_line([["Siemens AG", "80333"], ["Bosch GmbH", "70839"]])
    True
    >>> _is_line([["Firma X", "PLZ X"], ["Bosch", "70839"]])
    False
    """
    first, below = rows[0], [row for row in rows[1:_SAMPLE_ROWS] if row != rows[0]]
    columns = [
        (
            cell.strip(),
            [row[place].strip() for row in below if place < len(row) and row[place].strip()],
        )
        for place, cell in enumerate(first)
        if cell.strip()
    ]
    return not any(_is_heading(*column) for column in columns) and any(
        _is_value(*column) for column in columns
    )


def _is_heading(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell must be a heading: it has no digits, all cells below have digits, and it is not a company name."""
    if not below or _DIGITS.search(cell) or not all(map(_DIGITS.search, below)):
        return False
    return not _is_name(cell, below)


def _is_value(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell of the first row is a value and not a heading, judged by its text or by the cells below."""
    without_years = _YEAR.sub("", cell)
    digits, letters = (sum(map(len, kind.findall(without_years))) for kind in (_DIGITS, _LETTERS))
    if digits >= _LONG_NUMBER and digits > letters:
        return True
    if _ADDRESS.fullmatch(cell) or _is_repeated(fold(cell), below):
        return True
    if digits >= _SHORT_NUMBER and _is_usual_shape(_shape(cell), below):
        return True
    return _is_name(cell, below)


def _is_repeated(folded: str, below: Sequence[str]) -> bool:
    """Whether a folded cell is repeated below; a short cell or a number does not count."""
    if len(folded) < _SHORTEST_REPEATED or folded.isdigit():
        return False
    return any(fold(cell) == folded for cell in below)


def _is_usual_shape(shape: str, below: Sequence[str]) -> bool:
    """Whether at least half of the cells below have this shape (`_shape`), so that a cell with it is a value too."""
    return bool(below) and 2 * sum(_shape(cell) == shape for cell in below) >= len(below)


def _shape(cell: str) -> str:
    """The pattern of letters, digits and other signs in a cell; for digits alone, also their number.

    >>> _shape("S10 5QR"), _shape("13/12/1968"), _shape("1050")
    ('a9 9a', '9/9/9', '9999')
    """
    if cell.isdigit():
        return "9" * len(cell)
    return _DIGITS.sub("9", _LETTERS.sub("a", cell))


def _is_name(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a company name: it has a legal form, and so has a cell below, if there are cells below."""
    return _has_legal_form(cell) and (not below or any(map(_has_legal_form, below)))


def _has_legal_form(cell: str) -> bool:
    """Whether a cell has a legal form of any country, together with other words."""
    words = tuple(fold(cell).split())
    # A form without a class, such as `company`, can also be a word of a heading, so it does not count.
    return bool(words) and any(
        form.classe for form in seed_tables.name_tables().bare_name(words, "").forms
    )


def _line_members(
    table: ListFile,
    row: Sequence[str],
    number: int,
    country: str,
    *,
    month_first: bool | None,
) -> dict[str, str]:
    """A row as a line of the body of `POST /api/v1/rapprochement`, its date in ISO 8601 if `month_first` decides it."""
    cells = {
        field: _PROTECTED_CELL.sub(r"\1\2", row[place].strip())
        for field, place in table.columns.items()
        if place < len(row)
    }
    values = {"cle": str(number), **cells}
    if country and not values.get("pays"):
        values["pays"] = country
    given_date = strip_time(values.get("date_creation", ""))
    if month_first is not None and (numbers := _NUMERIC_DATE.fullmatch(given_date)):
        day, month = (numbers[2], numbers[1]) if month_first else (numbers[1], numbers[2])
        values["date_creation"] = f"{numbers[3]}-{month:0>2}-{day:0>2}"
    return values


def _is_month_first(table: ListFile) -> bool | None:
    """Whether the dates of a list have the month first, as days above 12 show; None if no day or contrary days do."""
    date_column = table.columns.get("date_creation")
    orders = set()
    for row in table.rows:
        if date_column is not None and date_column < len(row):
            cell = _PROTECTED_CELL.sub(r"\1\2", row[date_column].strip())
            if numbers := _NUMERIC_DATE.fullmatch(strip_time(cell)):
                orders |= {False} if int(numbers[1]) > _LAST_MONTH else set()
                orders |= {True} if int(numbers[2]) > _LAST_MONTH else set()
    return orders.pop() if len(orders) == 1 else None


def _check_width(line: ListedLine, cells: int, headings: int) -> ListedLine:
    """The line, or an error if its row has more cells than the table has columns."""
    if cells <= headings:
        return line
    return ListedLine(
        line.cle,
        None,
        ApiError("ligne_invalide", "trop_de_cellules", cells=cells, headings=headings),
    )
