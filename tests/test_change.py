"""The table of ARCHITECTURE.md, *Where does a change go?*: changes are made in a copy of the program, and counted.

The copy is run, so that a change which needs a further file fails: the new route answers, its tool answers, and all
documents tell of both.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.changed_copy import Edit, copy_program, edit, folders_said, run_changed

ROUTE: Final[Edit] = {
    "serve/api/total.py": (
        (
            "",
            '''"""GET /api/v1/total: the companies of a generation."""

from serve.access.etag import etag
from serve.access.call import PRIVATE, CallResult, PreparedCall, Request
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
from serve.guests.mcp.tool_list import tools
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

KEY: Final[Edit] = {
    "serve/contract/objects/search.py": (
        (
            "    apercu: Annotated[",
            '    pages: Annotated[Count, Text("Les pages à montrer.", "Pages to show.")]\n',
        ),
    ),
    "serve/access/envelope.py": (
        (
            '            "pays_sans_donnees": ',
            '            "pages": -(-self.visibles // max(1, self.limit)),\n',
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
    "shards/format.py": (("\n# The tables of a shard", "FORMAT_VERSION: Final = 11\n"),),
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
    copy_program(copy)

    touched = edit(copy, FIELD)
    run_changed(copy, _SERVED, str(tmp_path))

    assert len(touched) == 4
    assert folders_said("a company field") >= {Path(one).parent.as_posix() for one in touched}


@pytest.mark.slow
def test_a_route_with_a_tool_is_its_function_its_object_its_declaration_and_its_texts(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, ROUTE)
    run_changed(copy, _TOLD, str(tmp_path / "data"))

    assert len(touched) == 4
    assert folders_said("a route, with its tool") >= {
        Path(one).parent.as_posix() for one in touched
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "edited", "program", "files"),
    [("a key of a response", KEY, _KEYED, 2), ("an error code, a message", CODE, _REFUSED, 3)],
)
def test_a_key_or_an_error_is_its_declaration_and_what_fills_or_raises_it(
    tmp_path: Path, change: str, edited: Edit, program: str, files: int
) -> None:
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, edited)
    run_changed(copy, program, str(tmp_path / "data"))

    assert len(touched) == files
    assert folders_said(change) >= {Path(one).parent.as_posix() for one in touched}
