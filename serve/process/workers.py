"""Several serving processes on one port, and the parent that keeps their number.

Each worker binds the port for itself with SO_REUSEPORT, so the kernel deals connections out and no
worker waits for another. They are spawned, not forked: LMDB must be opened in the process that
reads it. A worker that dies is replaced; when the parent dies, its end of each pipe closes and the
workers stop by themselves.
"""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

from serve.config import Config
from serve.observe import log, metrics
from serve.process import port as ports

# Between two attempts to replace a worker that died: a fault at start must not fill the log.
_PAUSE_SECONDS: Final = 1.0

_log: Final = logging.getLogger("serve.process.workers")


class WorkersError(Exception):
    """The workers could not be started; their own log lines say why."""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False


def run(
    config: Config,
    reserved: socket.socket,
    ready: Callable[[Callable[[], set[int]]], None],
    others: int = 0,
) -> None:
    """Run `config.workers` processes until SIGTERM or SIGINT.

    Args:
        reserved: keeps the port ours without listening on it: connections go to the workers.
        ready: gets what tells the ids of the workers, once all of them accept connections.
        others: sockets of another server that listen there.

    Raises:
        WorkersError: a worker died before all of them accepted connections.
    """
    signals = _signals()
    port = reserved.getsockname()[1]
    assert config.state
    with metrics.shared(config.state):
        crew = _Crew(config, port, others)
        try:
            _keep(crew, signals, lambda: ready(crew.pids))
        finally:
            _stop(crew.workers)
            reserved.close()


def work(config: Config, port: int, others: int, pipe: Connection) -> None:
    """The life of one worker: what `run` spawns."""
    from serve.process import (
        worker,
    )  # here: the parent, which needs none of it, is ready to spawn sooner

    log.set_up()
    bound = ports.bind(config.host, port, shared=True)
    worker.run(config, bound, ready=lambda: pipe.send(True), parent=pipe.fileno(), others=others)


def _signals() -> int:
    """A descriptor from which the numbers of the signals of this process can be read."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    return readable


class _Crew:
    """The workers of a server."""

    def __init__(self, config: Config, port: int, others: int) -> None:
        self._arguments = (config, port, others)
        self.workers = [self.start() for _ in range(config.workers)]

    def pids(self) -> set[int]:
        return {worker.process.pid for worker in self.workers if worker.process.pid}

    def start(self) -> _Worker:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(*self._arguments, theirs))
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def start_again(self) -> _Worker:
        """A worker in the place of a dead one, however often it takes."""
        while True:
            try:
                return self.start()
            except OSError as error:  # it was killed before it could read what to do
                _log.error("a worker could not be started, trying again: %s", error)
                time.sleep(_PAUSE_SECONDS)


def _keep(crew: _Crew, signals: int, ready: Callable[[], None]) -> None:
    """Replace the dead, pass SIGHUP on, return when told to stop."""
    workers = crew.workers
    announced = False
    while True:
        waiting = [worker.pipe for worker in workers if not worker.ready]
        happened = wait([signals, *waiting, *(worker.process.sentinel for worker in workers)])
        if signals in happened and _told_to_stop(signals, workers):
            return
        for place, worker in enumerate(workers):
            if worker.process.sentinel in happened:
                code = worker.process.exitcode
                if not announced:
                    raise WorkersError(f"a worker ended with {code} before it was ready")
                _log.error("worker %s ended with %s, starting another", worker.process.pid, code)
                worker.pipe.close()
                time.sleep(_PAUSE_SECONDS if not worker.ready else 0)
                workers[place] = crew.start_again()
            elif worker.pipe in happened:
                worker.ready = _says_ready(worker)
        if not announced and all(worker.ready for worker in workers):
            announced = True
            ready()


def _says_ready(worker: _Worker) -> bool:
    """What came through the pipe of a worker that starts: its word, or its end."""
    try:
        return bool(worker.pipe.recv())
    except (EOFError, OSError):
        # Its end of the pipe closes before it is gone: its sentinel tells the rest.
        worker.process.join(_PAUSE_SECONDS)
        return False


def _told_to_stop(signals: int, workers: list[_Worker]) -> bool:
    numbers = os.read(signals, 64)
    if signal.SIGHUP in numbers:
        for worker in workers:
            if worker.ready and worker.process.pid:
                os.kill(worker.process.pid, signal.SIGHUP)
    return signal.SIGTERM in numbers or signal.SIGINT in numbers


def _stop(workers: list[_Worker]) -> None:
    """Let each worker finish what it is doing; end those that do not."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + ports.LINGER_SECONDS + ports.DRAIN_SECONDS + 5
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        worker.process.kill()
        worker.process.join()
