"""Blocks of calls: no call is granted twice or lost, even if replies are lost.

The edges are rows of a dict, the centre is a real server. A move may not be sent, be done without
its answer being heard, or be asked again by two processes at once.
"""

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from quota.edge import leases
from quota.edge.leases import Move
from quota.ledger import row_format
from quota.periods import day
from quota.redis.store import RedisStore
from tests.quota.dict_store import DictRows
from tests.quota.servers import KINDS, Server, run_on, running
from tests.quota.small import NOON

EDGES = 3
MIDNIGHT = datetime.fromisoformat("2026-11-21T23:59:50+00:00")

edges = st.integers(0, EDGES - 1)
fates = st.sampled_from(["heard", "heard", "unheard", "unsent"])


class _Edges(RuleBasedStateMachine):
    server: Server

    @initialize(limit=st.sampled_from([1, 3, 60, 250]))
    def begin(self, limit: int) -> None:
        with self.server.client as client:
            client.flushall()
        self.centre = RedisStore(self.server.url, create=True)
        self.edges = [DictRows() for _ in range(EDGES)]
        self.limit = limit
        self.most = limit
        self.now = MIDNIGHT
        self.served = Counter({day(self.now).key: 0})
        self.granted: Counter[tuple[int, str]] = Counter()  # by edge and day
        self.names = 0

    def name(self, edge: int) -> str:
        self.names += 1
        return f"{edge:08x}{self.names:08x}"

    # -- callers -------------------------------------------------------------------

    @rule(edge=edges, times=st.integers(1, 70), fate=fates)
    def serve(self, edge: int, times: int, fate: str) -> None:
        for _ in range(times):
            meter, _ = leases.take(self.edges[edge], "a_", self.limit, self.now)
            if meter is None:
                self.ask_for_more(edge, fate)
            else:
                self.served[day(self.now).key] += meter.granted
                self.granted[edge, day(self.now).key] += meter.granted
                assert meter.used <= self.most
                assert not meter.granted or meter.used <= self.limit

    @rule(edge=edges)
    def give_back(self, edge: int) -> None:
        """A call whose block was given back meanwhile stays counted."""
        today = day(self.now).key
        if self.granted[edge, today]:
            before = self.balance(edge, today)
            leases.give_back(self.edges[edge], "a_", self.now)
            returned = self.balance(edge, today) - before
            self.served[today] -= returned
            self.granted[edge, today] -= returned

    @rule(limit=st.sampled_from([1, 3, 60, 250]))
    def another_plan(self, limit: int) -> None:
        self.limit = limit
        self.most = max(self.most, limit)

    @rule(seconds=st.integers(-3, 30))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    # -- moves ---------------------------------------------------------------------

    @rule(edge=edges, fate=fates)
    def ask_for_more(self, edge: int, fate: str) -> None:
        move = leases.next_move(self.edges[edge], "a_", self.name(edge), self.limit, day(self.now))
        if fate != "unsent":
            moved, used = self.moved(move)
            if fate == "heard":
                leases.settle(self.edges[edge], move, moved, used, self.now)

    @rule(edge=edges, idle=st.integers(0, 20))
    def give_up(self, edge: int, idle: int) -> None:
        before = self.now - timedelta(seconds=idle)
        leases.give_up(self.edges[edge], before, self.now)

    @rule(edge=edges)
    def a_copy_gives_nothing_back_again(self, edge: int) -> None:
        """A copy of the edge's rows after they were given back, as a snapshot that is restored is"""
        copy = DictRows()
        copy.rows = dict(self.edges[edge].rows)
        for rows in (self.edges[edge], copy):
            self.return_all(rows)
        counted = {today: self.used(today) for today in self.served}

        again = DictRows()
        again.rows = dict(copy.rows)
        self.return_all(again)

        assert {today: self.used(today) for today in self.served} == counted

    def return_all(self, rows: DictRows) -> None:
        for _ in range(2):
            for move in leases.unanswered_moves(rows):
                leases.settle(rows, move, *self.moved(move), self.now)
            leases.give_up(rows, self.now + timedelta(days=9), self.now)
        for move in leases.unanswered_moves(rows):
            leases.settle(rows, move, *self.moved(move), self.now)

    @rule(edge=edges)
    def ask_again(self, edge: int) -> None:
        """By two processes that share the edge's file"""
        moves = leases.unanswered_moves(self.edges[edge]) * 2
        answers = [self.moved(move) for move in moves]
        for move, (moved, used) in zip(moves, answers, strict=True):
            leases.settle(self.edges[edge], move, moved, used, self.now)

    def moved(self, move: Move) -> tuple[int, int]:
        return self.centre.move(
            move.account, move.name, move.calls, move.limit, leases.PARTS, move.day
        ).result()

    # -- what must hold ------------------------------------------------------------

    @invariant()
    def what_was_served_and_may_be_served_is_counted_at_the_centre(self) -> None:
        for today, served in self.served.items():
            used = self.used(today)
            assert served + sum(self.left(edge, today) for edge in range(EDGES)) <= used
            assert used <= self.most

    def left(self, edge: int, today: str) -> int:
        known = leases.calls(self.edges[edge], "a_", 10**9, self.at(today))
        return self.balance(edge, today) if known else 0

    def balance(self, edge: int, today: str) -> int:
        _, _, blocks = row_format.balance(self.edges[edge].rows.get(f"b/{today}/a_".encode()))
        return sum(left for _, left in blocks)

    def used(self, today: str) -> int:
        return self.centre.calls("a_", self.limit, self.at(today)).result().used

    def at(self, today: str) -> datetime:
        return datetime.fromisoformat(f"{today}T12:00:00+00:00")

    def teardown(self) -> None:
        """In the end all blocks are returned, and the centre has counted exactly the calls served."""
        if not hasattr(self, "centre"):
            return
        for edge in range(EDGES):
            self.ask_again(edge)
            leases.give_up(self.edges[edge], self.now + timedelta(days=9), self.now)
            self.ask_again(edge)
        counted = {today: self.used(today) for today in self.served}
        self.centre.close()
        assert counted == dict(self.served)
        assert not any(leases.unanswered_moves(edge) for edge in self.edges)


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_is_granted_twice_or_lost(kind: str) -> None:
    """R6"""
    run_on(kind, _Edges)


def test_blocks_are_small_change_near_the_limit() -> None:
    with running("redis", "--appendonly", "no") as server:
        centre = RedisStore(server.url, create=True)
        asked = [
            centre.move("a_", f"{n:016x}", leases.block(1_000), 1_000, leases.PARTS, "2026-11-21")
            for n in range(120)
        ]
        moved = [future.result()[0] for future in asked]
        centre.close()

    assert moved[:40] == [20] * 40
    assert sorted(moved, reverse=True) == moved
    assert sum(moved) == 1_000
    assert moved.count(1) > 10


def test_a_refusal_is_believed_for_seconds_and_no_longer() -> None:
    rows = DictRows()
    move = leases.next_move(rows, "a_", "m", 9, day(NOON))
    leases.settle(rows, move, 0, 9, NOON)

    refused, _ = leases.take(rows, "a_", 9, NOON + timedelta(seconds=leases.REFUSED_S - 1))
    later, _ = leases.take(rows, "a_", 9, NOON + timedelta(seconds=leases.REFUSED_S))
    richer, _ = leases.take(rows, "a_", 10, NOON)

    assert refused is not None
    assert (refused.granted, refused.used) == (False, 9)
    assert (later, richer) == (None, None)


@pytest.mark.parametrize(
    ("count", "returned"),
    [
        (1, [("m-", -1), ("n-", -2)]),
        (2, [("n-", -2)]),
        (3, [("n-", -1)]),
        (4, []),
    ],
)
def test_a_block_is_used_to_its_last_call_before_the_next(
    count: int, returned: list[tuple[str, int]]
) -> None:
    """The rest of each is given back under its own name, if no call came since"""
    rows = DictRows()
    lend(rows, "m", moved=2, used=2, limit=100)
    lend(rows, "n", moved=2, used=4, limit=100)

    meters = [leases.take(rows, "a_", 100, NOON).meter for _ in range(count)]
    leases.give_up(rows, NOON, NOON)
    early = leases.unanswered_moves(rows)
    leases.give_up(rows, NOON + timedelta(seconds=1), NOON)

    assert [meter and (meter.granted, meter.used) for meter in meters] == [
        (True, number) for number in range(1, count + 1)
    ]
    assert early == []
    assert [(move.name, move.calls) for move in leases.unanswered_moves(rows)] == returned


@pytest.mark.parametrize(("used", "is_refilled"), [(980, True), (981, False)])
def test_a_quarter_of_a_block_is_refilled_while_the_centre_has_a_whole_one(
    used: int, is_refilled: bool
) -> None:
    rows = DictRows()
    lend(rows, "m", moved=20, used=used, limit=1_000)

    lows = [leases.take(rows, "a_", 1_000, NOON).low for _ in range(20)]

    assert lows == [False] * 14 + [is_refilled] * 6


def lend(rows: DictRows, name: str, moved: int, used: int, limit: int) -> None:
    move = leases.next_move(rows, "a_", name, limit, day(NOON))
    leases.settle(rows, move, moved, used, NOON)


def test_a_move_that_got_nothing_gets_nothing_when_it_is_asked_again() -> None:
    """Two processes send the move, and a call is given back in between"""

    def asked(name: str, calls: int) -> int:
        return centre.move("a_", name, calls, 2, leases.PARTS, "2026-11-21").result()[0]

    with running("redis", "--appendonly", "no") as server:
        centre = RedisStore(server.url, create=True)
        lent = [asked(f"00000000{n}", 1) for n in "abc"]
        asked("00000000a-", -1)
        again = asked("00000000c", 1)
        other = asked("00000000d", 1)
        centre.close()

    assert lent == [1, 1, 0]
    assert (again, other) == (0, 1)
