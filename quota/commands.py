"""The commands of `python -m quota`: each asks the store and returns what is to be printed."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quota import shown
from quota.effective import effective
from quota.periods import months_before
from quota.plans import Plan
from quota.store import Ledger

Plans = Mapping[str, Plan]
Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]


async def create_account(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A new organisation; its id is what every other command wants."""
    account = await store.create_account(
        options.plan,
        plans,
        now,
        nom=options.nom,
        api_tool=bool(options.api_tool),
        modules=options.modules or (),
    )
    return shown.created(account, plans)


async def show_account(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """One organisation."""
    return shown.account_members(await store.account(options.account), plans)


async def list_accounts(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """All organisations, the oldest first."""
    return [shown.account_members(account, plans) for account in await store.accounts()]


async def set_plan(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Another plan, from the next call on."""
    account = await store.set_plan(
        options.account, options.plan, plans, api_tool=options.api_tool, modules=options.modules
    )
    return shown.account_members(account, plans)


async def create_key(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A new key; the only time that its text is seen."""
    key, text = await store.create_key(options.account, plans, now, label=options.label)
    return {"account": key.account, "key_id": key.id, "key": text}


async def list_keys(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """The keys of an organisation, ended ones too."""
    account = await store.account(options.account)
    return [shown.key_members(key) for key in await store.keys_of(account.id)]


async def revoke_key(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """End a key; the next call with it is refused."""
    return shown.key_members(await store.revoke_key(options.key_id, now))


async def add_credits(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """A pack of credits, after what the month grants."""
    left = await store.add_credits(options.account, options.count)
    return {"account": options.account, "ajoutes": options.count, "packs": left}


async def usage(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """What is used and left, under the limits that its keys are served with."""
    account = await store.account(options.account)
    plan = effective(account, plans)
    return shown.usage_members(account, plan, await store.usage(account.id, plan, now))


async def compact(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Drop the counters of old months."""
    before = months_before(now, options.keep_months)
    return {"before": before, "rows": store.compact(before)}


async def backup(store: Ledger, options: Namespace, plans: Plans, now: datetime) -> Answer:
    """Write a verified copy."""
    store.backup(options.file)
    return {"file": str(options.file), "bytes": options.file.stat().st_size}
