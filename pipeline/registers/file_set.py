"""The files of one import as a set: all parts of one edition, and no file of changes.

Registers say in the names of files, and in their heads, that there are several parts (`part1_7`), of which day they
are, and that a file has only the changes since another (`intra-day`, `ExtractType update`). An import needs the whole.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from pipeline.canonical import InputError
from pipeline.registers import file_date, packing

_PART: Final = re.compile(
    r"(?<![a-z])(?:(?:part|partie|teil|chunk)[-_ ]?0*(\d{1,3})(?:[-_ ]?(?:of|sur|von|de)[-_ ]?|[-_])"
    r"|(?<!\d)0*(\d{1,3})[-_ ]?(?:of|sur|von)[-_ ]?)0*(\d{1,3})(?!\d|[-_ ]*[a-z])",  # "5 of 22 columns" is no part
    re.IGNORECASE,
)
# Words by which registers and people call a file of changes; a word of a longer name is no mark.
_CHANGES: Final = re.compile(
    r"(?<![a-z])(delta|intra-?day|last-?(?:day|week|month)|updates?|inserts?|deletes?|incremental|diff|changes|flux"
    r"|mutations|oppdateringer)(?![a-z])",
    re.IGNORECASE,
)


def check(files: Sequence[Path], *, is_whole: bool) -> None:
    """Hold the files of an import to the marks in their names.

    Args:
        is_whole: whether the import replaces the whole table of a register, as one of companies does; filings of
            several days add up.

    Raises:
        InputError: a part is missing, files are of two editions, or one has changes alone.
    """
    names = {name: file.name for file in files for name in _names(file)}
    if is_whole:
        for name, file in names.items():
            if mark := _CHANGES.search(name):
                raise InputError(
                    f"{file}{_member(name, file)} has changes alone, by its name ({mark[1]}); give the whole file of"
                    " the register, or rename the file if it is whole"
                )
        _refuse_two_editions(names)
    _refuse_missing_parts(names)


def _names(file: Path) -> Iterator[str]:
    """The name of a file, and those of the members of a zip."""
    yield file.name
    if packing.is_zip(file):
        with packing.open_zip(file) as archive:
            yield from (PurePosixPath(info.filename).name for info in packing.entries(archive))


def _member(name: str, file: str) -> str:
    return "" if name == file else f": {name}"


def _refuse_missing_parts(names: Mapping[str, str]) -> None:
    parts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in names:
        if found := _PART.search(name):
            number, count = int(found[1] or found[2]), int(found[3])
            parts[_without_digits(name[: found.start()]), count].add(number)
    for (series, count), there in parts.items():
        if missing := sorted(set(range(1, count + 1)) - there):
            raise InputError(
                f"{series.strip('-_ ') or 'the file'}: part {', '.join(map(str, missing))} of {count} is missing;"
                " give all parts of one edition"
            )


def _refuse_two_editions(names: Mapping[str, str]) -> None:
    """Refuse files that are named alike but for their dates, and parts of several dates."""
    editions: dict[str, dict[str, str]] = defaultdict(dict)
    for name, file in names.items():
        if day := file_date.in_name(name):
            editions[_without_digits(_PART.sub("", name))].setdefault(day, file)
    for days in editions.values():
        if len(days) > 1:
            first, last = min(days), max(days)
            raise InputError(
                f"{days[first]} is of {first}, {days[last]} of {last}: two editions of one file; give the files of one"
            )


def _without_digits(name: str) -> str:
    """A name without its dates and numbers, by which the files of a series differ."""
    return re.sub(r"\d", "", name).lower()
