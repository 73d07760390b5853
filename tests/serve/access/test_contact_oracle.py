"""A caller without the right to contacts gets the same bytes from two bases that differ only in contact values (§2.1).

A hidden value may still leak through a reason, a note, an order, a count or the size of a file. So the responses of
routes, tools and pages are compared byte by byte. The requests contain the contact values of one base.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson
import pytest

from quota.ledger import account_rows
from quota.ledger.account_rows import ADDRESSES
from serve.app import PRODUCT
from serve.features.export.workbook.labels import TEXTS
from serve.surfaces.mcp import tool_list
from shards.codec.record import CONTACTS, FIELDS
from shards.query import ORDERS
from tests.quota.filling import create_key
from tests.serve import world
from tests.serve.access.test_contacts import content
from tests.serve.client import Customer, Reply, Server, run_server
from tests.serve.clock import Clock
from tests.serve.surfaces.mcp.client import MCP_PATH as TOOLS
from tests.serve.surfaces.mcp.client import MODERN_VERSION, REQUEST_META
from tests.serve.surfaces.site.visitor import HTML, Visitor, sign_up_member
from tests.serve.world import COMPANIES, CONTACT, WITH_STATEMENTS
from tests.world import Company

WITH_CONTACTS: Final = [company for company in COMPANIES if company["email"]]
JSON: Final = {"Content-Type": "application/json"}
# Stands for the path of the reconciliation address of each caller.
ADDRESS: Final = "/adresse-de-rapprochement"
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_PER_CUSTOMER: Final = 20  # requests, fewer than `free` has calls a day
# Parts that differ in every response. In bodies: the token of a form, the milliseconds of a page, the seconds and the
# day of a workbook, the digest in a cursor, which depends on the generation. The length of a workbook depends on these
# parts; that of any other body is compared with the body.
_HEADERS: Final = ("Date", "ETag", "Set-Cookie", "X-Request-Id", "Content-Length")
# The labels of the cells of a workbook that contain seconds.
_DURATIONS: Final = {
    text.encode() for name in ("searching", "reading", "writing") for text in TEXTS[name]
}
# The parts of bodies that differ in every response, as listed above.
_CHANGING_PARTS: Final = re.compile(
    rb'name="jeton" value="[^"]*"|[\d,]+ ms|[-\dT:]+Z</dcterms|\.[0-9a-f]{8}"'
)
# A text in the table of texts of a workbook, to which its cells refer by number.
_SHARED_TEXT: Final = re.compile(rb"<si><t[^>]*>([^<]*)</t></si>")
# Paths without a company: counters of the server, the account of the caller, scripts of a page.
_LEFT_OUT: Final = {"/metrics", "/api/v1/compte", "/docs/{file}"}


class Probe(NamedTuple):
    """A request, without the key of its sender."""

    path: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Base(NamedTuple):
    """A server and the names of its two generations, the older first."""

    server: Server
    names: tuple[str, str]


def change_contacts(companies: Iterable[Company], prefix: str) -> list[Company]:
    """The companies with `prefix` before the domain in each contact value."""
    return [
        {
            **company,
            **{
                field: company[field].replace(CONTACT, f"{prefix}{CONTACT}")
                for field in CONTACTS
                if company[field]
            },
        }
        for company in companies
    ]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Base, Base]]:
    """Servers of the test data, and of the same data with other contacts; in both, the last generation changed them."""
    # /statut shows the minute of a publication, so both bases are published within a minute.
    minute: datetime | None = None
    while minute != (minute := datetime.now(UTC).replace(second=0, microsecond=0)):
        folders = [tmp_path_factory.mktemp(name) / "data" for name in ("one", "other")]
        published = []
        for folder, name in zip(folders, ("", "autrement-"), strict=True):
            before = world.publish(folder, change_contacts(COMPANIES[1:], f"ancien-{name}"))
            published.append((before, world.publish(folder, change_contacts(COMPANIES, name))))
    clock = Clock("2026-11-21T12:00:00")
    with run_server(folders[0], now=clock) as first, run_server(folders[1], now=clock) as second:
        yield Base(first, published[0]), Base(second, published[1])


def lines() -> list[dict[str, Any]]:
    """Lines for a match: each has a contact value of the first base, and another clue to the company."""
    combinations: list[dict[str, Any]] = []
    for company in WITH_CONTACTS:
        clues: list[dict[str, Any]] = [
            {"id": company["id"], "pays": company["iso2"]},
            {"nom": company["nom"]},
            {"nom": company["nom"].split()[0], "ville": company["ville"] or "Tallinn"},
            {"nom": f"{company['nom']} Holding", "pays": company["iso2"]},
            {"nom": company["domaine"]},
        ]
        combinations += [
            {**clue, **contact}
            for clue in clues
            for contact in (
                {"site_web": company["site_web"]}, {"email": company["email"]}, {"site_web": company["domaine"]},
                {"email": f"x@{company['domaine']}", "site_web": company["site_web"]},
            )
        ]  # fmt: skip
    return [{"cle": str(number), **line} for number, line in enumerate(combinations)]


def _post(path: str, body: object) -> Probe:
    """A POST request with a JSON body."""
    return Probe(path, "POST", JSON, orjson.dumps(body))


def _tool(name: str, arguments: Mapping[str, Any]) -> Probe:
    """A call of a tool of the MCP surface."""
    body = {"name": name, "arguments": arguments, "_meta": REQUEST_META}
    headers = JSON | {
        "MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": "tools/call", "Mcp-Name": name
    }  # fmt: skip
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": body}
    return Probe(TOOLS, "POST", headers, orjson.dumps(message))


def requests(base: Base) -> Iterator[Probe]:
    """Requests to every route and tool; ADDRESS stands for a reconciliation address of the caller."""
    api, first_generation = "/api/v1", base.names[0]
    keys = [f"{company['iso2']}:{company['id']}" for company in COMPANIES]
    texts = [company[field] for company in WITH_CONTACTS[:2] for field in CONTACTS]
    for tri in ORDERS:
        yield Probe(f"{api}/societes?tri={tri}&limit=50")
        yield Probe(f"{api}/societes?tri={tri}&limit=50&site_web=1")
    for text in texts:
        yield Probe(f"{api}/societes?q={quote(text)}")
        yield Probe(f"{api}/suggestions?q={quote(text)}")
        yield Probe(f"{api}/identifiants/{quote(text, safe='')}")
        yield Probe(f"{ADDRESS}/suggest/entity?prefix={quote(text)}")
    for company in COMPANIES[:16]:  # all but 25 of the 26 similar bakeries
        record = f"{company['iso2']}/{quote(company['id'], safe='')}"
        yield from (Probe(f"{path}/{record}") for path in (f"{api}/societes", "/societes"))
        subpaths = ("comparables", "groupe", "analyses/entreprise")
        yield from (Probe(f"{api}/societes/{record}/{subpath}") for subpath in subpaths)
        key = quote(f"{company['iso2']}:{company['id']}", safe=":")
        yield from (Probe(f"{ADDRESS}/{part}/{key}") for part in ("preview", "view"))
    yield from (
        Probe(f"{api}{path}")
        for path in (
            "/pays", "/secteurs", "/sous-secteurs?secteur=edition", "/sources",
            "/repartition?par=pays,secteur,ville&site_web=1", "/analyses/marche?site_web=1",
            f"/modifications?pays=FR&depuis={first_generation}", "/reconciliation", "/export",
            "/export?format=csv&site_web=1", "/export?format=ndjson", "/export?format=parquet",
        )
    )  # fmt: skip
    yield from (
        Probe(path)
        for path in (
            "/", "/?q=lab", "/?site_web=1", f"/?q={quote(texts[0])}", "/chiffres?site_web=1", "/sources",
            f"/propositions?q={quote(texts[0])}", "/statut", "/docs", "/tarifs", "/sitemap.xml",
            "/openapi.json", "/docs.md", "/llms.txt", "/llms-full.txt", "/healthz", "/readyz",
        )
    )  # fmt: skip
    yield from (
        _post(f"{api}/modifications", {"depuis": first_generation, **selection})
        for selection in ({"ids": keys[:16]}, {"recherche": {"site_web": "1"}})
    )
    yield _post(f"{api}/export", {"format": "csv", "ids": keys[:5]})
    all_lines = lines()
    for first in range(0, len(all_lines), 2):  # a visitor can send two lines
        line_pair = all_lines[first : first + 2]
        body = {"lignes": line_pair, "limite": 3}
        yield _post(f"{api}/rapprochement", {**body, "colonnes": list(FIELDS)})
        yield _tool("match_companies", body)
        queries = {line["cle"]: _query(line) for line in line_pair}
        form = urlencode({"queries": orjson.dumps(queries).decode()})
        yield Probe(ADDRESS, "POST", FORM, form.encode())
        yield Probe(f"{api}/reconciliation?{form}")
    fields = [{"id": field} for field in FIELDS]
    for path in (f"/societes/{record}", "/societes?site_web=1", "/export?format=csv", "/pays"):
        yield Probe(f"{api}{path}", "HEAD")
    for kind in ("xlsx", "ndjson", "parquet"):
        yield _post(
            f"{api}/export", {"format": kind, "site_web": "1", "colonnes": ",".join(FIELDS)}
        )
    extend = urlencode({"extend": orjson.dumps({"ids": keys[:2], "properties": fields}).decode()})
    yield Probe(ADDRESS, "POST", FORM, extend.encode())
    yield Probe(f"{api}/reconciliation", "POST", FORM, extend.encode())
    yield Probe(f"{ADDRESS}?{extend}")
    yield Probe(f"{ADDRESS}/properties?type=societe")
    for name, calls in _tools(base, keys).items():
        for arguments in calls:
            yield _tool(name, arguments)


def _query(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line as a query of OpenRefine."""
    properties = [{"pid": key, "v": line[key]} for key in line if key not in ("cle", "nom")]
    return {"query": line.get("nom", ""), "properties": properties, "limit": 3}


def _tools(base: Base, keys: list[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The arguments of the calls of each tool of MCP, by name; `match_companies` is called elsewhere (`requests`)."""
    companies: list[Mapping[str, str]] = [
        {"iso2": company["iso2"], "id": company["id"]} for company in WITH_CONTACTS
    ]
    value = WITH_CONTACTS[0]["domaine"]
    return {
        "list_countries": [{}], "list_sectors": [{}], "list_subsectors": [{"secteur": "edition"}],
        "list_sources": [{}], "explain_plan": [{}], "count_companies": [{"site_web": True}],
        "suggest": [{"q": value}, {"q": "a"}], "analyse_market": [{"site_web": True}],
        "break_down_companies": [{"par": ["pays"], "site_web": True}],
        "search_companies": [{"site_web": True}, {"q": value}], "read_company": companies,
        "read_companies": [{"ids": keys[:10]}], "analyse_company": companies,
        "comparable_companies": companies, "company_group": companies,
        "changes": [{"depuis": base.names[0], "ids": keys[:10]}],
        "look_up": [{"valeur": value}], "match_companies": [],
    }  # fmt: skip


def answers(
    base: Base, make_customer: Callable[[Server], Customer] | None, key: str = "", lang: str = "fr"
) -> list[tuple[Probe, bytes]]:
    """Each request with its response in `lang`, without the names that differ between the servers.

    Args:
        key: an invalid key that a visitor sends, or "".
        make_customer: creates a customer, or None for a visitor. A plan has few calls a day, so a customer sends only
            `_PER_CUSTOMER` requests.
    """
    server = base.server
    token, headers = "visiteur", {"Authorization": f"Bearer {key}"} if key else {}
    names_to_hide = _hidden(base)
    results = []
    for number, probe in enumerate(requests(base)):
        if make_customer and not number % _PER_CUSTOMER:
            customer = make_customer(server)
            created = create_key(
                server.store,
                customer.account,
                server.context.plans,
                server.context.now(),
                kind=ADDRESSES,
            )
            _, token = created.result()
            headers = customer.headers
            names_to_hide += [customer.account, token]
        path = probe.path.replace(ADDRESS, f"/api/v1/reconciliation/{token}")
        # A reconciliation address identifies its account; a page is requested as by a browser.
        identity = {} if path != probe.path else headers
        request_headers = {
            **(identity if path.startswith("/api") else HTML),
            **probe.headers,
            "Accept-Language": lang,
        }
        reply = server.ask(path, probe.method, request_headers, body=probe.body)
        masked = probe._replace(path=_mask(probe.path, names_to_hide))
        results.append((masked, _comparable(reply, names_to_hide)))
    return results


def _hidden(base: Base) -> list[str]:
    """The names that differ between the servers."""
    return [*base.names, str(base.server.port)]


def _comparable(reply: Reply, hidden: Sequence[str]) -> bytes:
    """Status, headers and body of a response, without the parts that may differ."""
    # A HEAD has the length of the body that it does not send, so this last header of _HEADERS is compared.
    left_out = _HEADERS if reply.body else _HEADERS[:-1]
    headers = {name: text for name, text in reply.headers.items() if name not in left_out}
    text = _mask(f"{reply.status} {headers}\n", hidden)
    return text.encode() + _body(content(reply.body), reply.headers, hidden)


def _body(body: bytes, headers: Mapping[str, str], hidden: Sequence[str]) -> bytes:
    """A body without the parts that differ in every response; workbooks and errors contain the request id."""
    request_id = headers.get("X-Request-Id", "")
    constant_part = _remove_durations(_CHANGING_PARTS.sub(b"", body))
    return _mask_bytes(constant_part, [*hidden, *([request_id] if request_id else [])])


def _remove_durations(body: bytes) -> bytes:
    """The sheets of a workbook without the seconds; the label of a cell is the number of a shared text."""
    numbers = [
        str(number).encode()
        for number, text in enumerate(_SHARED_TEXT.findall(body))
        if text in _DURATIONS
    ]
    if not numbers:
        return body
    label = b't="s"><v>(?:' + b"|".join(numbers) + b")</v></c><c [^>]*>"
    return re.sub(label + rb"<v>[\d.]+", b"", body)


def _mask(text: str, hidden: Iterable[str]) -> str:
    """The text with an ellipsis in place of each of these names."""
    for name in hidden:
        text = text.replace(name, "…")
    return text


def _mask_bytes(body: bytes, hidden: Iterable[str]) -> bytes:
    """The body with an ellipsis in place of each of these names."""
    for name in hidden:
        body = body.replace(name.encode(), b"\xe2\x80\xa6")
    return body


def differences(first: list[tuple[Probe, bytes]], second: list[tuple[Probe, bytes]]) -> list[str]:
    """The requests to which the two bases send different responses, each with the first difference."""
    assert len(first) == len(second)
    return [
        f"{probe.method} {probe.path} {(probe.body or b'')[:200]!r}: {_first_difference(left, right)}"
        for (probe, left), (_, right) in zip(first, second, strict=True)
        if left != right
    ]


def _first_difference(first: bytes, second: bytes) -> str:
    """The first place at which two responses differ, with 60 bytes before and after."""
    pairs = enumerate(zip(first, second, strict=False))
    position = next(
        (index for index, (left, right) in pairs if left != right), min(len(first), len(second))
    )
    start, end = max(0, position - 60), position + 60
    return f"{first[start:end]!r}, not {second[start:end]!r}"


def test_every_route_and_tool_has_a_request(bases: tuple[Base, Base]) -> None:
    probes = list(requests(bases[0]))
    operations = {
        (operation.method, operation.path)
        for operation in PRODUCT.operations
        if operation.path not in _LEFT_OUT
    }
    visitor_address = "/api/v1/reconciliation/visiteur"
    requested = {
        (probe.method, probe.path.replace(ADDRESS, visitor_address).partition("?")[0])
        for probe in probes
    }

    missing = {
        (method, path)
        for method, path in operations
        if not any(
            method == requested_method and _pattern(path).fullmatch(requested_path)
            for requested_method, requested_path in requested
        )
    }

    assert missing == set()
    assert {name for name in tool_list.tools(PRODUCT)} == _tools(bases[0], []).keys()


def _pattern(path: str) -> re.Pattern[str]:
    """A pattern of the paths of an operation: each `{name}` stands for one part of a path."""
    return re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path))))


@pytest.mark.parametrize(("key", "lang"), [("", "fr"), ("soc_live_x", "en")])
def test_a_visitor_gets_the_same_bytes_for_all_contacts(
    bases: tuple[Base, Base], key: str, lang: str
) -> None:
    first, second = (answers(base, None, key, lang) for base in bases)

    assert not differences(first, second), "\n".join(differences(first, second)[:20])


@pytest.mark.parametrize(
    ("slug", "api_tool"),
    [("free", None), ("data", False)],
)
def test_a_key_without_the_right_gets_the_same_bytes_for_all_contacts(
    bases: tuple[Base, Base], slug: str, api_tool: bool | None
) -> None:
    def make_customer(server: Server) -> Customer:
        return server.customer(slug, api_tool=api_tool)

    first, second = (answers(base, make_customer) for base in bases)

    assert not differences(first, second), "\n".join(differences(first, second)[:20])


def test_a_key_with_the_right_gets_different_bytes(bases: tuple[Base, Base]) -> None:
    first, second = (answers(base, lambda server: server.customer("integral")) for base in bases)

    paths = {difference.split()[1].partition("?")[0] for difference in differences(first, second)}
    assert {"/api/v1/societes", "/api/v1/rapprochement", TOOLS, "/api/v1/export"} <= paths


@pytest.mark.parametrize(("is_member", "lines_most"), [(False, 2), (True, 10)])
def test_a_list_has_the_same_bytes_for_all_contacts(
    bases: tuple[Base, Base], is_member: bool, lines_most: int
) -> None:
    """The list is read as a page, in English, filtered, as CSV, as a workbook and as a search.

    Args:
        lines_most: lines of a list; a visitor gets only two lines matched.
    """
    columns = list(dict.fromkeys(key for line in lines() for key in line))
    rows = [";".join(line.get(key) or "" for key in columns) for line in lines()]
    files = [
        "\n".join([";".join(columns), *rows[start : start + lines_most]])
        for start in range(0, len(rows), lines_most)
    ]

    def responses(base: Base) -> list[tuple[int, bytes]]:
        """The statuses and bodies of all pages and files of the lists on a server."""
        visitor = sign_up_member(base.server)[0] if is_member else Visitor(base.server)
        statuses_and_bodies = []
        for file in files:
            visitor.get("/rapprochement")
            list_page = visitor.upload("/rapprochement", file.encode())
            hidden = [*_hidden(base), list_page.path.rpartition("/")[2]]
            replies = [
                list_page,
                visitor.get(list_page.path, **{"Accept-Language": "en"}),
                visitor.get(f"{list_page.path}?format=csv"),
                visitor.get(f"{list_page.path}?verdict=probable"),
            ]
            statuses_and_bodies += [
                (page.status, _body(page.html.encode(), page.headers, hidden)) for page in replies
            ]
            visitor.get(list_page.path)
            for action in ("recherche", "xlsx"):
                reply = visitor.post(list_page.path, {"geste": action, "premieres": "1"})
                statuses_and_bodies.append((reply.status, _comparable(reply, hidden)))
        return statuses_and_bodies

    first, second = map(responses, bases)

    assert {status for status, _ in first} <= {200, 303, 400, 429}
    assert first == second


def test_the_pages_of_a_company_have_the_same_bytes_for_all_contacts(
    bases: tuple[Base, Base],
) -> None:
    iso2, identifier = WITH_STATEMENTS

    def pages(base: Base) -> list[bytes]:
        """The pages of a company, of its analysis, and after its form was sent."""
        visitor, _ = sign_up_member(base.server)
        record = f"/societes/{iso2}/{identifier}"
        replies = [visitor.get(record), visitor.get(f"{record}/analyse"), visitor.send(record)]
        return [_body(page.html.encode(), page.headers, _hidden(base)) for page in replies]

    first, second = map(pages, bases)

    assert first == second


def test_an_account_that_lost_the_right_gets_no_contact(tmp_path: Path) -> None:
    """§2.1: older ETags, lists and reconciliation addresses of the account show no contact either"""
    data = tmp_path / "data"
    world.publish(data)
    with run_server(data) as server:
        context = server.context
        visitor, account = sign_up_member(server, "integral", api_tool=True)
        _, key = create_key(server.store, account, context.plans, context.now()).result()
        _, token = create_key(
            server.store, account, context.plans, context.now(), kind=ADDRESSES
        ).result()
        headers = {"Authorization": f"Bearer {key}"}
        companies = [
            f"{company['iso2']}/{quote(company['id'], safe='')}" for company in WITH_CONTACTS
        ]
        paths = [f"/api/v1/societes/{company}" for company in companies]
        paths += ["/api/v1/societes?site_web=1"]
        replies_with_right = [server.ask(path, headers=headers) for path in paths]
        rows = [f"{company['id']};{company['nom']};{company['iso2']}" for company in WITH_CONTACTS]
        visitor.get("/rapprochement")
        list_page = visitor.upload("/rapprochement", "\n".join(["id;nom;pays", *rows]).encode())
        server.store.submit(account_rows.set_plan, account, "free", context.plans).result()

        replies_without_right = [
            server.ask(path, headers={**headers, "If-None-Match": reply.headers.get("ETag", '"x"')})
            for path, reply in zip(paths, replies_with_right, strict=True)
        ]
        visitor.get(list_page.path)
        replies_without_right.append(visitor.post(list_page.path, {"geste": "xlsx"}))
        replies_without_right.append(server.ask("/api/v1/export?site_web=1", headers=headers))
        replies_without_right += [
            server.ask(f"/api/v1/reconciliation/{token}/preview/{company.replace('/', ':', 1)}")
            for company in companies
        ]
        queries = ["", "?format=csv", "?page=1&verdict=sur"]
        pages = [visitor.get(list_page.path + query) for query in queries]
        pages += [visitor.get(path) for path in ("/compte", "/?site_web=1")]
        pages += [visitor.get(f"/societes/{company}") for company in companies]

    assert all(CONTACT.encode() in content(reply.body) for reply in replies_with_right)
    assert (
        {reply.status for reply in replies_without_right}
        == {page.status for page in pages}
        == {200}
    )
    assert not [reply for reply in replies_without_right if CONTACT.encode() in content(reply.body)]
    assert not [page for page in pages if CONTACT in page.html]
