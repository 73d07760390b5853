"""A new filter, as `test_change` makes other changes: of a column that the engine has, of a new one, a flag."""

from pathlib import Path
from typing import Final

import pytest

from tests.changed_copy import Edit, copy_program, edit, folders_said, run_changed

BOUNDS: Final[Edit] = {
    "serve/contract/parameters.py": (
        (
            "AVEC_COMPTES: Final",
            """SALARIES_MIN: Final = Parameter("salaries_min", 10, "integer", column="effectif", bound="least")
SALARIES_MAX: Final = Parameter("salaries_max", 50, "integer", column="effectif", bound="most")
""",
        ),
        (
            "IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN",
            "SALARIES_MIN, SALARIES_MAX, ",
        ),
    ),
    "serve/contract/tables/parameters.csv": (
        (
            "",
            "salaries_min,Les salariés au moins.,Employees at least.,Salariés au moins,Employees at least,"
            "Salariés,Employees,Salariés ≥ {},Employees ≥ {},,,\n"
            "salaries_max,Les salariés au plus.,Employees at most.,Salariés au plus,Employees at most,"
            ",,Salariés ≤ {},Employees ≤ {},,,\n",
        ),
    ),
}
_FOUND: Final = """
import io
import sys
from pathlib import Path
import openpyxl
from serve.surfaces.mcp.tool_list import tools
from tests.serve import conformance, world
from tests.serve.client import serving
from tests.serve.surfaces.mcp.client import shown

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with serving(data) as served:
    customer = served.customer("data")
    key = customer.headers
    path = "/api/v1/societes?salaries_min=3&salaries_max=40"
    reply, same = served.ask(path, headers=key), served.ask(path.replace("salaries", "effectif"), headers=key)
    assert reply.json["total"] == same.json["total"] > 0
    assert reply.json["societes"] == same.json["societes"]
    conformance.check("GET", path, 200, reply.headers, reply.body)
    crossed = served.ask("/api/v1/societes?salaries_min=4&salaries_max=3", headers=key)
    assert crossed.json["parametre"] == "salaries_min"
    assert "salaries_max (3)" in crossed.json["erreur"]["message"]
    page = served.ask("/?salaries_min=3", headers={"Accept": "text/html"}).body.decode()
    assert "<legend>Salariés</legend>" in page
    assert 'name="salaries_max"' in page
    assert "Salariés ≥ 3" in page
    assert shown(served, "search_companies", key, salaries_min=3)["total"] > 0
    book = served.ask("/api/v1/export?salaries_min=3&lang=en", headers=key)
    scope = openpyxl.load_workbook(io.BytesIO(book.body))["Scope"]
    assert ("Employees", "from 3") in {tuple(line[:2]) for line in scope.iter_rows(values_only=True)}
"""

# A column of codes that are the places in the order `score`.
COLUMN: Final[Edit] = {
    "shards/kernel/types.py": (
        (
            "\n\nElement = TypeVar",
            """
NOTE: Final = 9  # the places in `score`
COLUMNS = 10
BY_CELL = 17
KINDS = 18
LISTED = 262144
""",
        ),
    ),
    "shards/kernel/codes.py": (
        (
            "def text_place(",
            """def score_place(shard: ShardArrays, key: i64, after: i64) -> i64:
    first: i64 = 0
    end: i64 = shard.step_count[SCORE]
    while first < end:
        middle: i64 = (first + end) >> 1
        if shard.score_keys[middle] < key or (after and shard.score_keys[middle] == key):
            first = middle + 1
        else:
            end = middle
    place: i64 = shard.steps[SCORE][first]
    return place


""",
        ),
        (
            "    if column == CREATION:\n        return high - low\n",
            "    if column == NOTE:\n        return high - low\n",
        ),
        (
            "    if (asked >> CREATION) & 1:\n",
            """    if (asked >> NOTE) & 1:
        source.code_low[NOTE] = score_place(shard, question.least_keys[NOTE], 0)
        source.code_high[NOTE] = score_place(shard, question.greatest_keys[NOTE], 1)
""",
        ),
    ),
    "shards/search/columns.py": (
        (
            '    "id": SearchColumn(',
            """    "score": SearchColumn(
        ("score",), keys=_whole_numbers, number=types.NOTE, codes="score"
    ),
""",
        ),
    ),
    "serve/contract/parameters.py": (
        (
            "AVEC_COMPTES: Final",
            """NOTE_MIN: Final = Parameter("note_min", 10, "integer", column="score", bound="least")
NOTE_MAX: Final = Parameter("note_max", 90, "integer", column="score", bound="most")
""",
        ),
        ("IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN", "NOTE_MIN, NOTE_MAX, "),
    ),
    "serve/contract/tables/parameters.csv": (
        (
            "",
            "note_min,La note au moins.,Score at least.,Note au moins,Score at least,"
            "Note,Score,Note ≥ {},Score ≥ {},,,\n"
            "note_max,La note au plus.,Score at most.,Note au plus,Score at most,"
            ",,Note ≤ {},Score ≤ {},,,\n",
        ),
    ),
    "tests/oracle.py": (
        (
            '            within(company["actif_eur"]',
            '            within(company["score"], query, "score"),\n',
        ),
    ),
}

FLAG: Final[Edit] = {
    "shards/query.py": (("    activites: tuple", "    avec_date: bool = False\n"),),
    "shards/search/columns.py": (("keys=_creation_keys", 'flag="avec_date", '),),
    "serve/contract/parameters.py": (
        (
            "AVEC_COMPTES: Final",
            'AVEC_DATE: Final = Parameter("avec_date", "1", "flag", enum=("1",), beside="creation")\n',
        ),
        ("IDS, ETAT, VILLE, CODE_POSTAL, FORME, NACE, CREE_MIN", "AVEC_DATE, "),
    ),
    "serve/contract/tables/parameters.csv": (
        (
            "",
            "avec_date,`1` : seulement une date connue.,`1`: only a known date.,Date connue,Date known,"
            ",,Date connue,Date known,,,\n",
        ),
    ),
    "tests/oracle.py": (
        (
            '            within(company["actif_eur"]',
            '            not query.avec_date or company["date_creation"] is not None,\n',
        ),
    ),
}
# Answers as those of the oracle: publication compares them with the naive search, too.
_COMPARED: Final = """
import sys
from pathlib import Path
from urllib.parse import urlencode
from shards.query import Query, Range
from tests import oracle
from tests.serve import conformance, world
from tests.serve.client import serving
from tests.serve.surfaces.mcp.client import shown

data, sent, query = Path(sys.argv[1]), eval(sys.argv[2]), eval(sys.argv[3])
data.mkdir()
world.publish(data)
with serving(data) as served:
    key = served.customer("integral").headers
    path = f"/api/v1/societes?{urlencode(sent)}"
    reply = served.ask(path, headers=key)
    expected = [(one["iso2"], one["id"]) for one in oracle.search(world.COMPANIES, query)]
    assert [(one["iso2"], one["id"]) for one in reply.json["societes"]] == expected, reply
    assert 0 < len(expected) < len(world.COMPANIES)
    conformance.check("GET", path, 200, reply.headers, reply.body)
    assert shown(served, "search_companies", key, **sent)["total"] == len(expected)
    page = served.ask(f"/?{urlencode(sent)}", headers={"Accept": "text/html"}).body.decode()
    assert f'name="{next(iter(sent))}"' in page
"""


@pytest.mark.slow
def test_bounds_on_a_column_of_the_engine_are_their_declaration_and_their_texts(
    tmp_path: Path,
) -> None:
    """Parser, errors, documents, tools, form, chips and the sheet of the scope follow."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, BOUNDS)
    run_changed(copy, _FOUND, str(tmp_path / "data"))

    assert len(touched) == 2
    assert folders_said("a filter") >= {Path(one).parent.as_posix() for one in touched}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edited", "sent", "query", "files"),
    [
        (COLUMN, {"note_min": 15, "note_max": 75}, 'Query(ranges=(Range("score", 15, 75),))', 3),
        (FLAG, {"avec_date": True}, "Query(avec_date=True)", 4),
    ],
    ids=["bounds", "flag"],
)
def test_a_filter_of_a_new_column_is_its_column_its_parameters_and_their_texts(
    tmp_path: Path, edited: Edit, sent: dict[str, int], query: str, files: int
) -> None:
    """Beside the kernel, which runs interpreted here, and the oracle. A flag is a field of the query."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, edited)
    for compiled in (copy / "shards").rglob("*.so"):
        compiled.unlink()
    sent = {name: int(value) for name, value in sent.items()}
    run_changed(copy, _COMPARED, str(tmp_path / "data"), repr(sent), query)

    outside = [one for one in touched if not one.startswith(("shards/kernel/", "tests/"))]
    assert len(outside) == files
    told = folders_said("a filter") | folders_said("a filter of a new column, or a flag")
    for one in touched:  # in a folder that is told, or in one inside it
        assert told & {folder.as_posix() for folder in Path(one).parents}, one
