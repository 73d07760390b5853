"""The file of a shard, if the system refuses to map it."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from shards.writing.lmdb_writer import open_writer


@pytest.fixture
def address_limit() -> Iterator[None]:
    """A limit of address space, as `ulimit -v` sets it."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    # 16 GiB, less than the map of a shard that is written.
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.usefixtures("address_limit")
def test_the_error_for_a_limit_of_address_space_does_not_name_the_disk(tmp_path: Path) -> None:
    refusal = pytest.raises(OSError, match=r"EE\.shard cannot be written: .*64 GiB .*ulimit -v")
    with refusal as error, open_writer(tmp_path / "EE.shard"):
        pass

    assert "disk" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
