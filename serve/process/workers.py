"""The workers on a port, and the parent that replaces workers that die. A single worker has a parent too.

The parent has a listening socket for each worker, which the worker inherits. The kernel distributes connections, and
the queue of a dead worker waits for its replacement. Workers are spawned, not forked: LMDB must be opened in the
process that reads it. When the parent dies, its end of each pipe closes and the workers stop.
"""

import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

from quota.errors import NumberTakenError, QuotaError
from serve.config import Config
from serve.observe import log, metrics
from serve.process import port as ports

# The seconds between two attempts to replace a dead worker: a fault at the start must not fill the log.
_PAUSE_SECONDS: Final = 1.0

# The signals that can kill a worker when it reads a mapped page of a damaged shard. If such a signal kills a worker
# before it is ready, or _FAULTS ready workers within _FAULT_SECONDS, then new workers compare all shards with their
# digests before they read them.
_MEMORY_FAULTS: Final = (signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT)
_FAULTS: Final = 2
_FAULT_SECONDS: Final = 60.0

# The exit code of a worker whose process id is already used in the store by another container: start a new one.
_NUMBER_TAKEN: Final = 75  # EX_TEMPFAIL
# Texts of the log and of errors.
_OTHER_CONTAINER: Final = "the store has a process {} of another container, so this worker ends"
_FAILED: Final = "a worker {} before it was ready; {}"
_REASON_IN_LOG: Final = "see the log above"
_SHARDS_UNDAMAGED: Final = (
    "the shards have the digests of their manifest, so look at the disk of STATE, and at `dmesg`"
)

_log: Final = logging.getLogger("serve.process.workers")


class WorkersError(Exception):
    """The workers could not be started; their log lines have the reason."""


@dataclass(slots=True)
class _Worker:
    """A worker process.

    Attributes:
        compares_first: the worker compares the shards with their digests before it reads them.
        ready: the worker accepts connections.
    """

    process: SpawnProcess
    pipe: Connection
    compares_first: bool = False
    ready: bool = False

    def end(self) -> tuple[int | None, str]:
        """The exit code of a process whose sentinel has closed, and the words for it in the log."""
        # The sentinel closes a moment before there is an exit code.
        self.process.join(_PAUSE_SECONDS)
        code = self.process.exitcode
        if code is not None and -code in set(signal.Signals):
            return code, f"ended by the signal {signal.Signals(-code).name}"
        return code, f"ended with {code}"


def run(
    config: Config,
    listeners: Sequence[socket.socket],
    ready: Callable[[], None],
) -> None:
    """Run `config.workers` processes until SIGTERM or SIGINT.

    Args:
        listeners: at least one socket per worker; this process closes them at the end.
        ready: called once all workers accept connections.

    Raises:
        WorkersError: a worker failed before all of them accepted connections.
    """
    signals = _signal_descriptor()
    assert config.state
    with metrics.share_with_children(config.state):
        worker_set = _WorkerSet(config, listeners)
        try:
            _keep_running(worker_set, signals, ready)
        finally:
            # Sockets are closed first: an open socket would take connections that nobody accepts.
            for listener in listeners:
                listener.close()
            _stop(worker_set.workers)


def run_worker(
    config: Config,
    listeners: Sequence[socket.socket],
    compare_first: bool,
    is_replacement: bool,
    pipe: Connection,
) -> None:
    """The main function of a worker process; the arguments except `pipe` are those of `worker.run`.

    The parent reads from `pipe` an empty text once the worker is ready, or the error of the start.
    """
    # Imported here and not above, because the parent does not need it, and so spawns sooner.
    from serve.process import worker

    log.set_up()
    is_ready = False

    def ready() -> None:
        """Tell the parent that connections are accepted."""
        nonlocal is_ready
        is_ready = True
        pipe.send("")

    try:
        worker.run(
            config,
            listeners,
            ready=ready,
            parent=pipe.fileno(),
            compare_first=compare_first,
            is_replacement=is_replacement,
        )
    except NumberTakenError as error:
        # Another container uses this process id, so the parent starts a worker with another id.
        raise SystemExit(_NUMBER_TAKEN) from error
    except (OSError, QuotaError) as error:
        if is_ready:
            raise
        pipe.send(str(error))
        raise SystemExit(1) from error


def _signal_descriptor() -> int:
    """A descriptor to read the numbers of received signals from."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The handler does nothing, because the number of the signal is written to the descriptor.
        signal.signal(number, lambda _number, _frame: None)
    return readable


class _WorkerSet:
    """The worker processes of a server: starts them, and notes the ends that a damaged shard may have caused."""

    def __init__(self, config: Config, listeners: Sequence[socket.socket]) -> None:
        """Start `config.workers` processes, which share the listening sockets."""
        self._config = config
        self._listeners = listeners
        # The times of the last ends of workers that a damaged shard may have caused.
        self._faults: deque[float] = deque(maxlen=_FAULTS)
        self.workers = [self.start(number) for number in range(config.workers)]

    def start(self, number: int, is_replacement: bool = False) -> _Worker:
        """Start worker `number` (from 0) with its part of the sockets.

        A replacement of a dead worker does not read the shards into memory, since they are there already.
        """
        context = get_context("spawn")
        parent_end, worker_end = context.Pipe()
        # The sockets are dealt out to the workers in turn.
        listeners = self._listeners[number :: self._config.workers]
        compare_first = self._suspects_damage()
        process = context.Process(
            target=run_worker,
            args=(self._config, listeners, compare_first, is_replacement, worker_end),
        )
        process.start()
        worker_end.close()
        return _Worker(process, parent_end, compare_first)

    def note_end(self, code: int | None, *, ready: bool) -> bool:
        """Record the exit code of a worker; True if a damaged shard may be the cause."""
        faulty = code is not None and -code in _MEMORY_FAULTS
        if faulty:
            # A worker that dies at its start would die at each start, so a single fault is enough.
            self._faults.extend([time.monotonic()] * (1 if ready else _FAULTS))
        return faulty

    def _suspects_damage(self) -> bool:
        """Whether the last _FAULTS memory faults of workers are from the last minute, so that a file may be damaged.

        A fault at the start of a worker counts as _FAULTS faults (see `note_end`).
        """
        faults = self._faults
        return len(faults) == _FAULTS and time.monotonic() - faults[0] < _FAULT_SECONDS

    def start_again(self, number: int, *, is_replacement: bool) -> _Worker:
        """Start worker `number` in place of a dead one; retry every second while the system cannot start a process."""
        while True:
            try:
                return self.start(number, is_replacement=is_replacement)
            except OSError as error:  # it was killed before it could read its arguments
                _log.error(
                    "a worker could not be started, trying again: %s; see the limits of the host",
                    error,
                )
                time.sleep(_PAUSE_SECONDS)


def _keep_running(worker_set: _WorkerSet, signals: int, ready: Callable[[], None]) -> None:
    """Replace dead workers and forward SIGHUP; return at SIGTERM or SIGINT.

    Args:
        signals: the end of a pipe from which the numbers of received signals are read.
        ready: is called once, when all workers accept connections.

    Raises:
        WorkersError: a worker failed before all were ready, and another start cannot help.
    """
    workers = worker_set.workers
    all_were_ready = False
    while True:
        pipes_of_starting = [worker.pipe for worker in workers if not worker.ready]
        events = wait(
            [signals, *pipes_of_starting, *(worker.process.sentinel for worker in workers)]
        )
        if signals in events and _handle_signals(signals, workers):
            return
        for number, worker in enumerate(workers):
            # First, since the pipe of a worker that has ended may contain its error.
            if worker.pipe in events:
                worker.ready, error = _becomes_ready(worker)
                if error and not all_were_ready:
                    raise WorkersError(error)
                if error:
                    _log.error("worker %s cannot start: %s", worker.process.pid, error)
            if worker.process.sentinel in events:
                code, description = worker.end()
                if code == _NUMBER_TAKEN:
                    _log.info("%s; starting another", _OTHER_CONTAINER.format(worker.process.pid))
                    worker.pipe.close()
                    workers[number] = worker_set.start_again(number, is_replacement=all_were_ready)
                    continue
                faulty = worker_set.note_end(code, ready=worker.ready)
                # If comparing the shards cannot avoid the fault, further starts would fail as well, so the server ends.
                if not all_were_ready and (worker.compares_first or not faulty):
                    raise WorkersError(
                        _FAILED.format(description, _SHARDS_UNDAMAGED if faulty else _REASON_IN_LOG)
                    )
                _log.error(
                    "worker %s %s, starting another%s; its own last lines say why",
                    worker.process.pid,
                    description,
                    " that compares all shards first" if faulty and not worker.ready else "",
                )
                worker.pipe.close()
                if worker.process.pid:
                    metrics.forget_process(worker.process.pid)
                time.sleep(_PAUSE_SECONDS if not worker.ready else 0)
                workers[number] = worker_set.start_again(number, is_replacement=all_were_ready)
        if not all_were_ready and all(worker.ready for worker in workers):
            all_were_ready = True
            ready()


def _becomes_ready(worker: _Worker) -> tuple[bool, str]:
    """Read the pipe of a starting worker: whether it is ready, and its error; (False, "") for a dead worker."""
    try:
        error = str(worker.pipe.recv())
    except (EOFError, OSError):
        # A worker that ends closes its end of the pipe first. Wait here for the end of the process, which its sentinel
        # then reports.
        worker.process.join(_PAUSE_SECONDS)
        return False, ""
    return not error, error


def _handle_signals(signals: int, workers: list[_Worker]) -> bool:
    """Forward SIGHUP; True at SIGTERM or SIGINT."""
    numbers = os.read(signals, 64)
    if signal.SIGHUP in numbers:
        for worker in workers:
            if worker.ready and worker.process.pid:
                os.kill(worker.process.pid, signal.SIGHUP)
    return signal.SIGTERM in numbers or signal.SIGINT in numbers


def _stop(workers: list[_Worker]) -> None:
    """Let each worker finish its requests; kill workers that take too long."""
    for worker in workers:
        worker.process.terminate()
    # Five seconds more than a worker needs for its requests, to close everything.
    deadline = time.monotonic() + ports.LINGER_SECONDS + ports.DRAIN_SECONDS + 5
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        worker.process.kill()
        worker.process.join()
