"""Objections of persons, in a server that is running."""

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


def named(word: str) -> list[Company]:
    """Companies of one generation, which have its name."""
    return [company("FR", f"{word}{number}", f"{word} numéro {number}") for number in range(3)]


def test_a_generation_that_is_withdrawn_is_served_no_more(tmp_path: Path) -> None:
    """A person has objected. Before: `version=` gave the values, and open files of changes had them, for days"""

    async def scenario() -> None:
        world.publish(tmp_path, named("Un"))
        published = CurrentGeneration(tmp_path)
        published.start()
        new = world.publish(tmp_path, named("Deux"))
        await published.refresh()
        with published.lease() as before:
            assert before.id == new
            old = str(published.status.previous)
            assert before.at_version(old).id == old
            (step,) = (step for step in before.steps[old] if step.after == new)
            assert before.changes(step, "FR").identifiers([0]) == ["Un0"]

        forgetting.forget(tmp_path, {"FR": {"Un0": None}})
        publication.keep_published(tmp_path)
        await published.refresh()

        with published.lease() as after:
            assert after.id == new
            assert published.status.previous is None
            with pytest.raises(ApiError, match="version_expiree"):
                after.at_version(old)
            (step,) = (step for step in after.steps[old] if step.after == new)
            changes = after.changes(step, "FR")
            _, _, change = next(one for one in changes.changes() if one[1] == "Un0")
            assert tuple(change.details["nom"]) == ("—", None)
        assert not (tmp_path / old).exists()
        with pytest.raises(GenerationError):
            publication.rollback(tmp_path, old)
        published.close()

    asyncio.run(scenario())
