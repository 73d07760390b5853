"""Options of all four commands: `--version`, and `--completion`, which prints a script for bash or zsh.

The script is made from the parser, so it knows every command, option and listed value; where none
fits, the shell offers files. Reading the parser at each TAB would take the start of a program.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from seeds import VERSION

SHELLS: Final = ("bash", "zsh")

# `words TYPED WORD…`: what may stand behind these words, and begins as TYPED does. The first cases are a command and
# an option that takes a value, the second ones a command and, behind the colon, what is typed.
_WORDS: Final = """\
_{name}_words() {{
  local at= typed=$1 word=
  shift
  for word in "$@"; do
    case "$at $word" in
      {commands}) at="$at $word" ;;
    esac
  done
  case "$at $word" in
{values}
  esac
  case "$at:$typed" in
{others}
  esac
}}
"""
_COMPLETES: Final = {
    "bash": """\
{words}_{name}() {{
  local typed=${{COMP_WORDS[COMP_CWORD]}}
  COMPREPLY=($(compgen -W "$(_{name}_words "$typed" "${{COMP_WORDS[@]:1:COMP_CWORD-1}}")" -- "$typed"))
}}
complete -o default -F _{name} {name}
""",
    # As a file of `fpath` it is the function's body, as `source <(…)` it registers the function.
    "zsh": """\
#compdef {name}
{words}_{name}() {{
  compadd -- ${{=$(_{name}_words "$words[CURRENT]" "${{(@)words[2,CURRENT-1]}}")}} || _files
}}
if [[ $funcstack[1] == _{name} ]]; then _{name} "$@"; else compdef _{name} {name}; fi
""",
}


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add `--version` and `--completion` to the parser of a command."""
    parser.add_argument("--version", action="version", version=f"societes {VERSION}")
    parser.add_argument(
        "--completion",
        action=_PrintCompletion,
        choices=SHELLS,
        help="print a script that completes the installed command in this shell",
    )


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes the installed command of `python -m …` in a shell."""
    name = f"societes-{parser.prog.rpartition(' ')[2]}"
    commands = list(_commands(parser, ""))
    values: list[str] = []
    others: list[str] = []
    for at, command in commands:
        options: list[str] = []
        operands: list[str] = []
        for action in command._actions:
            named = [f"{at} {option}" for option in action.option_strings]
            options += action.option_strings
            if not named:
                operands += action.choices or ()
            elif action.nargs != 0:
                values.append(
                    f"    {_quote_patterns(named)}) echo {' '.join(action.choices or ())}; return ;;"
                )
        others.append(f'    "{at}:-"*) echo {" ".join(options)} ;;')
        others.append(f'    "{at}:"*) echo {" ".join(operands)} ;;')
    words = _WORDS.format(
        name=name,
        commands=_quote_patterns(at for at, _ in commands),
        values="\n".join(values),
        others="\n".join(others),
    )
    return _COMPLETES[shell].format(name=name, words=words)


def _commands(
    parser: argparse.ArgumentParser, at: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser and those of its commands, each with its words, a blank before each word."""
    yield at, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from _commands(command, f"{at} {name}")


def _quote_patterns(patterns: Iterable[str]) -> str:
    return "|".join(f'"{pattern}"' for pattern in patterns)


class _PrintCompletion(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        print(completion(parser, str(values)), end="")
        parser.exit()
