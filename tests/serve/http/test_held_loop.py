"""The time for which a request body holds the event loop: each route and page with a body, many shapes of 1 MiB.

The time is the processor time of the loop's thread between two ticks. A busy machine needs two to three times as long
for the same work. So a time is divided by the time of a fixed loop in the same minute, and a long time is measured
again: a real fault holds the loop each time.
The garbage collector is set as in a worker: a collection of all objects of the other tests takes half a second.
"""

import asyncio
import gc
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

import pytest

from serve.app import PRODUCT
from serve.features.matching import list_file
from serve.http.connection import SLICE
from serve.process import worker
from serve.surfaces.site.page_request import pages_of
from tests.serve.client import Reply, Server
from tests.serve.features.matching.test_xlsx_file import package_bytes
from tests.serve.surfaces.site.visitor import FORM, sign_up_member

MIB: Final = 1 << 20
# The unit is runs of `_fixed_loop`, each of which takes 0.4 to 1.4 ms. The slowest action without a fault, a workbook,
# holds the event loop for 20 to 45 runs; the faults that this file guards against hold it for 200 to 4 000.
MOST_LOOPS: Final = 60
_TICK_SECONDS: Final = 0.001  # the pause between two measurements of the loop

_TEXT: Final = "Société d'Orléans "


def _repeat_item(item: str, head: str = '{"lignes":[', tail: str = "]}") -> str:
    """A document of 1 MiB that repeats an item."""
    repeats = (MIB - len(head.encode()) - len(tail)) // len(f"{item},".encode())
    return head + ",".join([item] * repeats) + tail


# Documents that are slow to parse; they need not be valid.
SHAPES: Final[Mapping[str, str]] = {
    "deep arrays": "[" * MIB,
    "many members": _repeat_item('"a":1', '{"lignes":[{', "}]}"),
    "many different members": (
        '{"lignes":[{' + ",".join(f'"{number:x}":1' for number in range(95_000)) + "}]}"
    ),
    "many properties": _repeat_item(
        '{"pid":"ville","v":""}', '{"q":{"query":"a","properties":[', "]}}"
    ),
    "many pairs": "%61=%62&" * (MIB // 8),
    "one long text": '{"lignes":[{"cle":"1","nom":"' + "a" * (MIB - 40) + '"}]}',
    "escapes": '{"lignes":[{"cle":"1","nom":"' + "\\u00e9" * (MIB // 6 - 10) + '"}]}',
    "numbers of many digits": '{"limite":' + "9" * (MIB - 20) + "}",
    "many small objects": _repeat_item("{}"),
    "many lists": _repeat_item("[]"),
    "blank lines": "\r\n" * (MIB // 2),
    "percent signs": "a=" + "%41" * (MIB // 3 - 1),
    "texts of all Europe": _repeat_item('{"cle":"é","nom":"Ψυχή Łódź"}'),
    "values": _repeat_item("1"),
    "a full list": json.dumps(
        {
            "lignes": [
                {"cle": str(number), "nom": _TEXT * 45, "ville": _TEXT} for number in range(1_000)
            ]
        }
    ),
    "a full list of short lines": json.dumps(
        {"lignes": [{"cle": str(number), "nom": f"Orléans {number}"} for number in range(1_000)]}
    ),
    "a full batch": json.dumps({f"q{number}": {"query": _TEXT * 50} for number in range(1_000)}),
    "a full batch of short queries": json.dumps(
        {f"q{number}": {"query": "a"} for number in range(1_000)}
    ),
    "fields of companies": json.dumps(
        {"ids": [f"FR:{number}" for number in range(1_000)], "properties": [{"id": "nom"}] * 30_000}
    ),
}
# Lists of 4 MiB, which a page accepts as files.
LIST_FILES: Final[Mapping[str, str]] = {
    "rows": "nom;ville\n" + f"{_TEXT * 10};{_TEXT * 10}\n" * 9_999,
    "a thousand rows": "nom;ville\n" + f"{_TEXT * 100};{_TEXT * 100}\n" * 999,
    "columns": "nom" + ";" * 199 + "\n" + (f"{_TEXT};" + ";" * 198 + "\n") * 9_999,
    "quotation marks": "nom;ville\n" + '"a ""b""";"c"\n' * 9_999,
    "an open quotation mark": 'nom;ville\n"' + "a;b\n" * 900_000,
    "one row": "nom;ville\n" + "a" * 3_900_000,
    "short rows": "a\n" * 1_900_000,
    "blank rows": "nom\n" + "\n" * 3_900_000,
}


@pytest.fixture(autouse=True, scope="module")
def collector_of_a_worker() -> Iterator[None]:
    """Set the garbage collector as in a worker, for the tests of this module."""
    thresholds = gc.get_threshold()
    worker._tune_collector()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@dataclass
class LoopWatch:
    """The longest time that the loop of a server was held, in processor seconds."""

    longest: float = 0.0


def time_held(server: Server, action: Callable[[], object]) -> float:
    """For how long an action holds the event loop of the server; the unit is runs of `_fixed_loop`.

    The action runs up to three times, until a time is at most MOST_LOOPS; the shortest time counts.
    """
    shortest = math.inf
    for _ in range(3):
        fixed_seconds = _fixed_loop()
        with watch_loop(server) as watch:
            action()
        shortest = min(shortest, watch.longest / max(fixed_seconds, _fixed_loop()))
        if shortest <= MOST_LOOPS:
            break
    return shortest


def _fixed_loop() -> float:
    """The processor seconds of 20,000 additions, the unit of `time_held`: the median of five runs."""
    seconds = []
    for _ in range(5):
        since, total = time.thread_time(), 0
        for number in range(20_000):
            total += number
        seconds.append(time.thread_time() - since)
    return sorted(seconds)[2]


@contextmanager
def watch_loop(server: Server) -> Iterator[LoopWatch]:
    """Measure in the loop of a server, until the block ends, for how long the loop is held."""
    watch, loop = LoopWatch(), server.loop

    async def tick() -> None:
        """Sleep again and again; each time, measure the processor time of the thread until the loop continues."""
        while True:
            since = time.thread_time()
            try:
                await asyncio.sleep(_TICK_SECONDS)
            finally:  # also if it is cancelled
                watch.longest = max(watch.longest, time.thread_time() - since)

    async def begin() -> "asyncio.Task[None]":
        """Create the task in the thread of the loop, as asyncio requires."""
        return asyncio.create_task(tick())

    task = asyncio.run_coroutine_threadsafe(begin(), loop).result()
    try:
        yield watch
    finally:
        ended = threading.Event()
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(ended.set)
        ended.wait(10)


BODY_ROUTES: Final = sorted(
    {
        operation.path.replace("{jeton}", "visiteur"): operation.kind
        for operation in PRODUCT.operations
        if operation.method == "POST"
    }.items()
)
FORM_PAGES: Final = sorted(
    path for path, route in pages_of(PRODUCT).examples().items() if route.post
)


def accepted_bodies(kind: str, shape: str) -> list[tuple[str, str]]:
    """The content types and bodies in which a route of a kind may receive a shape."""
    if kind != "reconciliation":
        return [("application/json", shape)]
    return [(FORM, shape), *((FORM, f"{name}={quote(shape)}"[:MIB]) for name in ("queries", "extend")),
            (FORM, f"queries={shape}"[:MIB])]  # fmt: skip


@pytest.mark.parametrize(("path", "kind"), BODY_ROUTES)
def test_no_body_of_a_route_holds_the_loop(server: Server, path: str, kind: str) -> None:
    """Each shape of 1 MiB, sent without a key and with a key"""
    customer = server.customer("integral", api_tool=True)
    loops_of_shape: dict[tuple[str, str], float] = {}
    for name, shape in SHAPES.items():
        for content_type, body in accepted_bodies(kind, shape):
            for caller in ({}, customer.headers):
                headers = {"Content-Type": content_type, **caller}
                loops = time_held(server, partial(post_body, server, path, headers, body.encode()))
                loops_of_shape[name, body[:20]] = max(
                    loops_of_shape.get((name, body[:20]), 0.0), loops
                )

    assert {shape: loops for shape, loops in loops_of_shape.items() if loops > MOST_LOOPS} == {}


@pytest.mark.parametrize("path", FORM_PAGES)
def test_no_form_of_a_page_holds_the_loop(server: Server, path: str) -> None:
    """Each shape of 1 MiB as a form, and as a file for the page of lists"""
    visitor, _ = sign_up_member(server, "integral")
    visitor.get("/compte")  # for the token of forms
    loops_of_shape: dict[str, float] = {}
    is_list = bool(pages_of(PRODUCT).examples()[path].file)
    for name, shape in {**SHAPES, **(LIST_FILES if is_list else {})}.items():
        forms = [(FORM, shape), (FORM, f"jeton={visitor.token}&texte={shape}"[:65_536])]
        if is_list:
            forms += [
                ("multipart/form-data; boundary=b", shape),
                ("multipart/form-data; boundary=b", _multipart_list(visitor.token, shape)),
                ("multipart/form-data; boundary=b", _multipart_list(visitor.token, shape * 3)),
                ("multipart/form-data; boundary=b", f"--b\r\n{'a: b' * 9}{shape}"),
            ]
        for content_type, body in forms:
            headers = {**visitor._headers(), "Content-Type": content_type}
            loops = time_held(server, partial(post_body, server, path, headers, body.encode()))
            loops_of_shape[name] = max(loops_of_shape.get(name, 0.0), loops)

    assert {shape: loops for shape, loops in loops_of_shape.items() if loops > MOST_LOOPS} == {}


@pytest.mark.parametrize(
    "path", ["/api/v1/rapprochement", "/api/v1/export", "/rapprochement", "/nulle-part"]
)
@pytest.mark.parametrize("senders", [1, 16])
def test_no_body_of_small_chunks_holds_the_loop(server: Server, path: str, senders: int) -> None:
    head = _chunked_head(server, path)
    # The reader allows 65 536 small chunks.
    message = head + b"1\r\n \r\n" * 70_000 + b"0\r\n\r\n"

    def send_all() -> None:
        """Send the message by many connections at the same time; each reply must be a refusal."""
        with ThreadPoolExecutor(senders) as threads:
            answers = list(threads.map(lambda _: exchange(server, message), range(senders)))
        assert all(answer.startswith(b"HTTP/1.1 4") for answer in answers), answers

    assert time_held(server, send_all) <= MOST_LOOPS


def test_a_body_of_larger_chunks_is_read(server: Server) -> None:
    """Chunks of 100 bytes (hexadecimal 64), padded with blanks to 600 000 bytes"""
    body = json.dumps({"lignes": [{"nom": "Orléans"}]}).encode().ljust(600_000)
    chunks = b"".join(
        b"64\r\n%b\r\n" % body[start : start + 100] for start in range(0, len(body), 100)
    )
    head = _chunked_head(server, "/api/v1/rapprochement")
    message = head + chunks + b"0\r\n\r\n"

    assert exchange(server, message).startswith(b"HTTP/1.1 200")


def test_many_requests_in_one_message_do_not_hold_the_loop_together(server: Server) -> None:
    """Without pauses between them, the first 124 requests would hold the loop 600 times as long as `_fixed_loop`"""
    request = b"GET /statut HTTP/1.1\r\nHost: a\r\n\r\n"
    message = request * 300 + request.replace(b"a\r\n", b"a\r\nConnection: close\r\n")
    assert len(message) > 2 * SLICE

    def send_all() -> None:
        """Send the message of 300 requests and the last one, which closes the connection; all must be answered."""
        assert exchange(server, message).count(b"HTTP/1.1 ") == 301

    assert time_held(server, send_all) <= MOST_LOOPS


def _chunked_head(server: Server, path: str) -> bytes:
    """The head of a customer's request whose body is sent in chunks."""
    headers = {
        **server.customer("integral", api_tool=True).headers,
        "Host": "a",
        "Content-Type": "application/json",
        "Connection": "close",
        "Transfer-Encoding": "chunked",
    }
    lines = (f"{name}: {value}" for name, value in headers.items())
    return "\r\n".join((f"POST {path} HTTP/1.1", *lines, "", "")).encode()


def exchange(server: Server, message: bytes) -> bytes:
    """Send bytes; return all bytes of the reply."""
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        sending = threading.Thread(target=_write, args=(connection, message))
        sending.start()
        with suppress(ConnectionError):
            while chunk := connection.recv(1 << 16):
                answer += chunk
        sending.join()
    return answer


def _write(connection: socket.socket, message: bytes) -> None:
    """Send bytes until the server closes the connection."""
    with suppress(OSError):  # the server refuses a body before its end
        connection.sendall(message)


@pytest.mark.parametrize("columns", [40, 60])
def test_no_workbook_holds_the_loop(server: Server, columns: int) -> None:
    """A file with nearly the largest number of cells, and a file with more, which is refused"""
    visitor, _ = sign_up_member(server, "integral")
    visitor.get("/rapprochement")
    headings = "<c t='str'><v>nom</v></c>" + "<c t='str'><v>x</v></c>" * (columns - 1)
    # Nearly all cells have different numbers of up to five digits.
    rows = [
        "".join(
            f"<c><v>{(row * 7_919 + place * 104_729) % 99_991}</v></c>" for place in range(columns)
        )
        for row in range(9_999)
    ]
    text = "</row><row>".join([f"<worksheet><sheetData><row>{headings}", *rows])
    raw = package_bytes(f"{text}</row></sheetData></worksheet>")

    def upload() -> None:
        """Upload the workbook; only the file of 40 columns is accepted."""
        page = visitor.upload("/rapprochement", raw, {"sortie": "lecture"})
        assert page.status == (200 if columns == 40 else 400), page.text[:500]

    assert time_held(server, upload) <= MOST_LOOPS


def post_body(server: Server, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """Post a body; fail at a 500. A server that refuses a body may close the connection early, which counts as 413."""
    try:
        reply = server.ask(path, "POST", headers, body=body)
    except ConnectionError:
        return Reply(413, {}, b"")
    assert reply.status != 500, (body[:50], reply.body[:200])
    return reply


def _multipart_list(token: str, file: str) -> str:
    """The form of a page with a list as a file, cut to the largest size."""
    head = '--b\r\nContent-Disposition: form-data; name="'
    return (
        f'{head}jeton"\r\n\r\n{token}\r\n{head}fichier"; filename="a.csv"\r\n\r\n'
        f"{file[: list_file.LARGEST - 1_000]}\r\n--b--\r\n"
    )
