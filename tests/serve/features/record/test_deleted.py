"""Deleted companies: the 404 has the date of the deletion (X19)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from shards.changes import forgetting
from shards.generations import change_steps
from tests.serve import conformance, world
from tests.serve.client import Server, run_server
from tests.serve.surfaces.mcp.client import call_tool
from tests.world import Company, company

OTHER_COMPANIES: Final = [
    company("EE", "10000018", "Õun OÜ"),
    company("FR", "552100554", "Été SA"),
    company("UK", "00944111", "Łódź Ltd"),
]
DELETED: Final = company("EE", "10-0000.19", "Žabka OÜ")
RECORD_PATH: Final = "/api/v1/societes/EE/10000019"
LOOK_UP_PATH: Final = "/api/v1/identifiants/10000019"
DELETION_DAY: Final = "2022-01-15"  # the date of the source of Estonia


def publish_generations(data: Path, *generations: Sequence[Company]) -> None:
    """Publish generations with these companies besides OTHER_COMPANIES, one after the other."""
    for companies in generations:
        world.publish(data, [*OTHER_COMPANIES, *companies], {})


def not_found_body(server: Server, path: str, **headers: str) -> dict[str, Any]:
    """The body of a 404, checked against its declared schema."""
    reply = server.ask(path, headers=headers)
    assert (reply.status, reply.code) == (404, "societe_introuvable"), reply.body
    conformance.check("GET", path, 404, reply.headers, reply.body)
    document: dict[str, Any] = reply.json
    return document


def assert_never_existed(server: Server) -> None:
    """Check that the 404 of DELETED is like that of an unknown number: it names the company with the nearest number."""
    for path in (RECORD_PATH, LOOK_UP_PATH):
        body = not_found_body(server, path)
        assert "supprimee_le" not in body
        assert body["proches"] == ["EE:10000018"]
        assert "depuis" not in body["erreur"]["message"]


@pytest.mark.parametrize("later_count", [0, 1, 3])
def test_the_404_of_a_deleted_company_has_the_date_of_its_deletion(
    tmp_path: Path, later_count: int
) -> None:
    """The server knows the date even several generations later, when the generation with the company is removed."""
    later_generations = [[company("FR", f"{number}", "Œuvre")] for number in range(later_count)]
    publish_generations(tmp_path, [DELETED], [], *later_generations)

    with run_server(tmp_path) as server:
        bodies = [
            not_found_body(server, path)
            for path in (RECORD_PATH, LOOK_UP_PATH, f"{RECORD_PATH}/comparables")
        ]
        english = not_found_body(server, RECORD_PATH, **{"Accept-Language": "en"})
        for body in bodies:
            assert body["proches"] == []
            assert body["supprimee_le"] == DELETION_DAY
            assert f"plus dans les données depuis {DELETION_DAY}" in body["erreur"]["message"]
        assert f"not been in the data since {DELETION_DAY}" in english["erreur"]["message"]
        # No company ever had these numbers.
        assert "supprimee_le" not in not_found_body(server, "/api/v1/societes/EE/10000017")
        assert "supprimee_le" not in not_found_body(server, "/api/v1/societes/FR/10000019")


def test_the_page_and_the_tool_say_that_a_company_was_deleted(tmp_path: Path) -> None:
    publish_generations(tmp_path, [DELETED], [])

    with run_server(tmp_path) as server:
        page = server.ask("/societes/EE/10000019", headers={"Accept": "text/html"})
        assert page.status == 404
        assert f"plus dans les données depuis {DELETION_DAY}" in page.body.decode()
        reply = call_tool(server, "read_company", {}, iso2="EE", id="10000019")
        assert reply["isError"]
        assert f"has not been in the data since {DELETION_DAY}" in reply["content"][0]["text"]
        assert "Try one of" not in reply["content"][0]["text"]


def test_a_company_that_came_back_is_served(tmp_path: Path) -> None:
    publish_generations(tmp_path, [DELETED], [], [{**DELETED, "nom": "Žabka AS"}])

    with run_server(tmp_path) as server:
        assert server.ask(RECORD_PATH).status == 200


def test_a_number_that_was_deleted_twice_has_a_date(tmp_path: Path) -> None:
    """Two companies whose numbers have the same digits were deleted one after the other."""
    namesake = company("EE", "10000019", "Ω OÜ")
    publish_generations(tmp_path, [DELETED, namesake], [DELETED], [])

    with run_server(tmp_path) as server:
        assert not_found_body(server, RECORD_PATH)["supprimee_le"] == DELETION_DAY


def test_a_number_of_two_deleted_companies_needs_its_exact_spelling(tmp_path: Path) -> None:
    publish_generations(tmp_path, [DELETED, company("EE", "1-0000019", "Ω OÜ")], [])

    with run_server(tmp_path) as server:
        assert_never_existed(server)
        assert (
            not_found_body(server, "/api/v1/societes/EE/1-0000019")["supprimee_le"] == DELETION_DAY
        )


def test_a_deleted_number_of_two_countries_needs_its_country(tmp_path: Path) -> None:
    publish_generations(tmp_path, [DELETED, company("FR", "10000019", "Ça SA")], [])

    with run_server(tmp_path) as server:
        assert "supprimee_le" not in not_found_body(server, LOOK_UP_PATH)
        assert not_found_body(server, RECORD_PATH)["supprimee_le"] == DELETION_DAY
        # A company counts as deleted on the date of the source of its country, here France.
        assert (
            not_found_body(server, "/api/v1/societes/FR/10000019")["supprimee_le"] == "2026-11-01"
        )


@pytest.mark.parametrize("fields", [None, ("nom",)])
def test_a_deleted_company_that_objected_is_like_an_unknown_number(
    tmp_path: Path, fields: tuple[str, ...] | None
) -> None:
    """The history of changes forgets all fields of the company (None), or only its name"""
    publish_generations(tmp_path, [DELETED], [])
    with run_server(tmp_path) as server:
        assert not_found_body(server, RECORD_PATH)["supprimee_le"]

    assert forgetting.forget(tmp_path, {"EE": {DELETED["id"]: fields}})

    with run_server(tmp_path) as server:
        assert_never_existed(server)


def test_without_readable_changes_a_deleted_company_is_like_an_unknown_number(
    tmp_path: Path,
) -> None:
    publish_generations(tmp_path, [DELETED], [])
    [folder] = change_steps.folders(tmp_path)
    file = folder / "EE.changes"
    content = file.read_bytes()

    with run_server(tmp_path) as server:
        # The file is cut short, overwritten after its header of 48 bytes, empty, or only a part of its header.
        for damaged_content in (
            content[:-900],
            content[:48] + b"\xff" * (len(content) - 48),
            b"",
            content[:20],
        ):
            file.unlink()
            file.write_bytes(damaged_content)
            assert_never_existed(server)
        file.unlink()
        assert_never_existed(server)
        shutil.rmtree(folder)
        assert_never_existed(server)
    with run_server(tmp_path) as server:
        assert_never_existed(server)
