"""Two bases that differ in contact values alone are the same base to a caller without the right to contacts (§2.1).

A value that is never shown may still be told: by a reason, a note, an order, a count, the size of a file. So the bytes
of every route, tool and page are compared, with requests that hold the right values of one of the bases.
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
from tests.serve.access.test_contacts import opened
from tests.serve.client import Customer, Reply, Served, serving
from tests.serve.clock import Clock
from tests.serve.surfaces.mcp.client import META, MODERN
from tests.serve.surfaces.mcp.client import PATH as TOOLS
from tests.serve.surfaces.site.visitor import HTML, Visitor, member
from tests.serve.world import COMPANIES, CONTACT, WITH_STATEMENTS
from tests.world import Company

WITH_CONTACTS: Final = [one for one in COMPANIES if one["email"]]
JSON: Final = {"Content-Type": "application/json"}
ADDRESS: Final = "/adresse-de-rapprochement"
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_BY_ONE: Final = 20  # requests of a customer
# Different in every answer: tokens of forms, milliseconds of a page, seconds and the day of a workbook,
# the digest in a cursor, which is of a generation too. The length is that of the compared body, but for a workbook's,
# which packs these.
_HEADERS: Final = ("Date", "ETag", "Set-Cookie", "X-Request-Id", "Content-Length")
_DURATIONS: Final = {
    text.encode() for name in ("searching", "reading", "writing") for text in TEXTS[name]
}
_OF_ANSWER: Final = re.compile(
    rb'name="jeton" value="[^"]*"|[\d,]+ ms|[-\dT:]+Z</dcterms|\.[0-9a-f]{8}"'
)
_SHARED_TEXT: Final = re.compile(rb"<si><t[^>]*>([^<]*)</t></si>")
# Counters of the server, the account of the caller, scripts of a page: no company is in them.
_LEFT_OUT: Final = {"/metrics", "/api/v1/compte", "/docs/{file}"}


class Asked(NamedTuple):
    """A request, but for who sends it."""

    path: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Base(NamedTuple):
    """A server, and the names of its two generations."""

    served: Served
    names: tuple[str, str]


def with_contacts(companies: Iterable[Company], name: str) -> list[Company]:
    """The companies, with other domains in all contact fields that have a value."""
    return [
        {
            **one,
            **{
                field: one[field].replace(CONTACT, f"{name}{CONTACT}")
                for field in CONTACTS
                if one[field]
            },
        }
        for one in companies
    ]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Base, Base]]:
    """The world as it is, and with other contacts; all contacts changed in the last generation of both."""
    # /statut shows the minute of a publication, so both bases are published in one.
    minute: datetime | None = None
    while minute != (minute := datetime.now(UTC).replace(second=0, microsecond=0)):
        folders = [tmp_path_factory.mktemp(name) / "data" for name in ("one", "other")]
        published = []
        for folder, name in zip(folders, ("", "autrement-"), strict=True):
            before = world.publish(folder, with_contacts(COMPANIES[1:], f"ancien-{name}"))
            published.append((before, world.publish(folder, with_contacts(COMPANIES, name))))
    clock = Clock("2026-11-21T12:00:00")
    with serving(folders[0], now=clock) as one, serving(folders[1], now=clock) as other:
        yield Base(one, published[0]), Base(other, published[1])


def lines() -> list[dict[str, Any]]:
    """Lines that hold contacts of the first base, beside each kind of evidence that finds their company."""
    found: list[dict[str, Any]] = []
    for one in WITH_CONTACTS:
        known: list[dict[str, Any]] = [
            {"id": one["id"], "pays": one["iso2"]},
            {"nom": one["nom"]},
            {"nom": one["nom"].split()[0], "ville": one["ville"] or "Tallinn"},
            {"nom": f"{one['nom']} Holding", "pays": one["iso2"]},
            {"nom": one["domaine"]},
        ]
        found += [
            {**given, **contact}
            for given in known
            for contact in (
                {"site_web": one["site_web"]}, {"email": one["email"]}, {"site_web": one["domaine"]},
                {"email": f"x@{one['domaine']}", "site_web": one["site_web"]},
            )
        ]  # fmt: skip
    return [{"cle": str(number), **given} for number, given in enumerate(found)]


def _post(path: str, body: object) -> Asked:
    return Asked(path, "POST", JSON, orjson.dumps(body))


def _tool(name: str, given: Mapping[str, Any]) -> Asked:
    body = {"name": name, "arguments": given, "_meta": META}
    headers = JSON | {
        "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name
    }  # fmt: skip
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": body}
    return Asked(TOOLS, "POST", headers, orjson.dumps(message))


def requests(base: Base) -> Iterator[Asked]:
    """Every route and tool, with ADDRESS for a reconciliation address of the caller."""
    api, before = "/api/v1", base.names[0]
    keys = [f"{one['iso2']}:{one['id']}" for one in COMPANIES]
    texts = [one[field] for one in WITH_CONTACTS[:2] for field in CONTACTS]
    for tri in ORDERS:
        yield Asked(f"{api}/societes?tri={tri}&limit=50")
        yield Asked(f"{api}/societes?tri={tri}&limit=50&site_web=1")
    for text in texts:
        yield Asked(f"{api}/societes?q={quote(text)}")
        yield Asked(f"{api}/suggestions?q={quote(text)}")
        yield Asked(f"{api}/identifiants/{quote(text, safe='')}")
        yield Asked(f"{ADDRESS}/suggest/entity?prefix={quote(text)}")
    for one in COMPANIES[:16]:
        record = f"{one['iso2']}/{quote(one['id'], safe='')}"
        yield from (Asked(f"{path}/{record}") for path in (f"{api}/societes", "/societes"))
        rest = ("comparables", "groupe", "analyses/entreprise")
        yield from (Asked(f"{api}/societes/{record}/{part}") for part in rest)
        key = quote(f"{one['iso2']}:{one['id']}", safe=":")
        yield from (Asked(f"{ADDRESS}/{part}/{key}") for part in ("preview", "view"))
    yield from (
        Asked(f"{api}{path}")
        for path in (
            "/pays", "/secteurs", "/sous-secteurs?secteur=edition", "/sources",
            "/repartition?par=pays,secteur,ville&site_web=1", "/analyses/marche?site_web=1",
            f"/modifications?pays=FR&depuis={before}", "/reconciliation", "/export",
            "/export?format=csv&site_web=1", "/export?format=ndjson", "/export?format=parquet",
        )
    )  # fmt: skip
    yield from (
        Asked(path)
        for path in (
            "/", "/?q=lab", "/?site_web=1", f"/?q={quote(texts[0])}", "/chiffres?site_web=1", "/sources",
            f"/propositions?q={quote(texts[0])}", "/statut", "/docs", "/tarifs", "/sitemap.xml",
            "/openapi.json", "/docs.md", "/llms.txt", "/llms-full.txt", "/healthz", "/readyz",
        )
    )  # fmt: skip
    yield from (
        _post(f"{api}/modifications", {"depuis": before, **wanted})
        for wanted in ({"ids": keys[:16]}, {"recherche": {"site_web": "1"}})
    )
    yield _post(f"{api}/export", {"format": "csv", "ids": keys[:5]})
    given = lines()
    for first in range(0, len(given), 2):  # as many as a visitor may have
        both = given[first : first + 2]
        two = {"lignes": both, "limite": 3}
        yield _post(f"{api}/rapprochement", {**two, "colonnes": list(FIELDS)})
        yield _tool("match_companies", two)
        queries = {line["cle"]: _query(line) for line in both}
        form = urlencode({"queries": orjson.dumps(queries).decode()})
        yield Asked(ADDRESS, "POST", FORM, form.encode())
        yield Asked(f"{api}/reconciliation?{form}")
    fields = [{"id": field} for field in FIELDS]
    for path in (f"/societes/{record}", "/societes?site_web=1", "/export?format=csv", "/pays"):
        yield Asked(f"{api}{path}", "HEAD")
    for kind in ("xlsx", "ndjson", "parquet"):
        yield _post(
            f"{api}/export", {"format": kind, "site_web": "1", "colonnes": ",".join(FIELDS)}
        )
    extend = urlencode({"extend": orjson.dumps({"ids": keys[:2], "properties": fields}).decode()})
    yield Asked(ADDRESS, "POST", FORM, extend.encode())
    yield Asked(f"{api}/reconciliation", "POST", FORM, extend.encode())
    yield Asked(f"{ADDRESS}?{extend}")
    yield Asked(f"{ADDRESS}/properties?type=societe")
    for name, arguments in _tools(base, keys).items():
        for each in arguments:
            yield _tool(name, each)


def _query(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line as a query of OpenRefine."""
    properties = [{"pid": key, "v": line[key]} for key in line if key not in ("cle", "nom")]
    return {"query": line.get("nom", ""), "properties": properties, "limit": 3}


def _tools(base: Base, keys: list[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Arguments of each tool."""
    companies: list[Mapping[str, str]] = [
        {"iso2": one["iso2"], "id": one["id"]} for one in WITH_CONTACTS
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
    base: Base, make: Callable[[Served], Customer] | None, key: str = "", lang: str = "fr"
) -> list[tuple[Asked, bytes]]:
    """Each request with its answer in `lang`, without names that differ from server to server.

    Args:
        make: makes a customer; a plan has few calls a day, so each sends some of the requests.
    """
    served = base.served
    token, headers = "visiteur", {"Authorization": f"Bearer {key}"} if key else {}
    hidden = _hidden(base)
    found = []
    for number, asked in enumerate(requests(base)):
        if make and not number % _BY_ONE:
            customer = make(served)
            made = create_key(
                served.store,
                customer.account,
                served.context.plans,
                served.context.now(),
                kind=ADDRESSES,
            )
            _, token = made.result(10)
            headers = customer.headers
            hidden += [customer.account, token]
        path = asked.path.replace(ADDRESS, f"/api/v1/reconciliation/{token}")
        # An address says who asks; a page is asked for as a browser does.
        own = {} if path != asked.path else headers
        sent = {
            **(own if path.startswith("/api") else HTML),
            **asked.headers,
            "Accept-Language": lang,
        }
        reply = served.ask(path, asked.method, sent, body=asked.body)
        shown = asked._replace(path=_without(asked.path, hidden))
        found.append((shown, _told(reply, hidden)))
    return found


def _hidden(base: Base) -> list[str]:
    """The names that differ from server to server."""
    return [*base.names, str(base.served.port)]


def _told(reply: Reply, hidden: Sequence[str]) -> bytes:
    """All that an answer says."""
    left_out = (
        _HEADERS if reply.body else _HEADERS[:-1]
    )  # the size of an answer to HEAD is that of its GET
    headers = {name: text for name, text in reply.headers.items() if name not in left_out}
    text = _without(f"{reply.status} {headers}\n", hidden)
    return text.encode() + _body(opened(reply.body), reply.headers, hidden)


def _body(body: bytes, headers: Mapping[str, str], hidden: Sequence[str]) -> bytes:
    """A body without the names that are different in every answer; workbooks and errors have that of the request."""
    request = headers.get("X-Request-Id", "")
    rest = _without_durations(_OF_ANSWER.sub(b"", body))
    return _without_bytes(rest, [*hidden, *([request] if request else [])])


def _without_durations(body: bytes) -> bytes:
    """The sheets of a workbook without the seconds that it took; their labels are numbers of shared texts."""
    numbers = [
        str(number).encode()
        for number, text in enumerate(_SHARED_TEXT.findall(body))
        if text in _DURATIONS
    ]
    if not numbers:
        return body
    label = b't="s"><v>(?:' + b"|".join(numbers) + b")</v></c><c [^>]*>"
    return re.sub(label + rb"<v>[\d.]+", b"", body)


def _without(text: str, hidden: Iterable[str]) -> str:
    for name in hidden:
        text = text.replace(name, "…")
    return text


def _without_bytes(body: bytes, hidden: Iterable[str]) -> bytes:
    for name in hidden:
        body = body.replace(name.encode(), b"\xe2\x80\xa6")
    return body


def differences(one: list[tuple[Asked, bytes]], other: list[tuple[Asked, bytes]]) -> list[str]:
    """The requests that the two bases answer otherwise, each with the first place where the answers differ."""
    assert len(one) == len(other)
    return [
        f"{asked.method} {asked.path} {(asked.body or b'')[:200]!r}: {_first_difference(answer, another)}"
        for (asked, answer), (_, another) in zip(one, other, strict=True)
        if answer != another
    ]


def _first_difference(one: bytes, other: bytes) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    place = next((i for i, (left, right) in pairs if left != right), min(len(one), len(other)))
    first, end = max(0, place - 60), place + 60
    return f"{one[first:end]!r} beside {other[first:end]!r}"


def test_every_route_and_every_tool_is_asked(bases: tuple[Base, Base]) -> None:
    asked = list(requests(bases[0]))
    wanted = {(one.method, one.path) for one in PRODUCT.operations if one.path not in _LEFT_OUT}
    at = "/api/v1/reconciliation/visiteur"
    sent = {(each.method, each.path.replace(ADDRESS, at).partition("?")[0]) for each in asked}

    unasked = {
        (method, path)
        for method, path in wanted
        if not any(method == each and _pattern(path).fullmatch(text) for each, text in sent)
    }

    assert unasked == set()
    assert {name for name in tool_list.tools(PRODUCT)} == _tools(bases[0], []).keys()


def _pattern(path: str) -> re.Pattern[str]:
    """The paths of an operation."""
    return re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path))))


@pytest.mark.parametrize(("key", "lang"), [("", "fr"), ("soc_live_x", "en")])
def test_a_visitor_cannot_tell_two_contacts_apart(
    bases: tuple[Base, Base], key: str, lang: str
) -> None:
    one, other = (answers(base, None, key, lang) for base in bases)

    assert not differences(one, other), "\n".join(differences(one, other)[:20])


@pytest.mark.parametrize(
    ("slug", "api_tool"),
    [("free", None), ("data", False)],
)
def test_a_key_without_the_right_cannot_tell_two_contacts_apart(
    bases: tuple[Base, Base], slug: str, api_tool: bool | None
) -> None:
    def make(served: Served) -> Customer:
        return served.customer(slug, api_tool=api_tool)

    one, other = (answers(base, make) for base in bases)

    assert not differences(one, other), "\n".join(differences(one, other)[:20])


def test_a_key_with_the_right_can(bases: tuple[Base, Base]) -> None:
    one, other = (answers(base, lambda served: served.customer("integral")) for base in bases)

    told = {each.split()[1].partition("?")[0] for each in differences(one, other)}
    assert {"/api/v1/societes", "/api/v1/rapprochement", TOOLS, "/api/v1/export"} <= told


@pytest.mark.parametrize(("is_member", "most"), [(False, 2), (True, 10)])
def test_a_list_cannot_tell_two_contacts_apart(
    bases: tuple[Base, Base], is_member: bool, most: int
) -> None:
    """As it was matched, opened again in both languages, as files, and as a search"""
    head = list(dict.fromkeys(key for line in lines() for key in line))
    rows = [";".join(line.get(key) or "" for key in head) for line in lines()]
    files = ["\n".join([";".join(head), *rows[at : at + most]]) for at in range(0, len(rows), most)]

    def pages(base: Base) -> list[tuple[int, bytes]]:
        somebody = member(base.served)[0] if is_member else Visitor(base.served)
        seen = []
        for file in files:
            somebody.get("/rapprochement")
            listed = somebody.upload("/rapprochement", file.encode())
            hidden = [*_hidden(base), listed.path.rpartition("/")[2]]
            replies = [
                listed,
                somebody.get(listed.path, **{"Accept-Language": "en"}),
                somebody.get(f"{listed.path}?format=csv"),
                somebody.get(f"{listed.path}?verdict=probable"),
            ]
            seen += [
                (page.status, _body(page.html.encode(), page.headers, hidden)) for page in replies
            ]
            somebody.get(listed.path)
            for act in ("recherche", "xlsx"):
                reply = somebody.post(listed.path, {"geste": act, "premieres": "1"})
                seen.append((reply.status, _told(reply, hidden)))
        return seen

    one, other = map(pages, bases)

    assert {status for status, _ in one} <= {200, 303, 400, 429}
    assert one == other


def test_the_pages_of_a_company_cannot_tell_two_contacts_apart(bases: tuple[Base, Base]) -> None:
    iso2, identifier = WITH_STATEMENTS

    def pages(base: Base) -> list[bytes]:
        somebody, _ = member(base.served)
        record = f"/societes/{iso2}/{identifier}"
        seen = [somebody.get(record), somebody.get(f"{record}/analyse"), somebody.send(record)]
        return [_body(page.html.encode(), page.headers, _hidden(base)) for page in seen]

    one, other = map(pages, bases)

    assert one == other


def test_who_has_lost_the_right_sees_no_contact_again(tmp_path: Path) -> None:
    """§2.1: neither by a tag, nor by a list or an address that is from before"""
    data = tmp_path / "data"
    world.publish(data)
    with serving(data) as served:
        context = served.context
        somebody, account = member(served, "integral", api_tool=True)
        _, key = create_key(served.store, account, context.plans, context.now()).result(10)
        _, token = create_key(
            served.store, account, context.plans, context.now(), kind=ADDRESSES
        ).result(10)
        headers = {"Authorization": f"Bearer {key}"}
        companies = [f"{one['iso2']}/{quote(one['id'], safe='')}" for one in WITH_CONTACTS]
        paths = [f"/api/v1/societes/{company}" for company in companies]
        paths += ["/api/v1/societes?site_web=1"]
        shown = [served.ask(path, headers=headers) for path in paths]
        rows = [f"{one['id']};{one['nom']};{one['iso2']}" for one in WITH_CONTACTS]
        somebody.get("/rapprochement")
        listed = somebody.upload("/rapprochement", "\n".join(["id;nom;pays", *rows]).encode())
        served.store.submit(account_rows.set_plan, account, "free", context.plans).result(10)

        again = [
            served.ask(path, headers={**headers, "If-None-Match": reply.headers.get("ETag", '"x"')})
            for path, reply in zip(paths, shown, strict=True)
        ]
        somebody.get(listed.path)
        again.append(somebody.post(listed.path, {"geste": "xlsx"}))
        again.append(served.ask("/api/v1/export?site_web=1", headers=headers))
        again += [
            served.ask(f"/api/v1/reconciliation/{token}/preview/{company.replace('/', ':', 1)}")
            for company in companies
        ]
        read = ["", "?format=csv", "?page=1&verdict=sur"]
        pages = [somebody.get(listed.path + query) for query in read]
        pages += [somebody.get(path) for path in ("/compte", "/?site_web=1")]
        pages += [somebody.get(f"/societes/{company}") for company in companies]

    assert all(CONTACT.encode() in opened(reply.body) for reply in shown)
    assert {reply.status for reply in again} == {page.status for page in pages} == {200}
    assert not [reply for reply in again if CONTACT.encode() in opened(reply.body)]
    assert not [page for page in pages if CONTACT in page.html]
