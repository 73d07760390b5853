"""The file that a shard is written to, where the system refuses it."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from shards.writing.lmdb_writer import open_writer


@pytest.fixture
def few_addresses() -> Iterator[None]:
    """A limit of address space, as `ulimit -v` sets it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("few_addresses")
def test_a_limit_of_address_space_is_no_lack_of_disk_space(tmp_path: Path) -> None:
    refused = pytest.raises(OSError, match=r"EE\.shard cannot be written: .*64 GiB .*ulimit -v")
    with refused as said, open_writer(tmp_path / "EE.shard"):
        pass

    assert "disk" not in str(said.value)
    assert list(tmp_path.iterdir()) == []
