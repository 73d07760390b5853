"""Lists as people write them: with headings of any wording, without headings, with ambiguous dates.

A first row is a line if it looks like the rows below it. Headings are not read as a line.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.contract.errors import ApiError
from serve.features.matching import list_file
from serve.features.matching.line_list import ListedLine
from serve.features.matching.list_file import ListFile
from tests.serve.parameter_reading import NAMES

COMPANIES = ("Siemens", "Łódzka Fabryka", "A & B", "Müller", "Station 4")
LEGAL_FORMS = ("AG", "SARL", "Ltd", "GmbH & Co. KG", "S.à r.l.")
TOWNS = ("München", "Paris", "Łódź", "York")
# Headings that mean no field.
UNKNOWN_HEADINGS = (
    "Wer",
    "Bezeichn.",
    "CA 2022-2023",
    "Interne Nr.",
    "Bemerkung",
    "Col 1",
    "PLZ-Code",
    "",
)


def read_list(text: str) -> ListFile:
    """A list read from a UTF-8 file."""
    return list_file.read(text.encode())


def _lines_with_dates(cells: tuple[str, ...]) -> tuple[ListedLine, ...]:
    """The lines of a list of companies with these dates of creation."""
    rows = "".join(f"Siemens AG;{cell}\n" for cell in cells)
    return list_file.lines(read_list(f"nom;date de création\n{rows}"), NAMES, 3).lines


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("N° registre", "id"), ("Registre n°", "id"), ("nº SIREN", "id"), ("No. SIREN", "id"),
        ("num siren", "id"), ("N° de SIREN", "id"), ("KRS nr", "id"), ("HRB-Nr.", "id"),
        ("Numéro d'entreprise", "id"), ("n° entreprise", "id"), ("N° TVA", "tva"),
        ("Adresse", "adresse"), ("Straße", "adresse"), ("Branche", "activite"),
        ("Site web", "site_web"), ("E-mail", "email"),
    ],
)  # fmt: skip
def test_a_heading_means_its_field(heading: str, field: str) -> None:
    table = read_list(f"Raison sociale;{heading}\nSiemens AG;1")

    assert table.columns == {"nom": 0, field: 1}


@pytest.mark.parametrize("heading", ["N° client", "N°", "Customer number", "Lieferant Nr."])
def test_a_column_of_customer_numbers_is_not_a_column_of_names(heading: str) -> None:
    """Fixed: customer numbers were matched as names if the column of names had no known heading."""
    table = read_list(f"{heading};Raison sociale\n17;Siemens AG")

    assert table.columns == {"nom": 1}
    assert table.unused_headings == (heading,)


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (("13/12/1968", "03/04/2010"), ("1968-12-13", "2010-04-03")),
        (("12/13/1968", "03/04/2010"), ("1968-12-13", "2010-03-04")),
        (("03.04.2010", "2010-04-03 00:00:00"), ("2010-04-03", "2010-04-03")),
    ],
)
def test_an_ambiguous_date_is_read_like_the_other_dates_of_its_column(
    cells: tuple[str, ...], dates: tuple[str, ...]
) -> None:
    lines = _lines_with_dates(cells)

    assert [line.line.date_creation for line in lines if line.line] == list(dates)


@pytest.mark.parametrize("cells", [("03/04/2010",), ("13/12/1968", "12/13/1968", "03/04/2010")])
def test_only_the_year_of_an_ambiguous_date_counts(cells: tuple[str, ...]) -> None:
    """X19: no other date of the column shows the order of day and month, or two dates contradict each other"""
    last_line = _lines_with_dates(cells)[-1].line

    assert last_line is not None
    assert (last_line.date_creation, last_line.illisibles) == ("2010", ("date_ambigue",))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("Siemens AG;München\nBosch GmbH;Stuttgart\n", 2),  # legal forms
        ("Siemens;80333\nBosch;70839\n", 2),  # a number of five digits
        ("Siemens;S1 2AB\nBosch;S10 5QR\n", 2),  # the same pattern of letters and digits
        ("Siemens;3/4/68\nBosch;13/12/1968\n", 2),
        ("Siemens;Paris\nBosch;Berlin\nTotal Energies;PARIS\n", 3),  # a repeated value
        ("Siemens;DE\nBosch;AT\nTotal Energies;DE\n", 3),
        ("552 100 554;Siemens\n", 1),
        ("Siemens;www.siemens.example\nBosch;\n", 2),
        ("Siemens;info@siemens.example\n", 1),
        ("Siemens,,80333\nBosch,x,\n", 2),
    ],
)
def test_a_first_row_like_the_others_is_a_line(text: str, rows: int) -> None:
    table = read_list(text)

    assert (table.is_headed, len(table.rows), table.columns) == (False, rows, {})
    assert table.headings == tuple(f"colonne {number + 1}" for number in range(len(table.headings)))
    with pytest.raises(ApiError) as refused:
        list_file.check_columns(table)
    assert all("titres" in text or "headings" in text for text in refused.value.texts)


@pytest.mark.parametrize(
    "text",
    [
        "Wer;Wo;Was\nMueller Maschinenbau;DE;7\n",
        "Wer;2021;2022\nSiemens AG;12;15\n",
        "Wer;CA 2021-2022\nSiemens AG;12345\n",
        "Wer;31/12/2022\nSiemens AG;12 345\n",
        "Wer;PLZ-Code\nSiemens AG;80333\n",
        "Wer AG;PLZ-Code\nSiemens AG;80333\n",  # `PLZ-Code` has no digits, unlike the cells below it
        "Firma Nr. 1;Bem.\nSiemens AG;12\n",
        "Wer;Wo\n",
        "nom;12345\nSiemens;80333\n",  # a known heading
    ],
)
def test_a_row_of_headings_is_not_a_line(text: str) -> None:
    table = read_list(text)

    assert table.is_headed
    assert len(table.rows) == text.count("\n") - 1


@given(
    st.lists(
        st.tuples(
            st.builds("{} {}".format, st.sampled_from(COMPANIES), st.sampled_from(LEGAL_FORMS)),
            st.integers(10_000, 99_999).map(str),
            st.sampled_from(TOWNS),
        ),
        min_size=1,
        max_size=9,
    ),
    st.permutations(range(3)),
    st.sampled_from(list_file.SEPARATORS),
)
@example([("Siemens AG", "10000", "Ulm"), ("Station 4 AG", "10000", "Ulm")], [0, 1, 2], ";")
def test_no_line_of_companies_is_lost(
    rows: list[tuple[str, ...]], order: list[int], separator: str
) -> None:
    ordered_rows = [[row[place] for place in order] for row in rows]
    table = list_file.read(list_file.write((), ordered_rows, separator).encode())

    assert (table.is_headed, table.rows) == (False, ordered_rows)


@given(
    st.lists(st.sampled_from(UNKNOWN_HEADINGS), min_size=2, max_size=4, unique=True),
    st.lists(st.tuples(*[st.sampled_from(COMPANIES)] * 4), min_size=1, max_size=5),
    st.integers(0, 3),
)
def test_unknown_headings_are_not_a_line(
    headings: list[str], rows: list[tuple[str, ...]], column: int
) -> None:
    cells = [[*row][: len(headings)] for row in rows]
    table = list_file.read(list_file.write(headings, cells, ";").encode())

    assert (table.is_headed, list(table.headings), table.rows) == (True, headings, cells)


@given(st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=3), min_size=1, max_size=5))
def test_a_list_that_is_written_again_is_read_the_same(rows: list[list[str]]) -> None:
    text = list_file.write((), [["x", *row] for row in rows], ";")
    try:
        tables = [
            list_file.read(text.encode(), "", ";", None, is_headed) for is_headed in (True, False)
        ]
    except ApiError:  # the list is empty
        return

    with_headings, without_headings = tables
    assert len(without_headings.rows) == len(with_headings.rows) + 1
    for table in (with_headings, without_headings):
        written_again = list_file.write(table.own_headings, table.rows, ";")
        assert list_file.read(written_again.encode(), "", ";", None, table.is_headed) == table


def test_an_unknown_heading_of_a_single_column_can_be_chosen() -> None:
    raw = b"Wer\nSiemens\n"

    assert list_file.read(raw).rows == [["Wer"], ["Siemens"]]
    with_heading = list_file.read(raw, columns={0: "nom"}, is_headed=True)
    assert (with_heading.headings, with_heading.rows, with_heading.columns) == (
        ("Wer",),
        [["Siemens"]],
        {"nom": 0},
    )


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            'nom;ville\n"Alpha;Leeds\nBridon;\n"Royal Tool";Sheffield\nDanone;\n',
            [['"Alpha', "Leeds"], ["Bridon", ""], ["Royal Tool", "Sheffield"], ["Danone", ""]],
        ),
        ('nom\tville\n"Alpha\tLeeds\nBridon\t\n', [['"Alpha', "Leeds"], ["Bridon", ""]]),
        ('nom;ville\nA;x\nB;"Leeds', [["A", "x"], ["B", '"Leeds']]),
        ('nom;ville\nA;"x\r\n\r\ny; z"\r\n', [["A", "x\r\n\r\ny; z"]]),
        ('nom;ville\n5" Pipe;Leeds\n"A ""B"" C";x\n', [['5" Pipe', "Leeds"], ['A "B" C', "x"]]),
    ],
)
def test_an_open_quote_is_a_part_of_its_own_row(text: str, rows: list[list[str]]) -> None:
    """A quoted cell can have several lines, but a forgotten quote joins no rows."""
    assert list_file.read(text.encode()).rows == rows


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('"Alpha;Leeds', ['"Alpha', "Leeds"]),
        # As CSV, each of these lines closes the quote of the line before and opens the next one.
        ('Alpha";"Leeds', ['Alpha"', '"Leeds']),
    ],
)
def test_each_row_of_a_list_of_open_quotes_is_read(line: str, row: list[str]) -> None:
    text = "nom;ville\n" + f"{line}\n" * 9_000

    assert list_file.read(text.encode()).rows == [row] * 9_000
