"""Format 5, entry by entry: keys and values of a small shard as they were when it was promised."""

from pathlib import Path

import zstandard

from shards import format
from shards.search.reader import Shard
from tests import golden
from tests.shards.search.test_reader import LINES
from tests.world import company, write_shard

FOUND = [
    company("EE", "10000018", "Ännchen & Söhne «OÜ»", division="62", groupe="62.0", ca_eur=1e6,
            effectif=3, date_creation="2024-02-29", capital_eur=2500.0, score=80,
            site_web="https://aennchen.ee", email="info@aennchen.ee"),
    company("EE", "10000024", "001 Kinnisvara OÜ", division="62", groupe="62.0", ca_eur=-0.5),
    company("EE", "10000127", "Łódź", division="62", date_creation="1999"),
    company("EE", "80000497", "«»", score=5),
]  # fmt: skip


def test_every_entry_of_a_shard_is_as_in_format_5(tmp_path: Path) -> None:
    write_shard(tmp_path / "EE.shard", "EE", FOUND, comptes={"10000024": LINES})

    with Shard(tmp_path / "EE.shard") as shard:
        lines = [
            f"{table.decode()} {_key(table, key)} {_value(table, bytes(value)).hex(' ')}"
            for table in format.TABLES
            for key, value in shard.items(table)
        ]

    golden.check(f"shard-{format.FORMAT_VERSION}.txt", "\n".join(lines) + "\n")


def _key(table: bytes, key: bytes) -> str:
    binary = table in (format.RECORD, format.COMPTES)
    return key.hex() if binary else key.decode()


def _value(table: bytes, value: bytes) -> bytes:
    """Compressed values are compared by what is in them: a new zstd may pack them better."""
    if table == format.RECORD:
        value = format.ZSTD_MAGIC + value
    if table in (format.RECORD, format.COMPTES):
        return zstandard.ZstdDecompressor().decompress(value)
    return value
