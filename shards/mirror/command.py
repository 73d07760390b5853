"""The commands `sync`, `keygen` and `sign` of `python -m shards`."""

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from seeds.settings import naming_value, whole_number
from shards.codec.folding import SPELLINGS
from shards.generations.publication import KEPT
from shards.mirror import signature, source_kinds
from shards.mirror.blobs import Downloader, RateLimit
from shards.mirror.mirror import MirrorOptions, follow, mirror
from shards.mirror.source import MirrorSource, SyncError
from shards.mirror.source_kinds import Folder

_MIB: Final = 1 << 20
# The types of the values of --valid-days and --keep, for argparse.
_VALID_DAYS_TYPE: Final = naming_value(whole_number(1, signature.MOST_DAYS))
_KEEP_TYPE: Final = naming_value(
    whole_number(2, reason="the published generation and the one before it stay")
)


class _StoppedError(KeyboardInterrupt):
    """SIGTERM or SIGINT; raised at any point, since a mirror can be interrupted anywhere.

    An event loop lets a KeyboardInterrupt pass, and logs other errors of its callbacks.
    """


def _add_arguments_of_sync(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sync` to its parser."""
    parser.set_defaults(wrong=parser.error)  # for combinations of options, which `sync` checks
    parser.add_argument(
        "source", type=_source_option, metavar="SOURCE",
        help="folder, http(s)://… or s3://bucket/prefix (MIRROR_TOKEN or MIRROR_PASSWORD, AWS_*)",
    )  # fmt: skip
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--pays", type=_pays_option, default=(), metavar="EE,UK",
                        help="only these countries (default: all)")  # fmt: skip
    parser.add_argument("--follow", type=_positive_number, metavar="SECONDS",
                        help="repeat every SECONDS until SIGTERM")  # fmt: skip
    parser.add_argument("--keep", type=_KEEP_TYPE, default=KEPT, metavar="N",
                        help=f"generations to keep in DATA (default {KEPT})")  # fmt: skip
    parser.add_argument("--limit-rate", type=_positive_number, metavar="MIB",
                        help="MiB per second at most")  # fmt: skip
    parser.add_argument("--public-key", type=_public_key_option, metavar="FILE",
                        help="refuse a generation unless signed with this key, recent and not expired")  # fmt: skip
    parser.add_argument("--accept-old", action="store_true",
                        help="with --public-key: accept an old or expired signature")  # fmt: skip


def _add_arguments_of_keygen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--key", type=Path, required=True, metavar="FILE",
                        help="the private key; the public one becomes FILE.pub")  # fmt: skip


def _add_arguments_of_sign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help="the private key")
    parser.add_argument("--valid-days", type=_VALID_DAYS_TYPE, default=signature.VALID_DAYS, metavar="N",
                        help=f"mirrors refuse it after N days (default {signature.VALID_DAYS})")  # fmt: skip


def sync(options: argparse.Namespace) -> None:
    """Run the command `sync`: one round, or rounds until SIGTERM with --follow.

    Raises:
        ShardError, OSError: without --follow, the round failed or was stopped.
    """
    if isinstance(options.source, Folder) and options.source.is_at(options.data):
        options.wrong(f"{options.data} and the source are one folder")
    if options.accept_old and not options.public_key:
        options.wrong("--accept-old is for signatures, so it needs --public-key")
    mirror_options = MirrorOptions(
        options.pays, options.public_key, options.keep, options.accept_old
    )
    rate = RateLimit(options.limit_rate)
    quiet = options.follow is not None
    run_round = partial(_run_round, options.source, options.data, mirror_options, rate, quiet=quiet)
    try:
        with _raise_on_signals():
            if options.follow:
                follow(run_round, options.follow, _report)
            else:
                run_round()
    except _StoppedError as stopped:
        if not options.follow:
            raise SyncError(
                "stopped; the downloaded files are kept; run the same command to continue"
            ) from stopped


def keygen(options: argparse.Namespace) -> None:
    """Run the command `keygen`."""
    public = signature.keygen(options.key)
    print(f"{options.key} signs (`python -m shards sign`), {public} checks (--public-key)")


def sign(options: argparse.Namespace) -> None:
    """Run the command `sign`."""
    statement = signature.sign(options.data, options.key, options.valid_days)
    print(
        f"signed {statement.generation}\nsequence number {statement.sequence}, valid until {statement.expires}"
    )


def _run_round(
    source: MirrorSource, data: Path, options: MirrorOptions, rate: RateLimit, *, quiet: bool
) -> None:
    """Run one round and print its outcome; with `quiet` only if a generation was published.

    A round publishes the generation of the source, unless it is already published in `data`.
    """
    started = time.monotonic()
    with tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
        downloader = Downloader(source, rate, _report, bar.update)
        outcome = mirror(downloader, data, options, start=partial(_expect_bytes, bar))
    if outcome.undated and (outcome.has_published or not quiet):
        _report(
            f"the signature of {outcome.generation} has no sequence number and no expiry, so an old generation "
            "could be offered unnoticed; sign it again with this version"
        )
    if not outcome.has_published:
        if not quiet:
            print(f"{outcome.generation} is already published")
        return
    seconds = time.monotonic() - started
    print(
        f"published {outcome.generation}: {outcome.fetched} of {outcome.fetched + outcome.linked} "
        f"files fetched, {downloader.read / _MIB:.1f} MiB in {seconds:.1f} s"
        + (f", {downloader.resumed / _MIB:.1f} MiB resumed" if downloader.resumed else "")
        + (f", {downloader.wrong} damaged in transit" if downloader.wrong else ""),
        flush=True,
    )


def _report(message: str) -> None:
    """Write a message to stderr, above the progress bar."""
    tqdm.write(f"shards: {message}", file=sys.stderr)
    sys.stderr.flush()


def _expect_bytes(bar: Any, size: int) -> None:
    """Tell the progress bar that `size` more bytes will come."""
    bar.total = bar.n + size
    bar.refresh()


@contextmanager
def _raise_on_signals() -> Iterator[None]:
    """Raise _StoppedError at SIGTERM and SIGINT within the block."""

    def stop(_number: int, _frame: object) -> None:
        raise _StoppedError

    old_handlers = {
        number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


# -- values of options -------------------------------------------------------------


def _source_option(text: str) -> MirrorSource:
    """The source that the argument SOURCE names."""
    source: MirrorSource = _or_argument_error(lambda: source_kinds.find_source(text, os.environ))
    return source


def _public_key_option(text: str) -> Any:
    """The key in the file of --public-key."""
    return _or_argument_error(lambda: signature.public_key(Path(text)))


def _or_argument_error(read: Callable[[], Any]) -> Any:
    """The value that `read` returns; argparse reports its SyncError as a wrong value."""
    try:
        return read()
    except SyncError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _pays_option(text: str) -> tuple[str, ...]:
    """The country codes of --pays, sorted, in the spelling of the data."""
    codes = [code.strip().upper() for code in text.split(",")]
    if wrong := [code for code in codes if not re.fullmatch("[A-Z]{2}", code)]:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is not a country; write EE,UK")
    return tuple(sorted({SPELLINGS.get(code, code) for code in codes}))


def _positive_number(text: str) -> float:
    """The value of an option that takes a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; give one, such as 0.5")
    return number


# By name: the function that adds the arguments, the function that runs the command, its help, an example.
COMMANDS: Final = {
    "sync": (
        _add_arguments_of_sync, sync, "fetch the published generation of another host and publish it here",
        "python -m shards sync https://example.org/data data --follow 60",
    ),
    "keygen": (
        _add_arguments_of_keygen, keygen, "create a key that signs generations",
        "python -m shards keygen --key societes.key",
    ),
    "sign": (
        _add_arguments_of_sign, sign, "sign the published generation, for mirrors to check",
        "python -m shards sign demo-data/data --key societes.key",
    ),
}  # fmt: skip
