"""The cells of a column of a long list: one function that makes the XML of many at once.

A list has half a million cells. So the type of a cell is chosen once per column. Cells of values that come again are
remembered, and their texts are shared strings; other texts are joined, marked up as one text and split again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from serve.contract import company_fields
from serve.features.export.workbook.cell_values import (
    LONGEST_CELL,
    clean,
    day_serial,
    is_active,
    is_page,
    link_target,
)
from serve.features.export.workbook.row_xml import ROW, formula_cell, index, inline_string
from serve.features.export.workbook.sheet import Sheet

JOIN: Final = "; "  # between the texts of a list

# A function from the values of rows to the XML of their cells, with ROW for the number of the row; that of None is
# empty. The first argument is the row of the first value (0, 1, …).
Cells = Callable[[int, Sequence[Any]], list[str]]

# The kind of a headcount: a number, a Band, or a text.
HEADCOUNT: Final = "effectif"

# Cells that a column remembers.
_REMEMBERED: Final = 4_096
# Bands that have a number format; Excel takes some 200 in a workbook. Others are texts.
_BANDS: Final = 100
# Between texts that are joined; printable, and rare in registers.
_BETWEEN: Final = "^"
# Beginnings of texts that `is_active` or `inline_string` mark, and what else they change.
_MARKED: Final = (" ", "=", "+", "-", "@")
_CHANGED: Final = ("<", ">", "_x")


class Band(NamedTuple):
    """A band in place of a number: its lower bound, which the cell holds, and the words that it shows."""

    least: int
    words: str

    def __str__(self) -> str:
        return self.words


def column(sheet: Sheet, col: int, genre: str) -> Cells:
    """The function for a column of values of the kind `genre` (serve/contract/seed_tables.py)."""
    return _BY_KIND[genre](sheet, col)


def name_cells(sheet: Sheet, col: int, targets: Mapping[int, str]) -> Cells:
    """The function for names, which link to the sheet that `targets` has for their row (0, 1, …)."""
    plain = _text(sheet, col)
    if not targets:
        return plain
    linked = strings(sheet, col, sheet.styles.list_link)

    def cells(first: int, values: Sequence[str]) -> list[str]:
        links = [
            row in targets and sheet.leads(row, col, link_target(targets[row]))
            for row in range(first, first + len(values))
        ]
        return _link_cells(linked, plain, links, first, values)

    return cells


def strings(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for texts in a format."""
    head = f'<c r="{xl_col_to_name(col)}{ROW}" s="'
    plain = f'{head}{index(style)}" t="'
    quoted = f'{head}{index(sheet.styles.palette.with_quote_prefix(style))}" t="'

    def inline(value: str) -> str:
        fit = sheet.fit(value)
        return f'{quoted if is_active(fit) else plain}inlineStr">{inline_string(fit)}</c>'

    def shared(value: str) -> str:
        return f'{quoted if is_active(value) else plain}s"><v>{sheet.raw.shared(value)}</v></c>'

    def others(values: Sequence[str | None]) -> list[str]:
        known = [value for value in values if value is not None]
        if not known:
            return [""] * len(values)
        text = _BETWEEN.join(known)
        if _is_plain(text, len(known)) and 2 * max(map(len, known)) < LONGEST_CELL:
            start, end = f'{plain}inlineStr"><is><t>', "</t></is></c>"
            text = text.replace("&", "&amp;").replace(_BETWEEN, f"{end}{_BETWEEN}{start}")
            made = f"{start}{text}{end}".split(_BETWEEN)
        else:
            made = [inline(value) for value in known]
        if len(known) == len(values):
            return made
        following = iter(made)
        return ["" if value is None else next(following) for value in values]

    return _chosen(_Texts(shared, inline), others)


def numbers(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for numbers in a format."""
    head = f'<c r="{xl_col_to_name(col)}{ROW}" s="{index(style)}"><v>'
    # `repr` has every digit; Excel rounds to the digits that it stores.
    return _chosen(
        _Known(lambda value: f"{head}{value!r}</v></c>"),
        lambda values: ["" if value is None else f"{head}{value!r}</v></c>" for value in values],
    )


def formulas(sheet: Sheet, col: int, style: Format) -> Cells:
    """The function for pairs of a formula and its value; None as a value is an empty text."""
    cell, number = f"{xl_col_to_name(col)}{ROW}", index(style)
    return lambda _, values: [
        "" if pair is None else formula_cell(cell, number, *pair) for pair in values
    ]


class _Known(dict[Any, str]):
    """The cells of values that come again; that of None is empty."""

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__({None: ""})
        self._make = make

    def __missing__(self, value: Any) -> str:
        self[value] = cell = self._make(value)
        return cell


class _Texts(_Known):
    """The cells of texts that come again; one that does not fit is counted each time."""

    def __init__(self, make: Callable[[str], str], other: Callable[[str], str]) -> None:
        super().__init__(make)
        self._other = other

    def __missing__(self, value: str) -> str:
        return super().__missing__(value) if clean(value) is value else self._other(value)


def _chosen(known: _Known, others: Callable[[Sequence[Any]], list[str]]) -> Cells:
    """The function for the values of a column: `known` if its first ones come twice on average, else `others`."""
    repeat: bool | None = None

    def cells(_: int, values: Sequence[Any]) -> list[str]:
        nonlocal repeat
        if repeat is None:
            repeat = 2 * len({*values, None}) < len(values) - values.count(None)
        elif len(known) > _REMEMBERED:
            repeat = False
        return [known[value] for value in values] if repeat else others(values)

    return cells


def _is_plain(text: str, count: int) -> bool:
    """Whether nothing but `&` in so many joined texts is changed or marked by `clean`, `is_active`, `inline_string`."""
    return (
        text.isprintable()
        and text.count(_BETWEEN) == count - 1
        and not any(change in text for change in _CHANGED)
        and not any(
            mark in text and (text.startswith(mark) or f"{_BETWEEN}{mark}" in text)
            for mark in _MARKED
        )
        and not (text.endswith(" ") or f" {_BETWEEN}" in text)
    )


def _link_cells(
    linked: Cells, plain: Cells, links: Sequence[bool], first: int, values: Sequence[str | None]
) -> list[str]:
    """The cells by `linked` where `links` says so, else by `plain`."""
    ours = [value if leads else None for leads, value in zip(links, values, strict=True)]
    others = [None if leads else value for leads, value in zip(links, values, strict=True)]
    both = zip(linked(first, ours), plain(first, others), strict=True)
    return [link or text for link, text in both]


def _text(sheet: Sheet, col: int) -> Cells:
    return strings(sheet, col, sheet.styles.list_text)


def _whole_numbers(sheet: Sheet, col: int) -> Cells:
    return numbers(sheet, col, sheet.styles.list_whole)


def _year(sheet: Sheet, col: int) -> Cells:
    return numbers(sheet, col, sheet.styles.list_year)


def _headcount(sheet: Sheet, col: int) -> Cells:
    """Numbers; a band is its lower bound in a format that shows its words, so it sorts among them."""
    plain, texts = _whole_numbers(sheet, col), _text(sheet, col)
    styles: dict[str, Format] = {}

    def cell(value: int | Band | str) -> str:
        if isinstance(value, Band) and len(styles) < _BANDS:
            style = sheet.styles.palette.make(num_format=f'"{value.words}"', align="right")
            styles[value.words] = style
            return numbers(sheet, col, style)(0, [value.least])[0]
        return (plain(0, [value]) if isinstance(value, int) else texts(0, [str(value)]))[0]

    known = _Known(cell)
    return lambda _, values: [known[value] for value in values]


def _date(sheet: Sheet, col: int) -> Cells:
    """Real dates if Excel has that day, else the text."""
    days, texts = numbers(sheet, col, sheet.styles.list_date), _text(sheet, col)

    def cell(value: str) -> str:
        day = day_serial(value)
        return (texts(0, [value]) if day is None else days(0, [day]))[0]

    known = _Known(cell)
    return lambda _, values: [known[value] for value in values]


def _page(sheet: Sheet, col: int) -> Cells:
    """Web addresses, as links if they are valid."""
    plain, linked = _text(sheet, col), strings(sheet, col, sheet.styles.list_link)

    def cells(first: int, values: Sequence[str | None]) -> list[str]:
        links = [
            value is not None and is_page(value) and sheet.leads(row, col, value)
            for row, value in enumerate(values, first)
        ]
        return _link_cells(linked, plain, links, first, values)

    return cells


def _truth(sheet: Sheet, col: int) -> Cells:
    head = f'<c r="{xl_col_to_name(col)}{ROW}" s="{index(sheet.styles.list_truth)}" t="b"><v>'
    made = {None: "", False: f"{head}0</v></c>", True: f"{head}1</v></c>"}
    return lambda _, values: [made[value] for value in values]


def _texts(sheet: Sheet, col: int) -> Cells:
    """Lists of texts, as one text."""
    whole = _text(sheet, col)
    return lambda first, values: whole(
        first, [None if value is None else JOIN.join(value) for value in values]
    )


_BY_KIND: Final[Mapping[str, Callable[[Sheet, int], Cells]]] = {
    company_fields.TEXT: _text,
    company_fields.WHOLE: _whole_numbers,
    company_fields.AMOUNT: _whole_numbers,
    company_fields.YEAR: _year,
    HEADCOUNT: _headcount,
    company_fields.DATE: _date,
    company_fields.LINK: _page,
    company_fields.TRUTH: _truth,
    company_fields.TEXTS: _texts,
}
