"""A company that was deleted: the 404 says so, and when (X19)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from shards.changes import forgetting
from shards.generations import change_steps
from tests.serve import conformance, world
from tests.serve.client import Served, serving
from tests.serve.surfaces.mcp.client import call
from tests.world import Company, company

STAYS: Final = [
    company("EE", "10000018", "Õun OÜ"),
    company("FR", "552100554", "Été SA"),
    company("UK", "00944111", "Łódź Ltd"),
]
GONE: Final = company("EE", "10-0000.19", "Žabka OÜ")
PATH: Final = "/api/v1/societes/EE/10000019"
NUMBER: Final = "/api/v1/identifiants/10000019"
DAY: Final = "2022-01-15"  # the date of the source of Estonia


def published(data: Path, *found: Sequence[Company]) -> None:
    """One generation after the other."""
    for companies in found:
        world.publish(data, [*STAYS, *companies], {})


def answer(served: Served, path: str, **headers: str) -> dict[str, Any]:
    """A 404, as it is described."""
    reply = served.ask(path, headers=headers)
    assert (reply.status, reply.code) == (404, "societe_introuvable"), reply.body
    conformance.check("GET", path, 404, reply.headers, reply.body)
    found: dict[str, Any] = reply.json
    return found


def never_there(served: Served) -> None:
    """The neighbour is named, as of a number that nobody ever had."""
    for path in (PATH, NUMBER):
        body = answer(served, path)
        assert "supprimee_le" not in body
        assert body["proches"] == ["EE:10000018"]
        assert "depuis" not in body["erreur"]["message"]


@pytest.mark.parametrize("later", [0, 1, 3])
def test_a_deleted_company_is_said_to_be(tmp_path: Path, later: int) -> None:
    """Also some generations later, of which the older ones are not kept."""
    more = [[company("FR", f"{number}", "Œuvre")] for number in range(later)]
    published(tmp_path, [GONE], [], *more)

    with serving(tmp_path) as served:
        bodies = [answer(served, path) for path in (PATH, NUMBER, f"{PATH}/comparables")]
        english = answer(served, PATH, **{"Accept-Language": "en"})
        for body in bodies:
            assert body["proches"] == []
            assert body["supprimee_le"] == DAY
            assert f"plus dans les données depuis {DAY}" in body["erreur"]["message"]
        assert f"not been in the data since {DAY}" in english["erreur"]["message"]
        # Another number is one that nobody had.
        assert "supprimee_le" not in answer(served, "/api/v1/societes/EE/10000017")
        assert "supprimee_le" not in answer(served, "/api/v1/societes/FR/10000019")


def test_the_page_and_the_tool_say_it_too(tmp_path: Path) -> None:
    published(tmp_path, [GONE], [])

    with serving(tmp_path) as served:
        page = served.ask("/societes/EE/10000019", headers={"Accept": "text/html"})
        assert page.status == 404
        assert f"plus dans les données depuis {DAY}" in page.body.decode()
        told = call(served, "read_company", {}, iso2="EE", id="10000019")
        assert told["isError"]
        assert f"has not been in the data since {DAY}" in told["content"][0]["text"]
        assert "Try one of" not in told["content"][0]["text"]


def test_a_company_that_came_back_is_there(tmp_path: Path) -> None:
    published(tmp_path, [GONE], [], [{**GONE, "nom": "Žabka AS"}])

    with serving(tmp_path) as served:
        assert served.ask(PATH).status == 200


def test_of_several_deletions_the_last_one_is_told(tmp_path: Path) -> None:
    """Also where two companies had the number: the spelling of one of them is asked for."""
    other = company("EE", "10000019", "Ω OÜ")
    published(tmp_path, [GONE, other], [GONE], [])

    with serving(tmp_path) as served:
        assert answer(served, PATH)["supprimee_le"] == DAY


def test_two_companies_with_a_number_are_not_told(tmp_path: Path) -> None:
    published(tmp_path, [GONE, company("EE", "1-0000019", "Ω OÜ")], [])

    with serving(tmp_path) as served:
        never_there(served)
        assert answer(served, "/api/v1/societes/EE/1-0000019")["supprimee_le"] == DAY


def test_a_number_of_two_countries_is_not_told_without_one(tmp_path: Path) -> None:
    published(tmp_path, [GONE, company("FR", "10000019", "Ça SA")], [])

    with serving(tmp_path) as served:
        assert "supprimee_le" not in answer(served, NUMBER)
        assert answer(served, PATH)["supprimee_le"] == DAY
        assert answer(served, "/api/v1/societes/FR/10000019")["supprimee_le"] == "2026-11-01"


@pytest.mark.parametrize("fields", [None, ("nom",)])
def test_a_company_that_objected_was_never_there(
    tmp_path: Path, fields: tuple[str, ...] | None
) -> None:
    published(tmp_path, [GONE], [])
    with serving(tmp_path) as served:
        assert answer(served, PATH)["supprimee_le"]

    assert forgetting.forget(tmp_path, {"EE": {GONE["id"]: fields}})

    with serving(tmp_path) as served:
        never_there(served)


def test_without_files_of_changes_the_neighbours_are_named(tmp_path: Path) -> None:
    published(tmp_path, [GONE], [])
    [folder] = change_steps.folders(tmp_path)
    file = folder / "EE.changes"
    whole = file.read_bytes()

    with serving(tmp_path) as served:
        for broken in (whole[:-900], whole[:48] + b"\xff" * (len(whole) - 48), b"", whole[:20]):
            file.unlink()
            file.write_bytes(broken)
            never_there(served)
        file.unlink()
        never_there(served)
        shutil.rmtree(folder)
        never_there(served)
    with serving(tmp_path) as served:
        never_there(served)
