"""Objections of persons, in a running server."""

import asyncio
from pathlib import Path

import pytest

from serve.contract.errors import ApiError
from serve.generation.current_generation import CurrentGeneration
from shards.changes import forgetting
from shards.errors import GenerationError
from shards.generations import publication
from tests import world
from tests.world import Company, company


def make_companies(word: str) -> list[Company]:
    """Three French companies of a generation; the word begins their names and identifiers."""
    return [company("FR", f"{word}{number}", f"{word} numéro {number}") for number in range(3)]


def test_a_withdrawn_generation_is_not_served(tmp_path: Path) -> None:
    """A person has objected. Fixed: `version=` and open files of changes kept the values for days"""

    async def withdraw_and_refresh() -> None:
        """Erase a company, which withdraws the previous generation, and compare leases before and after."""
        world.publish(tmp_path, make_companies("Un"))
        current = CurrentGeneration(tmp_path)
        current.start()
        current_id = world.publish(tmp_path, make_companies("Deux"))
        await current.refresh()
        with current.lease() as lease_before:
            assert lease_before.id == current_id
            withdrawn = str(current.status.previous)
            assert lease_before.pinned_to(withdrawn).id == withdrawn
            (step,) = (step for step in lease_before.steps[withdrawn] if step.after == current_id)
            assert lease_before.changes(step, "FR").identifiers([0]) == ["Un0"]

        forgetting.forget(tmp_path, {"FR": {"Un0": None}})
        publication.keep_published(tmp_path)
        await current.refresh()

        with current.lease() as lease_after:
            assert lease_after.id == current_id
            assert current.status.previous is None
            with pytest.raises(ApiError, match="version_expiree"):
                lease_after.pinned_to(withdrawn)
            (step,) = (step for step in lease_after.steps[withdrawn] if step.after == current_id)
            changes = lease_after.changes(step, "FR")
            _, _, change = next(row for row in changes.changes() if row[1] == "Un0")
            assert tuple(change.details["nom"]) == ("—", None)
        assert not (tmp_path / withdrawn).exists()
        with pytest.raises(GenerationError):
            publication.rollback(tmp_path, withdrawn)
        current.close()

    asyncio.run(withdraw_and_refresh())
