"""Documents of a generation whose digests are right, and whose values are not of the types that readers rely on."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from shards.errors import CorruptError, ShardError
from shards.generations import manifest, reference, register_sources
from tests.shards.two_publications import FOUND
from tests.world import publish

WRONG: Final[tuple[Any, ...]] = (None, True, -1, 1.5, "x", [], {}, [1], {"x": 1})
IMPORT: Final = {
    "source": "ee-rik", "table": "companies", "registre": "Äriregister", "adresse": "https://a.ee", "licence": "CC BY",
    "licence_adresse": "https://b.ee", "attribution": "RIK", "attribution_en": "RIK", "complement": ["FR"],
    "fichiers": [{"nom": "a.csv", "date": "2026-01", "origine_date": "nom", "octets": 5, "blake3": "0" * 64}],
    "importe": "2026-11-01T00:00:00+00:00", "lignes": 7,
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a document."""
    yield path
    items = (
        value if isinstance(value, dict) else dict(enumerate(value if type(value) is list else ()))
    )
    for name, part in items.items():
        yield from places(part, (*path, name))


def accepted(
    document: Any, read: Callable[[Any], object], empty: Collection[tuple[Any, ...]] = ()
) -> list[tuple[tuple[Any, ...], Any]]:
    """The places of values of another type than the one there, and these values, with which the document is read.

    Where there is a text or nothing, either may be; at `empty`, an object or array without anything.
    """
    found = []
    for path in places(document):
        for wrong in WRONG:
            was = document
            for name in path:
                was = was[name]
            same = type(was) is type(wrong) and wrong != -1 and wrong not in ([1], {"x": 1})
            if same or None in (was, wrong) or (path in empty and not wrong):
                continue
            try:
                read(_with(document, path, wrong))
            except (AttributeError, KeyError, TypeError, ValueError, ShardError):
                continue
            found.append((path, wrong))
    return found


def _with(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a place."""
    if not path:
        return value
    changed = document.copy()
    changed[path[0]] = _with(document[path[0]], path[1:], value)
    return changed


def test_no_value_of_another_type_is_read_from_the_reference_lists(tmp_path: Path) -> None:
    """L1: a page would fail where it shows it"""
    folder = tmp_path / publish(tmp_path, FOUND)
    document = orjson.loads((folder / "reference.json").read_bytes())
    for name, field in (("secteurs", "code"), ("sous_secteurs", "secteur")):
        document[name] = [one for one in document[name] if one[field] == "62"]

    read = reference.load(orjson.dumps(document))

    assert orjson.loads(reference.dump(read)) == document
    empty = [("secteurs",), ("sous_secteurs",), ("pays",), *((("counts", c)) for c in read.counts)]
    assert accepted(document, lambda one: reference.load(orjson.dumps(one)), empty) == []


def test_no_value_of_another_type_is_read_from_the_sources() -> None:
    document = {"EE": [IMPORT]}

    read = register_sources.load(orjson.dumps(document))

    assert orjson.loads(register_sources.dump(read)) == document
    empty = [(), ("EE",), ("EE", 0, "complement"), ("EE", 0, "fichiers")]
    assert accepted(document, lambda one: register_sources.load(orjson.dumps(one)), empty) == []


def test_no_value_of_another_type_is_read_from_a_manifest_that_has_the_right_name(
    tmp_path: Path,
) -> None:
    """Anybody can give a manifest its name"""
    folder = tmp_path / publish(tmp_path, FOUND)
    document = orjson.loads((folder / "manifest.json").read_bytes())

    def load(changed: Any) -> object:
        named = {**changed, "generation": manifest.name_of(orjson.dumps(changed))}
        return manifest.load(orjson.dumps(named), folder)

    assert load(document) == manifest.read(folder / "manifest.json")
    empty = [("sources",), ("files",), ("counts",), ("secteurs",)]
    numbers_by_name = [(("counts",), {"x": 1}), (("secteurs",), {"x": 1})]
    assert [
        place
        for place in accepted(document, load, empty)
        if place[0] != ("generation",) and place not in numbers_by_name
    ] == []


def test_a_document_that_fills_the_memory_is_refused_by_its_size_in_the_manifest(
    tmp_path: Path,
) -> None:
    """L1: a mirror would load it, and each of its servers"""
    whole = manifest.read(tmp_path / publish(tmp_path, FOUND) / "manifest.json")
    large = manifest.File(manifest.MOST_DOCUMENT + 1, "0" * 64, "0" * 64)
    files = {**whole.files, "quality.json": large}
    packed = manifest.dump(manifest.make(files, (), whole.counts, whole.secteurs))

    with pytest.raises(CorruptError, match=r"quality\.json of 67108865 bytes, 67108864 at most"):
        manifest.load(packed, tmp_path)


def test_of_a_manifest_no_more_is_read_than_one_may_have(tmp_path: Path) -> None:
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)  # sparse

    with pytest.raises(CorruptError, match="more than 16777216 bytes"):
        manifest.read(tmp_path / "manifest.json")
