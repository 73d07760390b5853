"""The cells of a column of a long list: one function that makes the XML of many at once.

A list has half a million cells. So the type of a cell is chosen once per column, and the XML of a text
that comes again is remembered.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from serve.contract import company_fields
from serve.guests.files.workbook.cell_values import (
    LONGEST_CELL,
    day_serial,
    is_active,
    is_page,
    link_target,
)
from serve.guests.files.workbook.row_xml import formula_cell, index, inline_string
from serve.guests.files.workbook.sheet import Sheet

JOIN: Final = "; "  # between the texts of a list

# A function from the numbers of rows (1, 2, …, as text) and their values to the XML of the cells; that of
# None is empty.
Cells = Callable[[Sequence[str], Sequence[Any]], list[str]]

# Beginnings of texts that `is_active` or `inline_string` mark.
_MARKED: Final = (" ", "=", "+", "-", "@")
# Texts that a column remembers.
_REMEMBERED: Final = 4_096


def column(sheet: Sheet, col: int, genre: str) -> Cells:
    """The function for a column of values of the kind `genre` (serve/contract/seed_tables.py)."""
    return _BY_KIND[genre](sheet, col)


def name_cells(sheet: Sheet, col: int, targets: Mapping[int, str]) -> Cells:
    """The function for names, which link to the sheet that `targets` has for their row (0, 1, …)."""
    plain = _text(sheet, col)
    if not targets:
        return plain
    linked = strings(sheet, col, sheet.styles.list_link)

    def cells(numbers: Sequence[str], values: Sequence[str]) -> list[str]:
        rows = [int(number) - 1 for number in numbers]
        links = [
            row in targets and sheet.leads(row, col, link_target(targets[row])) for row in rows
        ]
        return _link_cells(linked, plain, links, numbers, values)

    return cells


def strings(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for texts in a format."""
    head = f'<c r="{xl_col_to_name(col)}'
    tails = _Tails(sheet, style)

    def cells(numbers: Sequence[str], values: Sequence[str | None]) -> list[str]:
        if len(tails) > _REMEMBERED:
            tails.clear()
        return [
            "" if value is None else f"{head}{number}{tails[value]}"
            for number, value in zip(numbers, values, strict=True)
        ]

    return cells


def numbers(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for numbers in a format."""
    head, tail = f'<c r="{xl_col_to_name(col)}', f'" s="{index(style)}"><v>'

    def cells(rows: Sequence[str], values: Sequence[float | None]) -> list[str]:
        # `repr` has every digit; Excel rounds to the digits that it stores.
        return [
            "" if value is None else f"{head}{row}{tail}{value!r}</v></c>"
            for row, value in zip(rows, values, strict=True)
        ]

    return cells


def formulas(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for pairs of a formula and its value; None as a value is an empty text."""
    letter, number = xl_col_to_name(col), index(style)

    def cells(rows: Sequence[str], values: Sequence[tuple[str, float | None] | None]) -> list[str]:
        return [
            "" if pair is None else formula_cell(f"{letter}{row}", number, *pair)
            for row, pair in zip(rows, values, strict=True)
        ]

    return cells


class _Tails(dict[str, str]):
    """The XML of a cell after its row, by text."""

    def __init__(self, sheet: Sheet, style: Format) -> None:
        super().__init__()
        self._sheet = sheet
        self._plain = f'" s="{index(style)}" t="inlineStr">'
        self._quoted = (
            f'" s="{index(sheet.styles.palette.with_quote_prefix(style))}" t="inlineStr">'
        )

    def __missing__(self, value: str) -> str:
        if _is_plain(value):
            self[value] = tail = f"{self._plain}<is><t>{value}</t></is></c>"
            return tail
        fit = self._sheet.fit(value)
        tail = f"{self._quoted if is_active(fit) else self._plain}{inline_string(fit)}</c>"
        if fit is value:  # else it is counted each time
            self[value] = tail
        return tail


def _is_plain(value: str) -> bool:
    """Whether nothing of a text is changed or marked by `clean`, `is_active` and `inline_string`."""
    return (
        value.isprintable()
        and not ("&" in value or "<" in value or ">" in value or "_x" in value)
        and not value.startswith(_MARKED)
        and not value.endswith(" ")
        and 2 * len(value) < LONGEST_CELL
    )


def _link_cells(
    linked: Cells,
    plain: Cells,
    links: Sequence[bool],
    rows: Sequence[str],
    values: Sequence[str | None],
) -> list[str]:
    """The cells by `linked` where `links` says so, else by `plain`."""
    ours = [value if leads else None for leads, value in zip(links, values, strict=True)]
    others = [None if leads else value for leads, value in zip(links, values, strict=True)]
    both = zip(linked(rows, ours), plain(rows, others), strict=True)
    return [link or text for link, text in both]


def _text(sheet: Sheet, col: int) -> Cells:
    return strings(sheet, col, sheet.styles.list_text)


def _whole_numbers(sheet: Sheet, col: int) -> Cells:
    return numbers(sheet, col, sheet.styles.list_whole)


def _year(sheet: Sheet, col: int) -> Cells:
    return numbers(sheet, col, sheet.styles.list_year)


def _date(sheet: Sheet, col: int) -> Cells:
    """Real dates if Excel has that day, else the text."""
    days, texts = numbers(sheet, col, sheet.styles.list_date), _text(sheet, col)
    known: dict[str | None, int | None] = {None: None}

    def cells(rows: Sequence[str], values: Sequence[str | None]) -> list[str]:
        known.update({value: day_serial(value) for value in values if value not in known and value})
        found = [known.get(value) for value in values]
        rest = [value if day is None else None for value, day in zip(values, found, strict=True)]
        dated = days(rows, found)
        if not any(rest):
            return dated
        return [day or text for day, text in zip(dated, texts(rows, rest), strict=True)]

    return cells


def _page(sheet: Sheet, col: int) -> Cells:
    """Web addresses, as links if they are valid."""
    plain, linked = _text(sheet, col), strings(sheet, col, sheet.styles.list_link)

    def cells(rows: Sequence[str], values: Sequence[str | None]) -> list[str]:
        links = [
            value is not None and is_page(value) and sheet.leads(int(row) - 1, col, value)
            for row, value in zip(rows, values, strict=True)
        ]
        return _link_cells(linked, plain, links, rows, values)

    return cells


def _truth(sheet: Sheet, col: int) -> Cells:
    letter, number = xl_col_to_name(col), index(sheet.styles.list_truth)
    return lambda rows, values: [
        "" if value is None else f'<c r="{letter}{row}" s="{number}" t="b"><v>{value:d}</v></c>'
        for row, value in zip(rows, values, strict=True)
    ]


def _texts(sheet: Sheet, col: int) -> Cells:
    """Lists of texts, as one text."""
    whole = _text(sheet, col)
    return lambda rows, values: whole(
        rows, [None if value is None else JOIN.join(value) for value in values]
    )


_BY_KIND: Final[Mapping[str, Callable[[Sheet, int], Cells]]] = {
    company_fields.TEXT: _text,
    company_fields.WHOLE: _whole_numbers,
    company_fields.AMOUNT: _whole_numbers,
    company_fields.YEAR: _year,
    company_fields.DATE: _date,
    company_fields.LINK: _page,
    company_fields.TRUTH: _truth,
    company_fields.TEXTS: _texts,
}
