"""Lists as people keep them: headings in their words, no headings at all, dates that their column explains.

Without headings the first row is a line as the others, and no heading is taken for one.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.contract.errors import ApiError
from serve.features.matching import list_file
from serve.features.matching.line_list import ListedLine
from serve.features.matching.list_file import ListFile
from tests.serve.asking import NAMES

COMPANIES = ("Siemens", "Łódzka Fabryka", "A & B", "Müller", "Station 4")
FORMS = ("AG", "SARL", "Ltd", "GmbH & Co. KG", "S.à r.l.")
TOWNS = ("München", "Paris", "Łódź", "York")
HEADINGS = ("Wer", "Bezeichn.", "CA 2022-2023", "Interne Nr.", "Bemerkung", "Col 1", "PLZ-Code", "")


def read_list(text: str) -> ListFile:
    return list_file.read(text.encode())


def _lines(cells: tuple[str, ...]) -> tuple[ListedLine, ...]:
    """The lines of a list with these dates of creation."""
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
def test_a_number_is_no_name(heading: str) -> None:
    """The number of a customer was searched for as a name, where the name had no known heading"""
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
def test_the_other_dates_of_a_column_tell_which_day_a_date_means(
    cells: tuple[str, ...], dates: tuple[str, ...]
) -> None:
    lines = _lines(cells)

    assert [one.line.date_creation for one in lines if one.line] == list(dates)


@pytest.mark.parametrize("cells", [("03/04/2010",), ("13/12/1968", "12/13/1968", "03/04/2010")])
def test_a_date_that_nothing_explains_counts_by_its_year(cells: tuple[str, ...]) -> None:
    """X19"""
    last = _lines(cells)[-1].line

    assert last is not None
    assert (last.date_creation, last.illisibles) == ("2010", ("date_ambigue",))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("Siemens AG;München\nBosch GmbH;Stuttgart\n", 2),  # legal forms
        ("Siemens;80333\nBosch;70839\n", 2),  # a number of five digits
        ("Siemens;S1 2AB\nBosch;S10 5QR\n", 2),  # digits written alike
        ("Siemens;3/4/68\nBosch;13/12/1968\n", 2),
        ("Siemens;Paris\nBosch;Berlin\nTotal Energies;PARIS\n", 3),  # a value that comes again
        ("552 100 554;Siemens\n", 1),
        ("Siemens;www.siemens.example\nBosch;\n", 2),
        ("Siemens;info@siemens.example\n", 1),
        ("Siemens,,80333\nBosch,x,\n", 2),
    ],
)
def test_a_first_row_as_the_others_is_a_line(text: str, rows: int) -> None:
    table = read_list(text)

    assert (table.is_headed, len(table.rows), table.columns) == (False, rows, {})
    assert table.headings == tuple(f"colonne {n + 1}" for n in range(len(table.headings)))
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
        "Wer AG;PLZ-Code\nSiemens AG;80333\n",  # a cell that is none of a line
        "Firma Nr. 1;Bem.\nSiemens AG;12\n",
        "Wer;Wo\n",
        "nom;12345\nSiemens;80333\n",  # a heading that is known
    ],
)
def test_headings_are_none(text: str) -> None:
    table = read_list(text)

    assert table.is_headed
    assert len(table.rows) == text.count("\n") - 1


@given(
    st.lists(
        st.tuples(
            st.builds("{} {}".format, st.sampled_from(COMPANIES), st.sampled_from(FORMS)),
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
    given_rows = [[row[place] for place in order] for row in rows]
    table = list_file.read(list_file.write((), given_rows, separator).encode())

    assert (table.is_headed, table.rows) == (False, given_rows)


@given(
    st.lists(st.sampled_from(HEADINGS), min_size=2, max_size=4, unique=True),
    st.lists(st.tuples(*[st.sampled_from(COMPANIES)] * 4), min_size=1, max_size=5),
    st.integers(0, 3),
)
def test_no_heading_is_a_line(
    headings: list[str], rows: list[tuple[str, ...]], column: int
) -> None:
    cells = [[*row][: len(headings)] for row in rows]
    table = list_file.read(list_file.write(headings, cells, ";").encode())

    assert (table.is_headed, list(table.headings), table.rows) == (True, headings, cells)


@given(st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=3), min_size=1, max_size=5))
def test_whatever_is_chosen_is_read_and_sent_again_as_it_is(rows: list[list[str]]) -> None:
    text = list_file.write((), [["x", *row] for row in rows], ";")
    try:
        tables = [
            list_file.read(text.encode(), "", ";", None, is_headed) for is_headed in (True, False)
        ]
    except ApiError:  # no text
        return

    headed, plain = tables
    assert len(plain.rows) == len(headed.rows) + 1
    for table in (headed, plain):
        again = list_file.write(table.own_headings, table.rows, ";")
        assert list_file.read(again.encode(), "", ";", None, table.is_headed) == table


def test_a_list_of_one_column_may_have_a_heading_that_is_chosen() -> None:
    raw = b"Wer\nSiemens\n"

    assert list_file.read(raw).rows == [["Wer"], ["Siemens"]]
    headed = list_file.read(raw, columns={0: "nom"}, is_headed=True)
    assert (headed.headings, headed.rows, headed.columns) == (("Wer",), [["Siemens"]], {"nom": 0})
