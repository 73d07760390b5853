"""`python -m quota`: the command line for accounts, keys, people, credits and counters of a store.

The commands work while servers run. Only this module reads the clock; the commands get the time as an option.
`key create` prints the text of a key, which cannot be shown again.
"""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import orjson

from quota import command, open_store
from quota.accounts import INCLUDED, check_plan
from quota.command import CommandResult, Options
from quota.errors import NumberTakenError, QuotaError
from quota.ledger.calls import PACK_MOST
from quota.ledger.people import ADMINISTRATOR, MEMBER, ROLES, is_email
from quota.open_store import open_ledger
from quota.plans import MODULES, SLUGS, load
from quota.store.interface import LedgerStore
from quota.store.lmdb_store import FILE
from seeds import VERSION
from seeds.settings import naming_value, whole_number

KEPT_MONTHS: Final = 13  # the default of --keep-months: the months that are kept before this month
MONTHS_MOST: Final = 1_200  # the most months of --keep-months
UNUSED_DAYS: Final = 365  # the default of --unused-days
UNUSED_DAYS_LEAST: Final = 30  # longer than a session (14 days) or a link (7 days) lasts

_EXAMPLE: Final = "example: python -m quota --state demo-data/state"

# Runs a command on an open store; the result is printed.
StoreCommand = Callable[[LedgerStore, Options], Awaitable[CommandResult]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0 (done) or 1 (failed), and exits with 2 for wrong use."""
    try:
        parser = _parser()
        options = parser.parse_args(arguments, Options(plans=load(), now=datetime.now(UTC)))
        _check_options(parser, options)
        # Only `account create` can turn an empty Redis server into a store.
        creates = options.command is command.create_account
        store = open_ledger(options.quota, options.state, create=creates)
        try:
            result = asyncio.run(options.command(store, options))
        finally:
            store.close()
    except NumberTakenError:
        return _run_with_another_pid(arguments)
    except (QuotaError, OSError) as error:
        print(f"quota: {error}", file=sys.stderr)
        return 1
    _print(result, as_json=options.json)
    return 0


def _run_with_another_pid(arguments: Sequence[str] | None) -> int:
    """Run the command in a child process, because the store has a user with this pid (in another container).

    The child does the same if its pid is taken too. Returns the exit code of the command.
    """
    sys.stdout.flush()
    child = os.fork()  # safe here: no thread runs, and no file of the store is open
    if child == 0:
        code = main(arguments)
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _check_options(parser: argparse.ArgumentParser, options: Options) -> None:
    """Check what argparse cannot: the STATE folder, the two ways to give a plan, and what the plan allows.

    Sets `plan` if it is given by its name. A fault of the options ends the program with 2.

    Raises:
        QuotaError: STATE has no store, and the command does not create one.
    """
    on_this_host = options.quota == open_store.LMDB
    if on_this_host and options.state is None:
        parser.error("--state STATE is missing; it is the folder that `serve --state` has too")
    if "named_plan" in options:
        if (options.plan is None) == (options.named_plan is None):
            parser.error("give one plan: `account set-plan ACCOUNT PLAN`")
        options.plan = options.plan or options.named_plan
    if "plan" in options:
        try:
            plan = check_plan(options.plan, bool(options.api_tool), options.plans, options.modules)
        except QuotaError as error:
            parser.error(str(error))
        if options.api_tool is False and plan.outil_api == INCLUDED:
            parser.error(
                f"--no-api-tool is not available with the plan {options.plan!r}, which includes the "
                "API tool; leave it out"
            )
    creates = options.command is command.create_account
    if on_this_host and urlsplit(str(options.state)).scheme in ("redis", "rediss"):
        parser.error(
            f"--state is a folder, and {str(options.state)!r} is an address: give it as --quota"
        )
    if on_this_host and not creates and not (options.state / FILE).exists():
        if options.state.exists() and not options.state.is_dir():
            raise QuotaError(f"{options.state} must be a folder; name another folder as --state")
        raise QuotaError(f"{options.state} holds no {FILE}; `account create` makes the first one")


def _print(result: CommandResult, *, as_json: bool) -> None:
    """Print a result as one line of JSON, or as lines of text for people."""
    if as_json:
        print(orjson.dumps(result).decode())
    elif isinstance(result, Mapping):
        _print_lines(command.object_lines(result))
    else:
        _print_lines(command.object_row(members) for members in result)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


# -- values of arguments -----------------------------------------------------------


def _store_address(text: str) -> str:
    """The text, if it is the address of a store; the error does not show a password."""
    try:
        return open_store.check_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{open_store.mask_password(text)!r}: {error}") from error


def _one_line(text: str) -> str:
    """The text, if it can be printed on one line."""
    if not text.isprintable():  # a list prints one line per item
        raise argparse.ArgumentTypeError(
            f"{text!r} has characters that cannot be printed; give one line of text"
        )
    return text


def _email(text: str) -> str:
    """The text, if it has the form of an e-mail address."""
    if not is_email(text.strip()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an e-mail address; write one like nom@exemple.fr"
        )
    return text


# Parsers of numbers. Their limits keep the month that `compact` stores valid, because every later call parses that
# month.
_month_count: Final = naming_value(whole_number(0, MONTHS_MOST))
_day_count: Final = naming_value(whole_number(UNUSED_DAYS_LEAST, 31 * MONTHS_MOST))
_pack_credits: Final = naming_value(whole_number(1, PACK_MOST))


def _month(text: str) -> str:
    """The text, if it is a month such as "2026-11"."""
    try:
        return f"{datetime.strptime(text, '%Y-%m'):%Y-%m}"  # noqa: DTZ007 - a month has no zone
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a month; write it as 2026-11") from None


def _modules(text: str) -> tuple[str, ...]:
    """The modules in a text such as `entreprise,marche`, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in MODULES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is not a module; use one or both of {', '.join(MODULES)}"
            )
    return names


# -- the command line --------------------------------------------------------------

# The names and options of an argument, for `ArgumentParser.add_argument`.
_Argument = tuple[tuple[str, ...], dict[str, Any]]


class _Verb(NamedTuple):
    """A command: its words, its function, its help, the arguments of an example, and its own arguments."""

    words: str
    run: StoreCommand
    about: str
    example: str
    arguments: Sequence[_Argument] = ()


def _argument(*names: str, **options: Any) -> _Argument:
    """The names and options of an argument, for `ArgumentParser.add_argument`."""
    return names, options


_PLANS_HELP: Final = f"one of {', '.join(slug for slug in SLUGS if slug != 'visiteur')}"
_ACCOUNT: Final = _argument("account", metavar="ACCOUNT")
_LABEL: Final = _argument("--label", type=_one_line, default="", help="a name for its use")
_MODULES: Final = _argument("--modules", type=_modules, metavar="A,B", help="of a custom plan")
_API_TOOL: Final = _argument(
    "--api-tool",
    action=argparse.BooleanOptionalAction,
    default=None,
    help="the API tool, where it is an option; without it keys are served as free",
)

_EMAIL: Final = _argument("email", type=_email, metavar="EMAIL")
_MAIL_ARGUMENTS: Final = (
    _argument(
        "--mail", action="store_true", help="let a server mail the link, and do not print it"
    ),
    _argument(
        "--lang", choices=("fr", "en"), default="fr", help="language of the mail (%(default)s)"
    ),
)


def _role_argument(default: str) -> _Argument:
    """The argument `--role`, with the role that a person has without it."""
    return _argument(
        "--role", choices=ROLES, default=default, help="%(choices)s (default %(default)s)"
    )


# The help of each group of commands, by the first of the two words of its commands.
_GROUP_HELP: Final = {
    "account": "organisations: plan, API tool, modules",
    "key": "API keys of an organisation",
    "address": "reconciliation addresses of an organisation, for clients such as OpenRefine",
    "person": "people who may open the pages of an organisation",
    "credits": "packs of credits",
    "payment": "payments without an effect",
}
_VERBS: Final = (
    _Verb(
        "account create", command.create_account, "a new organisation",
        "--plan data --api-tool --nom 'Société Générale' --json",
        [_argument("--nom", type=_one_line, default="", help="the organisation's name"),
         _argument("--plan", required=True, help=_PLANS_HELP), _MODULES, _API_TOOL],
    ),
    _Verb("account show", command.show_account, "one organisation", "a_0000000000aA", [_ACCOUNT]),
    _Verb("account list", command.list_accounts, "all organisations", "--json"),
    _Verb(
        "account set-plan", command.set_plan, "change the plan, from the next call on",
        "a_0000000000aA corporate --api-tool",
        [_ACCOUNT, _argument("plan", metavar="PLAN", nargs="?", default=None, help=_PLANS_HELP),
         _argument("--plan", dest="named_plan", metavar="PLAN", help="the same, by name"), _MODULES, _API_TOOL],
    ),
    _Verb(
        "key create", command.create_key, "a new key, shown only once",
        "a_0000000000aA --label 'CRM de Żabka' --json",
        [_ACCOUNT, _LABEL],
    ),
    _Verb("key list", command.list_keys, "the keys of an organisation", "a_0000000000aA", [_ACCOUNT]),
    _Verb(
        "key revoke", command.revoke_key, "end a key at once", "k_0000000000aA",
        [_argument("key_id", metavar="KEY_ID")],
    ),
    _Verb(
        "address create", command.create_address, "a new reconciliation address, shown only once",
        "a_0000000000aA --label OpenRefine --json",
        [_ACCOUNT, _LABEL],
    ),
    _Verb(
        "address list", command.list_addresses, "the addresses of an organisation",
        "a_0000000000aA", [_ACCOUNT],
    ),
    _Verb(
        "address revoke", command.revoke_address, "end an address at once", "r_0000000000aA",
        [_argument("address_id", metavar="ADDRESS_ID")],
    ),
    _Verb(
        "person add", command.add_person, "a new person, whose password is shown only once",
        "a_0000000000aA zoe@exemple.fr",
        [_ACCOUNT, _EMAIL, _role_argument(ADMINISTRATOR)],
    ),
    _Verb(
        "person invite", command.invite, "a link to join an organisation, shown only once",
        "a_0000000000aA zoe@exemple.fr --role membre", [_ACCOUNT, _EMAIL, _role_argument(MEMBER), *_MAIL_ARGUMENTS],
    ),
    _Verb(
        "person invitations", command.invitations, "the links of an organisation that still work",
        "a_0000000000aA", [_ACCOUNT],
    ),
    _Verb(
        "person reset", command.reset, "a link to choose a new password",
        "zoe@exemple.fr", [_EMAIL, *_MAIL_ARGUMENTS],
    ),
    _Verb(
        "person role", command.set_role, "give a person another role", "zoe@exemple.fr membre",
        [_EMAIL, _argument("role", choices=ROLES, metavar="ROLE", help="%(choices)s")],
    ),
    _Verb(
        "person remove", command.remove_person, "remove a person from the organisation",
        "zoe@exemple.fr", [_EMAIL],
    ),
    _Verb(
        "person list", command.list_people, "the people of an organisation", "a_0000000000aA",
        [_ACCOUNT],
    ),
    _Verb(
        "person confirm", command.confirm, "confirm an address that no mail reaches",
        "zoe@exemple.fr", [_argument("email", metavar="EMAIL")],
    ),
    _Verb(
        "person password", command.new_password, "replace a lost password; the new password is shown only once",
        "zoe@exemple.fr", [_argument("email", metavar="EMAIL")],
    ),
    _Verb(
        "credits add", command.add_credits, "add a pack of credits", "a_0000000000aA 500",
        [_ACCOUNT, _argument("count", type=_pack_credits, metavar="N", help=f"at most {PACK_MOST}")],
    ),
    _Verb("payment unapplied", command.list_unapplied, "payments that have no effect yet", "--json"),
    _Verb(
        "payment settle", command.settle_unapplied, "remove a payment that was settled by hand", "cs_0000000000aA",
        [_argument("payment", metavar="PAYMENT")],
    ),
    _Verb("usage", command.usage, "calls, exports and credits, used and left", "a_0000000000aA --json",
          [_ACCOUNT]),
    _Verb("exports", command.list_exports, "the last 20 exports that were counted", "a_0000000000aA",
          [_ACCOUNT]),
    _Verb(
        "compact", command.compact, "drop the counters of old months", "--keep-months 24",
        [_argument("--keep-months", type=_month_count, default=KEPT_MONTHS, metavar="N",
                   help="keep this month and N before it (%(default)s)")],
    ),
    _Verb(
        "repair", command.repair, "count from an earlier month again, after the clock was ahead",
        "--floor 2026-11",
        [_argument("--floor", type=_month, required=True, metavar="MONTH",
                   help="the first month whose counters count, as 2026-11")],
    ),
    _Verb(
        "purge", command.purge, "list free organisations that were never used, or remove them",
        "--unused-days 180 --yes",
        [_argument("--unused-days", type=_day_count, default=UNUSED_DAYS, metavar="N",
                   help="of those created more than N days ago (%(default)s)"),
         _argument("--yes", action="store_true", help="remove them; without it they are only listed")],
    ),
    _Verb(
        "audit", command.audit, "compare all charges with the sums of grants and packs", "--json",
    ),
    _Verb(
        "backup", command.backup, "write a verified copy", "quota-copy.lmdb",
        [_argument("file", type=Path, metavar="FILE")],
    ),
)  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line, with a parser for each command of _VERBS and for each of their groups."""
    parser = argparse.ArgumentParser(
        prog="python -m quota",
        description="Accounts, keys, credits and counters. Works while servers run.",
        epilog=f"{_EXAMPLE} account create --plan free",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"societes {VERSION}")
    state = os.environ.get("SOCIETES_STATE")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(state) if state else None,
        help="the --state folder of the servers (or the variable SOCIETES_STATE)",
    )
    parser.add_argument(
        "--quota",
        metavar="URL",
        type=_store_address,
        default=os.environ.get("SOCIETES_QUOTA", open_store.LMDB),
        help="the --quota of the servers, if not the default (or the variable SOCIETES_QUOTA)",
    )
    top = parser.add_subparsers(required=True, metavar="COMMAND")
    groups = {"": top}
    for verb in _VERBS:
        group_name, _, command_name = verb.words.rpartition(" ")
        example = f"{verb.words} {verb.example}"
        if group_name not in groups:
            group = _add_parser(top, group_name, _GROUP_HELP[group_name], example)
            groups[group_name] = group.add_subparsers(required=True, metavar="COMMAND")
        verb_parser = _add_parser(groups[group_name], command_name, verb.about, example)
        for names, options in verb.arguments:
            verb_parser.add_argument(*names, **options)
        verb_parser.add_argument("--json", action="store_true", help="print JSON")
        verb_parser.set_defaults(command=verb.run)
    return parser


def _add_parser(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    example: str,
) -> argparse.ArgumentParser:
    """Add the parser of a command, or of a group of commands."""
    return group.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"{_EXAMPLE} {example}",
        allow_abbrev=False,
    )


def run() -> int:
    """Run the command of this process: `python -m quota` and `societes-quota`."""
    logging.disable(logging.WARNING)  # warnings about the settings of Redis are for servers' logs
    return main()


if __name__ == "__main__":
    raise SystemExit(run())
