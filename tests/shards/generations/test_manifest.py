"""Manifests that are edited, or are none."""

from pathlib import Path

import orjson
import pytest

from shards.errors import CorruptError
from shards.generations import manifest
from tests.shards.two_publications import FOUND
from tests.world import publish


def test_counts_of_what_is_no_manifest_are_none() -> None:
    assert manifest.counts(b"{") == manifest.counts(b"[]") == manifest.counts(b'{"counts":1}') == {}


def test_a_manifest_that_was_edited_no_longer_fits_its_name(tmp_path: Path) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    document["total"] += 1

    with pytest.raises(CorruptError, match="does not say what its name"):
        manifest.load(orjson.dumps(document), path)
