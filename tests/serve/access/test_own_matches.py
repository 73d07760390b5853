"""A search for companies that the account has matched shows all of them, for any plan (X19)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
import pytest

from quota.errors import StoreUnavailable
from quota.ledger import activity
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from shards.search import company_numbers
from shards.search.search import ShardSet
from tests.quota.servers import running
from tests.serve import world
from tests.serve.client import Customer, Reply, Server, run_server
from tests.serve.clock import Clock
from tests.serve.surfaces.mcp.client import tool_content
from tests.serve.surfaces.site.visitor import sign_up_member
from tests.world import company

SEARCH: Final = "/api/v1/societes"
MATCH: Final = "/api/v1/rapprochement"
JSON: Final = {"Content-Type": "application/json"}
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
# Identifiers of 26 companies with similar names, so only a match by identifier is sure.
BAKERIES: Final = [f"K1101R_HRB{number:03}" for number in range(26)]
TWELVE_BAKERIES: Final = BAKERIES[:12]


def lines_for(identifiers: Sequence[str]) -> list[dict[str, str]]:
    """A line for a match for each of these bakeries, with its identifier and name."""
    return [
        {
            "cle": identifier,
            "id": identifier,
            "pays": "DE",
            "nom": f"Bäckerei Nord {int(identifier[-3:])}",
        }
        for identifier in identifiers
    ]


def match_companies(
    server: Server, customer: Customer, identifiers: Sequence[str] = TWELVE_BAKERIES
) -> None:
    """Match these companies by the API, so that they count as matched by the customer's account."""
    body = orjson.dumps({"lignes": lines_for(identifiers)})
    reply = server.ask(MATCH, "POST", {**JSON, **customer.headers}, body=body)
    assert reply.status == 200
    assert {result["verdict"] for result in reply.json["resultats"]} <= {"sur", "probable"}


def ids_value(identifiers: Sequence[str]) -> str:
    """The companies as a value of the parameter `ids`."""
    return ",".join(f"DE:{identifier}" for identifier in identifiers)


def search(
    server: Server,
    customer: Customer | None,
    identifiers: Sequence[str] = TWELVE_BAKERIES,
    tag: str = "",
    **other_parameters: str,
) -> Reply:
    """Search these companies by `ids`, with an If-None-Match of `tag` if it is given."""
    headers = {**(customer.headers if customer else {}), **({"If-None-Match": tag} if tag else {})}
    params = {"ids": ids_value(identifiers), "limit": "1000", **other_parameters}
    return server.ask(SEARCH, headers=headers, params=params)


def figures_of(reply: Reply) -> tuple[Any, ...]:
    """Of a search: total, cap, visible companies, whether some are hidden, rows of the page."""
    assert reply.status == 200
    assert reply.headers["X-Plafond-Resultats"] == str(reply.json["plafond_resultats"])
    fields = ("total", "plafond_resultats", "visibles", "tronque")
    return (*(reply.json[name] for name in fields), len(reply.json["societes"]))


# Figures of a search for twelve companies: within the plan `free`, and if the account has matched all of them.
FREE_FIGURES: Final = (12, 5, 5, True, 5)
ALL_FIGURES: Final = (12, 1000, 12, False, 12)


def test_all_matched_companies_are_shown_to_their_account_only(server: Server) -> None:
    customer, other_customer = server.customer(), server.customer()
    before_match = search(server, customer)
    match_companies(server, other_customer, BAKERIES[12:20])
    match_companies(server, customer)
    after_match = search(server, customer)

    assert (figures_of(before_match), figures_of(after_match)) == (FREE_FIGURES, ALL_FIGURES)
    assert [company["id"] for company in after_match.json["societes"]] == TWELVE_BAKERIES
    # Contacts still depend on the plan.
    assert {company["email"] for company in after_match.json["societes"]} == {None}
    for name in ("plan", "coordonnees", "offre_suivante"):
        assert after_match.json[name] == before_match.json[name]
    assert figures_of(search(server, other_customer)) == FREE_FIGURES
    # The second account has matched these eight, so all are visible up to the cap of 1 000 for matched companies.
    assert figures_of(search(server, other_customer, BAKERIES[12:20])) == (8, 1000, 8, False, 8)
    assert figures_of(search(server, None))[1:] == (2, 2, True, 2)


def test_with_one_unmatched_company_the_plan_limits_the_rows(server: Server) -> None:
    """`free` shows five rows; the twelve matched companies alone are all shown"""
    customer = server.customer()
    match_companies(server, customer)

    assert figures_of(search(server, customer, BAKERIES[:13]))[1:] == (5, 5, True, 5)
    with_absent = search(server, customer, [*TWELVE_BAKERIES, "absente"])
    assert figures_of(with_absent) == ALL_FIGURES
    assert with_absent.json["ids_inconnus"] == ["DE:absente"]
    assert figures_of(search(server, customer, [f"absente{number}" for number in range(6)]))[1] == 5
    # Another spelling of the companies changes nothing; other filters, or none, do.
    assert (
        figures_of(search(server, customer, [identifier.lower() for identifier in TWELVE_BAKERIES]))
        == ALL_FIGURES
    )
    assert figures_of(search(server, customer, pays="FR"))[0] == 0
    assert figures_of(server.ask(SEARCH, headers=customer.headers))[1] == 5


def test_pages_reach_the_last_company_and_a_match_changes_the_tag(server: Server) -> None:
    """`free` shows five companies, after a match all twelve"""
    customer = server.customer()
    page_before_match = search(server, customer, limit="5")
    match_companies(server, customer)
    first_page = search(server, customer, tag=page_before_match.headers["ETag"], limit="5")

    assert "Link" not in page_before_match.headers
    assert (first_page.status, len(first_page.json["societes"])) == (200, 5)
    unchanged = search(server, customer, tag=first_page.headers["ETag"], limit="5")
    assert (unchanged.status, unchanged.headers["X-Plafond-Resultats"]) == (304, "1000")
    companies, page = [*first_page.json["societes"]], first_page
    while "Link" in page.headers:
        path = page.headers["Link"].partition(">")[0][1:]
        page = server.ask(path, headers=customer.headers)
        companies += page.json["societes"]
    assert [company["id"] for company in companies] == TWELVE_BAKERIES


def test_matches_raise_the_rows_of_a_call_but_not_of_an_export(tmp_path: Path) -> None:
    data = tmp_path / "data"
    numbers = [f"{number:06}" for number in range(1, 511)]
    world.publish(data, [company("DE", number, f"Betrieb {int(number)}") for number in numbers], {})
    with run_server(data) as server:
        customer = server.customer("corporate")  # 1 000 rows a search, 500 a call
        plan = server.context.plans["corporate"]
        figures_before = figures_of(search(server, customer, numbers))
        match_companies(server, customer, numbers)

        assert (figures_before, plan.lignes_par_appel) == ((510, 1000, 510, False, 500), 500)
        assert figures_of(search(server, customer, numbers)) == (510, 1000, 510, False, 510)
        free_customer = server.customer()
        match_companies(server, free_customer, numbers[:30])
        params = {"ids": ids_value(numbers[:30]), "format": "csv"}
        export = server.ask("/api/v1/export", headers=free_customer.headers, params=params)
        # `free` allows 25 rows in an export.
        assert (export.status, export.headers["X-Export-Lignes"]) == (200, "25")


def test_reconciled_companies_count_as_matched(server: Server) -> None:
    customer = server.customer()
    queries = {
        line["cle"]: {
            "query": line["nom"],
            "properties": [{"pid": "id", "v": line["id"]}, {"pid": "pays", "v": "DE"}],
        }
        for line in lines_for(TWELVE_BAKERIES)
    }
    body = urlencode({"queries": orjson.dumps(queries).decode()}).encode()
    path = "/api/v1/reconciliation"
    reply = server.ask(path, "POST", {**FORM, **customer.headers}, body=body)

    assert reply.status == 200
    assert figures_of(search(server, customer)) == ALL_FIGURES


def test_a_match_by_a_tool_counts_in_a_search_by_a_tool(server: Server) -> None:
    """Twelve companies: the plan free shows five, and all of them after the match"""
    customer = server.customer()
    arguments: dict[str, Any] = {"ids": ids_value(TWELVE_BAKERIES).split(","), "limit": 50}
    before_match = tool_content(server, "search_companies", customer.headers, **arguments)
    tool_content(server, "match_companies", customer.headers, lignes=lines_for(TWELVE_BAKERIES))
    after_match = tool_content(server, "search_companies", customer.headers, **arguments)

    assert [
        (answer["visibles"], len(answer["societes"])) for answer in (before_match, after_match)
    ] == [
        (5, 5),
        (12, 12),
    ]


def test_a_search_on_the_site_shows_a_list_that_was_matched_there(server: Server) -> None:
    """`free` shows five of the twelve companies before the match"""
    visitor, _ = sign_up_member(server)
    text = "\n".join(
        ["nom;pays;id", *(f"{line['nom']};DE;{line['id']}" for line in lines_for(TWELVE_BAKERIES))]
    )
    path = f"/?ids={quote(ids_value(TWELVE_BAKERIES), safe=':,')}"

    page_before_match = visitor.get(path)
    visitor.get("/rapprochement")
    assert visitor.upload("/rapprochement", text.encode()).status == 200
    page_after_match = visitor.get(path)

    assert [
        page.html.count('<th scope="row">') for page in (page_before_match, page_after_match)
    ] == [5, 12]
    assert "premières sur" in page_before_match.text
    assert "premières sur" not in page_after_match.text


def test_a_chosen_candidate_of_a_list_counts_as_matched(server: Server) -> None:
    """A candidate that was not chosen does not count, nor does a choice by another account"""
    text = "\n".join(
        [
            "nom;pays;id",
            "Bäckerei Nord;DE;",
            *(f"{identifier};DE;{identifier}" for identifier in BAKERIES[20:24]),
        ]
    )
    visitors = [sign_up_member(server)[0] for _ in range(2)]
    lists = []
    for visitor in visitors:
        visitor.get("/rapprochement")
        lists.append(visitor.upload("/rapprochement", text.encode()))
    first_line = lists[0].html.partition('id="l1"')[2].partition("</tr>")[0]
    candidate_choices = re.findall(
        r'href="/societes/DE/([^"]+)".*?value="(1:\d)"', first_line, re.S
    )
    candidates = [f"DE:{identifier}" for identifier, _ in candidate_choices]
    assert len(candidates) == 3
    ids = [*candidates, *(f"DE:{number}" for number in BAKERIES[20:24])]
    path = f"/?ids={quote(','.join(ids), safe=':,')}"
    rows_before = [visitor.get(path).html.count('<th scope="row">') for visitor in visitors]

    for _, choice in candidate_choices:
        visitors[0].get(lists[0].path)
        assert visitors[0].send(lists[0].path, {"choix": choice}).status == 200
        visitors[1].get(lists[1].path)
        assert visitors[1].send(lists[0].path, {"choix": choice}).status == 404

    assert rows_before == [5, 5]
    # The account that chose gets all seven companies, the second account the five rows of `free`.
    assert [visitor.get(path).html.count('<th scope="row">') for visitor in visitors] == [7, 5]


class WatchedStore(LmdbStore):
    """A store that counts the reads of matches, and fails if `fails` is set."""

    fails = False
    reads = 0

    def read(self, operation: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Count the reads of matches; refuse them if `fails` is set."""
        if operation is activity.are_matched:
            self.reads += 1
            if self.fails:
                raise StoreUnavailable("no read")
        return super().read(operation, *args, **kwargs)

    def submit(self, operation: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Refuse to write matches if `fails` is set."""
        if self.fails and operation is activity.note_matches:
            raise StoreUnavailable("no write")
        return super().submit(operation, *args, **kwargs)


@pytest.fixture(scope="module")
def clock() -> Clock:
    """Two seconds before a month ends, so that a test can move it into the next month."""
    return Clock("2026-11-30T23:59:58")


@pytest.fixture(scope="module")
def watched_server(separate_data: Path, clock: Clock) -> Iterator[Server]:
    """A server whose store counts and refuses reads of matches, at the end of a month."""
    with run_server(separate_data, opener=WatchedStore, now=clock) as server:
        yield server


def test_matches_outlive_their_month_and_its_counters(watched_server: Server, clock: Clock) -> None:
    customer = watched_server.customer()
    match_companies(watched_server, customer)
    for moment in ("2026-12-01T00:00:01", "2028-02-29T12:00:00"):
        clock.set(moment)
        watched_server.store.compact(moment[:7])
        assert figures_of(search(watched_server, customer)) == ALL_FIGURES


def test_matches_are_read_only_if_the_plan_of_an_account_would_hide_rows(
    watched_server: Server,
) -> None:
    assert isinstance(watched_server.store, WatchedStore)
    customer, integral_customer = watched_server.customer(), watched_server.customer("integral")
    watched_server.store.reads = 0

    watched_server.ask(SEARCH, headers=customer.headers)
    search(watched_server, customer, TWELVE_BAKERIES[:5])
    search(watched_server, integral_customer)
    search(watched_server, None)
    assert watched_server.store.reads == 0
    search(watched_server, customer)
    assert watched_server.store.reads == 1


def test_the_companies_of_a_search_are_looked_up_once(
    watched_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = watched_server.customer()
    looked_up: list[str] = []
    find_companies = company_numbers.find_companies

    def count_lookups(
        base: ShardSet, companies: Sequence[tuple[str, str]], *other_arguments: Any
    ) -> Any:
        """Note the identifiers that the server looks up, then look them up."""
        looked_up.extend(identifier for _, identifier in companies)
        return find_companies(base, companies, *other_arguments)

    monkeypatch.setattr(company_numbers, "find_companies", count_lookups)
    search(watched_server, customer)
    assert looked_up == TWELVE_BAKERIES
    match_companies(watched_server, customer)
    looked_up.clear()
    assert figures_of(search(watched_server, customer)) == ALL_FIGURES
    assert looked_up == TWELVE_BAKERIES


def test_if_the_store_fails_a_match_is_answered_and_the_plan_limits_the_rows(
    watched_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(watched_server.store, WatchedStore)
    customer = watched_server.customer()

    watched_server.store.fails = True
    match_companies(watched_server, customer)
    during_failed_write = search(watched_server, customer)
    watched_server.store.fails = False
    after_failed_write = search(watched_server, customer)
    match_companies(watched_server, customer)
    watched_server.store.fails = True
    during_failed_read = search(watched_server, customer)
    watched_server.store.fails = False

    assert [
        figures_of(reply) for reply in (during_failed_write, after_failed_write, during_failed_read)
    ] == [FREE_FIGURES] * 3
    assert figures_of(search(watched_server, customer)) == ALL_FIGURES
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [message.split(":")[0] for message in messages] == [
        "matches are not remembered", "matches cannot be read", "matches cannot be read",
    ]  # fmt: skip


def test_hosts_that_share_a_server_share_matches(tmp_path: Path) -> None:
    data = tmp_path / "data"
    world.publish(data)
    with running("redis", "--appendonly", "no") as redis:
        RedisStore(redis.url, create=True).close()
        with run_server(data, opener=lambda _: RedisStore(redis.url)) as server:
            customer = server.customer()
            match_companies(server, customer)
            other_host = RedisStore(redis.url)
            are_matched = other_host.read(
                activity.are_matched,
                customer.account,
                [f"DE/{identifier}" for identifier in TWELVE_BAKERIES],
            )

            assert are_matched.result()
            assert figures_of(search(server, customer)) == ALL_FIGURES
            other_host.close()
