"""The command `python -m serve`: read the settings, bind the port, run the workers."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from quota import open_store
from quota.errors import QuotaError
from seeds import VERSION
from serve import config as configs
from serve.config import Config, ConfigError, Setting
from serve.observe import log
from serve.process import port as ports
from serve.process import workers
from serve.process.port import PortError
from serve.process.workers import WorkersError

_log: Final = logging.getLogger("serve.process.command")

_EXAMPLE = """example:
  python -m serve --data build/data --state build/state --port 8080 --workers 2

Settings come from the flags, then SOCIETES_DATA, SOCIETES_PORT, SOCIETES_DEBIT_FREE …, then the
TOML file of --config, then defaults. SIGHUP looks for a new generation, SIGTERM stops gracefully.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command until a signal stops it.

    Returns:
        The exit code: 0 after SIGTERM or SIGINT, 1 if the server failed, 2 for wrong use.
    """
    flags = vars(_parser().parse_args(arguments))
    print_config = flags.pop("print_config")
    try:
        config = configs.read(flags, os.environ)
        if print_config:
            print(configs.to_toml(config))
            return 0
        _check_folders(config)
    except ConfigError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 2
    try:
        _serve(config)
    except (OSError, PortError, QuotaError, WorkersError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    return 0


def _serve(config: Config) -> None:
    """Prepare STATE and the log, bind the port, and run the workers until a signal stops them.

    The address is printed when all workers are ready.
    """
    state = config.state
    assert state
    _make_folder(state)
    log.set_up()
    if config.new_store:
        open_store.forget_store(state)
    listeners = ports.passed_sockets(config.workers)
    listeners = listeners or ports.reserve(config.host, config.port, config.workers)
    if config.operator_address is None:
        _log.warning(
            "the pages cannot sell or take objections, because the operator has no address; "
            "give --contact, or [editeur] in the settings"
        )
    address = ports.address(listeners[0])
    workers.run(config, listeners, lambda: print(address, flush=True))


def _make_folder(state: Path) -> None:
    """Create the folder STATE if needed. Raises OSError."""
    try:
        state.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next(path for path in (state, *state.parents) if path.exists())
        raise NotADirectoryError(f"{file} is a file; --state wants a folder") from error


def _check_folders(config: Config) -> None:
    """Raise ConfigError if DATA or STATE is not set, or a folder to write to is inside DATA."""
    for name in ("data", "state"):
        if getattr(config, name) is None:
            raise ConfigError(f"{name} is not set; give --{name} DIR or SOCIETES_{name.upper()}")
    assert config.data
    for name in ("state", "spool"):
        folder = getattr(config, name)
        if folder and folder.resolve().is_relative_to(config.data.resolve()):
            raise ConfigError(
                f"{name} = {str(folder)!r} is in {config.data}, which is only read, and may be "
                "copied to mirrors; name another folder"
            )


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line, with a flag for each setting."""
    parser = argparse.ArgumentParser(
        prog="python -m serve",
        description="Serve the published generation of a data folder over HTTP.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"societes {VERSION}")
    defaults = Config()
    for name, setting in configs.SETTINGS.items():
        flag, text = f"--{name.replace('_', '-')}", _flag_help(setting, getattr(defaults, name))
        if setting.metavar:
            parser.add_argument(flag, metavar=setting.metavar, help=text)
        else:
            parser.add_argument(flag, action="store_const", const="true", help=text)
    parser.add_argument("--config", metavar="FILE", help="settings in TOML")
    parser.add_argument("--print-config", action="store_true", help="show the settings and exit")
    return parser


def _flag_help(setting: Setting, default: object) -> str:
    """The help of a flag, with the default unless it is empty or the flag takes no value."""
    if not setting.metavar or default in (None, "", ()):
        return setting.help
    return (
        f"{setting.help} (default {str(default).lower() if default in (True, False) else default})"
    )
