"""The table *Where does a change go?* of ARCHITECTURE.md: changes in a copy of the program, and their numbers of files.

The copy runs, so a change that needs another file fails: a new feature has its route, tool, page and menu entry, and
all documents have them.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.changed_copy import Edit, copy_program, documented_folders, edit, run_changed

_FEATURE_FOLDER: Final = "serve/features/births"
NEW_FEATURE: Final[Edit] = {
    f"{_FEATURE_FOLDER}/__init__.py": (
        (
            "",
            '"""Births: the companies of a country that began in a year or later.\n\nFor a test.\n"""\n',
        ),
    ),
    f"{_FEATURE_FOLDER}/answers.py": (
        (
            "",
            '''"""The answer of births."""

from serve.contract.declaration import AnswerObject, Count


class Naissances(AnswerObject):
    pays: str
    annee: int
    total: Count
''',
        ),
    ),
    f"{_FEATURE_FOLDER}/operations.py": (
        (
            "",
            '''"""The operation of births."""

from functools import partial

from serve.access.call import PRIVATE, Result, PreparedCall, Request
from serve.access.call import etag
from serve.contract.feature import Feature
from serve.contract.feature import Operation
from serve.contract.parameters import PAYS, Parameter
from serve.features.births.answers import Naissances
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from shards.query import Query, Range
from shards.search.search import search

YEAR = Parameter("annee", 2020, "integer", default=2000, minimum=1800, maximum=2100)
PARAMETERS = (PAYS, YEAR)


def births(request: Request, generation: OpenGeneration) -> PreparedCall[Naissances]:
    search = reader.read(request.pairs, PARAMETERS, generation.names)
    country, year = next(iter(search.query.pays), ""), search.value(YEAR)
    tag = etag(generation.id, request.caller.plan.slug, "births", country, year)
    return PreparedCall(partial(run, generation, country, year, {"ETag": tag, **PRIVATE}), tag, {})


async def run(
    generation: OpenGeneration, country: str, year: int, headers: dict[str, str]
) -> Result[Naissances]:
    total = count(generation, country, year)
    return Result(200, Naissances(pays=country, annee=year, total=total), headers)


def count(generation: OpenGeneration, country: str, year: int) -> int:
    born = Range("creation", least=year * 10_000)
    query = Query(pays=(country,) if country else (), ranges=(born,))
    return search(generation.shards, query, offset=0, limit=1).total


FEATURE = Feature(
    __package__,
    (
        Operation(
            "countBirths", "/api/v1/naissances", "naissances", "call", "Companies", births, Naissances,
            parameters=PARAMETERS, tool="count_births",
        ),
    ),
)
''',
        ),
    ),
    f"{_FEATURE_FOLDER}/pages.py": (
        (
            "",
            '''"""The page of births."""

from serve.access.call import Response
from serve.contract.text import Text
from serve.features.births.operations import count
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page
from serve.surfaces.site.page_request import WebRoute


async def births(request: PageRequest) -> Response:
    with request.server.published.lease() as generation:
        return page(request, "births.html", total=count(generation, "", 2000))


PAGES = (WebRoute("/naissances", "naissances", births, menu=Text("Créations", "Births")),)
''',
        ),
    ),
    f"{_FEATURE_FOLDER}/tools.py": (
        (
            "",
            '''"""The tool of births."""

from serve.surfaces.mcp.tool_list import OperationTool

TOOLS = (OperationTool("count_births", quotes=False),)
''',
        ),
    ),
    f"{_FEATURE_FOLDER}/templates/births.html": (
        (
            "",
            """{% extends "base.html" %}
{% block title %}{{ t('Créations', 'Births') }}{% endblock %}
{% block main %}
<h1>{{ t('Sociétés créées', 'Companies that began') }}</h1>
<p id="total">{{ shown.number(total) }}</p>
{% endblock %}
""",
        ),
    ),
    f"{_FEATURE_FOLDER}/texts.csv": (
        (
            "",
            """of,part,fr,en
countBirths,summary,Compter les créations,Count births
countBirths,description,Combien de sociétés d’un pays ont commencé.,How many companies of a country began.
annee,description,La première année.,The first year.
annee,aliases,since_year,since_year
count_births,tool,,Ask for one country.
Naissances,,Les créations d’un pays.,The births of a country.
Naissances,pays,Le pays.,Country.
Naissances,annee,La première année.,First year.
Naissances,total,Les sociétés.,Companies.
""",
        ),
    ),
    f"{_FEATURE_FOLDER}/examples.json": (
        (
            "",
            """{
  "naissances": {
    "route": "naissances",
    "status": 200,
    "place": 1000,
    "summary": {"fr": "L’Estonie", "en": "Estonia"},
    "value": {"pays": "EE", "annee": 2000, "total": 7}
  }
}
""",
        ),
    ),
    "serve/app.py": (
        (
            "from serve.features.changes.operations",
            "from serve.features.births.operations import FEATURE as BIRTHS\n",
        ),
        ("        SEARCH,\n", "        BIRTHS,\n"),
    ),
}
_CHECK_FEATURE: Final = """
import sys
from pathlib import Path
from serve.app import PRODUCT
from serve.surfaces.mcp.tool_list import tools
from tests.serve import conformance, world
from tests.serve.client import run_server
from tests.serve.surfaces.mcp.client import tool_content

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
path = "/api/v1/naissances?pays=ee&annee=1900"
born = sum(company["iso2"] == "EE" and (company["date_creation"] or "") >= "1900" for company in world.COMPANIES)
assert born
with run_server(data) as server:
    key = server.customer("data").headers
    reply = server.ask(path, headers=key)
    assert reply.json == {"pays": "EE", "annee": 1900, "total": born}, (reply, born)
    assert reply.headers["X-Quota-Used"] == "1"
    assert server.ask("/api/v1/naissances?pays=ee", headers=key).json["annee"] == 2000
    assert server.ask("/api/v1/naissances?annee=3", headers=key).code == "parametre_invalide"
    assert server.ask("/api/v1/naissances?year=3", headers=key).code == "parametre_inconnu"
    wrong = server.ask("/api/v1/naissances?since_year=3", headers=key).json
    assert wrong["suggestions"] == {"since_year": ["annee"]}, wrong
    conformance.check("GET", path, 200, reply.headers, reply.body)
    assert server.ask(path, headers={**key, "If-None-Match": reply.headers["ETag"]}).status == 304
    assert server.ask("/api/v1/naissances", "DELETE").headers["Allow"] == "GET, HEAD, OPTIONS"
    assert tool_content(server, "count_births", key, pays=["EE"], annee=1900) == reply.json
    assert "`GET /api/v1/naissances`" in server.ask("/llms.txt").body.decode()
    described = server.ask("/openapi.json").json
    assert set(described["components"]["schemas"]["Naissances"]["properties"]) == {"pays", "annee", "total"}
    assert described["components"]["parameters"]["annee"]["description"] == "The first year."
    shown_examples = described["paths"]["/api/v1/naissances"]["get"]["responses"]["200"]["content"]["application/json"]
    assert list(shown_examples["examples"]) == ["naissances"]
    assert described["components"]["examples"]["naissances"]["value"]["total"] == 7
    html = {"Accept": "text/html"}
    assert "Compter les créations" in server.ask("/docs/routes/countBirths", headers=html).body.decode()
    for lang, menu, heading in (("fr", "Créations", "Sociétés créées"), ("en", "Births", "Companies that began")):
        page = server.ask("/naissances", headers={**html, "Accept-Language": lang}).body.decode()
        assert f'aria-current="page">{menu}</a>' in page and heading in page, page
        other = server.ask("/tarifs", headers={**html, "Accept-Language": lang}).body.decode()
        assert f'<a href="/naissances">{menu}</a>' in other
    assert "/naissances</loc>" in server.ask("/sitemap/pages.xml").body.decode()
    assert "naissances" in server.ask("/api/v1/zz").json["erreur"]["message"]
assert tools(PRODUCT)["count_births"].description == (
    "How many companies of a country began. Ask for one country. Counts as one API call."
)
"""

# The change that adds a key to the response of a search: the number of pages.
NEW_KEY: Final[Edit] = {
    "serve/features/search/answers.py": (
        (
            "    apercu: bool",
            "    pages: Count\n",
        ),
    ),
    "serve/features/search/texts.csv": (
        (
            "",
            "Recherche,pages,Les pages à montrer.,Pages to show.\n",
        ),
    ),
    "serve/features/search/societes.py": (
        (
            "        offre_suivante=offer,",
            "        pages=-(-visible // max(1, rights.effective_limit(window, total))),\n",
        ),
    ),
}
_CHECK_KEY: Final = """
import sys
from pathlib import Path
from tests.serve import conformance, world
from tests.serve.client import run_server

data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with run_server(data) as server:
    path = "/api/v1/societes?limit=2"
    reply = server.ask(path, headers=server.customer("data").headers)
    assert reply.json["pages"] == -(-reply.json["visibles"] // 2) > 1, reply
    conformance.check("GET", path, 200, reply.headers, reply.body)
    assert "Pages to show." in server.ask("/openapi.json").body.decode()
    page = server.ask("/docs/objets/Recherche", headers={"Accept": "text/html"})
    assert "Les pages à montrer." in page.body.decode()
"""

# The change that adds an error code, and an error that has the code.
NEW_CODE: Final[Edit] = {
    "serve/contract/tables/error_codes.csv": (
        ("", "service_ferme,400,,le service est fermé,the service is closed\n"),
    ),
    "serve/contract/tables/errors.csv": (
        (
            "",
            "service_ferme,service_ferme,,Fermé jusqu'à {hour} heures,Closed until {hour} o'clock\n",
        ),
    ),
}
_CHECK_CODE: Final = """
import sys
from pathlib import Path
from serve.features.search import suggestions
from serve.contract.errors import ApiError
from tests.serve import conformance, world
from tests.serve.client import run_server

def refuse(*_):
    raise ApiError("service_ferme", hour=8)

suggestions._suggestions = refuse
data = Path(sys.argv[1])
data.mkdir()
world.publish(data)
with run_server(data) as server:
    path = "/api/v1/suggestions?q=fit"
    reply = server.ask(path, headers={"Accept-Language": "en"})
    assert reply.json["erreur"] == {"code": "service_ferme", "message": "Closed until 8 o'clock"}, reply
    conformance.check("GET", path, 400, reply.headers, reply.body)
    assert server.ask(path).json["erreur"]["message"] == "Fermé jusqu'à 8 heures"
    assert "`service_ferme`: the service is closed" in server.ask("/openapi.json").body.decode()
    assert "service_ferme" in server.ask("/docs.md").body.decode()
"""

# The change that adds a field of companies: the currency of their country.
NEW_FIELD: Final[Edit] = {
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
_CHECK_FIELD: Final = """
import io
import sys
from pathlib import Path
import openpyxl
import polars as pl
from pipeline.__main__ import main
from tests.serve import conformance
from tests.serve.client import run_server

folder = Path(sys.argv[1])
(folder / "input" / "companies").mkdir(parents=True)
columns = {"iso2": ["EE", "EE"], "id": ["1", "2"], "nom": ["Õun OÜ", "Teine OÜ"], "devise_locale": ["Kroon ☃", None]}
pl.DataFrame(columns).write_parquet(folder / "input" / "companies" / "a.parquet")
assert main(["build", "--input", str(folder / "input"), "--out", str(folder / "data"), "--jobs", "1"]) == 0
with run_server(folder / "data") as server:
    key = server.customer("integral").headers
    for path in ("/api/v1/societes?pays=EE&tri=nom", "/api/v1/societes/EE/1"):
        reply = server.ask(path, headers=key)
        conformance.check("GET", path, 200, reply.headers, reply.body)
        company = reply.json["societe"] if "societe" in reply.json else reply.json["societes"][0]
        assert company["devise_locale"] == "Kroon ☃", company
        assert list(company)[-1] == "devise_locale"
    lines = server.ask("/api/v1/export?format=csv&colonnes=id,devise_locale", headers=key).body.decode("utf-8-sig")
    assert "1,Kroon ☃" in lines, lines
    book = openpyxl.load_workbook(io.BytesIO(server.ask("/api/v1/export?lang=en", headers=key).body))
    assert "Local currency" in {value for row in book["Methodology"].iter_rows(values_only=True) for value in row}
    assert "Currency of the country." in server.ask("/openapi.json").body.decode()
    page = server.ask("/docs/objets/Societe", headers={"Accept": "text/html"})
    assert "La devise du pays" in page.body.decode()
"""


@pytest.mark.slow
def test_a_field_needs_a_column_of_the_input_a_key_of_the_record_and_texts(tmp_path: Path) -> None:
    """The format version changes too: older shards do not have the field."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, NEW_FIELD)
    run_changed(copy, _CHECK_FIELD, str(tmp_path))

    assert len(touched) == 4
    assert documented_folders("a company field") >= {
        Path(path).parent.as_posix() for path in touched
    }


@pytest.mark.slow
def test_a_feature_needs_one_folder_and_one_line(tmp_path: Path) -> None:
    """A route with two parameters, an answer of three fields, an example, a page and a tool, in both languages."""
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, NEW_FEATURE)
    run_changed(copy, _CHECK_FEATURE, str(tmp_path / "data"))

    assert [path for path in touched if not path.startswith(f"{_FEATURE_FOLDER}/")] == [
        "serve/app.py"
    ]
    assert {"serve/features", "serve"} <= documented_folders("a feature: routes, pages, tools")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "edits", "program", "file_count"),
    [
        ("a key of a response", NEW_KEY, _CHECK_KEY, 3),
        ("an error code, a message", NEW_CODE, _CHECK_CODE, 2),
    ],
)
def test_a_key_or_an_error_needs_its_declaration_and_its_use(
    tmp_path: Path, change: str, edits: Edit, program: str, file_count: int
) -> None:
    copy = tmp_path / "copy"
    copy_program(copy)

    touched = edit(copy, edits)
    run_changed(copy, program, str(tmp_path / "data"))

    assert len(touched) == file_count
    assert documented_folders(change) >= {Path(path).parent.as_posix() for path in touched}
