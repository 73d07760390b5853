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
from tests.serve.client import Customer, Served, serving
from tests.serve.surfaces.mcp.client import call, modern, refused, shown

LONG = 'Ένα "πολύ" μεγάλο όνομα\t' * 40  # 1 000 characters, most of them of two bytes
CROWD = [
    world._of("EE", f"{number:08}", f"{number} {LONG}", "62.0", ville=LONG, statut=LONG)
    for number in range(60)
]
LINES = [
    {"etat": etat, "code": f"C{number}", "libelle": f"Ligne «{number}» {'é' * 30}",
     "valeur": number * 1.5, "devise": "EUR", "exercice": exercice, "ordre": number}
    for exercice in (2024, 2023, 2022) for etat in ("bilan_actif", "annexe")
    for number in range(90)
]  # fmt: skip
FR = "552100554"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Companies whose names are as long as names may be, one of them with many statements."""
    data: Path = tmp_path_factory.mktemp("crowd") / "data"
    data.mkdir()
    world.publish(data, CROWD, {("EE", "00000000"): LINES})
    with serving(data) as server:
        yield server


# -- their schemas ------------------------------------------------------------------------


@pytest.mark.parametrize("tool", tools(PRODUCT).values(), ids=lambda tool: tool.name)
def test_a_tool_describes_itself(tool: Any) -> None:
    """server/tools, "Tool\""""
    told = orjson.loads(orjson.dumps(tool.definition))

    for schema in (told["inputSchema"], told["outputSchema"]):
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert told["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    described = told["inputSchema"].get("properties", {})
    searched = parameters.names(arguments.SCOPE) if tool.brief else ()
    assert all(one["description"] for name, one in described.items() if name not in searched)
    assert set(told["inputSchema"].get("required", [])) <= set(described)


def test_a_number_in_any_spelling_leads_to_its_company(served: Served) -> None:
    """X6"""
    found = shown(served, "look_up", valeur="FR-552 100 554")

    assert found["type"] == "immatriculation"
    assert [(one["iso2"], one["id"]) for one in found["candidats"]] == [("FR", FR)]
    assert "EE:12652512" in refused(served, "look_up", {}, valeur="12652513")


def test_several_companies_are_read_as_one_is(served: Served, customer: Customer) -> None:
    """X6"""
    ids = ["FR:552 100 554", "UK:8209948", "EE:12652513"]

    found = shown(served, "read_companies", customer.headers, ids=ids)

    alone = [
        shown(served, "read_company", customer.headers, iso2=iso2, id=identifier)["societe"]
        for iso2, identifier in (("FR", FR), ("UK", "08209948"))
    ]
    assert found["societes"] == alone
    assert (found["ids_inconnus"], found["proches"]) == (ids[2:], {ids[2]: ["EE:12652512"]})


@pytest.mark.parametrize("given", [[], ["", " "]])
@pytest.mark.parametrize("tool", ["search_companies", "count_companies", "analyse_market"])
def test_an_empty_list_of_companies_is_refused_and_not_the_whole_base(
    served: Served, customer: Customer, tool: str, given: list[str]
) -> None:
    said = refused(served, tool, customer.headers, ids=given)

    assert said.startswith("parametre_invalide")
    assert "names no company; name at least one or leave the parameter out" in said
    assert shown(served, "search_companies", customer.headers, pays=[])["total"]


def test_companies_that_do_not_fit_are_named_and_not_counted(
    crowded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_tools, "_LARGEST_RECORD", 40 * 1024)
    rich = crowded.customer("integral")
    ids = [f"EE:{number:08}" for number in range(20)]

    found = shown(crowded, "read_companies", rich.headers, ids=ids)
    rest = shown(crowded, "read_companies", rich.headers, ids=found["ids_restants"])

    read = [*found["societes"], *rest["societes"]]
    assert 0 < len(found["societes"]) < 20 and "ids_restants" in found["note"]
    assert [f"EE:{one['id']}" for one in read] + rest.get("ids_restants", []) == ids
    assert crowded.used(rich) == len(read)


def test_companies_are_counted_by_dimension(served: Served) -> None:
    """X3: as the route counts them, with fewer words."""
    route = served.ask("/api/v1/repartition?par=pays,ville&limite=1&secteur=edition").json
    found = shown(
        served, "break_down_companies", par=["ville", "pays"], limite=1, secteur=["edition"]
    )

    assert found["total"] == route["total"]
    for name, counted in route["repartitions"].items():
        kept = [(one["valeur"], one["n"]) for one in found["repartitions"][name]]
        assert kept == [(one["valeur"], one["n"]) for one in counted]
        left = found["total"] - sum(n for _, n in kept)
        assert found["autres"].get(name, 0) == left == route["autres"].get(name, 0)


def test_an_analysis_is_paid_for_once(served: Served, customer: Customer) -> None:
    """X11"""
    company = f"/api/v1/societes/FR/{FR}"
    for path in ("/api/v1/analyses/marche?pays=FR,UK", f"{company}/analyses/entreprise"):
        served.ask(path, headers=customer.headers)

    market = shown(served, "analyse_market", customer.headers, pays=["FR", "UK"])
    of_one = shown(served, "analyse_company", customer.headers, iso2="FR", id=FR)

    assert market["credits_debites"] == of_one["credits_debites"] == 0  # paid for by the routes
    assert "module_non_inclus" in refused(
        served, "analyse_market", served.customer("corporate").headers
    )
    assert "compte_requis" in refused(served, "analyse_company", {}, iso2="FR", id=FR)


def test_all_of_them_together_are_small(served: Served) -> None:
    """A model reads the whole list before its first call."""
    assert len(modern(served, "tools/list").body) < 40_000


def test_arguments_are_the_parameters_of_the_routes() -> None:
    """One table: serve/contract/parameters.py"""
    known = {tool.name: parameters.names(tool.arguments) for tool in tools(PRODUCT).values()}

    route = [name for name in parameters.names(parameters.SEARCH) if name != "version"]
    assert known["search_companies"] == tuple(route)
    assert (*known["list_sectors"], "version") == parameters.names(operations.SECTORS)
    assert (*known["list_subsectors"], "version") == parameters.names(operations.SUB_SECTORS)
    assert {*known["count_companies"]} == {*route} - {"tri", "limit", "offset"}
    limits = {one.name: one for one in parameters.SEARCH}
    searched = tools(PRODUCT)["search_companies"].definition["inputSchema"]["properties"]
    assert searched["q"]["maxLength"] == limits["q"].longest
    assert searched["tri"]["enum"] == list(limits["tri"].enum)
    assert (searched["limit"]["maximum"], searched["site_web"]["type"]) == (50, "boolean")
    assert "UK" in searched["pays"]["items"]["enum"]


def test_a_required_argument_is_not_said_to_be_optional() -> None:
    for tool in tools(PRODUCT).values():
        schema = tool.definition["inputSchema"]
        for name in schema.get("required", []):
            assert "Without it" not in schema["properties"][name]["description"]


def test_descriptions_speak_of_tools_and_not_of_routes() -> None:
    """Every substitution still finds what it replaces."""
    said = " ".join(one.description.en for one in parameters.SEARCH)
    text = orjson.dumps([tool.definition for tool in tools(PRODUCT).values()]).decode()

    assert not [old for old in arguments._WORDS_OF_TOOLS if old not in said]
    assert "/api/v1" not in text and "separated by" not in text and "`|`" not in text


def test_a_tool_of_an_operation_says_the_first_sentence_of_it() -> None:
    """Told once; texts.csv adds what only a model must be told."""
    said = {one.tool: one for one in PRODUCT.operations if one.tool}

    for name, operation in said.items():
        definition = tools(PRODUCT)[name].definition
        first = definition["description"].partition(". ")[0]
        assert operation.description.en.startswith(first), name
        assert definition["title"] == operation.summary.en, name


# -- what they show -----------------------------------------------------------------------


OPERATIONS: list[tuple[str, dict[str, Any], str]] = [
    ("list_countries", {}, "pays"),
    ("list_sectors", {"pays": ["FR", "DE"]}, "secteurs?pays=FR,DE"),
    ("list_subsectors", {"secteur": ["edition"]}, "sous-secteurs?secteur=edition"),
    ("list_sources", {"pays": ["FR"]}, "sources?pays=FR"),
    ("suggest", {"q": "f"}, "suggestions?q=f"),
    ("break_down_companies", {"par": ["ville", "pays"]}, "repartition?par=ville,pays"),
    ("analyse_market", {"pays": ["FR", "UK"]}, "analyses/marche?pays=FR,UK"),
    ("analyse_company", {"iso2": "FR", "id": FR}, f"societes/FR/{FR}/analyses/entreprise"),
    ("comparable_companies", {"iso2": "FR", "id": FR}, f"societes/FR/{FR}/comparables"),
    ("company_group", {"iso2": "EE", "id": "12652512"}, "societes/EE/12652512/groupe"),
    ("look_up", {"valeur": FR}, f"identifiants/{FR}"),
]


def is_part(part: Any, whole: Any) -> bool:
    """Is a value another one with fewer keys, and its lists of rows with fewer rows?"""
    if isinstance(part, dict):
        return all(name in whole and is_part(part[name], whole[name]) for name in part)
    if isinstance(part, list):
        rest = iter(whole)
        return all(any(is_part(item, other) for other in rest) for item in part)
    return bool(part == whole)


@pytest.mark.parametrize(("tool", "given", "path"), OPERATIONS, ids=[one[0] for one in OPERATIONS])
def test_a_tool_of_an_operation_shows_a_part_of_the_answer_of_its_route(
    served: Served, customer: Customer, tool: str, given: dict[str, Any], path: str
) -> None:
    headers = {**customer.headers, "Accept-Language": "en"}
    route = served.ask(f"/api/v1/{path}", headers=headers).json

    found = shown(served, tool, customer.headers, **given)

    for name in ("credits_debites", "credits_restants"):
        found.pop(name, None)
    assert found and is_part(found, route)
    rows = [name for name, value in route.items() if isinstance(value, list) and name != "ratios"]
    assert [len(found.get(name, ())) for name in rows] == [len(route[name]) for name in rows]


def test_the_tests_know_all_tools_of_operations() -> None:
    assert {tool for tool, *_ in OPERATIONS} == {one.tool for one in PRODUCT.operations if one.tool}


def test_keys_that_a_tool_leaves_out_are_keys_of_its_route() -> None:
    answers = {
        one.tool: component_schema(one.answer, "en") for one in PRODUCT.operations if one.tool
    }
    components = orjson.dumps(feature.component_schemas("en", PRODUCT)).decode()

    for tool in (one for module in PRODUCT.modules("tools") for one in module.TOOLS):
        if isinstance(tool, OperationTool):
            known = components + orjson.dumps(answers[tool.name]).decode()
            for name in (*tool.without, *tool.nulls):
                assert all(f'"{part}":' in known for part in name.split(".")), (tool.name, name)


def test_a_search_says_which_former_name_it_has_found(served: Served) -> None:
    """X4"""
    found = shown(served, "search_companies", q="vana nimi")

    assert found["noms_trouves"] == {"EE:12652512": "Vana Nimi OÜ"}
    assert "noms_trouves" not in shown(served, "search_companies", q="tarkvara")


def test_sources_are_those_of_the_route(served: Served) -> None:
    """X9"""
    everywhere = shown(served, "list_sources")
    named = shown(served, "list_sources", pays=["FR", "AT"])

    route = served.ask("/api/v1/sources").json
    assert everywhere["pays_sans_donnees"] == route["pays_sans_donnees"]
    with_data = [one for one in route["pays"] if one["n_societes"]]
    assert [one["iso2"] for one in everywhere["pays"]] == [one["iso2"] for one in with_data]
    assert not any("champs" in one for one in everywhere["pays"])
    [france] = named["pays"]
    assert (named["pays_sans_donnees"], france["date_source"]) == (["AT"], "2026-11-01")
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
def test_a_search_says_which_countries_have_no_data(served: Served, tool: str) -> None:
    assert shown(served, tool, pays=["FR", "AT"])["pays_sans_donnees"] == ["AT"]
    assert "pays_sans_donnees" not in shown(served, tool, pays=["FR"])


def test_a_search_has_the_rows_and_the_total_of_its_route(
    served: Served, customer: Customer
) -> None:
    """§4.4"""
    wanted = {"pays": ["FR", "GB"], "tri": "nom", "limit": 3, "offset": 2}

    found = shown(served, "search_companies", customer.headers, **wanted)

    route = served.ask(
        "/api/v1/societes?pays=FR,GB&tri=nom&limit=3&offset=2", headers=customer.headers
    ).json
    assert (found["total"], found["visibles"]) == (route["total"], route["visibles"])
    assert (found["limit"], found["offset"], found["offset_suivant"]) == (3, 2, 5)
    assert [one["id"] for one in found["societes"]] == [one["id"] for one in route["societes"]]
    assert all(None not in one.values() for one in found["societes"])


def test_every_filter_of_the_route_is_an_argument(served: Served, customer: Customer) -> None:
    """X2, X0.3"""
    given = {
        "ids": ["FR:552 100 554", "UK:08209948", "EE:absente"], "etat": ["active"], "nace": ["64"],
        "ville": ["Orléans", "Tallinn"], "cree_max": "1900", "actif_min": 1, "avec_comptes": True,
    }  # fmt: skip

    found = shown(served, "search_companies", customer.headers, **given)
    counted = shown(served, "count_companies", customer.headers, **given)

    assert [one["id"] for one in found["societes"]] == [FR]
    assert found["ids_inconnus"] == counted["ids_inconnus"] == ["EE:absente"]
    assert found["total"] == counted["total"] == 1
    assert "forme_inconnue" in refused(served, "count_companies", forme=["Zaibatsu"])


def test_pages_follow_each_other_to_the_end(served: Served, customer: Customer) -> None:
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = shown(served, "search_companies", customer.headers, limit=9, offset=offset)
        found += [one["iso2"] + one["id"] for one in page["societes"]]
        offset = page.get("offset_suivant")

    assert len(found) == len({*found}) == page["total"] == len(world.COMPANIES)


def test_a_search_shows_ten_companies_and_never_more_than_fifty(
    served: Served, crowded: Served, customer: Customer
) -> None:
    assert len(shown(served, "search_companies", customer.headers)["societes"]) == 10
    rich = crowded.customer("integral").headers
    assert shown(crowded, "search_companies", rich, limit=1_000)["limit"] == 50


def test_a_count_is_exact_whatever_the_plan(served: Served) -> None:
    """§8.2 rule 3"""
    assert shown(served, "count_companies")["total"] == len(world.COMPANIES)
    assert shown(served, "count_companies", pays=["FR"], avec_ca=True, ca_min=0)["total"] == 5
    assert shown(served, "count_companies", site_web=False)["total"] == len(world.COMPANIES)


def test_what_finds_nothing_says_what_to_try(served: Served) -> None:
    for tool in ("search_companies", "count_companies"):
        found = shown(served, tool, q="gazoduc transsaharien")

        assert found["total"] == 0
        assert "shorter piece" in found["note"]


def test_a_plan_that_shows_a_part_says_so(served: Served) -> None:
    """§8.1"""
    found = shown(served, "search_companies", pays=["FR"])

    assert (len(found["societes"]), found["visibles"], found["total"]) == (2, 2, 8)
    assert "offset_suivant" not in found
    assert "2 of 8" in found["note"] and "Discovery (free), shows 5" in found["note"]


def test_an_offset_past_the_end_says_so(served: Served, customer: Customer) -> None:
    found = shown(served, "search_companies", customer.headers, offset=900)

    assert (found["societes"], "past" in found["note"]) == ([], True)


def test_a_company_is_read_without_statements_unless_they_are_asked_for(
    served: Served, customer: Customer
) -> None:
    """§4.5"""
    brief = shown(served, "read_company", customer.headers, iso2="fr", id="552 100 554")
    full = shown(served, "read_company", customer.headers, iso2="FR", id=FR, etats_financiers=True)

    route = served.ask(f"/api/v1/societes/FR/{FR}", headers=customer.headers).json
    known = {name: value for name, value in route["societe"].items() if value is not None}
    assert brief["societe"] == full["societe"] == known
    assert "comptes" not in brief
    (statement,) = full["comptes"]
    (line,) = route["comptes"]
    assert statement["lignes"] == [{name: line[name] for name in ("code", "libelle", "valeur")}]
    assert (statement["exercice"], statement["etat"]) == (line["exercice"], line["etat"])


def test_a_year_of_statements_can_be_had_alone(crowded: Served) -> None:
    rich = crowded.customer("integral").headers

    found = shown(crowded, "read_company", rich, iso2="EE", id="00000000", exercice=2023)

    assert sum(len(one["lignes"]) for one in found["comptes"]) == 180
    assert {one["exercice"] for one in found["comptes"]} == {2023}


def test_a_year_without_statements_is_refused_with_those_that_there_are(crowded: Served) -> None:
    rich = crowded.customer("integral").headers

    text = refused(crowded, "read_company", rich, iso2="EE", id="00000000", exercice=2019)

    assert "parametre_invalide" in text
    assert "2019" in text and "2024, 2023, 2022" in text


@pytest.mark.parametrize("given", [{"etats_financiers": True}, {"exercice": 2019}])
def test_a_company_without_statements_is_read_without_them(
    served: Served, customer: Customer, given: dict[str, Any]
) -> None:
    """E4"""
    found = shown(served, "read_company", customer.headers, iso2="FR", id="552059024", **given)

    assert (found["societe"]["id"], found["comptes"]) == ("552059024", [])
    assert "No statements of this company" in found["note"]


def test_a_visitor_is_told_who_gets_statements(served: Served) -> None:
    found = shown(served, "read_company", iso2="FR", id=FR, etats_financiers=True)

    assert "comptes" not in found
    assert "key" in found["note"]


def test_a_plan_is_explained_with_what_is_left(served: Served) -> None:
    """D15"""
    paid = served.customer("data")
    shown(served, "count_companies", paid.headers)

    found = shown(served, "explain_plan", paid.headers)

    route = served.ask("/api/v1/compte", headers=paid.headers).json
    assert (found["plan"], found["limites"]) == ("data", route["limites"])
    assert found["appels_jour"]["utilise"] == 1
    assert found["credits"] == route["credits"]
    assert found["offre_suivante"]["plan"] == "corporate"
    assert paid.key not in str(found) and paid.account not in str(found)


def test_a_visitor_and_a_key_without_the_tool_are_explained_too(served: Served) -> None:
    """A7"""
    visitor = shown(served, "explain_plan")
    without = shown(served, "explain_plan", served.customer("data", api_tool=False).headers)

    assert (visitor["plan"], visitor["limites"]["resultats_par_recherche"]) == ("visiteur", 2)
    assert visitor["limites"]["appels_restants_aujourd_hui"] > 0
    assert (without["plan"], without["plan_souscrit"]) == ("free", "data")


def test_every_result_fits_the_schema_of_its_tool(served: Served, crowded: Served) -> None:
    """server/tools, "Output Schema\""""
    calls: list[tuple[Served, str, dict[str, Any]]] = [
        (served, "list_countries", {}),
        (served, "list_sectors", {}),
        (served, "list_subsectors", {"secteur": ["edition", "restauration"]}),
        (served, "list_sources", {"pays": ["FR"]}),
        (served, "suggest", {"q": "f"}),
        (served, "break_down_companies", {"par": ["ville", "forme"], "limite": 2}),
        (served, "comparable_companies", {"iso2": "FR", "id": FR}),
        (served, "company_group", {"iso2": "EE", "id": "12652512"}),
        (served, "company_group", {"iso2": "FR", "id": FR}),
        (served, "look_up", {"valeur": FR}),
        (served, "count_companies", {}),
        (served, "count_companies", {"q": "zzzz"}),
        (
            served,
            "match_companies",
            {
                "lignes": [
                    {"cle": "1", "nom": "Mueller Maschinenbau"},
                    {"cle": "2"},
                    {"nom": "Fitlab"},
                ]
            },
        ),
        (served, "explain_plan", {}),
        (served, "read_companies", {"ids": ["FR:552100554", "FR:absente"]}),
        (crowded, "read_companies", {"ids": [f"EE:{number:08}" for number in range(20)]}),
        (served, "search_companies", {"limit": 50}),
        (served, "search_companies", {"q": "zzzz"}),
        (crowded, "search_companies", {"limit": 50}),
        (crowded, "read_company", {"iso2": "EE", "id": "00000000", "etats_financiers": True}),
        *(
            (served, "read_company", {"iso2": one["iso2"], "id": one["id"], "etats_financiers": 1})
            for one in world.COMPANIES[:16]
        ),
    ]
    callers = {name: [served.customer(name), crowded.customer(name)] for name in ("free", "carte")}

    for server, tool, given in calls:
        validator = Draft202012Validator(tools(PRODUCT)[tool].output)
        for headers in ({}, *(pair[server is crowded].headers for pair in callers.values())):
            validator.validate(shown(server, tool, headers, **given))


# -- how large they are -------------------------------------------------------------------


def test_a_result_fits_up_to_its_last_byte() -> None:
    document = {"nom": "Żabka"}
    room = results.LARGEST - results.AROUND - results.size(document)

    assert results.fits(document, room)
    assert not results.fits(document, room + 1)


def test_no_answer_is_larger_than_is_stated(crowded: Served) -> None:
    """64 KiB, and what is left out is named"""
    rich = crowded.customer("integral").headers
    every = [sector.slug for sector in world.LISTS.secteurs]
    sent = [
        ("search_companies", {"limit": 50}),
        ("read_company", {"iso2": "EE", "id": "00000000", "etats_financiers": True}),
        ("list_subsectors", {"secteur": every}),
        ("list_sectors", {}),
        ("list_countries", {}),
        (
            "match_companies",
            {
                "lignes": [{"cle": str(i), "nom": CROWD[0]["nom"][:300]} for i in range(30)],
                "limite": 10,
            },
        ),
        ("read_companies", {"ids": [f"EE:{number:08}" for number in range(20)]}),
        ("count_companies", {"ids": ["EE:" + "x" * 60 + str(number) for number in range(900)]}),
        ("search_companies", {"pays": ["x" * 500] * 100}),
        ("search_companies", {"q": "x" * 60_000}),
        ("search_companies", {"y" * 1_000 + str(number): 1 for number in range(50)}),
    ]

    for tool, given in sent:
        params = {"name": tool, "arguments": given}
        assert len(modern(crowded, "tools/call", params, rich).body) <= results.LARGEST, tool


def test_lines_have_codes_of_reasons_and_the_columns_asked_for(served: Served) -> None:
    lines = [
        {"cle": "1", "nom": "Mueller Maschinenbau", "pays": "DE"},
        {"cle": "2", "nom": "Xyzzy"},
    ]
    asked = {"lignes": lines, "colonnes": ["nom", "nace_code", "email"]}

    found = shown(served, "match_companies", served.customer("data").headers, **asked)["resultats"]

    assert "nom_identique" in found[0]["candidats"][0]["raisons_codes"]
    assert list(found[0]["valeurs"]) == ["nom", "nace_code", "email"]
    assert found[0]["valeurs"]["nom"] == found[0]["candidats"][0]["nom"]
    assert "valeurs" not in found[1]


def test_values_that_do_not_fit_are_left_out_from_the_last_line_on(crowded: Served) -> None:
    lines = [{"cle": str(i), "id": f"{i:08}", "pays": "EE"} for i in range(1, 31)]
    rich = crowded.customer("integral").headers

    found = shown(crowded, "match_companies", rich, lignes=lines, colonnes=list(FIELDS))

    with_values = ["valeurs" in one for one in found["resultats"]]
    assert with_values == sorted(with_values, reverse=True)
    assert 0 < sum(with_values) < len(lines)
    assert "without their values" in found["note"]


def test_rows_that_do_not_fit_are_on_the_next_page(crowded: Served) -> None:
    rich = crowded.customer("integral").headers

    found = shown(crowded, "search_companies", rich, limit=50)

    assert 0 < len(found["societes"]) < 50
    assert found["offset_suivant"] == len(found["societes"])


def test_statements_that_do_not_fit_are_had_by_year(crowded: Served) -> None:
    rich = crowded.customer("integral").headers

    found = shown(crowded, "read_company", rich, iso2="EE", id="00000000", etats_financiers=True)

    assert found["comptes"][0]["exercice"] == 2024
    assert sum(len(one["lignes"]) for one in found["comptes"]) < len(LINES)
    assert "exercice" in found["note"]


# -- wrong arguments ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given", "words"),
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
        ("read_company", {"iso2": ["FR"], "id": FR}, ["iso2", "or a number, not an array"]),
        ("search_companies", {"limit": True}, ["limit", "not true"]),
        ("search_companies", {"pays": [{"a": 1}]}, ["list of texts, not an object"]),
        ("search_companies", {"pays": [None]}, ["pays", "not null"]),
        ("count_companies", {"limit": 5}, ["parametre_inconnu", "limit"]),
        ("count_companies", {"sous_secteur": ["x"]}, ["sous_secteur", "secteur"]),
        ("list_countries", {"pays": ["FR"]}, ["parametre_inconnu", "No arguments"]),
        ("list_subsectors", {}, ["secteur_inconnu", "required", "list_sectors"]),
        ("list_subsectors", {"secteur": [""]}, ["secteur_inconnu", "required", "list_sectors"]),
        ("read_company", {"iso2": "FR"}, ["id", "is required; send a value, such as 09418436"]),
        ("read_company", {"id": "UK:00944111"}, ["is required; send a value, such as UK"]),
        ("read_companies", {"ids": "[]"}, ["is required; send a value, such as UK:00944111"]),
        ("break_down_companies", {}, ["send one or more of these values: pays, secteur"]),
        ("search_companies", {"pays": '["FR",'}, ["pays", "character 7", "not JSON", "correct it"]),
        ("search_companies", {"limit": "cinq"}, ["limit", "'cinq' is not a whole number"]),
        ("search_companies", {"site_web": "peut-être"}, ["site_web", "peut-être"]),
        ("match_companies", {"lignes": "[{]"}, ["lignes", "not JSON"]),
        ("read_company", {"iso2": "FR", "id": "absente"}, ["societe_introuvable", "q takes"]),
        ("read_company", {"iso2": "FR", "id": "x" * 65}, ["identifiant_invalide", "64"]),
        ("read_company", {"iso2": "Z", "id": "1"}, ["pays_inconnu"]),
        ("read_company", {"iso2": "FR", "id": FR, "exercice": "lundi"}, ["exercice", "lundi"]),
        ("read_company", {"iso2": "FR", "id": FR, "exercice": 0}, ["exercice", "0"]),
        ("read_company", {"iso2": "FR", "id": FR, "etats_financiers": 2}, ["etats_financiers"]),
        ("explain_plan", {"x": 1}, ["parametre_inconnu"]),
    ],
)
def test_wrong_arguments_are_told_with_a_remedy(
    served: Served, tool: str, given: dict[str, Any], words: list[str]
) -> None:
    """server/tools, "Tool Execution Errors", in English (X0)"""
    text = refused(served, tool, **given)

    assert not [word for word in words if word not in text], text
    assert " est " not in text and " : " not in text.replace('" : ', ""), text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "depuis: it is required; send a value, such as 81c0"),
        ({"depuis": "0" * 16, "recherche": '{"q":1,"q":2}'}, "the name 'q' is there twice"),
        ({"depuis": "0" * 16, "recherche": {"pays": '["FR"'}}, "pays: from character"),
    ],
)
def test_wrong_arguments_of_a_tool_for_accounts_are_told_too(
    served: Served, customer: Customer, given: dict[str, Any], words: str
) -> None:
    assert words in refused(served, "changes", customer.headers, **given)


def test_nothing_of_a_refusal_is_cut_in_silence(served: Served) -> None:
    unknown = refused(served, "search_companies", country="FR", region="x")
    beside = orjson.loads(unknown.splitlines()[-1])
    wrong = refused(served, "search_companies", pays=[f"X{number}" for number in range(14)])

    assert beside["parametres_admis"] == list(parameters.names(arguments.SEARCH))
    assert beside["suggestions"] == {"country": ["pays"], "region": []}
    assert orjson.loads(wrong.splitlines()[-1])["pays_inconnus"][9:] == ["X9", "… and 4 more"]


def test_a_count_of_none_explains_only_what_was_asked(served: Served) -> None:
    by_name = shown(served, "count_companies", q="zzzz")["note"]
    by_figure = shown(served, "count_companies", ca_min=1e15)["note"]

    assert "q is found as it stands" in by_name and "filter" not in by_name
    assert "filter" in by_figure and "q is" not in by_figure


@pytest.mark.parametrize(
    ("given", "pairs"),
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
def test_arguments_become_parameters(given: dict[str, Any], pairs: Pairs) -> None:
    assert arguments.pairs(given, arguments.SEARCH, ()) == pairs


# Arguments of each tool that takes some, as JSON has them; `read` stands for a generation.
TYPED: list[tuple[str, dict[str, Any]]] = [
    ("list_sectors", {"pays": ["FR", "UK"]}),
    ("list_subsectors", {"secteur": ["edition", "restauration"], "pays": ["FR"]}),
    ("list_sources", {"pays": ["FR"]}),
    ("count_companies", {"pays": ["FR", "UK"], "ca_min": 1000.5, "avec_comptes": False}),
    ("suggest", {"q": "f", "pays": ["FR"]}),
    ("break_down_companies", {"par": ["ville", "forme"], "limite": 2, "site_web": True}),
    ("analyse_market", {"pays": ["FR", "UK"], "avec_ca": True}),
    ("search_companies", {"etat": ["active"], "limit": 3, "offset": 1, "effectif_min": 1}),
    ("search_companies", {"ids": ["FR:552100554", "FR:absente"], "tri": None, "ca_max": None}),
    ("read_company", {"iso2": "FR", "id": FR, "etats_financiers": True, "exercice": 2024}),
    ("read_companies", {"ids": ["FR:552100554", "UK:08209948"]}),
    ("analyse_company", {"iso2": "FR", "id": FR}),
    ("comparable_companies", {"iso2": "FR", "id": FR, "n": 2}),
    ("company_group", {"iso2": "FR", "id": FR}),
    ("changes", {"depuis": "", "ids": ["FR:552100554"], "limit": 5}),
    ("changes", {"depuis": "", "recherche": {"pays": ["FR"], "avec_ca": True}}),
    ("look_up", {"valeur": FR}),
    (
        "match_companies",
        {
            "lignes": [{"cle": "1", "nom": "Fitlab", "pays": None}, {"cle": 2, "id": FR}],
            "limite": 2,
            "colonnes": ["nom"],
        },
    ),
]


def written(value: Any) -> Any:
    """An argument as a client writes it that knows texts alone."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


@pytest.mark.parametrize(("tool", "given"), TYPED, ids=[tool for tool, _ in TYPED])
def test_arguments_that_are_json_in_a_text_are_understood(
    served: Served, tool: str, given: dict[str, Any]
) -> None:
    """The whole of the arguments, too, and each item of a list"""
    if "depuis" in given:
        given = {**given, "depuis": served.ask("/readyz").json["generation"]}
    headers = served.customer("integral").headers
    nested = {
        name: [written(one) if isinstance(one, dict) else one for one in value]
        if isinstance(value, list)
        else written(value)
        for name, value in given.items()
    }
    free = ("credits_debites", "credits_restants")

    answers = [
        modern(served, "tools/call", {"name": tool, "arguments": arguments}, headers).json["result"]
        for arguments in (given, {n: written(v) for n, v in given.items()}, nested, written(given))
    ]

    assert not answers[0]["isError"], answers[0]
    shown_values = [
        {name: value for name, value in one["structuredContent"].items() if name not in free}
        for one in answers
    ]
    assert shown_values[1:] == shown_values[:1] * 3


def test_every_tool_with_arguments_is_tried_as_texts() -> None:
    with_arguments = {one.name for one in tools(PRODUCT).values() if one.arguments or one.input}

    assert {tool for tool, _ in TYPED} == with_arguments


def test_contacts_are_among_the_rows_of_who_may_see_them(served: Served) -> None:
    """§8.1; that they are nowhere else: tests/serve/access/test_contacts.py"""
    free, data = (served.customer(plan).headers for plan in ("free", "data"))
    site = "https://www.fuite-sgo.eu"

    assert (
        shown(served, "search_companies", data, q="société générale")["societes"][0]["site_web"]
        == site
    )
    found = shown(served, "read_company", data, iso2="FR", id=FR)["societe"]
    assert {*CONTACTS} <= {*found}
    assert not {*CONTACTS} & {*shown(served, "read_company", free, iso2="FR", id=FR)["societe"]}


def test_texts_of_companies_are_said_to_be_no_instructions(served: Served) -> None:
    """In the description and after the data"""
    quoting = {name: tool for name, tool in tools(PRODUCT).items() if tool.quotes}
    answers = {
        "search_companies": call(served, "search_companies"),
        "break_down_companies": call(served, "break_down_companies", par=["ville"]),
        "read_company": call(served, "read_company", iso2="FR", id="552100554"),
        "read_companies": call(served, "read_companies", ids=["FR:552100554"]),
        "comparable_companies": call(served, "comparable_companies", iso2="FR", id="552100554"),
        "company_group": call(served, "company_group", iso2="EE", id="12652512"),
    }

    keyed = {"changes", "analyse_company", "analyse_market"}
    assert {*answers, *keyed} == quoting.keys()
    for name, answer in answers.items():
        assert quoting[name].definition["description"].endswith(THIRD_PARTIES)
        assert [part["text"] for part in answer["content"]][1:] == [THIRD_PARTIES]
    assert len(call(served, "list_countries")["content"]) == 1
