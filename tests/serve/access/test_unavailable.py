"""An unusable store of counters: 503 for keys, service for visitors, recovery by itself (G9)."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quota import credentials
from quota.errors import NumberTakenError, StoreUnavailable
from quota.store.future import StoreFuture, resolve
from quota.store.interface import Store
from quota.store.lmdb_store import LmdbStore
from serve.access import store_holder
from serve.access.store_holder import StoreHolder
from serve.features.search import societes
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.mcp.client import modern
from tests.serve.surfaces.site.visitor import member

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
COMPTE = "/api/v1/compte"


class Faulty(LmdbStore):
    """A store that fails where it is told to: at reads, or at what a future holds."""

    reads_fail = False
    writes_fail = False
    usage_fails = False
    maybe_done = False

    def identify(self, key: str) -> Any:
        if self.reads_fail and credentials.is_well_formed(key):
            raise StoreUnavailable("no read")
        return super().identify(key)

    def usage(self, *arguments: Any) -> Any:
        return _failed() if self.usage_fails else super().usage(*arguments)

    def take(self, *arguments: Any) -> Any:
        return _failed(self.maybe_done) if self.writes_fail else super().take(*arguments)

    def take_and_charge(self, *arguments: Any) -> Any:
        if self.writes_fail:
            return _failed(self.maybe_done)
        return super().take_and_charge(*arguments)


def _failed(maybe_done: bool = False) -> StoreFuture[Any]:
    future: StoreFuture[Any] = StoreFuture()
    resolve([(future, StoreUnavailable("no commit", maybe_done=maybe_done))])
    return future


@pytest.fixture(scope="module")
def faulty(data_of_its_own: Path) -> Iterator[Served]:
    with serving(data_of_its_own, opener=Faulty) as server:
        yield server


@pytest.fixture
def store(faulty: Served) -> Iterator[Faulty]:
    assert isinstance(faulty.store, Faulty)
    yield faulty.store
    faulty.store.reads_fail = faulty.store.writes_fail = faulty.store.usage_fails = False
    faulty.store.maybe_done = False


@pytest.mark.parametrize("path", [SEARCH, RECORD, COMPTE])
def test_what_cannot_be_counted_is_not_served(faulty: Served, store: Faulty, path: str) -> None:
    """G9: 503 without side effect; A4: a key that cannot be one is still 401"""
    customer = faulty.customer("data")
    before = faulty.usage(customer)

    store.reads_fail = True
    reply = faulty.ask(path, headers=customer.headers)
    nonsense = faulty.ask(path, headers={"Authorization": "Bearer soc_live_x"})
    unknown = credentials.make_key(lambda below: below - 1)
    perhaps = faulty.ask(path, headers={"Authorization": f"Bearer {unknown}"})
    store.reads_fail = False

    assert (reply.status, reply.code) == (503, "indisponible")
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.headers["Cache-Control"] == "no-store"
    assert "societe" not in reply.json
    assert (nonsense.status, perhaps.status) == (401, 503)
    assert faulty.usage(customer) == before
    assert faulty.ask(path, headers=customer.headers).status == 200


@pytest.mark.parametrize(("path", "method"), [(SEARCH, "GET"), (RECORD, "GET"), (RECORD, "HEAD")])
def test_what_was_not_committed_is_not_sent(
    faulty: Served, store: Faulty, path: str, method: str
) -> None:
    """D9, G9"""
    customer = faulty.customer("data")

    store.writes_fail = True
    reply = faulty.ask(path, method, headers=customer.headers)
    store.writes_fail = False

    assert reply.status == 503
    assert faulty.used(customer) == 0
    assert faulty.usage(customer).credits.left == 5_000


def test_a_record_that_cannot_be_charged_is_its_preview(faulty: Served, store: Faulty) -> None:
    """G9, D9: 503, with what a visitor would see"""
    customer = faulty.customer("corporate")

    store.writes_fail = True
    reply = faulty.ask(RECORD, headers=customer.headers)

    assert (reply.status, reply.code) == (503, "indisponible")
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Content-Location"] == RECORD
    assert list(reply.json) == [
        "erreur", "societe", "plan", "comptes_message", "droits", "offre_suivante",
    ]  # fmt: skip
    assert reply.json["societe"]["telephone"] is None
    assert world.CONTACT.encode() not in reply.body
    assert reply.json["droits"] == {"etats_financiers": False, "coordonnees": False}
    assert "indisponible" not in reply.json["comptes_message"]
    store.writes_fail = True
    english = faulty.ask(RECORD, headers={**customer.headers, "Accept-Language": "en"}).json
    store.writes_fail = False
    assert english["comptes_message"] == english["erreur"]["message"]


def test_a_call_whose_credits_cannot_be_told_is_given_back(faulty: Served, store: Faulty) -> None:
    """D1: HEAD of a record tells the credits that are left"""
    customer = faulty.customer("data")

    store.usage_fails = True
    status = faulty.ask(RECORD, "HEAD", headers=customer.headers).status
    store.usage_fails = False

    assert status == 503
    assert faulty.used(customer) == 0


@pytest.mark.parametrize("maybe_done", [False, True])
@pytest.mark.parametrize("door", ["search", "record", "tool", "page"])
def test_a_503_says_whether_the_call_may_have_been_counted(
    faulty: Served, store: Faulty, door: str, maybe_done: bool
) -> None:
    """L2: the reply of the store was lost, whichever way the call came"""
    customer, (person, _) = faulty.customer("corporate"), member(faulty)
    store.writes_fail, store.maybe_done = True, maybe_done
    if door == "page":
        status, said = (seen := person.get("/?q=lab")).status, seen.text
    elif door == "tool":
        params = {"name": "search_companies", "arguments": {}}
        reply = modern(faulty, "tools/call", params, customer.headers)
        status, said = reply.status, reply.body.decode()
    else:
        path = SEARCH if door == "search" else RECORD
        reply = faulty.ask(path, headers=customer.headers)
        status, said = reply.status, reply.json["erreur"]["message"]

    assert status == 503
    assert ("pu être décompté" in said or "may have been counted" in said) == maybe_done
    assert ("sans effet" in said or "nothing was done" in said) != maybe_done


def test_visitors_are_served_without_counters(faulty: Served, store: Faulty) -> None:
    """G9"""
    store.reads_fail = store.writes_fail = True
    statuses = {faulty.ask(path).status for path in (SEARCH, RECORD, "/api/v1/pays", "/readyz")}

    assert statuses == {200}


def test_a_404_does_not_hide_that_nothing_was_counted(faulty: Served, store: Faulty) -> None:
    customer = faulty.customer("data")

    store.writes_fail = True

    assert faulty.ask(f"{SEARCH}/FR/absente", headers=customer.headers).status == 503


def test_store_errors_are_counted(faulty: Served, store: Faulty) -> None:
    """G10"""
    customer = faulty.customer("data")
    store.writes_fail = True
    faulty.ask(SEARCH, headers=customer.headers)

    (line,) = [
        line for line in faulty.ask("/metrics").body.decode().splitlines()
        if line.startswith("societes_store_errors_total ")
    ]  # fmt: skip

    assert float(line.split()[1]) >= 1


def test_an_answer_that_fails_gives_its_call_back(
    faulty: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1: 5xx costs nothing"""
    customer = faulty.customer("free")
    assert faulty.ask(SEARCH, headers=customer.headers).status == 200

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken search")

    with monkeypatch.context() as patched:
        patched.setattr(societes, "search_within", broken)
        reply = faulty.ask(SEARCH, headers=customer.headers)

    assert (reply.status, reply.code) == (500, "erreur_interne")
    assert faulty.used(customer) == 1


def test_a_record_that_fails_is_not_charged(
    faulty: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1, §4.5: the caller never pays for what was not delivered"""
    customer = faulty.customer("free")
    before = faulty.usage(customer)

    def broken(*_: object) -> bytes:
        raise RuntimeError("broken record")

    with monkeypatch.context() as patched:
        patched.setattr("serve.contract.company_answers.Fiche.json", broken)
        status = faulty.ask(RECORD, headers=customer.headers).status

    assert status == 500
    assert faulty.usage(customer) == before


def test_a_store_that_opens_late_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G9: it recovers by itself; G10: until then it is not ready"""
    data = tmp_path / "data"
    world.publish(data)
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0.2)
    attempts = []

    def opener(folder: Path) -> Store:
        attempts.append(folder)
        if len(attempts) < 3:
            raise StoreUnavailable("the disk is not there")
        if len(attempts) == 3:
            raise KeyError("redis_version")  # of a store that answers oddly
        return LmdbStore(folder)

    unknown = {"Authorization": f"Bearer {credentials.make_key(lambda below: below - 1)}"}
    with serving(data, opener=opener) as server:
        statuses = [server.ask(SEARCH, headers=unknown).status]
        visitor = server.ask(SEARCH).status
        ready = [server.ask("/readyz")]
        alive = server.ask("/healthz").status
        nonsense = server.ask(SEARCH, headers={"Authorization": "Bearer soc_live_x"}).status
        deadline = time.monotonic() + 5
        while statuses[-1] != 401 and time.monotonic() < deadline:
            statuses.append(server.ask(SEARCH, headers=unknown).status)
            time.sleep(0.01)
        ready.append(server.ask("/readyz"))

    assert (visitor, nonsense, alive) == (200, 401, 200)
    assert [reply.status for reply in ready] == [503, 200]
    assert "magasin des comptes" in ready[0].json["erreur"]["message"]
    assert statuses[0] == 503
    assert set(statuses) == {503, 401}
    assert len(attempts) == 4
    assert "KeyError('redis_version')" in caplog.text


def errors_of(told: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in told.records if one.levelname == "ERROR"]


def test_a_store_that_is_not_open_is_one_line_however_many_calls_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """AA.10: each call wrote a line"""
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0)
    caplog.set_level("INFO")
    attempts = iter([StoreUnavailable("no room"), StoreUnavailable("no room")])

    def opener() -> Store:
        if (error := next(attempts, None)) is not None:
            raise error
        return LmdbStore(tmp_path)

    holder = StoreHolder(opener)
    holder.start()
    for number in range(50):
        holder.note_failure(StoreUnavailable("the store is not open yet"), str(number))
    asyncio.run(holder.keep_open())
    holder.close()

    assert len(errors_of(caplog)) == 2  # it is not open; it could not be opened again
    assert "the store is open; 50 calls were answered with 503" in caplog.messages


def test_an_open_store_that_fails_is_a_line_for_each_failure_and_a_count_each_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    holder = StoreHolder(lambda: LmdbStore(tmp_path))
    holder.start()
    for number in range(20):
        holder.note_failure(StoreUnavailable("a full disk"), str(number))
    holder.note_failure(StoreUnavailable("a bad disk"), "20")
    holder.note_failure(StoreUnavailable("a bad disk"), "21")
    monkeypatch.setattr(store_holder, "LOG_SECONDS", 0)
    holder.note_failure(StoreUnavailable("a bad disk"), "22")
    holder.close()

    said = [(one.getMessage().rpartition(": ")[2], one.fields["calls"]) for one in caplog.records]  # type: ignore[attr-defined]
    assert said == [("a full disk", 1), ("a bad disk", 20), ("a bad disk", 2)]


def test_a_process_whose_number_is_taken_leaves_the_store_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0)

    def opener() -> Store:
        raise NumberTakenError("process 3 of another container")

    holder = StoreHolder(opener)
    with pytest.raises(NumberTakenError):
        holder.start()
    with pytest.raises(NumberTakenError):
        asyncio.run(holder.keep_open())
