"""The names in CURRENT."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from shards.__main__ import main
from shards.errors import CorruptError
from shards.generations import pointer
from tests.world import Company, company, publish

COMPANIES = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def more_companies(count: int) -> list[Company]:
    """COMPANIES and `count` companies of France."""
    return [*COMPANIES, *(company("FR", f"{number}", "Œuvre") for number in range(count))]


@pytest.mark.parametrize("text", ["{first}/", "../{data}/{first}", "{path}", "", ".", "{first}x"])
def test_only_the_name_of_a_generation_is_accepted(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a path in CURRENT, the next build would not find the generation."""
    data = tmp_path / "data"
    first, second = publish(data, COMPANIES), publish(data, more_companies(3))
    wrong = text.format(first=first, data=data.name, path=data / first)

    assert main(["rollback", str(data), "--to", wrong]) == 1
    assert "is not a name of a generation" in capsys.readouterr().err
    assert main(["diff", str(data), wrong, second]) == 1
    assert "is not a name of a generation" in capsys.readouterr().err
    current = pointer.read(data)
    assert current is not None
    assert current.generations == (second, first)


def test_a_pointer_with_a_path_is_refused(tmp_path: Path) -> None:
    name = publish(tmp_path, COMPANIES)
    path = tmp_path / pointer.CURRENT
    path.write_bytes(path.read_bytes().replace(name.encode(), f"../{name}".encode()))

    with pytest.raises(CorruptError, match="16 hexadecimal digits"):
        pointer.read(tmp_path)


def test_the_time_of_the_last_mirror_round_is_valid_or_none(tmp_path: Path) -> None:
    moment = datetime(2026, 11, 24, 3, 4, 5, tzinfo=UTC)
    assert pointer.last_mirror_time(tmp_path) is None

    pointer.note_mirrored(tmp_path, moment)

    assert (tmp_path / ".mirrored").read_bytes() == b"2026-11-24T03:04:05+00:00\n"
    assert pointer.last_mirror_time(tmp_path) == moment
    for damaged in (b"", b"\xff", b"2026-11", b"2026-11-24T03:04:05\n"):
        (tmp_path / ".mirrored").write_bytes(damaged)
        assert pointer.last_mirror_time(tmp_path) is None
