"""The files of one import as a set: all parts of one edition, and no file of changes.

Registers say in the names of files, and in their heads, that there are several parts (`part1_7`), of which day they
are, and that a file has only the changes since another (`intra-day`, `ExtractType update`). An import needs the whole.
The heads are read with the files (`edition`); here are the names.

People also leave a second copy of a download beside the first, as `a (1).csv`, or the unpacked file beside its zip.
Which of two files holds is unknown, so both are named and refused.

Names say less than heads. A word counts as a mark only by itself: `exchanges.csv` and `Delta Holding.csv` have no
changes, nor has a file that is called full as well.

Registers put the day, the month or both into the names of their files, and people into those of their downloads:
`BasicCompanyData-2026-11-01-part1_7.zip`, `20240505-0000-gleif-goldencopy-lei2.json.zip`,
`KboOpenData_0127_2024_09_Full.zip`, `Accounts_Monthly_Data-January2024.zip`.
"""

import calendar
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from pipeline.canonical import InputError
from pipeline.registers import packing
from pipeline.registers.register import FileDate

_PART: Final = re.compile(
    r"(?<![a-z])(?:(?:parte?|partie|teil|deel|del|chunk)[-_ ]?0*(\d{1,3})(?:[-_ ]?(?:of|sur|von|van|av|de)[-_ ]?|[-_])"
    r"|(?<!\d)0*(\d{1,3})[-_ ]?(?:of|sur|von)[-_ ]?)0*(\d{1,3})(?!\d|[-_ ]*[a-z])",  # "5 of 22 columns" is no part
    re.IGNORECASE,
)
# Words by which registers and people call a file of changes, in the languages of the registers.
_CHANGE: Final = (
    r"delta|intra-?day|last-?(?:day|week|month)|updates?|inserts?|deletes?|incremental|diff|changes|flux|mutations"
    r"|oppdateringer|endringer|mutaties|wijzigingen|änderungen|aenderungen|ändringar|muutokset|muudatused|izmaiņas"
    r"|pakeitimai|zmiany|změny|zmeny|zmene|promjene|variazioni|modificari|mises?-?à-?jour"
)
_CHANGES: Final = re.compile(
    rf"(?<![^\W\d_])(?<!last[-_ ])({_CHANGE})(?![^\W\d_])|^(actual)_(?=\d{{4}}-)", re.IGNORECASE
)  # Slovakia calls its daily batches actual
_WHOLE: Final = re.compile(
    r"(?<![^\W\d_])(?:full|complete|complet|whole|entire|snapshot|init|alle|voll)(?![^\W\d_])",
    re.IGNORECASE,
)
_PROPER: Final = ("Delta", "Flux", "DELTA", "FLUX")
_UNFINISHED: Final = (".part", ".partial", ".crdownload", ".download", ".tmp", ".opdownload")
# Marks of a second copy by browsers, desktops, editors and wget: before the suffix, at the end, or at the beginning.
_COPY_WORD: Final = "(?:copy|copie|kopie|kopia|kopi|copia|cópia|koopia|kopio|kópia|kopija)"
_COPY: Final = re.compile(
    rf"(?: ?\(\d{{1,3}}\)|[ _-]{{1,3}}{_COPY_WORD}(?:[ _-]?\d{{1,3}}| ?\(\d{{1,3}}\))?)(?=\.[\w.]{{1,20}}$|$)"
    rf"|(?:~|\.bak|\.orig|\.old|\.\d{{1,2}})$|^{_COPY_WORD} (?:\(\d{{1,3}}\) )?(?:of|de|von|van|av|af|di|da) ",
    re.IGNORECASE,
)
_NOTES: Final = re.compile(r"read.?me|lisez|liesmich|licen[cs]e|terms|notice", re.IGNORECASE)
_ANSWERS: Final = (
    ".json"  # of APIs: each is of its company, or its day, and folders may have them under one name
)
_IDENTIFIER: Final = 6  # digits of a number that names a company, not a run or a time of the day
_TIME_ZONES: Final = timedelta(days=1)
_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
# A date stands between characters that are no digits; a month between separators, for a longer number has any digits.
_DAY_IN_NAME: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_MONTH_IN_NAME: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.](0[1-9]|1[0-2])(?!\d)")
_WORDS_IN_NAME: Final = re.compile(
    rf"({'|'.join(_MONTHS)})[-_ ]?((?:19|20)\d\d)(?!\d)", re.IGNORECASE
)


def check(files: Sequence[Path], *, is_whole: bool) -> None:
    """Hold the files of an import to the marks in their names.

    Args:
        is_whole: whether the import replaces the whole table of a register, as one of companies does; filings of
            several days add up.

    Raises:
        InputError: a part is missing, files are of two editions, one has changes alone, is half downloaded, or is the
            copy of another.
    """
    for path in files:
        if path.suffix.lower() in _UNFINISHED:
            raise InputError(f"{path} is a download that has not ended; download it again")
    names = {name: file.name for file in files for name in _names(file)}
    if is_whole:
        for name, file in names.items():
            if mark := _mark_of_changes(name):
                raise InputError(
                    f"{file}{_member(name, file)} has changes alone, by its name ({mark}); give the whole file of"
                    " the register, or rename the file if it is whole"
                )
        refuse_two_editions(
            (_series(_PART.sub("", name)), name, file) for name, file in names.items()
        )
    _refuse_missing_parts(names)
    for _, why in copies(files, is_whole=is_whole):
        raise InputError(why)


def _mark_of_changes(name: str) -> str | None:
    stem = unicodedata.normalize("NFC", packing.stem(Path(name)))
    if _WHOLE.search(stem):
        return None
    for mark in _CHANGES.finditer(stem):
        if not _is_proper_name(stem, mark):
            return mark[0]
    return None


def _is_proper_name(stem: str, mark: re.Match[str]) -> bool:
    """Whether the word is of a company or a town: one that may be, in capitals, in a phrase with blanks."""
    before, after = stem[: mark.start()], stem[mark.end() :]
    is_in_phrase = re.search(r"\w $", before) or re.search(r"^ [^\W\d_]", after)
    return mark[0] in _PROPER and bool(is_in_phrase)


def _names(file: Path) -> Iterator[str]:
    """The name of a file, and those of the members of a zip."""
    yield file.name
    if packing.is_zip(file):
        with packing.open_zip(file) as archive:
            yield from (PurePosixPath(info.filename).name for info in packing.entries(archive))


class _PublishedFile(NamedTuple):
    """A given file, or a member of one that is a zip, and a way to read its CRC-32."""

    file: Path
    name: str
    size: int
    crc: Callable[[], int]

    def __str__(self) -> str:
        return f"{self.file.parent.name}/{self.file.name}{_member(self.name, self.file.name)}"


def copies(files: Sequence[Path], *, is_whole: bool) -> Iterator[tuple[Path, str]]:
    """The files with the content of one before them, or whose names differ by the mark of a copy alone; and why.

    Zips of filings may share a filing, so their members are not compared.
    """
    published = list(_published_files(files, has_members=is_whole))
    sizes = Counter(file.size for file in published)
    by_name: dict[str, _PublishedFile] = {}
    by_content: dict[tuple[int, int], _PublishedFile] = {}
    for file in published:
        if file.size and sizes[file.size] > 1:
            same = by_content.setdefault((file.size, file.crc()), file)
            if same is not file:
                yield file.file, f"{same} and {file} have the same content; give one of them"
                continue
        bare = packing.unpacked_name(_COPY.sub("", unicodedata.normalize("NFC", file.name)))
        other = by_name.setdefault(bare.lower(), file)
        is_one_name = other.name == file.name and (not is_whole or bare.endswith(_ANSWERS))
        if other is not file and not is_one_name:
            yield (
                file.file,
                f"{other} and {file} are two copies of one file, by their names; give one of them, or rename them"
                " if both are parts of the whole",
            )


def _published_files(files: Sequence[Path], *, has_members: bool) -> Iterator[_PublishedFile]:
    for file in files:
        yield _PublishedFile(file, file.name, file.stat().st_size, partial(_crc, file))
        if has_members and packing.is_zip(file):
            with packing.open_zip(file) as archive:
                for info in packing.entries(archive):
                    if not _NOTES.search(info.filename):
                        name = PurePosixPath(info.filename).name
                        crc = partial(int, info.CRC)
                        yield _PublishedFile(file, name, info.file_size, crc)


def _crc(file: Path) -> int:
    crc = 0
    with file.open("rb") as stream:
        while chunk := stream.read(packing.CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def _member(name: str, file: str) -> str:
    return "" if name == file else f": {name}"


def _refuse_missing_parts(names: Mapping[str, str]) -> None:
    parts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in names:
        if found := _PART.search(name):
            number, count = int(found[1] or found[2]), int(found[3])
            parts[_series(name[: found.start()]), count].add(number)
    for (series, count), there in parts.items():
        if missing := sorted(set(range(1, count + 1)) - there):
            raise InputError(
                f"{series.strip('-_ ') or 'the file'}: part {', '.join(map(str, missing))} of {count} is missing;"
                " give all parts of one edition"
            )


def refuse_two_editions(files: Iterable[tuple[str, str, str]]) -> None:
    """Refuse files of one series with several dates in their names.

    Args:
        files: the series, the name and the given file of each.

    Raises:
        InputError: two are of several dates.
    """
    editions: dict[str, dict[str, str]] = defaultdict(dict)
    for series, name, file in files:
        if day := date_in_name(name) or date_in_name(file):
            editions[series].setdefault(day, file)
    for days in editions.values():
        if len(days) > 1:
            first, last = min(days), max(days)
            raise InputError(
                f"{days[first]} is of {first}, {days[last]} of {last}: two editions of one file; give the files of one"
            )


def _series(name: str) -> str:
    """A name without its date and small numbers, by which the files of a series differ."""
    bare = without_date(name)
    return re.sub(rf"(?<!\d)\d{{1,{_IDENTIFIER - 1}}}(?!\d)", "", bare).lower()


# -- dates in names ------------------------------------------------------------------


def date_in_name(name: str) -> str | None:
    """The day or the month in the name of a file; None if there is none, or it is in the future.

    >>> date_in_name("BasicCompanyData-2026-11-01-part1_7.zip"), date_in_name("lei2-intra-day-20240505-0000.json")
    ('2026-11-01', '2024-05-05')
    >>> date_in_name("KboOpenData_0127_2024_09_Full.zip"), date_in_name("Accounts_Monthly_Data-January2024.zip")
    ('2024-09', '2024-01')
    >>> date_in_name("enheter_2024_54col.csv"), date_in_name("krs_odpis_0000413516.json")
    (None, None)
    >>> date_in_name("a-20241399.csv") is None
    True
    """
    return next((day for day in _dates_in_name(name) if day <= latest_date()), None)


def without_date(name: str) -> str:
    """A name without the dates in it.

    >>> without_date("odpis_0000413516_2022-03-08.json")
    'odpis_0000413516_.json'
    """
    for pattern in (_DAY_IN_NAME, _MONTH_IN_NAME, _WORDS_IN_NAME):
        name = pattern.sub("", name)
    return name


def _dates_in_name(name: str) -> Iterator[str]:
    for year, _, month, day in _DAY_IN_NAME.findall(name):
        with suppress(ValueError):  # digits that are no date
            yield date(int(year), int(month), int(day)).isoformat()
    if found := _MONTH_IN_NAME.search(name):
        yield f"{found[1]}-{found[2]}"
    if found := _WORDS_IN_NAME.search(name):
        yield f"{found[2]}-{_MONTHS[found[1].lower()]:02}"


def date_of_file(file: Path) -> FileDate:
    """The date in the name of `file`, if there is one.

    A single filing (uk-accounts) is named after the closing day of its accounts, so its name does not count.
    """
    is_filing = file.suffix in (".html", ".xhtml", ".xbrl")
    told = None if is_filing else date_in_name(file.name)
    return FileDate(told, "nom") if told else FileDate(None, "inconnue")


def latest_date() -> str:
    """The last day that counts as a date (ISO 8601): today, and a day for the time zones ahead of UTC."""
    return (datetime.now(UTC).date() + _TIME_ZONES).isoformat()
