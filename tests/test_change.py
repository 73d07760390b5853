"""The table of ARCHITECTURE.md, *Where does a change go?*: changes are made in a copy of the program, and counted.

The copy is run, so that a change which needs a further file fails: the new route answers, its tool answers, and all
documents tell of both.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[1]
_LEFT_OUT: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "*.c", "*.html", "node_modules", "raw"
)

# A file by its path, and the text that is put before (or, where there is none, at the end of) what it names.
Edit = Mapping[str, tuple[tuple[str, str], ...]]

ROUTE: Final[Edit] = {
    "serve/api/total.py": (
        (
            "",
            '''"""GET /api/v1/total: the companies of a generation."""

from serve.access.etag import etag
from serve.access.result import PRIVATE, CallResult, PreparedCall, Request
from serve.contract.objects.search import Total
from serve.generation.open_generation import OpenGeneration


def total(request: Request, generation: OpenGeneration) -> PreparedCall[Total]:
    tag = etag(generation.id, request.caller.plan.slug, "total")
    headers = {"ETag": tag, **PRIVATE}

    async def run() -> "CallResult[Total]":
        known = sum(map(generation.reference.societes, generation.shards))
        return CallResult(200, Total(total=known), headers)

    return PreparedCall(run, tag, headers)
''',
        ),
    ),
    "serve/contract/objects/search.py": (
        (
            "",
            """

@component("Le nombre de sociétés.", "The number of companies.")
class Total(AnswerObject):
    total: Annotated[Count, Text("Les sociétés.", "Companies.")]
""",
        ),
    ),
    "serve/api/operations.py": (
        ("from serve.contract import parameters\n", "from serve.api.total import total\n"),
        (
            ")  # fmt: skip\n\n\ndef _reconciliation",
            """    Operation(
        "countEverything", "/api/v1/total", "total", "call", "Companies", total, search.Total,
        tool="count_everything",
    ),
""",
        ),
    ),
    "serve/contract/tables/operations.csv": (
        (
            "",
            "countEverything,Count everything,Tout compter,"
            "How many companies there are.,Combien il y a de sociétés.\n",
        ),
    ),
}
_TOLD: Final = """
import sys
from pathlib import Path
from serve.guests.docs import llms
from serve.guests.docs.manual.manual import manual
from serve.guests.mcp.tools import tools
from tests.serve import conformance, world
from tests.serve.client import serving
from tests.serve.guests.mcp.client import shown

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with serving(data) as served:
    key = served.customer("data").headers
    reply = served.ask("/api/v1/total", headers=key)
    assert reply.json == {"total": len(world.COMPANIES)}, reply
    assert reply.headers["X-Quota-Used"] == "1"
    conformance.check("GET", "/api/v1/total", 200, reply.headers, reply.body)
    assert served.ask("/api/v1/total", headers={**key, "If-None-Match": reply.headers["ETag"]}).status == 304
    assert served.ask("/api/v1/total", "DELETE").headers["Allow"] == "GET, HEAD, OPTIONS"
    assert shown(served, "count_everything", key) == reply.json
    assert "`GET /api/v1/total`" in served.ask("/llms.txt").body.decode()
    assert "Tout compter" in served.ask("/docs/routes/countEverything").body.decode()
assert tools()["count_everything"].description.startswith("How many companies there are. Counts as one API call.")
"""

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
from serve.guests.mcp.tools import tools
from tests.serve import conformance, world
from tests.serve.client import serving
from tests.serve.guests.mcp.client import shown

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

KEY: Final[Edit] = {
    "serve/contract/objects/search.py": (
        (
            "    apercu: Annotated[",
            '    pages: Annotated[Count, Text("Les pages à montrer.", "Pages to show.")]\n',
        ),
    ),
    "serve/access/envelope.py": (
        (
            "            apercu=self.apercu,",
            "            pages=-(-shown.visibles // max(1, self.limit)),\n",
        ),
    ),
}
_KEYED: Final = """
import sys
from pathlib import Path
from tests.serve import conformance, world
from tests.serve.client import serving

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with serving(data) as served:
    path = "/api/v1/societes?limit=2"
    reply = served.ask(path, headers=served.customer("data").headers)
    assert reply.json["pages"] == -(-reply.json["visibles"] // 2) > 1, reply
    conformance.check("GET", path, 200, reply.headers, reply.body)
    assert "Pages to show." in served.ask("/openapi.json").body.decode()
    page = served.ask("/docs/objets/Recherche", headers={"Accept": "text/html"})
    assert "Les pages à montrer." in page.body.decode()
"""

CODE: Final[Edit] = {
    "serve/contract/tables/error_codes.csv": (
        ("", "service_ferme,400,,le service est fermé,the service is closed\n"),
    ),
    "serve/contract/tables/errors.csv": (
        (
            "",
            "service_ferme,service_ferme,Fermé jusqu'à {hour} heures,Closed until {hour} o'clock\n",
        ),
    ),
    "serve/contract/errors.py": (
        (
            "def config(what",
            """def service_ferme(hour: int) -> ApiError:
    return _error("service_ferme", hour=hour)


""",
        ),
    ),
}
_REFUSED: Final = """
import sys
from pathlib import Path
from serve.api import suggestions
from serve.contract import errors
from tests.serve import conformance, world
from tests.serve.client import serving

def refuse(*_):
    raise errors.service_ferme(8)

suggestions._suggestions = refuse
data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with serving(data) as served:
    path = "/api/v1/suggestions?q=fit"
    reply = served.ask(path, headers={"Accept-Language": "en"})
    assert reply.json["erreur"] == {"code": "service_ferme", "message": "Closed until 8 o'clock"}, reply
    conformance.check("GET", path, 400, reply.headers, reply.body)
    assert served.ask(path).json["erreur"]["message"] == "Fermé jusqu'à 8 heures"
    assert "`service_ferme`: the service is closed" in served.ask("/openapi.json").body.decode()
    assert "service_ferme" in served.ask("/docs.md").body.decode()
"""

FIELD: Final[Edit] = {
    "shards/codec/record.py": (
        (")  # fmt: skip\n# The keys of a statement line", '    "devise_locale",\n'),
    ),
    "shards/format.py": (("\n# The tables of a shard", "FORMAT_VERSION: Final = 9\n"),),
    "pipeline/canonical.py": (("    }\n)\nEVERY_COUNTRY", '        "devise_locale": TEXT,\n'),),
    "serve/contract/tables/fields.csv": (
        (
            "",
            "devise_locale,texte,1,,Devise locale,Local currency,La devise du pays.,Currency of the country.\n",
        ),
    ),
}
_SERVED: Final = """
import io
import sys
from pathlib import Path
import openpyxl
import polars as pl
from pipeline.__main__ import main
from tests.serve import conformance
from tests.serve.client import serving

folder = Path(sys.argv[1])
(folder / "input" / "companies").mkdir(parents=True)
columns = {"iso2": ["EE", "EE"], "id": ["1", "2"], "nom": ["Õun OÜ", "Teine OÜ"], "devise_locale": ["Kroon ☃", None]}
pl.DataFrame(columns).write_parquet(folder / "input" / "companies" / "a.parquet")
assert main(["build", "--input", str(folder / "input"), "--out", str(folder / "data"), "--jobs", "1"]) == 0
with serving(folder / "data") as served:
    key = served.customer("integral").headers
    for path in ("/api/v1/societes?pays=EE&tri=nom", "/api/v1/societes/EE/1"):
        reply = served.ask(path, headers=key)
        conformance.check("GET", path, 200, reply.headers, reply.body)
        found = reply.json["societe"] if "societe" in reply.json else reply.json["societes"][0]
        assert found["devise_locale"] == "Kroon ☃", found
        assert list(found)[-1] == "devise_locale"
    lines = served.ask("/api/v1/export?format=csv&colonnes=id,devise_locale", headers=key).body.decode("utf-8-sig")
    assert "1,Kroon ☃" in lines, lines
    book = openpyxl.load_workbook(io.BytesIO(served.ask("/api/v1/export?lang=en", headers=key).body))
    assert "Local currency" in {value for row in book["Methodology"].iter_rows(values_only=True) for value in row}
    assert "Currency of the country." in served.ask("/openapi.json").body.decode()
    page = served.ask("/docs/objets/Societe", headers={"Accept": "text/html"})
    assert "La devise du pays" in page.body.decode()
"""


@pytest.mark.slow
def test_a_field_is_a_column_of_the_input_a_key_of_the_record_and_its_texts(tmp_path: Path) -> None:
    """With the format version: shards of the version before do not have it."""
    copy = tmp_path / "copy"
    _copy(copy)

    touched = _edit(copy, FIELD)
    _run(copy, _SERVED, str(tmp_path))

    assert len(touched) == 4
    assert _said("a company field") >= {Path(one).parent.as_posix() for one in touched}


@pytest.mark.slow
def test_bounds_on_a_column_of_the_engine_are_their_declaration_and_their_texts(
    tmp_path: Path,
) -> None:
    """Parser, errors, documents, tools, form, chips and the sheet of the scope follow."""
    copy = tmp_path / "copy"
    _copy(copy)

    touched = _edit(copy, BOUNDS)
    _run(copy, _FOUND, str(tmp_path / "data"))

    assert len(touched) == 2
    assert _said("a filter") >= {Path(one).parent.as_posix() for one in touched}


@pytest.mark.slow
def test_a_route_with_a_tool_is_its_function_its_object_its_declaration_and_its_texts(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"
    _copy(copy)

    touched = _edit(copy, ROUTE)
    _run(copy, _TOLD, str(tmp_path / "data"))

    assert len(touched) == 4
    assert _said("a route, with its tool") >= {Path(one).parent.as_posix() for one in touched}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "edit", "program", "files"),
    [("a key of a response", KEY, _KEYED, 2), ("an error code, a message", CODE, _REFUSED, 3)],
)
def test_a_key_or_an_error_is_its_declaration_and_what_fills_or_raises_it(
    tmp_path: Path, change: str, edit: Edit, program: str, files: int
) -> None:
    copy = tmp_path / "copy"
    _copy(copy)

    touched = _edit(copy, edit)
    _run(copy, program, str(tmp_path / "data"))

    assert len(touched) == files
    assert _said(change) >= {Path(one).parent.as_posix() for one in touched}


def _copy(folder: Path) -> None:
    """The program with its compiled modules, and the tests that run it."""
    folder.mkdir()
    for room in ("pipeline", "quota", "seeds", "serve", "shards", "tests"):
        shutil.copytree(ROOT / room, folder / room, ignore=_LEFT_OUT)
    for page in ("serve/guests/site/templates", "serve/guests/docs/viewer"):
        shutil.copytree(ROOT / page, folder / page, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", folder)


def _edit(folder: Path, edit: Edit) -> list[str]:
    for name, changes in edit.items():
        file = folder / name
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for before, added in changes:
            assert text.count(before) == 1 or not before, f"{name}: {before!r}"
            text = text.replace(before, added + before) if before else text + added
        file.write_text(text, encoding="utf-8")
    return list(edit)


def _run(folder: Path, program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _said(change: str) -> set[str]:
    """The folders that ARCHITECTURE.md names for a change."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(f"| {change} |")]
    places = [part for part in line.split("`")[1::2] if "/" in part]
    return {(Path(one) if one.endswith("/") else Path(one).parent).as_posix() for one in places}
