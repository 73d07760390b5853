"""Manifests that were edited, and files that are not manifests."""

from pathlib import Path

import orjson
import pytest

from shards.errors import CorruptError
from shards.generations import manifest
from tests.shards.two_publications import EARLIER
from tests.world import publish


def test_a_file_that_is_not_a_manifest_has_no_counts() -> None:
    assert manifest.counts(b"{") == manifest.counts(b"[]") == manifest.counts(b'{"counts":1}') == {}


def test_an_edited_manifest_does_not_match_its_name(tmp_path: Path) -> None:
    path = tmp_path / publish(tmp_path, EARLIER) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    document["total"] += 1

    with pytest.raises(CorruptError, match="does not match the digest in its name"):
        manifest.load(orjson.dumps(document), path)
