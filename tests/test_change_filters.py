"""New filters, made like the changes of `test_change`: on a column of the engine, on a new column, a flag."""

from pathlib import Path
from typing import Final

import pytest

from tests.changed_copy import Edit, copy_program, documented_folders, edit, run_changed

# The change that adds two bounds on the headcount, a column that the engine already has.
NEW_BOUNDS: Final[Edit] = {
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
_CHECK_BOUNDS: Final = """
import io
import sys
from pathlib import Path
import openpyxl
from serve.surfaces.mcp.tool_list import tools
from tests.serve import conformance, world
from tests.serve.client import run_server
from tests.serve.surfaces.mcp.client import tool_content

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with run_server(data) as server:
    customer = server.customer("data")
    key = customer.headers
    path = "/api/v1/societes?salaries_min=3&salaries_max=40"
    reply, same = server.ask(path, headers=key), server.ask(path.replace("salaries", "effectif"), headers=key)
    assert reply.json["total"] == same.json["total"] > 0
    assert reply.json["societes"] == same.json["societes"]
    conformance.check("GET", path, 200, reply.headers, reply.body)
    crossed = server.ask("/api/v1/societes?salaries_min=4&salaries_max=3", headers=key)
    assert crossed.json["parametre"] == "salaries_min"
    assert "salaries_max (3)" in crossed.json["erreur"]["message"]
    page = server.ask("/?salaries_min=3", headers={"Accept": "text/html"}).body.decode()
    assert "<legend>Salariés</legend>" in page
    assert 'name="salaries_max"' in page
    assert "Salariés ≥ 3" in page
    assert tool_content(server, "search_companies", key, salaries_min=3)["total"] > 0
    book = server.ask("/api/v1/export?salaries_min=3&lang=en", headers=key)
    scope = openpyxl.load_workbook(io.BytesIO(book.body))["Scope"]
    assert ("Employees", "from 3") in {tuple(line[:2]) for line in scope.iter_rows(values_only=True)}
"""

# A new column: its codes are the positions in the order `score`. The numbers that depend on COLUMNS grow with it.
NEW_COLUMN: Final[Edit] = {
    "shards/kernel/types.py": (
        (
            "\n\nElement = TypeVar",
            """
NOTE: Final = 9  # the positions in `score`
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
            "    if (conditions >> CREATION) & 1:\n",
            """    if (conditions >> NOTE) & 1:
        source.code_low[NOTE] = score_place(shard, question.least_keys[NOTE], 0)
        source.code_high[NOTE] = score_place(shard, question.greatest_keys[NOTE], 1)
""",
        ),
    ),
    "shards/search/columns.py": (
        (
            '    "id": SearchColumn(',
            """    "score": SearchColumn(
        ("score",), keys=_whole_number_bounds, number=types.NOTE, codes="score"
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
            '            is_within(company["actif_eur"]',
            '            is_within(company["score"], query, "score"),\n',
        ),
    ),
}

# The change that adds a flag: only companies with a date of creation.
NEW_FLAG: Final[Edit] = {
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
            '            is_within(company["actif_eur"]',
            '            not query.avec_date or company["date_creation"] is not None,\n',
        ),
    ),
}
# The answers equal those of the oracle; publication also compares the search with a naive search.
_CHECK_SEARCH: Final = """
import sys
from pathlib import Path
from urllib.parse import urlencode
from shards.query import Query, Range
from tests import oracle
from tests.serve import conformance, world
from tests.serve.client import run_server
from tests.serve.surfaces.mcp.client import tool_content

data, sent, query = Path(sys.argv[1]), eval(sys.argv[2]), eval(sys.argv[3])
data.mkdir()
world.publish(data)
with run_server(data) as server:
    key = server.customer("integral").headers
    path = f"/api/v1/societes?{urlencode(sent)}"
    reply = server.ask(path, headers=key)
    expected = [(company["iso2"], company["id"]) for company in oracle.search(world.COMPANIES, query)]
    assert [(company["iso2"], company["id"]) for company in reply.json["societes"]] == expected, reply
    assert 0 < len(expected) < len(world.COMPANIES)
    conformance.check("GET", path, 200, reply.headers, reply.body)
    assert tool_content(server, "search_companies", key, **sent)["total"] == len(expected)
    page = server.ask(f"/?{urlencode(sent)}", headers={"Accept": "text/html"}).body.decode()
    assert f'name="{next(iter(sent))}"' in page
"""


@pytest.mark.slow
def test_bounds_on_a_column_of_the_engine_need_a_declaration_and_texts(
    tmp_path: Path,
) -> None:
    """Parser, errors, documents, tools, form, chips and the sheet of the scope follow."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, NEW_BOUNDS)
    run_changed(copy, _CHECK_BOUNDS, str(tmp_path / "data"))

    assert len(touched) == 2
    assert documented_folders("a filter") >= {Path(path).parent.as_posix() for path in touched}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "sent", "query", "file_count"),
    [
        (
            NEW_COLUMN,
            {"note_min": 15, "note_max": 75},
            'Query(ranges=(Range("score", 15, 75),))',
            3,
        ),
        (NEW_FLAG, {"avec_date": True}, "Query(avec_date=True)", 4),
    ],
    ids=["bounds", "flag"],
)
def test_a_filter_of_a_new_column_needs_the_column_parameters_and_texts(
    tmp_path: Path, edits: Edit, sent: dict[str, int], query: str, file_count: int
) -> None:
    """The oracle changes too, and the kernel, which runs interpreted here. A flag is also a field of the query."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, edits)
    for compiled in (copy / "shards").rglob("*.so"):
        compiled.unlink()
    sent = {name: int(value) for name, value in sent.items()}
    run_changed(copy, _CHECK_SEARCH, str(tmp_path / "data"), repr(sent), query)

    counted_files = [path for path in touched if not path.startswith(("shards/kernel/", "tests/"))]
    assert len(counted_files) == file_count
    documented = documented_folders("a filter") | documented_folders(
        "a filter of a new column, or a flag"
    )
    for path in touched:  # in a documented folder or below it
        assert documented & {folder.as_posix() for folder in Path(path).parents}, path
