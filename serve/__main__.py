"""The command `python -m serve`: read the settings, say where it listens, serve."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

from quota.errors import QuotaError
from quota.plans import PlansError
from serve import config as configs
from serve.config import Config, ConfigError
from serve.observe import log
from serve.process import handover, workers
from serve.process import port as ports
from serve.process.handover import HandoverError, PortLock
from serve.process.port import PortError
from serve.process.workers import WorkersError

_EXAMPLE = """example:
  python -m serve --data build/data --state build/state --port 8080 --workers 2

Settings come from the flags, then SOCIETES_DATA, SOCIETES_PORT, SOCIETES_DEBIT_FREE …, then the
TOML file of --config, then defaults. SIGHUP looks for a new generation, SIGTERM stops gracefully.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when told to stop, 1 if it failed, 2 for wrong use."""
    flags = vars(_parser().parse_args(arguments))
    print_config = flags.pop("print_config")
    try:
        config = configs.read(flags, os.environ)
        if print_config:
            print(configs.to_toml(config))
            return 0
        _check(config)
    except ConfigError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 2
    try:
        _serve(config)
    except (OSError, HandoverError, PlansError, PortError, QuotaError, WorkersError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    return 0


def _serve(config: Config) -> None:
    assert config.state
    _make(config.state)
    log.set_up()
    bound = ports.reserve(config.host, config.port, beside=config.take_over)
    port = bound.getsockname()[1]
    post = handover.PortLock(config.state, port)
    others = handover.to_relieve(post) if config.take_over else 0
    if not others:
        post.take()  # before it listens: who looks at a port that is served finds its place held

    def ready(pids: Callable[[], set[int]]) -> None:
        address = ports.address(bound)
        print(address, flush=True)
        # Not to be waited for: it lasts until the old server has left.
        Thread(target=_relieve, args=(post, address, pids), daemon=True).start()

    if config.workers > 1:
        workers.run(config, bound, ready, others)
    else:
        from serve.process import worker  # what a parent of workers does not wait for

        worker.run(config, bound, ready=lambda: ready(lambda: {os.getpid()}), others=others)


def _make(state: Path) -> None:
    try:
        state.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next(path for path in (state, *state.parents) if path.exists())
        raise NotADirectoryError(f"{file} is a file; --state wants a folder") from error


def _relieve(post: PortLock, address: str, pids: Callable[[], set[int]]) -> None:
    try:
        handover.relieve(post, address, pids)
    except HandoverError as error:
        print(f"serve: {error}", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGTERM)


def _check(config: Config) -> None:
    for name in ("data", "state"):
        if getattr(config, name) is None:
            raise ConfigError(f"{name} is not set; give --{name} DIR or SOCIETES_{name.upper()}")
    assert config.data
    for name in ("state", "spool"):
        folder = getattr(config, name)
        if folder and folder.resolve().is_relative_to(config.data.resolve()):
            raise ConfigError(
                f"{name} = {str(folder)!r} lies in {config.data}, which is only read and may be "
                "given to mirrors; name another folder"
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m serve",
        description="Serve the published generation of a data folder over HTTP.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--data", metavar="DATA", help="folder of generations, with its CURRENT")
    parser.add_argument("--state", metavar="STATE", help="folder of counters; made if needed")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", help="port to listen on, 0 for a free one (default 8080)")
    parser.add_argument("--workers", metavar="N", help="processes on that port (default 1)")
    parser.add_argument(
        "--quota", metavar="URL",
        help="where counters live: lmdb, beside STATE (default), or redis://HOST:PORT/DB",
    )  # fmt: skip
    parser.add_argument(
        "--quota-strict", metavar="true|false",
        help="refuse a Redis that does not sync each write (default false: warn)",
    )  # fmt: skip
    parser.add_argument(
        "--lease", metavar="true|false",
        help="take calls in blocks from a Redis far away, to go on without it (default false)",
    )  # fmt: skip
    parser.add_argument("--base-url", metavar="URL", help="what links in answers begin with")
    parser.add_argument(
        "--trusted-proxies", metavar="NETWORKS",
        help="networks, with commas, whose X-Forwarded-For is believed (default none)",
    )  # fmt: skip
    parser.add_argument(
        "--mcp-origins", metavar="ORIGINS",
        help="web pages, with commas, that may use /api/mcp from a browser; * is all of them "
        "(default none but this server's own)",
    )  # fmt: skip
    parser.add_argument(
        "--warm", metavar="true|false",
        help="read the shards once after the start, if memory holds them (default true)",
    )  # fmt: skip
    parser.add_argument("--makers", metavar="N", help="processes that make workbooks (default 2)")
    parser.add_argument(
        "--spool", metavar="DIR",
        help="where workbooks grow until they are sent (default STATE/exports)",
    )  # fmt: skip
    parser.add_argument(
        "--mirror", action="store_const", const="true",
        help="DATA is kept by `python -m shards sync`: for who reads the settings, it is only read",
    )  # fmt: skip
    parser.add_argument(
        "--take-over", action="store_const", const="true",
        help="take the place of the server that has the port, without losing a request",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings in TOML")
    parser.add_argument("--print-config", action="store_true", help="show the settings and leave")
    return parser


if __name__ == "__main__":
    sys.exit(main())
