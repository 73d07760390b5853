"""The definitions of the tools, and their results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from serve.app import PRODUCT
from serve.contract import feature, parameters
from serve.contract.declaration import component_schema
from serve.features.record import tools as record_tools
from serve.features.reference import operations
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, results
from serve.surfaces.mcp.tool_list import THIRD_PARTIES, OperationTool, tools
from shards.codec.record import CONTACTS, FIELDS
from tests.serve import world
from tests.serve.client import Customer, Server, run_server
from tests.serve.surfaces.mcp.client import call_tool, send_modern, tool_content, tool_refusal

LONG_NAME = 'Ένα "πολύ" μεγάλο όνομα\t' * 40  # 960 characters, most of two bytes
LONG_NAMED_COMPANIES = [
    world.company_of_group(
        "EE", f"{number:08}", f"{number} {LONG_NAME}", "62.0", ville=LONG_NAME, statut=LONG_NAME
    )
    for number in range(60)
]
STATEMENT_LINES = [
    {"etat": etat, "code": f"C{number}", "libelle": f"Ligne «{number}» {'é' * 30}",
     "valeur": number * 1.5, "devise": "EUR", "exercice": exercice, "ordre": number}
    for exercice in (2024, 2023, 2022) for etat in ("bilan_actif", "annexe")
    for number in range(90)
]  # fmt: skip
COMPANY_ID = "552100554"
COMPANY_OF_MANY_NAMES = world.company_of_group(
    "UK",
    "1",
    "Many names",
    "62.0",
    noms_anterieurs=[f"{number} {LONG_NAME[:490]}" for number in range(300)],
)


@pytest.fixture(scope="module")
def server_of_many_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a company whose former names do not fit into an answer."""
    data: Path = tmp_path_factory.mktemp("names") / "data"
    data.mkdir()
    world.publish(data, [COMPANY_OF_MANY_NAMES])
    with run_server(data) as server:
        yield server


@pytest.fixture(scope="module")
def server_of_long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with 60 companies with very long names, of which the first has many statements."""
    data: Path = tmp_path_factory.mktemp("crowd") / "data"
    data.mkdir()
    world.publish(data, LONG_NAMED_COMPANIES, {("EE", "00000000"): STATEMENT_LINES})
    with run_server(data) as server:
        yield server


# -- schemas ------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", tools(PRODUCT).values(), ids=lambda tool: tool.name)
def test_a_tool_describes_itself(tool: Any) -> None:
    """server/tools, "Tool\""""
    definition = orjson.loads(orjson.dumps(tool.definition))

    for schema in (definition["inputSchema"], definition["outputSchema"]):
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert definition["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    properties = definition["inputSchema"].get("properties", {})
    # A brief tool describes the filters of a search only in the tool that searches.
    undescribed = parameters.names(arguments.SCOPE) if tool.brief else ()
    assert all(
        argument["description"] for name, argument in properties.items() if name not in undescribed
    )
    assert set(definition["inputSchema"].get("required", [])) <= set(properties)


def test_a_number_in_any_spelling_leads_to_its_company(server: Server) -> None:
    """X6: a number that differs in a digit is refused with the near company"""
    answer = tool_content(server, "look_up", valeur="FR-552 100 554")

    assert answer["type"] == "immatriculation"
    assert [(candidate["iso2"], candidate["id"]) for candidate in answer["candidats"]] == [
        ("FR", COMPANY_ID)
    ]
    assert "EE:12652512" in tool_refusal(server, "look_up", {}, valeur="12652513")


def test_several_companies_are_read_like_a_single_one(server: Server, customer: Customer) -> None:
    """X6: two companies in other spellings, and an unknown number that differs from one company in a digit"""
    ids = ["FR:552 100 554", "UK:8209948", "EE:12652513"]

    answer = tool_content(server, "read_companies", customer.headers, ids=ids)

    single_records = [
        tool_content(server, "read_company", customer.headers, iso2=iso2, id=identifier)["societe"]
        for iso2, identifier in (("FR", COMPANY_ID), ("UK", "08209948"))
    ]
    assert answer["societes"] == single_records
    assert (answer["ids_inconnus"], answer["proches"]) == (ids[2:], {ids[2]: ["EE:12652512"]})


@pytest.mark.parametrize("ids", [[], ["", " "]])
@pytest.mark.parametrize("tool", ["search_companies", "count_companies", "analyse_market"])
def test_an_empty_list_of_companies_does_not_match_all_companies(
    server: Server, customer: Customer, tool: str, ids: list[str]
) -> None:
    text = tool_refusal(server, tool, customer.headers, ids=ids)

    assert text.startswith("parametre_invalide")
    assert "names no company; name at least one or leave the parameter out" in text
    # An empty list of countries, however, is no filter.
    assert tool_content(server, "search_companies", customer.headers, pays=[])["total"]


def test_companies_that_do_not_fit_are_listed_and_cost_no_call(
    server_of_long_names: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call reads the remaining ids, in their order"""
    # The tool reads a company only if 40 KiB of the 64 KiB of an answer are free.
    monkeypatch.setattr(record_tools, "_LARGEST_RECORD", 40 * 1024)
    customer = server_of_long_names.customer("integral")
    ids = [f"EE:{number:08}" for number in range(20)]

    first_answer = tool_content(server_of_long_names, "read_companies", customer.headers, ids=ids)
    second_answer = tool_content(
        server_of_long_names, "read_companies", customer.headers, ids=first_answer["ids_restants"]
    )

    companies_read = [*first_answer["societes"], *second_answer["societes"]]
    assert 0 < len(first_answer["societes"]) < 20 and "ids_restants" in first_answer["note"]
    assert [f"EE:{company['id']}" for company in companies_read] + second_answer.get(
        "ids_restants", []
    ) == ids
    assert server_of_long_names.calls_used(customer) == len(companies_read)


def test_companies_are_counted_by_dimension(server: Server) -> None:
    """X3: the counts of the route, with fewer keys."""
    route = server.ask("/api/v1/repartition?par=pays,ville&limite=1&secteur=edition").json
    answer = tool_content(
        server, "break_down_companies", par=["ville", "pays"], limite=1, secteur=["edition"]
    )

    assert answer["total"] == route["total"]
    for name, counted in route["repartitions"].items():
        values = [(entry["valeur"], entry["n"]) for entry in answer["repartitions"][name]]
        assert values == [(entry["valeur"], entry["n"]) for entry in counted]
        other_companies = answer["total"] - sum(count for _, count in values)
        assert answer["autres"].get(name, 0) == other_companies == route["autres"].get(name, 0)


def test_an_analysis_is_charged_once_by_the_route_and_the_tool(
    server: Server, customer: Customer
) -> None:
    """X11"""
    company = f"/api/v1/societes/FR/{COMPANY_ID}"
    for path in ("/api/v1/analyses/marche?pays=FR,UK", f"{company}/analyses/entreprise"):
        server.ask(path, headers=customer.headers)

    market = tool_content(server, "analyse_market", customer.headers, pays=["FR", "UK"])
    of_company = tool_content(server, "analyse_company", customer.headers, iso2="FR", id=COMPANY_ID)

    assert market["credits_debites"] == of_company["credits_debites"] == 0  # paid for by the routes
    assert "module_non_inclus" in tool_refusal(
        server, "analyse_market", server.customer("corporate").headers
    )
    assert "compte_requis" in tool_refusal(server, "analyse_company", {}, iso2="FR", id=COMPANY_ID)


def test_the_list_of_tools_is_small(server: Server) -> None:
    """A model reads the complete list before its first call"""
    assert len(send_modern(server, "tools/list").body) < 40_000


def test_arguments_are_the_parameters_of_the_routes() -> None:
    """Both are read from one table: serve/contract/parameters.py"""
    arguments_of_tools = {
        tool.name: parameters.names(tool.arguments) for tool in tools(PRODUCT).values()
    }

    search_names = [name for name in parameters.names(parameters.SEARCH) if name != "version"]
    assert arguments_of_tools["search_companies"] == tuple(search_names)
    assert (*arguments_of_tools["list_sectors"], "version") == parameters.names(operations.SECTORS)
    assert (*arguments_of_tools["list_subsectors"], "version") == parameters.names(
        operations.SUB_SECTORS
    )
    assert {*arguments_of_tools["count_companies"]} == {*search_names} - {"tri", "limit", "offset"}
    declared = {parameter.name: parameter for parameter in parameters.SEARCH}
    schema = tools(PRODUCT)["search_companies"].definition["inputSchema"]["properties"]
    assert schema["q"]["maxLength"] == declared["q"].longest
    assert schema["tri"]["enum"] == list(declared["tri"].enum)
    assert (schema["limit"]["maximum"], schema["site_web"]["type"]) == (50, "boolean")
    assert "UK" in schema["pays"]["items"]["enum"]


def test_a_required_argument_is_not_described_as_optional() -> None:
    for tool in tools(PRODUCT).values():
        schema = tool.definition["inputSchema"]
        for name in schema.get("required", []):
            assert "Without it" not in schema["properties"][name]["description"]


def test_descriptions_mention_tools_and_not_routes() -> None:
    """Words about routes are substituted in descriptions, so each substituted text must still occur there"""
    descriptions = " ".join(parameter.description.en for parameter in parameters.SEARCH)
    text = orjson.dumps([tool.definition for tool in tools(PRODUCT).values()]).decode()

    assert not [words for words in arguments._WORDS_OF_TOOLS if words not in descriptions]
    assert "/api/v1" not in text and "separated by" not in text and "`|`" not in text


def test_a_tool_begins_with_the_first_sentence_of_its_operation() -> None:
    """The sentence is only in the declaration of the operation; texts.csv adds sentences for models"""
    declared = {operation.tool: operation for operation in PRODUCT.operations if operation.tool}

    for name, operation in declared.items():
        definition = tools(PRODUCT)[name].definition
        first_sentence = definition["description"].partition(". ")[0]
        assert operation.description.en.startswith(first_sentence), name
        assert definition["title"] == operation.summary.en, name


# -- results ------------------------------------------------------------------------------


# A tool, its arguments, and the path of the route that shows the same.
OPERATION_TOOLS: list[tuple[str, dict[str, Any], str]] = [
    ("list_countries", {}, "pays"),
    ("list_sectors", {"pays": ["FR", "DE"]}, "secteurs?pays=FR,DE"),
    ("list_subsectors", {"secteur": ["edition"]}, "sous-secteurs?secteur=edition"),
    ("list_sources", {"pays": ["FR"]}, "sources?pays=FR"),
    ("suggest", {"q": "f"}, "suggestions?q=f"),
    ("break_down_companies", {"par": ["ville", "pays"]}, "repartition?par=ville,pays"),
    ("analyse_market", {"pays": ["FR", "UK"]}, "analyses/marche?pays=FR,UK"),
    (
        "analyse_company",
        {"iso2": "FR", "id": COMPANY_ID},
        f"societes/FR/{COMPANY_ID}/analyses/entreprise",
    ),
    (
        "comparable_companies",
        {"iso2": "FR", "id": COMPANY_ID},
        f"societes/FR/{COMPANY_ID}/comparables",
    ),
    ("company_group", {"iso2": "EE", "id": "12652512"}, "societes/EE/12652512/groupe"),
    ("look_up", {"valeur": COMPANY_ID}, f"identifiants/{COMPANY_ID}"),
]


def is_part_of(part: Any, complete: Any) -> bool:
    """Is `part` equal to `complete`, except for missing keys of objects and missing items of lists?"""
    if isinstance(part, dict):
        return all(name in complete and is_part_of(part[name], complete[name]) for name in part)
    if isinstance(part, list):
        candidates = iter(complete)  # consumed, so the items must have the same order
        return all(any(is_part_of(item, candidate) for candidate in candidates) for item in part)
    return bool(part == complete)


@pytest.mark.parametrize(
    ("tool", "args", "path"), OPERATION_TOOLS, ids=[row[0] for row in OPERATION_TOOLS]
)
def test_a_tool_of_an_operation_shows_a_part_of_the_answer_of_its_route(
    server: Server, customer: Customer, tool: str, args: dict[str, Any], path: str
) -> None:
    """Its lists have as many entries as those of the route, each entry with fewer keys"""
    headers = {**customer.headers, "Accept-Language": "en"}
    route = server.ask(f"/api/v1/{path}", headers=headers).json

    answer = tool_content(server, tool, customer.headers, **args)

    for name in ("credits_debites", "credits_restants"):
        answer.pop(name, None)
    assert answer and is_part_of(answer, route)
    list_names = [
        name for name, value in route.items() if isinstance(value, list) and name != "ratios"
    ]
    assert [len(answer.get(name, ())) for name in list_names] == [
        len(route[name]) for name in list_names
    ]


def test_every_tool_of_an_operation_is_tested() -> None:
    assert {tool for tool, *_ in OPERATION_TOOLS} == {
        operation.tool for operation in PRODUCT.operations if operation.tool
    }


def test_keys_that_a_tool_leaves_out_are_keys_of_its_route() -> None:
    answers = {
        operation.tool: component_schema(operation.answer, "en")
        for operation in PRODUCT.operations
        if operation.tool
    }
    components = orjson.dumps(feature.component_schemas("en", PRODUCT)).decode()

    for tool in (entry for module in PRODUCT.modules("tools") for entry in module.TOOLS):
        if isinstance(tool, OperationTool):
            schemas = components + orjson.dumps(answers[tool.name]).decode()
            for name in (*tool.without, *tool.nulls):
                assert all(f'"{part}":' in schemas for part in name.split(".")), (tool.name, name)


def test_a_search_shows_the_former_name_that_matched(server: Server) -> None:
    """X4"""
    answer = tool_content(server, "search_companies", q="vana nimi")

    assert answer["noms_trouves"] == {"EE:12652512": "Vana Nimi OÜ"}
    assert "noms_trouves" not in tool_content(server, "search_companies", q="tarkvara")


def test_sources_match_the_route(server: Server) -> None:
    """X9"""
    everywhere = tool_content(server, "list_sources")
    filtered = tool_content(server, "list_sources", pays=["FR", "AT"])

    route = server.ask("/api/v1/sources").json
    assert everywhere["pays_sans_donnees"] == route["pays_sans_donnees"]
    with_data = [country for country in route["pays"] if country["n_societes"]]
    assert [country["iso2"] for country in everywhere["pays"]] == [
        country["iso2"] for country in with_data
    ]
    assert not any("champs" in country for country in everywhere["pays"])
    [france] = filtered["pays"]
    assert (filtered["pays_sans_donnees"], france["date_source"]) == (["AT"], "2026-11-01")
    assert france["champs"] == with_data[0]["champs"]
    assert france["sources"][0] == {
        "table": "societes",
        "registre": "Registre fr-registre",
        "licence": {
            "nom": "Licence Ouverte 2.0",
            "attribution_en": "Source: fr-registre & Co",
        },
        "date_source": "2026-11-01",
    }


@pytest.mark.parametrize("tool", ["search_companies", "count_companies"])
def test_a_search_says_which_countries_have_no_data(server: Server, tool: str) -> None:
    assert tool_content(server, tool, pays=["FR", "AT"])["pays_sans_donnees"] == ["AT"]
    assert "pays_sans_donnees" not in tool_content(server, tool, pays=["FR"])


def test_a_search_has_the_rows_and_the_total_of_its_route(
    server: Server, customer: Customer
) -> None:
    """§4.4"""
    args = {"pays": ["FR", "GB"], "tri": "nom", "limit": 3, "offset": 2}

    answer = tool_content(server, "search_companies", customer.headers, **args)

    route = server.ask(
        "/api/v1/societes?pays=FR,GB&tri=nom&limit=3&offset=2", headers=customer.headers
    ).json
    assert (answer["total"], answer["visibles"]) == (route["total"], route["visibles"])
    assert (answer["limit"], answer["offset"], answer["offset_suivant"]) == (3, 2, 5)
    assert [company["id"] for company in answer["societes"]] == [
        company["id"] for company in route["societes"]
    ]
    assert all(None not in company.values() for company in answer["societes"])


def test_every_filter_of_the_route_is_an_argument(server: Server, customer: Customer) -> None:
    """X2, X0.3"""
    args = {
        "ids": ["FR:552 100 554", "UK:08209948", "EE:absente"], "etat": ["active"], "nace": ["64"],
        "ville": ["Orléans", "Tallinn"], "cree_max": "1900", "actif_min": 1, "avec_comptes": True,
    }  # fmt: skip

    answer = tool_content(server, "search_companies", customer.headers, **args)
    count = tool_content(server, "count_companies", customer.headers, **args)

    assert [company["id"] for company in answer["societes"]] == [COMPANY_ID]
    assert answer["ids_inconnus"] == count["ids_inconnus"] == ["EE:absente"]
    assert answer["total"] == count["total"] == 1
    assert "forme_inconnue" in tool_refusal(server, "count_companies", forme=["Zaibatsu"])


def test_pages_follow_each_other_to_the_end(server: Server, customer: Customer) -> None:
    ids: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = tool_content(server, "search_companies", customer.headers, limit=9, offset=offset)
        ids += [company["iso2"] + company["id"] for company in page["societes"]]
        offset = page.get("offset_suivant")

    assert len(ids) == len({*ids}) == page["total"] == len(world.COMPANIES)


def test_a_search_shows_ten_companies_and_never_more_than_fifty(
    server: Server, server_of_long_names: Server, customer: Customer
) -> None:
    """Ten by default, fifty if `limit` is larger"""
    assert len(tool_content(server, "search_companies", customer.headers)["societes"]) == 10
    headers = server_of_long_names.customer("integral").headers
    assert (
        tool_content(server_of_long_names, "search_companies", headers, limit=1_000)["limit"] == 50
    )


def test_a_count_is_exact_whatever_the_plan(server: Server) -> None:
    """§8.2 rule 3"""
    assert tool_content(server, "count_companies")["total"] == len(world.COMPANIES)
    assert (
        tool_content(server, "count_companies", pays=["FR"], avec_ca=True, ca_min=0)["total"] == 5
    )
    assert tool_content(server, "count_companies", site_web=False)["total"] == len(world.COMPANIES)


def test_an_empty_result_suggests_another_search(server: Server) -> None:
    for tool in ("search_companies", "count_companies"):
        answer = tool_content(server, tool, q="gazoduc transsaharien")

        assert answer["total"] == 0
        assert "shorter part" in answer["note"]


def test_a_plan_that_shows_only_some_companies_says_so(server: Server) -> None:
    """§8.1: a visitor sees two of the eight French companies, `free` would show five"""
    answer = tool_content(server, "search_companies", pays=["FR"])

    assert (len(answer["societes"]), answer["visibles"], answer["total"]) == (2, 2, 8)
    assert "offset_suivant" not in answer
    assert "2 of 8" in answer["note"] and "Discovery (free), shows 5" in answer["note"]


def test_an_offset_past_the_end_says_so(server: Server, customer: Customer) -> None:
    answer = tool_content(server, "search_companies", customer.headers, offset=900)

    assert (answer["societes"], "past" in answer["note"]) == ([], True)


def test_a_company_is_read_without_statements_unless_they_are_requested(
    server: Server, customer: Customer
) -> None:
    """§4.5"""
    brief = tool_content(server, "read_company", customer.headers, iso2="fr", id="552 100 554")
    full = tool_content(
        server, "read_company", customer.headers, iso2="FR", id=COMPANY_ID, etats_financiers=True
    )

    route = server.ask(f"/api/v1/societes/FR/{COMPANY_ID}", headers=customer.headers).json
    record = {name: value for name, value in route["societe"].items() if value is not None}
    assert brief["societe"] == full["societe"] == record
    assert "comptes" not in brief
    (statement,) = full["comptes"]
    (line,) = route["comptes"]
    assert statement["lignes"] == [{name: line[name] for name in ("code", "libelle", "valeur")}]
    assert (statement["exercice"], statement["etat"]) == (line["exercice"], line["etat"])


def test_statements_of_one_year_can_be_requested(server_of_long_names: Server) -> None:
    headers = server_of_long_names.customer("integral").headers

    answer = tool_content(
        server_of_long_names, "read_company", headers, iso2="EE", id="00000000", exercice=2023
    )

    # 90 lines of a balance sheet, and 90 of an annex.
    assert sum(len(statement["lignes"]) for statement in answer["comptes"]) == 180
    assert {statement["exercice"] for statement in answer["comptes"]} == {2023}


def test_a_year_without_statements_is_refused_with_the_years_that_have_some(
    server_of_long_names: Server,
) -> None:
    headers = server_of_long_names.customer("integral").headers

    text = tool_refusal(
        server_of_long_names, "read_company", headers, iso2="EE", id="00000000", exercice=2019
    )

    assert "parametre_invalide" in text
    assert "2019" in text and "2024, 2023, 2022" in text


@pytest.mark.parametrize("args", [{"etats_financiers": True}, {"exercice": 2019}])
def test_a_company_without_statements_is_read_without_them(
    server: Server, customer: Customer, args: dict[str, Any]
) -> None:
    """E4"""
    answer = tool_content(
        server, "read_company", customer.headers, iso2="FR", id="552059024", **args
    )

    assert (answer["societe"]["id"], answer["comptes"]) == ("552059024", [])
    assert "No statements of this company" in answer["note"]


def test_a_visitor_reads_that_statements_need_a_key(server: Server) -> None:
    answer = tool_content(server, "read_company", iso2="FR", id=COMPANY_ID, etats_financiers=True)

    assert "comptes" not in answer
    assert "key" in answer["note"]


def test_a_plan_is_explained_with_its_calls_and_credits(server: Server) -> None:
    """D15"""
    customer = server.customer("data")
    tool_content(server, "count_companies", customer.headers)

    answer = tool_content(server, "explain_plan", customer.headers)

    route = server.ask("/api/v1/compte", headers=customer.headers).json
    assert (answer["plan"], answer["limites"]) == ("data", route["limites"])
    assert answer["appels_jour"]["utilise"] == 1
    assert answer["credits"] == route["credits"]
    assert answer["offre_suivante"]["plan"] == "corporate"
    assert customer.key not in str(answer) and customer.account not in str(answer)


def test_explain_plan_answers_visitors_and_keys_without_the_api_tool(server: Server) -> None:
    """A7"""
    visitor = tool_content(server, "explain_plan")
    without_tool = tool_content(
        server, "explain_plan", server.customer("data", api_tool=False).headers
    )

    assert (visitor["plan"], visitor["limites"]["resultats_par_recherche"]) == ("visiteur", 2)
    assert visitor["limites"]["appels_restants_aujourd_hui"] > 0
    assert (without_tool["plan"], without_tool["plan_souscrit"]) == ("free", "data")


def test_every_result_fits_the_schema_of_its_tool(
    server: Server, server_of_long_names: Server
) -> None:
    """server/tools, "Output Schema\""""
    calls: list[tuple[Server, str, dict[str, Any]]] = [
        (server, "list_countries", {}),
        (server, "list_sectors", {}),
        (server, "list_subsectors", {"secteur": ["edition", "restauration"]}),
        (server, "list_sources", {"pays": ["FR"]}),
        (server, "suggest", {"q": "f"}),
        (server, "break_down_companies", {"par": ["ville", "forme"], "limite": 2}),
        (server, "comparable_companies", {"iso2": "FR", "id": COMPANY_ID}),
        (server, "company_group", {"iso2": "EE", "id": "12652512"}),
        (server, "company_group", {"iso2": "FR", "id": COMPANY_ID}),
        (server, "look_up", {"valeur": COMPANY_ID}),
        (server, "count_companies", {}),
        (server, "count_companies", {"q": "zzzz"}),
        (
            server,
            "match_companies",
            {
                "lignes": [
                    {"cle": "1", "nom": "Mueller Maschinenbau"},
                    {"cle": "2"},
                    {"nom": "Fitlab"},
                ]
            },
        ),
        (server, "explain_plan", {}),
        (server, "read_companies", {"ids": ["FR:552100554", "FR:absente"]}),
        (
            server_of_long_names,
            "read_companies",
            {"ids": [f"EE:{number:08}" for number in range(20)]},
        ),
        (server, "search_companies", {"limit": 50}),
        (server, "search_companies", {"q": "zzzz"}),
        (server_of_long_names, "search_companies", {"limit": 50}),
        (
            server_of_long_names,
            "read_company",
            {"iso2": "EE", "id": "00000000", "etats_financiers": True},
        ),
        *(
            (
                server,
                "read_company",
                {"iso2": company["iso2"], "id": company["id"], "etats_financiers": 1},
            )
            for company in world.COMPANIES[:16]  # all but 25 of the 26 similar bakeries
        ),
    ]
    # A customer of each server, by plan.
    customers = {
        name: [server.customer(name), server_of_long_names.customer(name)]
        for name in ("free", "carte")
    }

    for called_server, tool, args in calls:
        validator = Draft202012Validator(tools(PRODUCT)[tool].output)
        for headers in (
            {},
            *(pair[called_server is server_of_long_names].headers for pair in customers.values()),
        ):
            validator.validate(tool_content(called_server, tool, headers, **args))


# -- sizes --------------------------------------------------------------------------------


def test_a_result_fits_up_to_its_last_byte() -> None:
    """AROUND bytes are reserved for the message around a result"""
    document = {"nom": "Żabka"}
    bytes_left = results.LARGEST - results.AROUND - results.size(document)

    assert results.fits(document, bytes_left)
    assert not results.fits(document, bytes_left + 1)


def test_no_answer_is_over_64_kib(server_of_long_names: Server) -> None:
    """With long names, many lines and long wrong values"""
    headers = server_of_long_names.customer("integral").headers
    all_sectors = [sector.slug for sector in world.LISTS.secteurs]
    calls = [
        ("search_companies", {"limit": 50}),
        ("read_company", {"iso2": "EE", "id": "00000000", "etats_financiers": True}),
        ("list_subsectors", {"secteur": all_sectors}),
        ("list_sources", {}),
        ("break_down_companies", {"par": ["ville", "nace", "sous_secteur"], "limite": 200}),
        ("suggest", {"q": "1"}),
        ("comparable_companies", {"iso2": "EE", "id": "00000000", "n": 50}),
        ("match_companies", {"lignes": [{"cle": f"{i}" + "💀" * 298} for i in range(10, 40)]}),
        ("list_sectors", {}),
        ("list_countries", {}),
        (
            "match_companies",
            {
                "lignes": [
                    {"cle": str(i), "nom": LONG_NAMED_COMPANIES[0]["nom"][:300]} for i in range(30)
                ],
                "limite": 10,
            },
        ),
        ("read_companies", {"ids": [f"EE:{number:08}" for number in range(20)]}),
        ("count_companies", {"ids": ["EE:" + "x" * 60 + str(number) for number in range(900)]}),
        ("search_companies", {"pays": ["x" * 500] * 100}),
        ("search_companies", {"q": "x" * 60_000}),
        ("search_companies", {"y" * 1_000 + str(number): 1 for number in range(50)}),
    ]

    for tool, args in calls:
        params = {"name": tool, "arguments": args}
        assert (
            len(send_modern(server_of_long_names, "tools/call", params, headers).body)
            <= results.LARGEST
        ), tool


def test_an_answer_says_that_texts_and_lists_were_cut(server_of_many_names: Server) -> None:
    headers = server_of_many_names.customer("integral").headers
    call = {"name": "read_company", "arguments": {"iso2": "UK", "id": "1"}}

    answer = tool_content(server_of_many_names, "read_company", headers, iso2="UK", id="1")

    names = answer["societe"]["noms_anterieurs"]
    assert names[-1] == f"… and {300 - len(names) + 1} more"
    assert "Long texts and lists are cut" in answer["note"]
    assert (
        len(send_modern(server_of_many_names, "tools/call", call, headers).body) <= results.LARGEST
    )


def test_lines_have_codes_of_reasons_and_the_requested_columns(server: Server) -> None:
    """No company matches the second line, so it has no values"""
    lines = [
        {"cle": "1", "nom": "Mueller Maschinenbau", "pays": "DE"},
        {"cle": "2", "nom": "Xyzzy"},
    ]
    args = {"lignes": lines, "colonnes": ["nom", "nace_code", "email"]}

    rows = tool_content(server, "match_companies", server.customer("data").headers, **args)[
        "resultats"
    ]

    assert "nom_identique" in rows[0]["candidats"][0]["raisons_codes"]
    assert list(rows[0]["valeurs"]) == ["nom", "nace_code", "email"]
    assert rows[0]["valeurs"]["nom"] == rows[0]["candidats"][0]["nom"]
    assert "valeurs" not in rows[1]


def test_values_that_do_not_fit_are_left_out_starting_with_the_last_line(
    server_of_long_names: Server,
) -> None:
    lines = [{"cle": str(i), "id": f"{i:08}", "pays": "EE"} for i in range(1, 31)]
    headers = server_of_long_names.customer("integral").headers

    answer = tool_content(
        server_of_long_names, "match_companies", headers, lignes=lines, colonnes=list(FIELDS)
    )

    with_values = ["valeurs" in result for result in answer["resultats"]]
    assert with_values == sorted(with_values, reverse=True)
    assert 0 < sum(with_values) < len(lines)
    assert "have no values" in answer["note"]


def test_rows_that_do_not_fit_are_on_the_next_page(server_of_long_names: Server) -> None:
    headers = server_of_long_names.customer("integral").headers

    answer = tool_content(server_of_long_names, "search_companies", headers, limit=50)

    assert 0 < len(answer["societes"]) < 50
    assert answer["offset_suivant"] == len(answer["societes"])


def test_statements_that_do_not_fit_can_be_requested_by_year(server_of_long_names: Server) -> None:
    headers = server_of_long_names.customer("integral").headers

    answer = tool_content(
        server_of_long_names,
        "read_company",
        headers,
        iso2="EE",
        id="00000000",
        etats_financiers=True,
    )

    assert answer["comptes"][0]["exercice"] == 2024
    assert sum(len(statement["lignes"]) for statement in answer["comptes"]) < len(STATEMENT_LINES)
    assert "exercice" in answer["note"]


# -- wrong arguments ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args", "words"),
    [
        ("search_companies", {"pays": ["FRA"]}, ["pays_inconnu", "list_countries", '"FR"']),
        ("search_companies", {"pays": "EL"}, ["pays_inconnu", "EL"]),
        ("search_companies", {"secteur": ["editions"]}, ["secteur_inconnu", "edition"]),
        ("search_companies", {"tri": "best"}, ["parametre_invalide", "best", "ca_desc"]),
        ("search_companies", {"limit": 0}, ["limit", "0"]),
        ("search_companies", {"limit": "dix"}, ["limit", "dix"]),
        ("search_companies", {"ca_min": 2, "ca_max": 1}, ["ca_min", "ca_max"]),
        ("search_companies", {"country": "FR"}, ["parametre_inconnu", "country", "pays"]),
        ("search_companies", {"q": ["a"]}, ["parametre_invalide", "q", "not an array"]),
        ("read_company", {"iso2": ["FR"], "id": COMPANY_ID}, ["iso2", "or a number, not an array"]),
        ("search_companies", {"limit": True}, ["limit", "not true"]),
        ("search_companies", {"pays": [{"a": 1}]}, ["list of texts, not an object"]),
        ("search_companies", {"pays": [None]}, ["pays", "not null"]),
        ("count_companies", {"limit": 5}, ["parametre_inconnu", "limit"]),
        ("count_companies", {"sous_secteur": ["x"]}, ["sous_secteur", "secteur"]),
        ("list_countries", {"pays": ["FR"]}, ["parametre_inconnu", "no arguments"]),
        ("list_subsectors", {}, ["secteur_inconnu", "required", "list_sectors"]),
        ("list_subsectors", {"secteur": [""]}, ["secteur_inconnu", "required", "list_sectors"]),
        ("read_company", {"iso2": "FR"}, ["id", "required; send a value, such as 09418436"]),
        ("read_company", {"id": "UK:00944111"}, ["required; send a value, such as UK"]),
        ("read_companies", {"ids": "[]"}, ["required; send a value, such as UK:00944111"]),
        ("break_down_companies", {}, ["send one or more of these values: pays, secteur"]),
        ("search_companies", {"pays": '["FR",'}, ["pays", "character 7", "not JSON", "correct it"]),
        ("search_companies", {"limit": "cinq"}, ["limit", "'cinq' is not a whole number"]),
        ("search_companies", {"site_web": "peut-être"}, ["site_web", "peut-être"]),
        ("match_companies", {"lignes": "[{]"}, ["lignes", "not JSON"]),
        ("read_company", {"iso2": "FR", "id": "absente"}, ["societe_introuvable", "q takes"]),
        ("read_company", {"iso2": "FR", "id": "x" * 65}, ["identifiant_invalide", "64"]),
        ("read_company", {"iso2": "Z", "id": "1"}, ["pays_inconnu"]),
        (
            "read_company",
            {"iso2": "FR", "id": COMPANY_ID, "exercice": "lundi"},
            ["exercice", "lundi"],
        ),
        ("read_company", {"iso2": "FR", "id": COMPANY_ID, "exercice": 0}, ["exercice", "0"]),
        (
            "read_company",
            {"iso2": "FR", "id": COMPANY_ID, "etats_financiers": 2},
            ["etats_financiers"],
        ),
        ("explain_plan", {"x": 1}, ["parametre_inconnu"]),
    ],
)
def test_wrong_arguments_are_refused_with_a_remedy(
    server: Server, tool: str, args: dict[str, Any], words: list[str]
) -> None:
    """server/tools, "Tool Execution Errors", in English (X0)"""
    text = tool_refusal(server, tool, **args)

    assert not [word for word in words if word not in text], text
    assert " est " not in text and " : " not in text.replace('" : ', ""), text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "depuis: required; send a value, such as 81c0"),
        ({"depuis": "0" * 16, "recherche": '{"q":1,"q":2}'}, "the name 'q' occurs twice"),
        (
            {"depuis": "0" * 16, "recherche": {"pays": '["FR"'}},
            "pays: it is not JSON in UTF-8 from character",
        ),
    ],
)
def test_wrong_arguments_of_a_tool_for_accounts_are_refused_too(
    server: Server, customer: Customer, args: dict[str, Any], words: str
) -> None:
    assert words in tool_refusal(server, "changes", customer.headers, **args)


def test_a_refusal_says_how_many_values_it_leaves_out(server: Server) -> None:
    text = tool_refusal(server, "search_companies", country="FR", region="x")
    error = orjson.loads(text.splitlines()[-1])
    countries_text = tool_refusal(
        server, "search_companies", pays=[f"X{number}" for number in range(14)]
    )

    assert error["parametres_admis"] == list(parameters.names(arguments.SEARCH))
    assert error["suggestions"] == {"country": ["pays"], "region": []}
    assert orjson.loads(countries_text.splitlines()[-1])["pays_inconnus"][9:] == [
        "X9",
        "… and 4 more",
    ]


def test_a_count_of_zero_explains_only_the_filters_that_were_sent(server: Server) -> None:
    by_name = tool_content(server, "count_companies", q="zzzz")["note"]
    by_figure = tool_content(server, "count_companies", ca_min=1e15)["note"]

    assert "q must occur in the name" in by_name and "filter" not in by_name
    assert "filter" in by_figure and "q must" not in by_figure


@pytest.mark.parametrize(
    ("args", "pairs"),
    [
        ({"pays": ["FR", "UK"]}, [("pays", "FR"), ("pays", "UK")]),
        ({"pays": "FR,UK"}, [("pays", "FR,UK")]),
        ({"limit": 5.0, "q": 123}, [("q", "123"), ("limit", "5.0")]),
        ({"site_web": True, "avec_ca": False}, [("site_web", "1")]),
        ({"site_web": "true", "avec_ca": "False"}, [("site_web", "1")]),  # models write both
        ({"q": None, "pays": []}, []),
        (
            {"pays": "null", "limit": "null", "site_web": "NULL".lower(), "q": "null"},
            [("q", "null")],
        ),
        ({"nace": "56", "code_postal": "[75001]"}, [("code_postal", "75001"), ("nace", "56")]),
        ({"site_web": 1, "avec_ca": "0"}, [("site_web", "1")]),
    ],
)
def test_arguments_become_parameters(args: dict[str, Any], pairs: Pairs) -> None:
    assert arguments.pairs(args, arguments.SEARCH, ()) == pairs


# JSON arguments of each tool that takes some. The test replaces an empty `depuis` by a generation.
JSON_ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("list_sectors", {"pays": ["FR", "UK"]}),
    ("list_subsectors", {"secteur": ["edition", "restauration"], "pays": ["FR"]}),
    ("list_sources", {"pays": ["FR"]}),
    ("count_companies", {"pays": ["FR", "UK"], "ca_min": 1000.5, "avec_comptes": False}),
    ("suggest", {"q": "f", "pays": ["FR"]}),
    ("break_down_companies", {"par": ["ville", "forme"], "limite": 2, "site_web": True}),
    ("analyse_market", {"pays": ["FR", "UK"], "avec_ca": True}),
    ("search_companies", {"etat": ["active"], "limit": 3, "offset": 1, "effectif_min": 1}),
    ("search_companies", {"ids": ["FR:552100554", "FR:absente"], "tri": None, "ca_max": None}),
    ("read_company", {"iso2": "FR", "id": COMPANY_ID, "etats_financiers": True, "exercice": 2024}),
    ("read_companies", {"ids": ["FR:552100554", "UK:08209948"]}),
    ("analyse_company", {"iso2": "FR", "id": COMPANY_ID}),
    ("comparable_companies", {"iso2": "FR", "id": COMPANY_ID, "n": 2}),
    ("company_group", {"iso2": "FR", "id": COMPANY_ID}),
    ("changes", {"depuis": "", "ids": ["FR:552100554"], "limit": 5}),
    ("changes", {"depuis": "", "recherche": {"pays": ["FR"], "avec_ca": True}}),
    ("look_up", {"valeur": COMPANY_ID}),
    (
        "match_companies",
        {
            "lignes": [{"cle": "1", "nom": "Fitlab", "pays": None}, {"cle": 2, "id": COMPANY_ID}],
            "limite": 2,
            "colonnes": ["nom"],
        },
    ),
]


def json_text(value: Any) -> Any:
    """An argument as it is sent by a client that can only send strings."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


@pytest.mark.parametrize(("tool", "args"), JSON_ARGUMENTS, ids=[tool for tool, _ in JSON_ARGUMENTS])
def test_arguments_that_are_json_in_a_string_are_accepted(
    server: Server, tool: str, args: dict[str, Any]
) -> None:
    """All arguments as one string, each argument, or each item of a list"""
    if "depuis" in args:
        args = {**args, "depuis": server.ask("/readyz").json["generation"]}
    headers = server.customer("integral").headers
    nested = {
        name: [json_text(item) if isinstance(item, dict) else item for item in value]
        if isinstance(value, list)
        else json_text(value)
        for name, value in args.items()
    }
    may_differ = ("credits_debites", "credits_restants")

    answers = [
        send_modern(server, "tools/call", {"name": tool, "arguments": arguments}, headers).json[
            "result"
        ]
        for arguments in (
            args,
            {name: json_text(value) for name, value in args.items()},
            nested,
            json_text(args),
        )
    ]

    assert not answers[0]["isError"], answers[0]
    values = [
        {
            name: value
            for name, value in answer["structuredContent"].items()
            if name not in may_differ
        }
        for answer in answers
    ]
    assert values[1:] == values[:1] * 3


def test_every_tool_with_arguments_is_tested_with_strings() -> None:
    with_arguments = {tool.name for tool in tools(PRODUCT).values() if tool.arguments or tool.input}

    assert {tool for tool, _ in JSON_ARGUMENTS} == with_arguments


def test_contacts_are_shown_to_callers_with_the_right(server: Server) -> None:
    """§8.1; tests/serve/access/test_contacts.py checks that no other caller receives them"""
    free, data = (server.customer(plan).headers for plan in ("free", "data"))
    site = "https://www.fuite-sgo.eu"

    assert (
        tool_content(server, "search_companies", data, q="société générale")["societes"][0][
            "site_web"
        ]
        == site
    )
    company = tool_content(server, "read_company", data, iso2="FR", id=COMPANY_ID)["societe"]
    assert {*CONTACTS} <= {*company}
    assert not {*CONTACTS} & {
        *tool_content(server, "read_company", free, iso2="FR", id=COMPANY_ID)["societe"]
    }


def test_texts_of_companies_are_marked_as_data_and_not_instructions(server: Server) -> None:
    """The warning is in the description of a tool and after the data of its answer"""
    quoting = {name: tool for name, tool in tools(PRODUCT).items() if tool.quotes}
    answers = {
        "search_companies": call_tool(server, "search_companies"),
        "break_down_companies": call_tool(server, "break_down_companies", par=["ville"]),
        "read_company": call_tool(server, "read_company", iso2="FR", id="552100554"),
        "read_companies": call_tool(server, "read_companies", ids=["FR:552100554"]),
        "comparable_companies": call_tool(
            server, "comparable_companies", iso2="FR", id="552100554"
        ),
        "company_group": call_tool(server, "company_group", iso2="EE", id="12652512"),
    }

    tools_for_accounts = {"changes", "analyse_company", "analyse_market"}
    assert {*answers, *tools_for_accounts} == quoting.keys()
    for name, answer in answers.items():
        assert quoting[name].definition["description"].endswith(THIRD_PARTIES)
        assert [part["text"] for part in answer["content"]][1:] == [THIRD_PARTIES]
    assert len(call_tool(server, "list_countries")["content"]) == 1
