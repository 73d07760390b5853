"""The serving processes on one port, and the parent that replaces those that die; one worker has a parent too.

The parent keeps one listening socket per worker, which the worker inherits: the kernel deals
connections out, no worker waits for another, and the queue of a worker that dies waits for its
replacement. Workers are spawned, not forked: LMDB must be opened in the process that reads it. When
the parent dies, its end of each pipe closes and the workers stop by themselves.
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

# Between two attempts to replace a worker that died: a fault at start must not fill the log.
_PAUSE_SECONDS: Final = 1.0

# A worker that reads a mapped page of a damaged file ends by one of these signals. Once one ended before it was ready,
# or so many within so many seconds, the next ones compare all shards with their digests before they read any.
_MEMORY_FAULTS: Final = (signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT)
_FAULTS: Final = 2
_FAULT_SECONDS: Final = 60.0

# The exit code of a worker whose number a process of another container has in the store: the next one has another.
_NUMBER_TAKEN: Final = 75  # EX_TEMPFAIL
_OTHER_CONTAINER: Final = "the store has a process {} of another container, so this worker ends"
_FAILED: Final = "a worker {} before it was ready; {}"
_LOGGED: Final = "see the log above"
_COMPARED: Final = (
    "the shards have the digests of their manifest, so look at the disk of STATE, and at `dmesg`"
)

_log: Final = logging.getLogger("serve.process.workers")


class WorkersError(Exception):
    """The workers could not be started; their own log lines say why."""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    doubted: bool = False
    ready: bool = False

    def end(self) -> tuple[int | None, str]:
        """The exit code of a process that has closed its sentinel, and the words for it."""
        self.process.join(_PAUSE_SECONDS)  # it is closed a moment before there is a code
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
        listeners: at least one per worker; this process closes them at the end.
        ready: called once all workers accept connections.

    Raises:
        WorkersError: a worker failed before all of them accepted connections.
    """
    signals = _signals()
    assert config.state
    with metrics.share_with_children(config.state):
        crew = _WorkerSet(config, listeners)
        try:
            _keep(crew, signals, ready)
        finally:
            # First: a socket that stays open would take connections that nobody accepts.
            for listener in listeners:
                listener.close()
            _stop(crew.workers)


def work(
    config: Config,
    listeners: Sequence[socket.socket],
    doubted: bool,
    replaces: bool,
    pipe: Connection,
) -> None:
    """The main function of a worker process."""
    # Imported here: the parent needs none of it, and can spawn sooner.
    from serve.process import worker

    log.set_up()
    is_ready = False

    def ready() -> None:
        nonlocal is_ready
        is_ready = True
        pipe.send("")

    try:
        worker.run(
            config,
            listeners,
            ready=ready,
            parent=pipe.fileno(),
            doubted=doubted,
            replaces=replaces,
        )
    except NumberTakenError as error:
        raise SystemExit(_NUMBER_TAKEN) from error
    except (OSError, QuotaError) as error:
        if is_ready:
            raise
        pipe.send(str(error))
        raise SystemExit(1) from error


def _signals() -> int:
    """A descriptor from which the numbers of the signals of this process can be read."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    return readable


class _WorkerSet:
    """The workers of a server."""

    def __init__(self, config: Config, listeners: Sequence[socket.socket]) -> None:
        self._config = config
        self._listeners = listeners
        self._faults: deque[float] = deque(maxlen=_FAULTS)
        self.workers = [self.start(place) for place in range(config.workers)]

    def start(self, place: int, replaces: bool = False) -> _Worker:
        """Start the worker with that number, from 0."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        listeners = self._listeners[place :: self._config.workers]
        doubted = self._suspect()
        process = context.Process(
            target=work,
            args=(self._config, listeners, doubted, replaces, theirs),
        )
        process.start()
        theirs.close()
        return _Worker(process, ours, doubted)

    def note_end(self, code: int | None, *, ready: bool) -> bool:
        """Note with which code a worker ended; True if it may have been for a damaged shard."""
        faulty = code is not None and -code in _MEMORY_FAULTS
        if faulty:
            # A worker that dies at its start does so at each start, so one such end is enough.
            self._faults.extend([time.monotonic()] * (1 if ready else _FAULTS))
        return faulty

    def _suspect(self) -> bool:
        """Whether workers ended as they do where a mapped file is damaged: at a start, or several within a minute."""
        faults = self._faults
        return len(faults) == _FAULTS and time.monotonic() - faults[0] < _FAULT_SECONDS

    def start_again(self, place: int, *, replaces: bool) -> _Worker:
        """Start a worker in place of a dead one; try until it succeeds."""
        while True:
            try:
                return self.start(place, replaces=replaces)
            except OSError as error:  # it was killed before it could read its arguments
                _log.error(
                    "a worker could not be started, trying again: %s; see the limits of the host",
                    error,
                )
                time.sleep(_PAUSE_SECONDS)


def _keep(crew: _WorkerSet, signals: int, ready: Callable[[], None]) -> None:
    """Replace dead workers and forward SIGHUP; return at SIGTERM or SIGINT."""
    workers = crew.workers
    announced = False
    while True:
        waiting = [worker.pipe for worker in workers if not worker.ready]
        happened = wait([signals, *waiting, *(worker.process.sentinel for worker in workers)])
        if signals in happened and _handle_signals(signals, workers):
            return
        for place, worker in enumerate(workers):
            if worker.process.sentinel in happened:
                code, words = worker.end()
                if code == _NUMBER_TAKEN:
                    _log.info("%s; starting another", _OTHER_CONTAINER.format(worker.process.pid))
                    worker.pipe.close()
                    workers[place] = crew.start_again(place, replaces=announced)
                    continue
                faulty = crew.note_end(code, ready=worker.ready)
                if not announced and (worker.doubted or not faulty):
                    raise WorkersError(_FAILED.format(words, _COMPARED if faulty else _LOGGED))
                _log.error(
                    "worker %s %s, starting another%s; its own last lines say why",
                    worker.process.pid,
                    words,
                    " that compares all shards first" if faulty and not worker.ready else "",
                )
                worker.pipe.close()
                if worker.process.pid:
                    metrics.forget_process(worker.process.pid)
                time.sleep(_PAUSE_SECONDS if not worker.ready else 0)
                workers[place] = crew.start_again(place, replaces=announced)
            elif worker.pipe in happened:
                worker.ready, error = _becomes_ready(worker)
                if error and not announced:
                    raise WorkersError(error)
                if error:
                    _log.error("worker %s cannot start: %s", worker.process.pid, error)
        if not announced and all(worker.ready for worker in workers):
            announced = True
            ready()


def _becomes_ready(worker: _Worker) -> tuple[bool, str]:
    """Read the pipe of a starting worker: whether it is ready, and why it cannot be; nothing of one that died."""
    try:
        error = str(worker.pipe.recv())
    except (EOFError, OSError):
        # Its end of the pipe closes before the process ends; its sentinel then reports the end.
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
    """Let each worker finish its requests; kill those that take too long."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + ports.LINGER_SECONDS + ports.DRAIN_SECONDS + 5
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        worker.process.kill()
        worker.process.join()
