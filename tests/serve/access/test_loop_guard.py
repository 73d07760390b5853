"""Places of a network: requests of one wait for one another, and never for those of another network."""

import asyncio
from collections.abc import Sequence

from serve.access.loop_guard import VisitorLanes
from serve.observe.log import RequestTrace


def request(address: str) -> RequestTrace:
    trace = RequestTrace("id", "/")
    trace.address = address
    return trace


async def answered(lanes: VisitorLanes, trace: RequestTrace, order: list[str]) -> None:
    await lanes.enter(trace)
    order.append(str(trace.address))
    lanes.leave(trace)


def test_requests_of_a_network_wait_for_one_another_in_their_order() -> None:
    async def run() -> tuple[Sequence[bool], int]:
        lanes = VisitorLanes(2)
        traces = [request(f"2001:db8:1:{number}::1") for number in range(4)]  # one /48
        tasks = [asyncio.create_task(lanes.enter(trace)) for trace in traces]
        await asyncio.sleep(0)
        before = [task.done() for task in tasks]
        for trace in traces[:2]:
            lanes.leave(trace)
        await asyncio.gather(*tasks)
        for trace in traces:
            lanes.leave(trace)
        await asyncio.sleep(0.2)
        return before, len(lanes._lanes)

    assert asyncio.run(run()) == ([True, True, False, False], 0)


def test_another_network_does_not_wait() -> None:
    async def run() -> None:
        lanes = VisitorLanes(1)
        await lanes.enter(request("192.0.2.1"))
        async with asyncio.timeout(5):
            await lanes.enter(request("192.0.2.2"))

    asyncio.run(run())


def test_a_request_that_has_a_place_takes_no_other() -> None:
    async def run() -> None:
        lanes, trace = VisitorLanes(1), request("192.0.2.1")
        async with asyncio.timeout(5):
            await lanes.enter(trace)
            await lanes.enter(trace)

    asyncio.run(run())


def test_a_client_that_leaves_while_it_waits_keeps_no_place() -> None:
    async def run() -> None:
        lanes, first, order = VisitorLanes(1), request("192.0.2.1"), list[str]()
        await lanes.enter(first)
        gone = [asyncio.create_task(lanes.enter(request("192.0.2.1"))) for _ in range(2)]
        last = asyncio.create_task(answered(lanes, request("192.0.2.1"), order))
        await asyncio.sleep(0)
        gone[0].cancel()  # while it waits
        lanes.leave(first)
        while (
            not lanes._lanes["192.0.2.1"].waiting[0].done()
            and len(lanes._lanes["192.0.2.1"].waiting) > 1
        ):
            await asyncio.sleep(0)
        gone[1].cancel()  # as it gets its place, or before
        async with asyncio.timeout(5):
            await last

    asyncio.run(run())


def test_a_place_stays_taken_as_long_again_as_its_request() -> None:
    """So a network has half of the loop at most"""

    async def run() -> float:
        lanes, loop = VisitorLanes(1), asyncio.get_running_loop()
        first, second = request("192.0.2.1"), request("192.0.2.1")
        await lanes.enter(first)
        await asyncio.sleep(0.03)
        lanes.leave(first)
        since = loop.time()
        await lanes.enter(second)
        return loop.time() - since

    assert 0.025 < asyncio.run(run()) < 5
