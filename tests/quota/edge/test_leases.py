"""Blocks of calls: no call is granted twice or lost, even if replies are lost.

Each edge is a dict of rows, the centre is a real Redis server. A *move* transfers calls between the two. A move
can be lost before it is sent, its reply can be lost, and two processes can send the same move again at once.
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

EDGES = 3  # edges, which share the limit of the account `a_`
# Ten seconds before midnight: rules move the clock into the next day, and back.
BEFORE_MIDNIGHT = datetime.fromisoformat("2026-11-21T23:59:50+00:00")

edges = st.integers(0, EDGES - 1)
# What happens to a request for calls: its reply arrives, its reply is lost, or the request is not sent.
fates = st.sampled_from(["answered", "answered", "reply lost", "unsent"])


class _Edges(RuleBasedStateMachine):
    """The rules: edges take calls, move calls from and to the centre, and lose messages."""

    server: Server

    @initialize(limit=st.sampled_from([1, 3, 60, 250]))
    def begin(self, limit: int) -> None:
        """Start with an empty centre, edges without rows, and a daily limit of `limit` calls, just before midnight."""
        with self.server.client as client:
            client.flushall()
        self.centre = RedisStore(self.server.url, create=True)
        self.edges = [DictRows() for _ in range(EDGES)]
        self.limit = limit
        self.highest_limit = limit
        self.now = BEFORE_MIDNIGHT
        self.served = Counter({day(self.now).key: 0})  # calls granted by all edges, by day
        self.granted: Counter[tuple[int, str]] = Counter()  # calls by edge and day
        self.moves_named = 0  # numbers the moves, so that their names differ

    def new_move_name(self, edge: int) -> str:
        """A name that no other move has."""
        self.moves_named += 1
        return f"{edge:08x}{self.moves_named:08x}"

    # -- callers -------------------------------------------------------------------

    @rule(edge=edges, times=st.integers(1, 70), fate=fates)
    def serve(self, edge: int, times: int, fate: str) -> None:
        """Callers take `times` calls at an edge; if its blocks are used up, it requests calls instead."""
        for _ in range(times):
            meter, _ = leases.take(self.edges[edge], "a_", self.limit, self.now)
            if meter is None:
                self.ask_for_more(edge, fate)
            else:
                self.served[day(self.now).key] += meter.granted
                self.granted[edge, day(self.now).key] += meter.granted
                assert meter.used <= self.highest_limit
                assert not meter.granted or meter.used <= self.limit

    @rule(edge=edges)
    def give_back(self, edge: int) -> None:
        """Undo a served call; if the block of the call was returned meanwhile, the call stays counted."""
        today = day(self.now).key
        if self.granted[edge, today]:
            before = self.stored_balance(edge, today)
            leases.give_back(self.edges[edge], "a_", self.now)
            returned = self.stored_balance(edge, today) - before
            self.served[today] -= returned
            self.granted[edge, today] -= returned

    @rule(limit=st.sampled_from([1, 3, 60, 250]))
    def change_plan(self, limit: int) -> None:
        """Give the account a plan with another daily limit."""
        self.limit = limit
        self.highest_limit = max(self.highest_limit, limit)

    @rule(seconds=st.integers(-3, 30))
    def time_passes(self, seconds: int) -> None:
        """Move the clock, also back by up to 3 s."""
        self.now += timedelta(seconds=seconds)

    # -- moves ---------------------------------------------------------------------

    @rule(edge=edges, fate=fates)
    def ask_for_more(self, edge: int, fate: str) -> None:
        """Request calls for an edge; `fate` says whether the request and its reply arrive."""
        move = leases.next_move(
            self.edges[edge], "a_", self.new_move_name(edge), self.limit, day(self.now)
        )
        if fate != "unsent":
            calls_moved, calls_used = self.send(move)
            if fate == "answered":
                leases.apply_reply(self.edges[edge], move, calls_moved, calls_used, self.now)

    @rule(edge=edges, idle=st.integers(0, 20))
    def return_idle_blocks(self, edge: int, idle: int) -> None:
        """Return the blocks of an edge that were not used for `idle` seconds."""
        idle_since = self.now - timedelta(seconds=idle)
        leases.return_idle_blocks(self.edges[edge], idle_since, self.now)

    @rule(edge=edges)
    def copies_return_each_block_once(self, edge: int) -> None:
        """Blocks that the edge has returned are not returned again from copies of its rows (restored snapshots)."""
        first_copy = DictRows()
        first_copy.rows = dict(self.edges[edge].rows)
        for rows in (self.edges[edge], first_copy):
            self.return_all(rows)
        used_by_day = {today: self.used_at_centre(today) for today in self.served}

        second_copy = DictRows()
        second_copy.rows = dict(first_copy.rows)
        self.return_all(second_copy)

        assert {today: self.used_at_centre(today) for today in self.served} == used_by_day

    def return_all(self, rows: DictRows) -> None:
        """Return all blocks of the edge with these rows to the centre, also blocks from replies to earlier moves."""
        for _ in range(2):  # a reply of the first round may bring another block
            for move in leases.unanswered_moves(rows):
                leases.apply_reply(rows, move, *self.send(move), self.now)
            leases.return_idle_blocks(rows, self.now + timedelta(days=9), self.now)
        for move in leases.unanswered_moves(rows):
            leases.apply_reply(rows, move, *self.send(move), self.now)

    @rule(edge=edges)
    def ask_again(self, edge: int) -> None:
        """Two processes that share the edge's file send each unanswered move, and both apply the reply."""
        moves = leases.unanswered_moves(self.edges[edge]) * 2
        replies = [self.send(move) for move in moves]
        for move, (moved, used) in zip(moves, replies, strict=True):
            leases.apply_reply(self.edges[edge], move, moved, used, self.now)

    def send(self, move: Move) -> tuple[int, int]:
        """Send a move to the centre; returns the calls moved, and the calls that the centre counts as used."""
        return self.centre.move(
            move.account, move.name, move.calls, move.limit, leases.PARTS, move.day
        ).result()

    # -- what must hold ------------------------------------------------------------

    @invariant()
    def served_and_lent_calls_are_counted_at_the_centre(self) -> None:
        """The calls served and the calls left at edges are within the calls that the centre counts."""
        for today, served in self.served.items():
            used = self.used_at_centre(today)
            assert served + sum(self.calls_left(edge, today) for edge in range(EDGES)) <= used
            assert used <= self.highest_limit

    def calls_left(self, edge: int, today: str) -> int:
        """The calls left in the blocks of an edge; 0 if the edge has no balance (its blocks and counts) of the day."""
        meter = leases.calls(self.edges[edge], "a_", 10**9, self.noon_of(today))
        return self.stored_balance(edge, today) if meter else 0

    def stored_balance(self, edge: int, today: str) -> int:
        """The calls left in the stored blocks of an edge."""
        _, _, blocks = row_format.unpack_balance(
            self.edges[edge].rows.get(f"b/{today}/a_".encode())
        )
        return sum(left for _, left in blocks)

    def used_at_centre(self, today: str) -> int:
        """The calls of the day that the centre counts as used."""
        return self.centre.calls("a_", self.limit, self.noon_of(today)).result().used

    def noon_of(self, today: str) -> datetime:
        """Noon of a day."""
        return datetime.fromisoformat(f"{today}T12:00:00+00:00")

    def teardown(self) -> None:
        """In the end all blocks are returned, and the centre has counted exactly the calls served."""
        if not hasattr(self, "centre"):
            return
        for edge in range(EDGES):
            self.ask_again(edge)
            leases.return_idle_blocks(self.edges[edge], self.now + timedelta(days=9), self.now)
            self.ask_again(edge)
        used_by_day = {today: self.used_at_centre(today) for today in self.served}
        self.centre.close()
        assert used_by_day == dict(self.served)
        assert not any(leases.unanswered_moves(edge) for edge in self.edges)


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_is_granted_twice_or_lost(kind: str) -> None:
    """R6: random steps of several edges against one centre, which lose requests and replies"""
    run_on(kind, _Edges)


# -- single calls and moves ------------------------------------------------------------


def test_blocks_become_smaller_near_the_limit() -> None:
    """120 requests ask for 20 calls each, of a limit of 1 000; the last blocks are single calls"""
    with running("redis", "--appendonly", "no") as server:
        centre = RedisStore(server.url, create=True)
        futures = [
            centre.move(
                "a_", f"{number:016x}", leases.block_size(1_000), 1_000, leases.PARTS, "2026-11-21"
            )
            for number in range(120)
        ]
        block_sizes = [future.result()[0] for future in futures]
        centre.close()

    assert block_sizes[:40] == [20] * 40
    assert sorted(block_sizes, reverse=True) == block_sizes
    assert sum(block_sizes) == 1_000
    assert block_sizes.count(1) > 10


def test_a_refusal_of_the_centre_is_valid_for_seconds_and_for_its_limit() -> None:
    """All 9 calls are used, so the centre lends none; later, or with a higher limit, the edge asks again"""
    rows = DictRows()
    move = leases.next_move(rows, "a_", "m", 9, day(NOON))
    leases.apply_reply(rows, move, 0, 9, NOON)

    refused, _ = leases.take(rows, "a_", 9, NOON + timedelta(seconds=leases.REFUSED_S - 1))
    later, _ = leases.take(rows, "a_", 9, NOON + timedelta(seconds=leases.REFUSED_S))
    higher_limit, _ = leases.take(rows, "a_", 10, NOON)

    assert refused is not None
    assert (refused.granted, refused.used) == (False, 9)
    assert (later, higher_limit) == (None, None)


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
    """The rest of each block is given back under the name of the block, if there was no call since NOON."""
    rows = DictRows()
    receive_block(rows, "m", moved=2, used=2, limit=100)
    receive_block(rows, "n", moved=2, used=4, limit=100)

    meters = [leases.take(rows, "a_", 100, NOON).meter for _ in range(count)]
    leases.return_idle_blocks(rows, NOON, NOON)
    early = leases.unanswered_moves(rows)
    leases.return_idle_blocks(rows, NOON + timedelta(seconds=1), NOON)

    assert [meter and (meter.granted, meter.used) for meter in meters] == [
        (True, number) for number in range(1, count + 1)
    ]
    assert early == []
    assert [(move.name, move.calls) for move in leases.unanswered_moves(rows)] == returned


@pytest.mark.parametrize(("used", "is_refilled"), [(980, True), (981, False)])
def test_a_quarter_of_a_block_is_refilled_while_the_centre_has_a_whole_block(
    used: int, is_refilled: bool
) -> None:
    """Blocks have 20 calls: with 5 left an edge asks for more, unless the centre has fewer than 20 of the 1 000 left"""
    rows = DictRows()
    receive_block(rows, "m", moved=20, used=used, limit=1_000)

    are_low = [leases.take(rows, "a_", 1_000, NOON).low for _ in range(20)]

    assert are_low == [False] * 14 + [is_refilled] * 6


def receive_block(rows: DictRows, name: str, moved: int, used: int, limit: int) -> None:
    """Store at an edge the block `name` of `moved` calls, with which the centre counts `used` calls as used."""
    move = leases.next_move(rows, "a_", name, limit, day(NOON))
    leases.apply_reply(rows, move, moved, used, NOON)


def test_a_move_that_got_no_calls_gets_none_when_it_is_repeated() -> None:
    """The limit is 2: the third move gets nothing, also after the first move has given its call back."""

    def request(name: str, calls: int) -> int:
        """Send a move of `calls` calls to the centre; returns the calls moved."""
        return centre.move("a_", name, calls, 2, leases.PARTS, "2026-11-21").result()[0]

    with running("redis", "--appendonly", "no") as server:
        centre = RedisStore(server.url, create=True)
        first_replies = [request(f"00000000{letter}", 1) for letter in "abc"]
        request("00000000a-", -1)  # the name of the first move and "-": the return of its block
        repeated = request("00000000c", 1)
        new_move = request("00000000d", 1)
        centre.close()

    assert first_replies == [1, 1, 0]
    assert (repeated, new_move) == (0, 1)
