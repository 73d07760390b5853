"""GET /api/v1/repartition, compared with the oracle (X3)."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.contract import parameters
from serve.request import reader
from shards.search.distribution import DIMENSIONS
from tests import oracle
from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, write_input
from tests.serve import parameter_strategies
from tests.serve.client import Server, run_server
from tests.serve.features.search.test_filters import Filters
from tests.serve.parameter_reading import NAMES
from tests.serve.world import COMPANIES, LISTS

# The value of an answer for a code of the oracle: the slug of a sector, the name of a sub-sector.
LABELS = {sector.code: sector.slug for sector in LISTS.secteurs} | {
    sub_sector.code: sub_sector.sous_secteur for sub_sector in LISTS.sous_secteurs
}
# Dimensions with so many values that `limite` applies.
LIMITED_DIMENSIONS = ("nace", "forme", "ville")


def distribution_of(server: Server, **params: str) -> Any:
    """The answer of the route."""
    reply = server.ask("/api/v1/repartition", params=params)
    assert reply.status == 200, reply.body
    return reply.json


def expected_counts(
    dimension: str, companies: list[Any], limit: int
) -> list[tuple[str | None, int]]:
    """The values of a dimension and their companies as the oracle counts them, named as in an answer of the API.

    The oracle has codes of sectors and keys of towns; sectors with the same label are added up. The companies without
    a value are last, as None.
    """
    counts, _, without_value = oracle.distribution(
        companies, dimension, limit if dimension in LIMITED_DIMENSIONS else None
    )
    if dimension == "ville":
        counts = [
            (oracle.spelling(COMPANIES, town), companies_of_value)
            for town, companies_of_value in counts
        ]
    if dimension in ("secteur", "sous_secteur"):
        merged: dict[str, int] = {}
        for code, companies_of_value in counts:
            merged[LABELS[code]] = merged.get(LABELS[code], 0) + companies_of_value
        counts = sorted(merged.items(), key=lambda pair: (-pair[1], pair[0]))
    return [*counts, *([(None, without_value)] if without_value else [])]


@given(
    parameter_strategies.searches(),
    st.sets(st.sampled_from(sorted(DIMENSIONS)), min_size=1, max_size=3),
    st.integers(1, 4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_counts_match_the_oracle(
    server: Server, filters: Filters, dimensions: set[str], limit: int
) -> None:
    """X3, in combination with all filters"""
    params = {name: text for name, text in filters.items() if name != "tri"}
    body = distribution_of(server, par=",".join(dimensions), limite=str(limit), **params)
    query = reader.read(list(params.items()), parameters.SEARCH, NAMES).query
    companies = oracle.search(COMPANIES, query)

    assert body["total"] == len(companies)
    assert set(body["repartitions"]) == dimensions
    assert set(body["autres"]) == dimensions.intersection(LIMITED_DIMENSIONS)
    assert ("ids_inconnus" in body) == ("ids" in params)
    for name, entries in body["repartitions"].items():
        assert [(entry["valeur"], entry["n"]) for entry in entries] == expected_counts(
            name, companies, limit
        )
        assert sum(entry["n"] for entry in entries) + body["autres"].get(name, 0) == body["total"]
        assert all(list(entry) == ["valeur", "libelle", "libelle_en", "n"] for entry in entries)
        assert all(entry["libelle"] and entry["libelle_en"] for entry in entries)


@pytest.mark.parametrize("dimension", ["pays", "secteur", "forme", "etat", "ville"])
def test_a_value_is_accepted_by_its_filter(server: Server, dimension: str) -> None:
    """X3"""
    entries = distribution_of(server, par=dimension, limite="200")["repartitions"][dimension]
    counts = {entry["valeur"]: entry["n"] for entry in entries if entry["valeur"]}

    assert len(counts) > 1
    for valeur, companies in counts.items():
        assert server.search(**{dimension: valeur})["total"] == companies, valeur


def test_keys_are_in_the_order_of_the_extension(server: Server) -> None:
    """X3"""
    body = distribution_of(
        server, par="ville, etat ,pays,etat", ids="AT:1,FR:552100554", pays="FR,AT"
    )

    assert list(body) == [
        "total", "repartitions", "autres", "pays_sans_donnees", "ids_inconnus"
    ]  # fmt: skip
    assert list(body["repartitions"]) == ["pays", "etat", "ville"]
    assert (body["pays_sans_donnees"], body["ids_inconnus"]) == (["AT"], ["AT:1"])
    assert body["repartitions"]["pays"] == [
        {"valeur": "FR", "libelle": "France", "libelle_en": "France", "n": 1}
    ]


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({}, "par"),
        ({"par": " , "}, "par"),
        ({"par": "pays,region"}, "par"),
        ({"par": "pays", "limite": "0"}, "limite"),
        ({"par": "pays", "limite": "x"}, "limite"),
        ({"par": "pays", "ca_min": "x"}, "ca_min"),
    ],
)
def test_a_wrong_value_is_named(server: Server, params: dict[str, str], wrong: str) -> None:
    """§7"""
    reply = server.ask("/api/v1/repartition", params=params)

    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert reply.json["parametre"] == wrong
    assert wrong != "par" or reply.json["valeurs"] == list(DIMENSIONS)


def test_a_count_costs_a_call_and_a_304_costs_nothing(server: Server) -> None:
    """X0.6, G8: also a HEAD, and a conditional request for another count"""
    customer = server.customer("free")
    path = "/api/v1/repartition?par=etat,ville"
    first_reply = server.ask(path, headers=customer.headers)
    conditional = {**customer.headers, "If-None-Match": first_reply.headers["ETag"]}
    unchanged = server.ask(path, headers=conditional)
    head_reply = server.ask(path, headers=customer.headers, method="HEAD")
    other_reply = server.ask(f"{path}&limite=1", headers=conditional)

    assert [reply.status for reply in (first_reply, unchanged, head_reply, other_reply)] == [
        200,
        304,
        200,
        200,
    ]
    used = [
        int(reply.headers["X-Quota-Used"])
        for reply in (first_reply, unchanged, head_reply, other_reply)
    ]
    assert [calls - used[0] for calls in used] == [0, 0, 1, 2]  # only the 304 is free
    assert {reply.headers.get("X-Credits-Used", "0") for reply in (first_reply, other_reply)} == {
        "0"
    }


def test_an_expired_version_is_409_and_an_invalid_key_is_401(server: Server) -> None:
    """G10, A1"""
    gone = server.ask("/api/v1/repartition?par=pays&version=0123456789abcdef")
    refused = server.ask("/api/v1/repartition?par=pays", headers={"Authorization": "Bearer x"})

    assert (gone.status, gone.json["erreur"]["code"]) == (409, "version_expiree")
    assert (refused.status, refused.json["total"]) == (401, len(COMPANIES))


@pytest.mark.parametrize("dimension", ["ville", "forme"])
def test_a_value_with_a_bar_or_a_backslash_is_accepted_by_its_filter(
    tmp_path: Path, dimension: str
) -> None:
    """X3, B15 of the audit: `|` separates the items of a list, so the server must escape it in a value."""
    texts = ["A|B", "A", "B", "A\\", "A\\|B", "C\\\\D"]
    rows = [
        company("EE", str(number), "Õun", **{dimension: text})
        for number, text in enumerate(texts, 1)
    ]
    run_build(tmp_path, write_input(tmp_path / "in", rows, []))
    with run_server(tmp_path / "data") as server:
        distribution = server.ask("/api/v1/repartition", params={"par": dimension}).json
        totals = {
            entry["valeur"]: server.ask(
                "/api/v1/societes", params={dimension: entry["valeur"]}
            ).json["total"]
            for entry in distribution["repartitions"][dimension]
        }

    # Towns that differ only in punctuation have one entry, so there can be fewer entries than texts.
    assert len(totals) >= 3
    assert totals == {
        entry["valeur"]: entry["n"] for entry in distribution["repartitions"][dimension]
    }
