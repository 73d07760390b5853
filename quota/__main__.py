"""`python -m quota`: accounts, keys, credits, counters of a STATE folder, while servers run or not.

The clock is read here and nowhere below. A secret key is printed once, by `key create`.
"""

import argparse
import asyncio
import logging
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from quota import commands, open_store
from quota.accounts import INCLUDED, NONE, check_plan
from quota.commands import Answer, Plans
from quota.errors import QuotaError
from quota.ledger.calls import PACK_MOST
from quota.ledger.people import is_email
from quota.open_store import open_ledger
from quota.plans import PlansError, load
from quota.store.interface import Ledger
from quota.store.lmdb_file import FILE

KEPT_MONTHS: Final = 13  # this month and a year before it
MONTHS_MOST: Final = 1_200

_MODULE: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

Command = Callable[[Ledger, argparse.Namespace, Plans, datetime], Awaitable[Answer]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 failed, 2 wrong use (argparse exits by itself)."""
    try:
        plans = load()
        parser = _parser([slug for slug, plan in plans.items() if plan.outil_api != NONE])
        options = parser.parse_args(arguments)
        _check(parser, options, plans)
        store = open_ledger(options.quota, options.state)
        try:
            answer = asyncio.run(options.command(store, options, plans, datetime.now(UTC)))
        finally:
            store.close()
    except (QuotaError, PlansError, OSError) as error:
        print(f"quota: {error}", file=sys.stderr)
        return 1
    _print(answer, as_json=options.json)
    return 0


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace, plans: Plans) -> None:
    """What argparse cannot see: no state folder, none of ours, a tool that the plan has not."""
    on_this_host = options.quota == open_store.LMDB
    if on_this_host and options.state is None:
        parser.error("--state STATE is missing; it is the folder that `serve --state` has too")
    if "named_plan" in options:
        if (options.plan is None) == (options.named_plan is None):
            parser.error("give one plan: `account set-plan ACCOUNT PLAN`")
        options.plan = options.plan or options.named_plan
    if "plan" in options:
        try:
            plan = check_plan(options.plan, bool(options.api_tool), plans, options.modules)
        except QuotaError as error:
            parser.error(str(error))
        if options.api_tool is False and plan.outil_api == INCLUDED:
            parser.error(
                f"--no-api-tool cannot be had with the plan {options.plan!r}, which includes the "
                "API tool; leave it out"
            )
    first = options.command is commands.create_account
    if on_this_host and not first and not (options.state / FILE).exists():
        raise QuotaError(f"{options.state} holds no {FILE}; `account create` makes the first one")


def _print(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        print(orjson.dumps(answer).decode())
    elif isinstance(answer, Mapping):
        _print_lines(commands.lines(answer))
    else:
        _print_lines(commands.row(members) for members in answer)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


# -- the command line --------------------------------------------------------------


def _parser(slugs: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m quota",
        description="Accounts, keys, credits and counters. Works while servers run.",
        epilog="example: python -m quota --state demo-data/state account create --plan free",
        allow_abbrev=False,
    )
    state = os.environ.get("SOCIETES_STATE")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(state) if state else None,
        help="the folder that servers have as --state (or the variable SOCIETES_STATE)",
    )
    parser.add_argument(
        "--quota",
        metavar="URL",
        type=_address,
        default=os.environ.get("SOCIETES_QUOTA", open_store.LMDB),
        help="what servers have as --quota, if not the default (or the variable SOCIETES_QUOTA)",
    )
    nouns = parser.add_subparsers(required=True, metavar="COMMAND")
    account = _noun(
        nouns, "account", "organisations: plan, API tool, modules", "account create --plan free"
    )
    _account_commands(account, slugs)
    _key_commands(
        _noun(nouns, "key", "API keys of an organisation", "key create a_0000000000aA --label CRM")
    )
    _person_commands(
        _noun(
            nouns, "person", "who opens the pages of an organisation",
            "person add a_0000000000aA zoe@exemple.fr",
        )
    )  # fmt: skip
    credit = _noun(nouns, "credits", "packs of credits", "credits add a_0000000000aA 500")
    add = _verb(credit, "add", commands.add_credits, "add a pack", "credits add a_0000000000aA 500")
    add.add_argument("account", metavar="ACCOUNT")
    add.add_argument("count", type=_pack, metavar="N", help=f"at most {PACK_MOST}")
    usage = _verb(
        nouns, "usage", commands.usage, "what is used and left", "usage a_0000000000aA --json"
    )
    usage.add_argument("account", metavar="ACCOUNT")
    compact = _verb(
        nouns,
        "compact",
        commands.compact,
        "drop the counters of old months",
        "compact --keep-months 24",
    )
    compact.add_argument(
        "--keep-months",
        type=_months,
        default=KEPT_MONTHS,
        metavar="N",
        help="keep this month and N before it (%(default)s)",
    )
    backup = _verb(
        nouns, "backup", commands.backup, "write a verified copy", "backup quota-copy.lmdb"
    )
    backup.add_argument("file", type=Path, metavar="FILE")
    return parser


def _account_commands(nouns: "_Commands", slugs: Sequence[str]) -> None:
    create = _verb(
        nouns, "create", commands.create_account, "a new organisation",
        "account create --plan data --api-tool --nom 'Société Générale' --json",
    )  # fmt: skip
    create.add_argument("--nom", type=_line, default="", help="what people call it")
    show = _verb(
        nouns, "show", commands.show_account, "one organisation", "account show a_0000000000aA"
    )
    show.add_argument("account", metavar="ACCOUNT")
    _verb(nouns, "list", commands.list_accounts, "all organisations", "account list --json")
    change = _verb(
        nouns, "set-plan", commands.set_plan, "another plan, from now on",
        "account set-plan a_0000000000aA corporate --api-tool",
    )  # fmt: skip
    change.add_argument("account", metavar="ACCOUNT")
    change.add_argument("plan", metavar="PLAN", type=_one_of(slugs), nargs="?", default=None)
    change.add_argument("--plan", dest="named_plan", choices=slugs, help="the same, by name")
    create.add_argument("--plan", required=True, choices=slugs)
    for parser in (create, change):
        parser.add_argument("--modules", type=_modules, metavar="A,B", help="of a custom plan")
        parser.add_argument(
            "--api-tool",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="the API tool, where it is an option; without it keys are served as free",
        )


def _one_of(slugs: Sequence[str]) -> Callable[[str], str]:
    """A plan by its slug. Not `choices`: argparse would hold an absent value to them, too."""

    def plan(text: str) -> str:
        if text not in slugs:
            known = ", ".join(slugs)
            raise argparse.ArgumentTypeError(f"{text!r} is no plan of an account; one of {known}")
        return text

    return plan


def _key_commands(nouns: "_Commands") -> None:
    create = _verb(
        nouns, "create", commands.create_key, "a new key, shown this once",
        "key create a_0000000000aA --label 'CRM de Żabka' --json",
    )  # fmt: skip
    create.add_argument("account", metavar="ACCOUNT")
    create.add_argument("--label", type=_line, default="", help="what it is used for")
    listed = _verb(nouns, "list", commands.list_keys, "its keys", "key list a_0000000000aA")
    listed.add_argument("account", metavar="ACCOUNT")
    revoke = _verb(
        nouns, "revoke", commands.revoke_key, "end a key at once", "key revoke k_0000000000aA"
    )
    revoke.add_argument("key_id", metavar="KEY_ID")


def _person_commands(nouns: "_Commands") -> None:
    add = _verb(
        nouns, "add", commands.add_person, "one more person, its password shown this once",
        "person add a_0000000000aA zoe@exemple.fr",
    )  # fmt: skip
    listed = _verb(nouns, "list", commands.list_people, "its people", "person list a_0000000000aA")
    for parser in (add, listed):
        parser.add_argument("account", metavar="ACCOUNT")
    lost = _verb(
        nouns, "password", commands.new_password,
        "a new password for who lost it, shown this once", "person password zoe@exemple.fr",
    )  # fmt: skip
    add.add_argument("email", type=_email, metavar="EMAIL")
    lost.add_argument("email", metavar="EMAIL")


def _noun(nouns: "_Commands", name: str, about: str, example: str) -> "_Commands":
    parser = _described(nouns, name, about, example)
    return parser.add_subparsers(required=True, metavar="COMMAND")


def _verb(
    verbs: "_Commands", name: str, run: Command, about: str, example: str
) -> argparse.ArgumentParser:
    parser = _described(verbs, name, about, example)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)
    return parser


def _described(
    commands: "_Commands", name: str, about: str, example: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example: python -m quota --state demo-data/state {example}",
        allow_abbrev=False,
    )


def _address(text: str) -> str:
    try:
        return open_store.checked(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{open_store.masked(text)!r}: {error}") from error


def _line(text: str) -> str:
    if not text.isprintable():  # lists have a line each
        raise argparse.ArgumentTypeError(f"{text!r} has what is not printed; give one line of text")
    return text


def _email(text: str) -> str:
    if not is_email(text.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is no e-mail address, such as nom@exemple.fr")
    return text


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _months(text: str) -> int:
    # What is kept is written as the month of a year after Christ, which every later call reads.
    if (number := _whole(text)) > MONTHS_MOST:
        raise argparse.ArgumentTypeError(f"{text} months; give at most {MONTHS_MOST}")
    return number


def _pack(text: str) -> int:
    if not 1 <= (number := _whole(text)) <= PACK_MOST:
        raise argparse.ArgumentTypeError(f"{text} credits; give a number from 1 to {PACK_MOST}")
    return number


def _modules(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if not _MODULE.fullmatch(name):
            raise argparse.ArgumentTypeError(f"{name!r} is not a module; write a,b in lower case")
    return names


def run() -> int:
    """Run the command of this process: `python -m quota` and `societes-quota`."""
    logging.disable(logging.WARNING)  # warnings about the settings of Redis are for servers' logs
    return main()


if __name__ == "__main__":
    raise SystemExit(run())
