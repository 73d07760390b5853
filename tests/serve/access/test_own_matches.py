"""A search that names companies which the account has matched shows all of them, whatever its plan (X19)."""

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
from tests.serve.client import Customer, Reply, Served, serving
from tests.serve.clock import Clock
from tests.serve.surfaces.mcp.client import shown
from tests.serve.surfaces.site.visitor import member
from tests.world import company

SEARCH: Final = "/api/v1/societes"
MATCH: Final = "/api/v1/rapprochement"
JSON: Final = {"Content-Type": "application/json"}
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
# Names that say little by themselves: identifiers make lines of them sure.
BAKERIES: Final = [f"K1101R_HRB{number:03}" for number in range(26)]
TWELVE: Final = BAKERIES[:12]


def lines(identifiers: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"cle": one, "id": one, "pays": "DE", "nom": f"Bäckerei Nord {int(one[-3:])}"}
        for one in identifiers
    ]


def match(served: Served, customer: Customer, identifiers: Sequence[str] = TWELVE) -> None:
    body = orjson.dumps({"lignes": lines(identifiers)})
    reply = served.ask(MATCH, "POST", {**JSON, **customer.headers}, body=body)
    assert reply.status == 200
    assert {one["verdict"] for one in reply.json["resultats"]} <= {"sur", "probable"}


def named(identifiers: Sequence[str]) -> str:
    return ",".join(f"DE:{one}" for one in identifiers)


def search(
    served: Served,
    customer: Customer | None,
    identifiers: Sequence[str] = TWELVE,
    tag: str = "",
    **more: str,
) -> Reply:
    headers = {**(customer.headers if customer else {}), **({"If-None-Match": tag} if tag else {})}
    params = {"ids": named(identifiers), "limit": "1000", **more}
    return served.ask(SEARCH, headers=headers, params=params)


def figures(reply: Reply) -> tuple[Any, ...]:
    """Total, cap, visible ones, whether some are hidden, rows."""
    assert reply.status == 200
    assert reply.headers["X-Plafond-Resultats"] == str(reply.json["plafond_resultats"])
    of_envelope = ("total", "plafond_resultats", "visibles", "tronque")
    return (*(reply.json[name] for name in of_envelope), len(reply.json["societes"]))


OF_FREE: Final = (12, 5, 5, True, 5)
ALL: Final = (12, 1000, 12, False, 12)


def test_what_was_matched_is_shown_whole_to_its_account_alone(served: Served) -> None:
    customer, other = served.customer(), served.customer()
    before = search(served, customer)
    match(served, other, BAKERIES[12:20])
    match(served, customer)
    after = search(served, customer)

    assert (figures(before), figures(after)) == (OF_FREE, ALL)
    assert [one["id"] for one in after.json["societes"]] == TWELVE
    assert {one["email"] for one in after.json["societes"]} == {
        None
    }  # contacts stay those of the plan
    for name in ("plan", "coordonnees", "offre_suivante"):
        assert after.json[name] == before.json[name]
    assert figures(search(served, other)) == OF_FREE
    assert figures(search(served, other, BAKERIES[12:20])) == (8, 1000, 8, False, 8)
    assert figures(search(served, None))[1:] == (2, 2, True, 2)


def test_one_company_that_was_not_matched_leaves_the_rows_of_the_plan(served: Served) -> None:
    customer = served.customer()
    match(served, customer)

    assert figures(search(served, customer, BAKERIES[:13]))[1:] == (5, 5, True, 5)
    known = search(served, customer, [*TWELVE, "absente"])
    assert figures(known) == ALL
    assert known.json["ids_inconnus"] == ["DE:absente"]
    assert figures(search(served, customer, [f"absente{n}" for n in range(6)]))[1] == 5
    # Other spellings of the same companies, and other filters.
    assert figures(search(served, customer, [one.lower() for one in TWELVE])) == ALL
    assert figures(search(served, customer, pays="FR"))[0] == 0
    assert figures(served.ask(SEARCH, headers=customer.headers))[1] == 5


def test_pages_lead_to_the_last_company_and_tags_tell_the_windows_apart(served: Served) -> None:
    customer = served.customer()
    before = search(served, customer, limit="5")
    match(served, customer)
    changed = search(served, customer, tag=before.headers["ETag"], limit="5")

    assert "Link" not in before.headers
    assert (changed.status, len(changed.json["societes"])) == (200, 5)
    again = search(served, customer, tag=changed.headers["ETag"], limit="5")
    assert (again.status, again.headers["X-Plafond-Resultats"]) == (304, "1000")
    found, page = [*changed.json["societes"]], changed
    while "Link" in page.headers:
        path = page.headers["Link"].partition(">")[0][1:]
        page = served.ask(path, headers=customer.headers)
        found += page.json["societes"]
    assert [one["id"] for one in found] == TWELVE


def test_rows_of_a_call_grow_too_and_exports_keep_those_of_the_plan(tmp_path: Path) -> None:
    data = tmp_path / "data"
    numbers = [f"{number:06}" for number in range(1, 511)]
    world.publish(data, [company("DE", one, f"Betrieb {int(one)}") for one in numbers], {})
    with serving(data) as served:
        customer = served.customer("corporate")  # 1 000 of a search, 500 of a call
        plan = served.context.plans["corporate"]
        before = figures(search(served, customer, numbers))
        match(served, customer, numbers)

        assert (before, plan.lignes_par_appel) == ((510, 1000, 510, False, 500), 500)
        assert figures(search(served, customer, numbers)) == (510, 1000, 510, False, 510)
        free = served.customer()
        match(served, free, numbers[:30])
        asked = {"ids": named(numbers[:30]), "format": "csv"}
        export = served.ask("/api/v1/export", headers=free.headers, params=asked)
        assert (export.status, export.headers["X-Export-Lignes"]) == (200, "25")


def test_reconciled_companies_count_as_matched(served: Served) -> None:
    customer = served.customer()
    queries = {
        one["cle"]: {
            "query": one["nom"],
            "properties": [{"pid": "id", "v": one["id"]}, {"pid": "pays", "v": "DE"}],
        }
        for one in lines(TWELVE)
    }
    body = urlencode({"queries": orjson.dumps(queries).decode()}).encode()
    path = "/api/v1/reconciliation"
    reply = served.ask(path, "POST", {**FORM, **customer.headers}, body=body)

    assert reply.status == 200
    assert figures(search(served, customer)) == ALL


def test_the_tools_match_and_search_alike(served: Served) -> None:
    customer = served.customer()
    asked: dict[str, Any] = {"ids": named(TWELVE).split(","), "limit": 50}
    before = shown(served, "search_companies", customer.headers, **asked)
    shown(served, "match_companies", customer.headers, lignes=lines(TWELVE))
    after = shown(served, "search_companies", customer.headers, **asked)

    assert [(one["visibles"], len(one["societes"])) for one in (before, after)] == [
        (5, 5),
        (12, 12),
    ]


def test_a_list_on_the_page_is_shown_by_the_page_of_the_search(served: Served) -> None:
    visitor, _ = member(served)
    text = "\n".join(["nom;pays;id", *(f"{one['nom']};DE;{one['id']}" for one in lines(TWELVE))])
    path = f"/?ids={quote(named(TWELVE), safe=':,')}"

    before = visitor.get(path)
    visitor.get("/rapprochement")
    assert visitor.upload("/rapprochement", text.encode()).status == 200
    after = visitor.get(path)

    assert [seen.html.count('<th scope="row">') for seen in (before, after)] == [5, 12]
    assert "premières sur" in before.text
    assert "premières sur" not in after.text


def test_a_candidate_that_is_chosen_in_a_list_counts_as_matched(served: Served) -> None:
    """Not one that was offered and not chosen, nor the choice of another account"""
    text = "\n".join(
        ["nom;pays;id", "Bäckerei Nord;DE;", *(f"{n};DE;{n}" for n in BAKERIES[20:24])]
    )
    people = [member(served)[0] for _ in range(2)]
    lists = []
    for visitor in people:
        visitor.get("/rapprochement")
        lists.append(visitor.upload("/rapprochement", text.encode()))
    line = lists[0].html.partition('id="l1"')[2].partition("</tr>")[0]
    offered = re.findall(r'href="/societes/DE/([^"]+)".*?value="(1:\d)"', line, re.S)
    named = [f"DE:{identifier}" for identifier, _ in offered]
    assert len(named) == 3
    every = [*named, *(f"DE:{one}" for one in BAKERIES[20:24])]
    path = f"/?ids={quote(','.join(every), safe=':,')}"
    before = [visitor.get(path).html.count('<th scope="row">') for visitor in people]

    for _, choice in offered:
        people[0].get(lists[0].path)
        assert people[0].send(lists[0].path, {"choix": choice}).status == 200
        people[1].get(lists[1].path)
        assert people[1].send(lists[0].path, {"choix": choice}).status == 404

    assert before == [5, 5]
    assert [visitor.get(path).html.count('<th scope="row">') for visitor in people] == [7, 5]


class Watched(LmdbStore):
    """A store that counts the questions about matches, and fails where it is told to."""

    fails = False
    asked = 0

    def read(self, operation: Any, /, *args: Any, **kwargs: Any) -> Any:
        if operation is activity.are_matched:
            self.asked += 1
            if self.fails:
                raise StoreUnavailable("no read")
        return super().read(operation, *args, **kwargs)

    def submit(self, operation: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.fails and operation is activity.note_matches:
            raise StoreUnavailable("no write")
        return super().submit(operation, *args, **kwargs)


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock("2026-11-30T23:59:58")


@pytest.fixture(scope="module")
def watched(data_of_its_own: Path, clock: Clock) -> Iterator[Served]:
    with serving(data_of_its_own, opener=Watched, now=clock) as server:
        yield server


def test_matches_outlive_their_month_and_its_counters(watched: Served, clock: Clock) -> None:
    customer = watched.customer()
    match(watched, customer)
    for moment in ("2026-12-01T00:00:01", "2028-02-29T12:00:00"):
        clock.set(moment)
        watched.store.compact(moment[:7])
        assert figures(search(watched, customer)) == ALL


def test_a_search_that_the_plan_does_not_cut_asks_the_store_for_nothing(watched: Served) -> None:
    assert isinstance(watched.store, Watched)
    customer, large = watched.customer(), watched.customer("integral")
    watched.store.asked = 0

    watched.ask(SEARCH, headers=customer.headers)
    search(watched, customer, TWELVE[:5])
    search(watched, large)
    search(watched, None)
    assert watched.store.asked == 0
    search(watched, customer)
    assert watched.store.asked == 1


def test_the_companies_that_a_search_names_are_looked_up_once(
    watched: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = watched.customer()
    looked_up: list[str] = []
    find_each = company_numbers.find_each

    def counted(base: ShardSet, wanted: Sequence[tuple[str, str]], *more: Any) -> Any:
        looked_up.extend(identifier for _, identifier in wanted)
        return find_each(base, wanted, *more)

    monkeypatch.setattr(company_numbers, "find_each", counted)
    search(watched, customer)
    assert looked_up == TWELVE
    match(watched, customer)
    looked_up.clear()
    assert figures(search(watched, customer)) == ALL
    assert looked_up == TWELVE


def test_without_its_store_a_match_is_answered_and_the_plan_decides(
    watched: Served, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(watched.store, Watched)
    customer = watched.customer()

    watched.store.fails = True
    match(watched, customer)
    forgotten = search(watched, customer)
    watched.store.fails = False
    then = search(watched, customer)
    match(watched, customer)
    watched.store.fails = True
    unread = search(watched, customer)
    watched.store.fails = False

    assert [figures(one) for one in (forgotten, then, unread)] == [OF_FREE] * 3
    assert figures(search(watched, customer)) == ALL
    told = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert [one.split(":")[0] for one in told] == [
        "matches are not remembered", "matches cannot be read", "matches cannot be read",
    ]  # fmt: skip


def test_hosts_that_share_a_server_share_matches(tmp_path: Path) -> None:
    data = tmp_path / "data"
    world.publish(data)
    with running("redis", "--appendonly", "no") as server:
        RedisStore(server.url, create=True).close()
        with serving(data, opener=lambda _: RedisStore(server.url)) as served:
            customer = served.customer()
            match(served, customer)
            elsewhere = RedisStore(server.url)
            known = elsewhere.read(
                activity.are_matched, customer.account, [f"DE/{one}" for one in TWELVE]
            )

            assert known.result()
            assert figures(search(served, customer)) == ALL
            elsewhere.close()
