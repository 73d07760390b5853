"""The places of a network: its requests wait for each other, not for requests of other networks."""

import asyncio
from collections.abc import Sequence

from serve.access.loop_guard import VisitorLanes
from serve.observe.log import RequestTrace
from tests.serve.processes import in_time


def request_from(address: str) -> RequestTrace:
    """The trace of a request from this address."""
    trace = RequestTrace("id", "/")
    trace.address = address
    return trace


async def pass_through(lanes: VisitorLanes, trace: RequestTrace, order: list[str]) -> None:
    """Wait for a place, note the address in `order`, and free the place."""
    await lanes.enter(trace)
    order.append(str(trace.address))
    lanes.leave(trace)


def test_of_a_network_only_as_many_requests_run_as_it_has_places() -> None:
    async def four_requests_for_two_places() -> tuple[Sequence[bool], int]:
        """Which of four requests have a place at first, and the number of networks kept after all have ended."""
        lanes = VisitorLanes(2)  # two places for each network
        # All are of the network 2001:db8:1::/48.
        traces = [request_from(f"2001:db8:1:{number}::1") for number in range(4)]
        tasks = [asyncio.create_task(lanes.enter(trace)) for trace in traces]
        await asyncio.sleep(0)
        have_a_place = [task.done() for task in tasks]
        for trace in traces[:2]:
            lanes.leave(trace)
        await asyncio.gather(*tasks)
        for trace in traces:
            lanes.leave(trace)
        await asyncio.sleep(0.2)  # a place stays taken for a moment after its request
        return have_a_place, len(lanes._lanes)

    assert asyncio.run(four_requests_for_two_places()) == ([True, True, False, False], 0)


def test_a_request_of_another_network_does_not_wait() -> None:
    async def enter_from_two_networks() -> None:
        """Take the only place of each of two networks; the second would time out if it waited for the first."""
        lanes = VisitorLanes(1)
        await lanes.enter(request_from("192.0.2.1"))
        async with asyncio.timeout(60):
            await lanes.enter(request_from("192.0.2.2"))

    asyncio.run(enter_from_two_networks())


def test_a_request_with_a_place_takes_no_second_place() -> None:
    async def enter_twice_with_one_request() -> None:
        """Take the only place twice with one request, which would time out if the second call waited."""
        lanes, trace = VisitorLanes(1), request_from("192.0.2.1")
        async with asyncio.timeout(60):
            await lanes.enter(trace)
            await lanes.enter(trace)

    asyncio.run(enter_twice_with_one_request())


def test_a_client_that_leaves_while_it_waits_keeps_no_place() -> None:
    async def cancel_two_waiting_requests() -> None:
        """Cancel two of three waiting requests; the third must still get the place within a minute."""
        lanes, running_request, order = VisitorLanes(1), request_from("192.0.2.1"), list[str]()
        await lanes.enter(running_request)
        cancelled = [asyncio.create_task(lanes.enter(request_from("192.0.2.1"))) for _ in range(2)]
        last_request = asyncio.create_task(pass_through(lanes, request_from("192.0.2.1"), order))
        await asyncio.sleep(0)
        cancelled[0].cancel()  # while it waits
        lanes.leave(running_request)
        # Wait until the first waiter left has the place, or is alone in the queue.
        while (
            not lanes._lanes["192.0.2.1"].waiting[0].done()
            and len(lanes._lanes["192.0.2.1"].waiting) > 1
        ):
            await asyncio.sleep(0)
        cancelled[1].cancel()  # when it gets its place, or just before it does
        async with asyncio.timeout(60):
            await last_request

    asyncio.run(cancel_two_waiting_requests())


def test_after_a_request_its_place_stays_taken_for_as_long_as_it_ran() -> None:
    """A pause as long as the request: a network with one place uses at most half of the loop's time"""

    async def seconds_until_second_request() -> float:
        """The seconds that the second request waits after the first, which ran for 30 ms."""
        lanes, loop = VisitorLanes(1), asyncio.get_running_loop()
        first_request, second_request = request_from("192.0.2.1"), request_from("192.0.2.1")
        await lanes.enter(first_request)
        await asyncio.sleep(0.03)
        since = loop.time()
        lanes.leave(first_request)
        await lanes.enter(second_request)
        return loop.time() - since

    assert in_time(lambda: 0.025 < asyncio.run(seconds_until_second_request()) < 5)
