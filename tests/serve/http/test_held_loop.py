"""The time for which a body holds the event loop: each route and page that takes one, with twelve shapes of 1 MiB.

The time is the processor time of the loop's thread between two ticks. Other work on the machine makes it longer, up to
twice as long, so what seems too long is done again: a fault holds the loop each time.
The collector of cycles is set as a worker sets it: a search of all objects of all tests before takes half a second.
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
from serve.process import worker
from serve.surfaces.site.page_request import pages_of
from tests.serve.client import Reply, Served
from tests.serve.features.matching.test_xlsx_file import package
from tests.serve.surfaces.site.visitor import FORM, member

MIB: Final = 1 << 20
MOST_SECONDS: Final = 0.020
_BREATH: Final = 0.001

_TEXT: Final = "Société d'Orléans "


def _list(item: str, head: str = '{"lignes":[', tail: str = "]}") -> str:
    """A document of 1 MiB, of an item again and again."""
    number = (MIB - len(head.encode()) - len(tail)) // len(f"{item},".encode())
    return head + ",".join([item] * number) + tail


# What takes a parser longest: nothing in it need be right.
SHAPES: Final[Mapping[str, str]] = {
    "deep arrays": "[" * MIB,
    "many members": _list('"a":1', '{"lignes":[{', "}]}"),
    "many different members": (
        '{"lignes":[{' + ",".join(f'"{n:x}":1' for n in range(95_000)) + "}]}"
    ),
    "many properties": _list('{"pid":"ville","v":""}', '{"q":{"query":"a","properties":[', "]}}"),
    "many pairs": "%61=%62&" * (MIB // 8),
    "one long text": '{"lignes":[{"cle":"1","nom":"' + "a" * (MIB - 40) + '"}]}',
    "escapes": '{"lignes":[{"cle":"1","nom":"' + "\\u00e9" * (MIB // 6 - 10) + '"}]}',
    "numbers of many digits": '{"limite":' + "9" * (MIB - 20) + "}",
    "many small objects": _list("{}"),
    "many lists": _list("[]"),
    "blank lines": "\r\n" * (MIB // 2),
    "percent signs": "a=" + "%41" * (MIB // 3 - 1),
    "texts of all Europe": _list('{"cle":"é","nom":"Ψυχή Łódź"}'),
    "values": _list("1"),
    "a full list": json.dumps(
        {"lignes": [{"cle": str(n), "nom": _TEXT * 45, "ville": _TEXT} for n in range(1_000)]}
    ),
    "a full list of short lines": json.dumps(
        {"lignes": [{"cle": str(n), "nom": f"Orléans {n}"} for n in range(1_000)]}
    ),
    "a full batch": json.dumps({f"q{n}": {"query": _TEXT * 50} for n in range(1_000)}),
    "a full batch of short queries": json.dumps({f"q{n}": {"query": "a"} for n in range(1_000)}),
    "fields of companies": json.dumps(
        {"ids": [f"FR:{n}" for n in range(1_000)], "properties": [{"id": "nom"}] * 30_000}
    ),
}
# Lists of 4 MiB, which a page takes as files.
LISTS: Final[Mapping[str, str]] = {
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
    thresholds = gc.get_threshold()
    worker._tune_collector()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@dataclass
class Watch:
    """The longest time that the loop of a server was held, in processor seconds."""

    longest: float = 0.0


def held_for(served: Served, action: Callable[[], object]) -> float:
    """The processor seconds for which an action holds the loop at least, of at most three times that it is done."""
    shortest = math.inf
    for _ in range(3):
        with watched(served) as watch:
            action()
        shortest = min(shortest, watch.longest)
        if shortest <= MOST_SECONDS:
            break
    return shortest


@contextmanager
def watched(served: Served) -> Iterator[Watch]:
    """Tick in the loop of a server until the block ends."""
    watch, loop = Watch(), served.loop

    async def tick() -> None:
        while True:
            since = time.thread_time()
            try:
                await asyncio.sleep(_BREATH)
            finally:  # also where it ends
                watch.longest = max(watch.longest, time.thread_time() - since)

    async def begin() -> "asyncio.Task[None]":
        return asyncio.create_task(tick())

    task = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    try:
        yield watch
    finally:
        ended = threading.Event()
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(ended.set)
        ended.wait(10)


BODIES: Final = sorted(
    {
        operation.path.replace("{jeton}", "visiteur"): operation.kind
        for operation in PRODUCT.operations
        if operation.method == "POST"
    }.items()
)
PAGES: Final = sorted(path for path, route in pages_of(PRODUCT).examples().items() if route.post)


def kinds(kind: str, shape: str) -> list[tuple[str, str]]:
    """The Content-Types and bodies by which a route takes a shape."""
    if kind != "reconciliation":
        return [("application/json", shape)]
    return [(FORM, shape), *((FORM, f"{name}={quote(shape)}"[:MIB]) for name in ("queries", "extend")),
            (FORM, f"queries={shape}"[:MIB])]  # fmt: skip


@pytest.mark.parametrize(("path", "kind"), BODIES)
def test_no_body_of_a_route_holds_the_loop(served: Served, path: str, kind: str) -> None:
    customer = served.customer("integral", api_tool=True)
    held: dict[tuple[str, str], float] = {}
    for name, shape in SHAPES.items():
        for content_type, body in kinds(kind, shape):
            for who in ({}, customer.headers):
                headers = {"Content-Type": content_type, **who}
                seconds = held_for(served, partial(sent, served, path, headers, body.encode()))
                held[name, body[:20]] = max(held.get((name, body[:20]), 0.0), seconds)

    assert {shape: seconds for shape, seconds in held.items() if seconds > MOST_SECONDS} == {}


@pytest.mark.parametrize("path", PAGES)
def test_no_form_of_a_page_holds_the_loop(served: Served, path: str) -> None:
    visitor, _ = member(served, "integral")
    visitor.get("/compte")
    held: dict[str, float] = {}
    is_list = bool(pages_of(PRODUCT).examples()[path].file)
    for name, shape in {**SHAPES, **(LISTS if is_list else {})}.items():
        forms = [(FORM, shape), (FORM, f"jeton={visitor.token}&texte={shape}"[:65_536])]
        if is_list:
            forms += [
                ("multipart/form-data; boundary=b", shape),
                ("multipart/form-data; boundary=b", _part(visitor.token, shape)),
                ("multipart/form-data; boundary=b", _part(visitor.token, shape * 3)),
                ("multipart/form-data; boundary=b", f"--b\r\n{'a: b' * 9}{shape}"),
            ]
        for content_type, body in forms:
            headers = {**visitor._headers(), "Content-Type": content_type}
            seconds = held_for(served, partial(sent, served, path, headers, body.encode()))
            held[name] = max(held.get(name, 0.0), seconds)

    assert {shape: seconds for shape, seconds in held.items() if seconds > MOST_SECONDS} == {}


@pytest.mark.parametrize(
    "path", ["/api/v1/rapprochement", "/api/v1/export", "/rapprochement", "/nulle-part"]
)
@pytest.mark.parametrize("count", [1, 16])
def test_no_body_of_small_chunks_holds_the_loop(served: Served, path: str, count: int) -> None:
    head = _chunked(served, path)
    whole = head + b"1\r\n \r\n" * 70_000 + b"0\r\n\r\n"

    def send_all() -> None:
        with ThreadPoolExecutor(count) as threads:
            answers = list(threads.map(lambda _: exchanged(served, whole), range(count)))
        assert all(answer.startswith(b"HTTP/1.1 4") for answer in answers), answers

    assert held_for(served, send_all) <= MOST_SECONDS


def test_a_body_of_chunks_that_are_larger_is_read(served: Served) -> None:
    body = json.dumps({"lignes": [{"nom": "Orléans"}]}).encode().ljust(600_000)
    chunks = b"".join(b"64\r\n%b\r\n" % body[n : n + 100] for n in range(0, len(body), 100))
    head = _chunked(served, "/api/v1/rapprochement")
    whole = head + chunks + b"0\r\n\r\n"

    assert exchanged(served, whole).startswith(b"HTTP/1.1 200")


def test_requests_that_are_sent_at_once_hold_the_loop_one_by_one(served: Served) -> None:
    request = b"GET /statut HTTP/1.1\r\nHost: a\r\n\r\n"
    whole = request * 2_000 + request.replace(b"a\r\n", b"a\r\nConnection: close\r\n")

    def send_all() -> None:
        assert exchanged(served, whole).count(b"HTTP/1.1 ") == 2_001

    assert held_for(served, send_all) <= MOST_SECONDS


def _chunked(served: Served, path: str) -> bytes:
    """The head of a request of a customer whose body comes in chunks."""
    headers = {
        **served.customer("integral", api_tool=True).headers,
        "Host": "a",
        "Content-Type": "application/json",
        "Connection": "close",
        "Transfer-Encoding": "chunked",
    }
    lines = (f"{name}: {value}" for name, value in headers.items())
    return "\r\n".join((f"POST {path} HTTP/1.1", *lines, "", "")).encode()


def exchanged(served: Served, whole: bytes) -> bytes:
    """All that a server answers to bytes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), 60) as connection:
        sending = threading.Thread(target=_send, args=(connection, whole))
        sending.start()
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                answer += piece
        sending.join()
    return answer


def _send(connection: socket.socket, whole: bytes) -> None:
    with suppress(OSError):  # refused before it was sent
        connection.sendall(whole)


@pytest.mark.parametrize("columns", [40, 60])
def test_no_workbook_holds_the_loop(served: Served, columns: int) -> None:
    """A file with nearly as many cells as there may be, and one with more."""
    visitor, _ = member(served, "integral")
    visitor.get("/rapprochement")
    headings = "<c t='str'><v>nom</v></c>" + "<c t='str'><v>x</v></c>" * (columns - 1)
    rows = [
        "".join(
            f"<c><v>{(row * 7_919 + place * 104_729) % 99_991}</v></c>" for place in range(columns)
        )
        for row in range(9_999)
    ]
    text = "</row><row>".join([f"<worksheet><sheetData><row>{headings}", *rows])
    raw = package(f"{text}</row></sheetData></worksheet>")

    def upload() -> None:
        seen = visitor.upload("/rapprochement", raw, {"sortie": "lecture"})
        assert seen.status == (200 if columns == 40 else 400), seen.text[:500]

    assert held_for(served, upload) <= MOST_SECONDS


def sent(served: Served, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """The answer, which is no failure; a server that has refused a body may close the connection early."""
    try:
        reply = served.ask(path, "POST", headers, body=body)
    except ConnectionError:
        return Reply(413, {}, b"")
    assert reply.status != 500, (body[:50], reply.body[:200])
    return reply


def _part(token: str, file: str) -> str:
    head = '--b\r\nContent-Disposition: form-data; name="'
    return (
        f'{head}jeton"\r\n\r\n{token}\r\n{head}fichier"; filename="a.csv"\r\n\r\n'
        f"{file[: list_file.LARGEST - 1_000]}\r\n--b--\r\n"
    )
