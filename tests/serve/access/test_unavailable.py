"""An unusable quota store: 503 for keys, service for visitors, recovery without a restart (G9)."""

import asyncio
import threading
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
from tests.serve.client import Server, run_server
from tests.serve.processes import eventually
from tests.serve.surfaces.mcp.client import send_modern
from tests.serve.surfaces.site.visitor import sign_up_member

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
COMPTE = "/api/v1/compte"


class FaultyStore(LmdbStore):
    """A store whose reads of keys, writes or reads of counters fail while a flag is set.

    `maybe_done` is copied into the error of a write: whether the write may have been committed.
    """

    reads_fail = False
    writes_fail = False
    usage_fails = False
    maybe_done = False

    def identify(self, key: str) -> Any:
        """Fail for a well-formed key if `reads_fail` is set."""
        if self.reads_fail and credentials.is_well_formed(key):
            raise StoreUnavailable("no read")
        return super().identify(key)

    def usage(self, *arguments: Any) -> Any:
        """Fail if `usage_fails` is set."""
        return _failed_future() if self.usage_fails else super().usage(*arguments)

    def take(self, *arguments: Any) -> Any:
        """Fail to count a call if `writes_fail` is set."""
        return _failed_future(self.maybe_done) if self.writes_fail else super().take(*arguments)

    def take_and_charge(self, *arguments: Any) -> Any:
        """Fail to count and charge a call if `writes_fail` is set."""
        if self.writes_fail:
            return _failed_future(self.maybe_done)
        return super().take_and_charge(*arguments)


def _failed_future(maybe_done: bool = False) -> StoreFuture[Any]:
    """A future whose operation was not committed."""
    future: StoreFuture[Any] = StoreFuture()
    resolve([(future, StoreUnavailable("no commit", maybe_done=maybe_done))])
    return future


@pytest.fixture(scope="module")
def faulty_server(separate_data: Path) -> Iterator[Server]:
    """A server on a FaultyStore."""
    with run_server(separate_data, opener=FaultyStore) as server:
        yield server


@pytest.fixture
def store(faulty_server: Server) -> Iterator[FaultyStore]:
    """The store of the server, whose flags are reset after the test."""
    assert isinstance(faulty_server.store, FaultyStore)
    yield faulty_server.store
    faulty_server.store.reads_fail = faulty_server.store.writes_fail = (
        faulty_server.store.usage_fails
    ) = False
    faulty_server.store.maybe_done = False


@pytest.mark.parametrize("path", [SEARCH, RECORD, COMPTE])
def test_a_call_that_cannot_be_counted_is_503(
    faulty_server: Server, store: FaultyStore, path: str
) -> None:
    """G9: the 503 has no side effect; A4: a malformed key still gets a 401"""
    customer = faulty_server.customer("data")
    usage_before = faulty_server.usage(customer)

    store.reads_fail = True
    reply = faulty_server.ask(path, headers=customer.headers)
    malformed_key_reply = faulty_server.ask(path, headers={"Authorization": "Bearer soc_live_x"})
    unknown_key = credentials.make_key(lambda below: below - 1)
    unknown_key_reply = faulty_server.ask(path, headers={"Authorization": f"Bearer {unknown_key}"})
    store.reads_fail = False

    assert (reply.status, reply.code) == (503, "indisponible")
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.headers["Cache-Control"] == "no-store"
    assert "societe" not in reply.json
    assert (malformed_key_reply.status, unknown_key_reply.status) == (401, 503)
    assert faulty_server.usage(customer) == usage_before
    assert faulty_server.ask(path, headers=customer.headers).status == 200


@pytest.mark.parametrize(("path", "method"), [(SEARCH, "GET"), (RECORD, "GET"), (RECORD, "HEAD")])
def test_an_answer_is_not_sent_if_its_call_is_not_committed(
    faulty_server: Server, store: FaultyStore, path: str, method: str
) -> None:
    """D9, G9: the customer keeps the 5 000 credits of `data`"""
    customer = faulty_server.customer("data")

    store.writes_fail = True
    reply = faulty_server.ask(path, method, headers=customer.headers)
    store.writes_fail = False

    assert reply.status == 503
    assert faulty_server.calls_used(customer) == 0
    assert faulty_server.usage(customer).credits.left == 5_000


def test_a_record_that_cannot_be_charged_is_503_with_its_preview(
    faulty_server: Server, store: FaultyStore
) -> None:
    """G9, D9: the preview has the fields that a visitor gets"""
    customer = faulty_server.customer("corporate")

    store.writes_fail = True
    reply = faulty_server.ask(RECORD, headers=customer.headers)

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
    assert reply.json["comptes_message"] == reply.json["erreur"]["message"]
    store.writes_fail = True
    english = faulty_server.ask(RECORD, headers={**customer.headers, "Accept-Language": "en"}).json
    store.writes_fail = False
    assert english["comptes_message"] == english["erreur"]["message"]


def test_a_call_is_given_back_if_its_credits_cannot_be_read(
    faulty_server: Server, store: FaultyStore
) -> None:
    """D1: a HEAD of a record has the credits that are left in a header"""
    customer = faulty_server.customer("data")

    store.usage_fails = True
    status = faulty_server.ask(RECORD, "HEAD", headers=customer.headers).status
    store.usage_fails = False

    assert status == 503
    assert faulty_server.calls_used(customer) == 0


@pytest.mark.parametrize("maybe_done", [False, True])
@pytest.mark.parametrize("surface", ["search", "record", "tool", "page"])
def test_a_503_says_whether_the_call_may_have_been_counted(
    faulty_server: Server, store: FaultyStore, surface: str, maybe_done: bool
) -> None:
    """L2: the reply of the store was lost; API, tools and pages say the same"""
    customer, (person, _) = faulty_server.customer("corporate"), sign_up_member(faulty_server)
    store.writes_fail, store.maybe_done = True, maybe_done
    if surface == "page":
        status, message = (page_reply := person.get("/?q=lab")).status, page_reply.text
    elif surface == "tool":
        params = {"name": "search_companies", "arguments": {}}
        reply = send_modern(faulty_server, "tools/call", params, customer.headers)
        status, message = reply.status, reply.body.decode()
    else:
        path = SEARCH if surface == "search" else RECORD
        reply = faulty_server.ask(path, headers=customer.headers)
        status, message = reply.status, reply.json["erreur"]["message"]

    assert status == 503
    assert ("pu être décompté" in message or "may have been counted" in message) == maybe_done
    assert ("sans effet" in message or "nothing was done" in message) != maybe_done


def test_visitors_are_served_without_counters(faulty_server: Server, store: FaultyStore) -> None:
    """G9"""
    store.reads_fail = store.writes_fail = True
    statuses = {
        faulty_server.ask(path).status for path in (SEARCH, RECORD, "/api/v1/pays", "/readyz")
    }

    assert statuses == {200}


def test_an_absent_company_is_503_if_the_call_cannot_be_counted(
    faulty_server: Server, store: FaultyStore
) -> None:
    customer = faulty_server.customer("data")

    store.writes_fail = True

    assert faulty_server.ask(f"{SEARCH}/FR/absente", headers=customer.headers).status == 503


def test_store_errors_are_counted(faulty_server: Server, store: FaultyStore) -> None:
    """G10"""
    customer = faulty_server.customer("data")
    store.writes_fail = True
    faulty_server.ask(SEARCH, headers=customer.headers)

    (line,) = [
        line for line in faulty_server.ask("/metrics").body.decode().splitlines()
        if line.startswith("societes_store_errors_total ")
    ]  # fmt: skip

    assert float(line.split()[1]) >= 1


def test_the_call_of_a_search_that_raises_is_given_back(
    faulty_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1: 5xx costs nothing"""
    customer = faulty_server.customer("free")
    assert faulty_server.ask(SEARCH, headers=customer.headers).status == 200

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken search")

    with monkeypatch.context() as patched:
        patched.setattr(societes, "search_within", fail)
        reply = faulty_server.ask(SEARCH, headers=customer.headers)

    assert (reply.status, reply.code) == (500, "erreur_interne")
    assert faulty_server.calls_used(customer) == 1


def test_a_record_that_cannot_be_encoded_is_not_charged(
    faulty_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1, §4.5: the caller does not pay for a record that was not sent"""
    customer = faulty_server.customer("free")
    usage_before = faulty_server.usage(customer)

    def fail(*_: object) -> bytes:
        raise RuntimeError("broken record")

    with monkeypatch.context() as patched:
        patched.setattr("serve.contract.record_answers.Fiche.json", fail)
        status = faulty_server.ask(RECORD, headers=customer.headers).status

    assert status == 500
    assert faulty_server.usage(customer) == usage_before


def test_a_store_that_can_be_opened_later_is_used_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G9: the server recovers without a restart; G10: until then it is not ready"""
    data = tmp_path / "data"
    world.publish(data)
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0.2)
    attempts = []
    is_checked = threading.Event()  # the answers without a store are read

    def opener(folder: Path) -> Store:
        """Fail twice as a missing disk does, once by an unexpected error, then open the store."""
        attempts.append(folder)
        if len(attempts) < 3:
            raise StoreUnavailable("the disk is not there")
        if len(attempts) == 3:
            raise KeyError("redis_version")  # an unexpected answer of a store
        is_checked.wait(120)
        return LmdbStore(folder)

    unknown_key = {"Authorization": f"Bearer {credentials.make_key(lambda below: below - 1)}"}
    with run_server(data, opener=opener) as server:
        statuses = [server.ask(SEARCH, headers=unknown_key).status]
        visitor_status = server.ask(SEARCH).status
        readiness = [server.ask("/readyz")]
        health = server.ask("/healthz").status
        malformed_status = server.ask(SEARCH, headers={"Authorization": "Bearer soc_live_x"}).status
        is_checked.set()

        def is_refused() -> bool:
            """Search with the unknown key; whether the store is open, so that the key is refused."""
            statuses.append(server.ask(SEARCH, headers=unknown_key).status)
            return statuses[-1] == 401

        assert eventually(is_refused)
        readiness.append(server.ask("/readyz"))

    assert (visitor_status, malformed_status, health) == (200, 401, 200)
    assert [reply.status for reply in readiness] == [503, 200]
    assert "magasin des comptes" in readiness[0].json["erreur"]["message"]
    assert statuses[0] == 503
    assert set(statuses) == {503, 401}
    assert len(attempts) == 4
    assert "KeyError('redis_version')" in caplog.text


def error_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages of the level ERROR in the log."""
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def test_a_store_that_is_not_open_is_not_logged_at_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """AA.10. Fixed: each call wrote a line"""
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0)
    caplog.set_level("INFO")
    attempts = iter([StoreUnavailable("no room"), StoreUnavailable("no room")])

    def opener() -> Store:
        """Open the store at the third attempt."""
        if (error := next(attempts, None)) is not None:
            raise error
        return LmdbStore(tmp_path)

    holder = StoreHolder(opener)
    holder.start()
    for number in range(50):
        holder.note_failure(StoreUnavailable("the store is not open yet"), str(number))
    asyncio.run(holder.keep_open())
    holder.close()

    assert len(error_messages(caplog)) == 2  # one at the start, one at the first retry
    assert "the store is open; 50 calls were answered with 503" in caplog.messages


def test_an_open_store_logs_a_new_failure_at_once_and_repeated_failures_once_a_minute(
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

    reasons_and_calls = [
        (record.getMessage().rpartition(": ")[2], record.fields["calls"])  # type: ignore[attr-defined]
        for record in caplog.records
    ]
    # A line also has the calls that failed since the line before.
    assert reasons_and_calls == [("a full disk", 1), ("a bad disk", 20), ("a bad disk", 2)]


def test_a_process_number_of_another_container_is_an_error_and_not_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_holder, "PAUSE_SECONDS", 0)

    def opener() -> Store:
        """Fail as if another container had the number of this process."""
        raise NumberTakenError("process 3 of another container")

    holder = StoreHolder(opener)
    with pytest.raises(NumberTakenError):
        holder.start()
    with pytest.raises(NumberTakenError):
        asyncio.run(holder.keep_open())
