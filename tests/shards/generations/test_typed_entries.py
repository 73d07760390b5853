"""Documents of a generation with right digests and values of wrong types."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from shards.errors import CorruptError, ShardError
from shards.generations import manifest, reference, register_sources
from tests.shards.two_publications import EARLIER
from tests.world import publish

# Tried in the place of each value of a document.
VALUES_OF_OTHER_TYPES: Final[tuple[Any, ...]] = (None, True, -1, 1.5, "x", [], {}, [1], {"x": 1})
IMPORT: Final = {
    "source": "ee-rik", "table": "companies", "registre": "Äriregister", "adresse": "https://a.ee", "licence": "CC BY",
    "licence_adresse": "https://b.ee", "attribution": "RIK", "attribution_en": "RIK", "complement": ["FR"],
    "fichiers": [{"nom": "a.csv", "date": "2026-01", "origine_date": "nom", "octets": 5, "blake3": "0" * 64}],
    "importe": "2026-11-01T00:00:00+00:00", "lignes": 7,
}  # fmt: skip


def value_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a document: the keys and indexes that lead to the value."""
    yield path
    items = (
        value if isinstance(value, dict) else dict(enumerate(value if type(value) is list else ()))
    )
    for name, child in items.items():
        yield from value_paths(child, (*path, name))


def accepted_values(
    document: Any, read: Callable[[Any], object], empty: Collection[tuple[Any, ...]] = ()
) -> list[tuple[tuple[Any, ...], Any]]:
    """The wrong values that `read` accepts: each with the path where it replaces a value of the document.

    Null and another type may replace each other anywhere; at the paths `empty`, an empty value is allowed.
    """
    accepted = []
    for path in value_paths(document):
        for wrong in VALUES_OF_OTHER_TYPES:
            original = document
            for name in path:
                original = original[name]
            # A negative number and these filled containers are wrong even in the place of their own type.
            is_allowed = (
                type(original) is type(wrong) and wrong != -1 and wrong not in ([1], {"x": 1})
            )
            if is_allowed or None in (original, wrong) or (path in empty and not wrong):
                continue
            try:
                read(_replace_value(document, path, wrong))
            except (AttributeError, KeyError, TypeError, ValueError, ShardError):
                continue
            accepted.append((path, wrong))
    return accepted


def _replace_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a path."""
    if not path:
        return value
    changed = document.copy()
    changed[path[0]] = _replace_value(document[path[0]], path[1:], value)
    return changed


def test_no_value_of_another_type_is_read_from_the_reference_lists(tmp_path: Path) -> None:
    """L1: a page that shows such a value would fail"""
    folder = tmp_path / publish(tmp_path, EARLIER)
    document = orjson.loads((folder / "reference.json").read_bytes())
    for name, field in (("secteurs", "code"), ("sous_secteurs", "secteur")):
        document[name] = [entry for entry in document[name] if entry[field] == "62"]

    read = reference.load(orjson.dumps(document))

    assert orjson.loads(reference.dump(read)) == document
    empty = [("secteurs",), ("sous_secteurs",), ("pays",), *((("counts", c)) for c in read.counts)]
    assert (
        accepted_values(document, lambda changed: reference.load(orjson.dumps(changed)), empty)
        == []
    )


def test_no_value_of_another_type_is_read_from_the_sources() -> None:
    document = {"EE": [IMPORT]}

    read = register_sources.load(orjson.dumps(document))

    assert orjson.loads(register_sources.dump(read)) == document
    empty = [(), ("EE",), ("EE", 0, "complement"), ("EE", 0, "fichiers")]
    assert (
        accepted_values(
            document, lambda changed: register_sources.load(orjson.dumps(changed)), empty
        )
        == []
    )


def test_no_value_of_another_type_is_read_from_a_manifest_that_has_the_right_name(
    tmp_path: Path,
) -> None:
    """The name of a manifest proves its bytes, not their types"""
    folder = tmp_path / publish(tmp_path, EARLIER)
    document = orjson.loads((folder / "manifest.json").read_bytes())

    def load(changed: Any) -> object:
        """Read a changed manifest under the name of its digest."""
        renamed = {**changed, "generation": manifest.name_of(orjson.dumps(changed))}
        return manifest.load(orjson.dumps(renamed), folder)

    assert load(document) == manifest.read(folder / "manifest.json")
    empty = [("sources",), ("files",), ("counts",), ("secteurs",)]
    # `counts` and `secteurs` may have any names, each with a number.
    numbers_by_name = [(("counts",), {"x": 1}), (("secteurs",), {"x": 1})]
    assert [
        path
        for path in accepted_values(document, load, empty)
        if path[0] != ("generation",) and path not in numbers_by_name
    ] == []


def test_a_document_that_fills_the_memory_is_refused_by_its_size_in_the_manifest(
    tmp_path: Path,
) -> None:
    """L1: a mirror and each of its servers would load the document"""
    original = manifest.read(tmp_path / publish(tmp_path, EARLIER) / "manifest.json")
    large = manifest.File(manifest.MOST_DOCUMENT + 1, "0" * 64, "0" * 64)
    files = {**original.files, "quality.json": large}
    packed = manifest.dump(manifest.make(files, (), original.counts, original.secteurs))

    with pytest.raises(CorruptError, match=r"quality\.json of 67108865 bytes, 67108864 at most"):
        manifest.load(packed, tmp_path)


def test_a_manifest_over_the_limit_is_not_read_in_full(tmp_path: Path) -> None:
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)  # a sparse file of 1 TiB, which takes no space on the disk

    with pytest.raises(CorruptError, match="more than 16777216 bytes"):
        manifest.read(tmp_path / "manifest.json")
