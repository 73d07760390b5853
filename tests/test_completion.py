"""Completion of the four commands, typed at a terminal of bash and of zsh, with TAB."""

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import Final

import pytest

from tests import ROOT
from tests.proof.tools import need

# A shell without the files of this machine, and what it has to be told first.
SHELLS: Final = {
    "bash": (["--norc", "--noprofile", "-i"], ""),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -D -u"),
}
# What is typed, with a TAB for each ·, and what runs.
LINES: Final = {
    "serve": {
        "--da· demo·": "--data demo.toml",
        "--print-con·": "--print-config",
        "--completion z·": "--completion zsh",
    },
    "quota": {
        "acc· cr· --pl·": "account create --plan",
        "--state demo· per· inv": "--state demo.toml person inv",
        "person add a_0000000000aA zoe@exemple.fr --role adm·": "person add a_0000000000aA zoe@exemple.fr"
        " --role administrateur",
        "person role zoe@exemple.fr mem·": "person role zoe@exemple.fr membre",
        "account --no·": "account --no",
    },
    "pipeline": {
        "imp· uk-b· demo· --ou·": "import uk-basic demo.toml --out",
        "bu· --inp· demo· --dry·": "build --input demo.toml --dry-run",
        "nightly demo· --acc· uk-b·": "nightly demo.toml --accept uk-basic",
    },
    "shards": {
        "ver· demo· --jo·": "verify demo.toml --jobs",
        "sy· demo· --pub· demo·": "sync demo.toml --public-key demo.toml",
        "--vers·": "--version",
    },
}
WAIT_S: Final = 20.0


class Terminal:
    """A shell at a terminal: what was typed into it, and what it showed."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def wait_for(self, pattern: str) -> str:
        """The first group of a pattern, once it is shown; what was shown up to it is forgotten."""
        deadline = time.monotonic() + WAIT_S
        while not (found := re.search(pattern, self.shown)):
            assert select([self.descriptor], [], [], deadline - time.monotonic())[0], self.shown
            self.shown += os.read(self.descriptor, 65536).decode(errors="replace")
        self.shown = self.shown[found.end() :]
        return found[1]


@contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    program, (flags, first) = need(shell, shell), SHELLS[shell]
    pid, descriptor = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execve(program, [shell, *flags], {"TERM": "dumb", "PS1": "", "HOME": str(folder)})
    try:
        opened = Terminal(descriptor)
        opened.type(f"{first}\nbind 'set enable-bracketed-paste off' 2>&-; echo rea''dy.\n")
        opened.wait_for("(ready)")
        yield opened
    finally:
        os.close(descriptor)
        with suppress(ChildProcessError):
            os.kill(pid, 9)
            os.waitpid(pid, 0)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("room", LINES)
def test_a_command_line_is_completed(room: str, shell: str, tmp_path: Path) -> None:
    (tmp_path / "demo.toml").touch()
    (tmp_path / "script").write_text(_script(room, shell))
    ran = {}

    with terminal(shell, tmp_path) as opened:
        opened.type(
            f'source ./script; societes-{room}() {{ echo "RA""N: $*;"; }}; echo do\'\'ne.\n'
        )
        opened.wait_for("(done)")
        for typed in LINES[room]:
            opened.type(f"societes-{room} " + typed.replace("·", "\t") + "\n")
            ran[typed] = re.sub(" +", " ", opened.wait_for("RAN: (.*?) ?;"))

    assert ran == LINES[room]


@pytest.mark.parametrize("shell", SHELLS)
def test_options_are_offered_where_a_dash_is_typed(shell: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(_script("quota", shell))
    ask = ". ./script; for typed in '' -; do _societes-quota_words \"$typed\" --state x person invite; done"
    stubs = "compdef() { :; }; "

    done = subprocess.run(
        [need(shell, shell), "-c", stubs + ask],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "\n-h --help --role --mail --lang --json\n"
    assert done.stderr == ""


def _script(room: str, shell: str) -> str:
    command = [sys.executable, "-m", room, "--completion", shell]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
