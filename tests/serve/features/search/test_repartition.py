"""GET /api/v1/repartition over a socket, against the oracle (X3)."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.contract import parameters
from serve.request import reader
from shards.search.distribution import DIMENSIONS
from tests import oracle
from tests.pipeline.builds import run
from tests.pipeline.rows import company, write
from tests.serve import parameter_strategies
from tests.serve.asking import NAMES
from tests.serve.client import Served, serving
from tests.serve.features.search.test_filters import Given
from tests.serve.world import COMPANIES, LISTS

WORDS = {one.code: one.slug for one in LISTS.secteurs} | {
    one.code: one.sous_secteur for one in LISTS.sous_secteurs
}
LIMITED = ("nace", "forme", "ville")


def count(served: Served, **given: str) -> Any:
    reply = served.ask("/api/v1/repartition", params=given)
    assert reply.status == 200, reply.body
    return reply.json


def expected(dimension: str, companies: list[Any], limit: int) -> list[tuple[str | None, int]]:
    """The counts of the oracle, each value as the wire names it."""
    shown, _, null = oracle.distribution(
        companies, dimension, limit if dimension in LIMITED else None
    )
    if dimension == "ville":
        shown = [(oracle.spelling(COMPANIES, town), n) for town, n in shown]
    if dimension in ("secteur", "sous_secteur"):
        merged: dict[str, int] = {}
        for code, n in shown:
            merged[WORDS[code]] = merged.get(WORDS[code], 0) + n
        shown = sorted(merged.items(), key=lambda one: (-one[1], one[0]))
    return [*shown, *([(None, null)] if null else [])]


@given(
    parameter_strategies.searches(),
    st.sets(st.sampled_from(sorted(DIMENSIONS)), min_size=1, max_size=3),
    st.integers(1, 4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_counts_are_those_of_the_oracle(
    served: Served, found: Given, dimensions: set[str], limit: int
) -> None:
    """X3, in combination with all filters"""
    asked = {name: text for name, text in found.items() if name != "tri"}
    body = count(served, par=",".join(dimensions), limite=str(limit), **asked)
    query = reader.read(list(asked.items()), parameters.SEARCH, NAMES).query
    companies = oracle.search(COMPANIES, query)

    assert body["total"] == len(companies)
    assert set(body["repartitions"]) == dimensions
    assert set(body["autres"]) == dimensions.intersection(LIMITED)
    assert ("ids_inconnus" in body) == ("ids" in asked)
    for name, entries in body["repartitions"].items():
        assert [(one["valeur"], one["n"]) for one in entries] == expected(name, companies, limit)
        assert sum(one["n"] for one in entries) + body["autres"].get(name, 0) == body["total"]
        assert all(list(one) == ["valeur", "libelle", "libelle_en", "n"] for one in entries)
        assert all(one["libelle"] and one["libelle_en"] for one in entries)


@pytest.mark.parametrize("dimension", ["pays", "secteur", "forme", "etat", "ville"])
def test_a_value_is_what_the_filter_takes(served: Served, dimension: str) -> None:
    """X3"""
    entries = count(served, par=dimension, limite="200")["repartitions"][dimension]
    found = {one["valeur"]: one["n"] for one in entries if one["valeur"]}

    assert len(found) > 1
    for valeur, n in found.items():
        assert served.search(**{dimension: valeur})["total"] == n, valeur


def test_keys_come_in_the_order_of_the_extension(served: Served) -> None:
    """X3"""
    body = count(served, par="ville, etat ,pays,etat", ids="AT:1,FR:552100554", pays="FR,AT")

    assert list(body) == [
        "total", "repartitions", "autres", "pays_sans_donnees", "ids_inconnus"
    ]  # fmt: skip
    assert list(body["repartitions"]) == ["pays", "etat", "ville"]
    assert (body["pays_sans_donnees"], body["ids_inconnus"]) == (["AT"], ["AT:1"])
    assert body["repartitions"]["pays"] == [
        {"valeur": "FR", "libelle": "France", "libelle_en": "France", "n": 1}
    ]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, "par"),
        ({"par": " , "}, "par"),
        ({"par": "pays,region"}, "par"),
        ({"par": "pays", "limite": "0"}, "limite"),
        ({"par": "pays", "limite": "x"}, "limite"),
        ({"par": "pays", "ca_min": "x"}, "ca_min"),
    ],
)
def test_a_wrong_value_is_named(served: Served, given: dict[str, str], wrong: str) -> None:
    """§7"""
    reply = served.ask("/api/v1/repartition", params=given)

    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert reply.json["parametre"] == wrong
    assert wrong != "par" or reply.json["valeurs"] == list(DIMENSIONS)


def test_it_costs_a_call_and_nothing_when_it_is_known(served: Served) -> None:
    """X0.6, G8"""
    customer = served.customer("free")
    path = "/api/v1/repartition?par=etat,ville"
    first = served.ask(path, headers=customer.headers)
    known = {**customer.headers, "If-None-Match": first.headers["ETag"]}
    second = served.ask(path, headers=known)
    head = served.ask(path, headers=customer.headers, method="HEAD")
    other = served.ask(f"{path}&limite=1", headers=known)

    assert [one.status for one in (first, second, head, other)] == [200, 304, 200, 200]
    used = [int(one.headers["X-Quota-Used"]) for one in (first, second, head, other)]
    assert [n - used[0] for n in used] == [0, 0, 1, 2]
    assert {one.headers.get("X-Credits-Used", "0") for one in (first, other)} == {"0"}


def test_an_old_version_and_a_wrong_key_are_refused_as_elsewhere(served: Served) -> None:
    """G10, A1"""
    gone = served.ask("/api/v1/repartition?par=pays&version=0123456789abcdef")
    refused = served.ask("/api/v1/repartition?par=pays", headers={"Authorization": "Bearer x"})

    assert (gone.status, gone.json["erreur"]["code"]) == (409, "version_expiree")
    assert (refused.status, refused.json["total"]) == (401, len(COMPANIES))


@pytest.mark.parametrize("dimension", ["ville", "forme"])
def test_a_value_with_a_bar_or_a_backslash_is_what_its_filter_takes(
    tmp_path: Path, dimension: str
) -> None:
    """X3, B15 of the audit: `|` separates the items of a list."""
    texts = ["A|B", "A", "B", "A\\", "A\\|B", "C\\\\D"]
    rows = [company("EE", str(n), "Õun", **{dimension: text}) for n, text in enumerate(texts, 1)]
    run(tmp_path, write(tmp_path / "in", rows, []))
    with serving(tmp_path / "data") as server:
        counted = server.ask("/api/v1/repartition", params={"par": dimension}).json
        totals = {
            entry["valeur"]: server.ask(
                "/api/v1/societes", params={dimension: entry["valeur"]}
            ).json["total"]
            for entry in counted["repartitions"][dimension]
        }

    assert len(totals) >= 3
    assert totals == {entry["valeur"]: entry["n"] for entry in counted["repartitions"][dimension]}
