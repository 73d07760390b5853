"""Checks of the files of one import together: all parts of one edition, and no file that contains only changes.

The name or the first bytes (the head) of a file state its part (`part1_7`), its date, and whether the file contains
only the changes since another file (`intra-day`, `ExtractType update`). An import needs complete files. `edition` reads
the heads; this module reads the names.

People also keep a second copy of a download (`a (1).csv`), or the unpacked file next to its zip. Nobody knows which of
the two is right, so the import is refused with the names of both files.

Names are less certain than heads. A word such as `delta` says that a file contains only changes if it stands by itself,
so `exchanges.csv` and `Delta Holding.csv` pass. A name that also says `full` passes, too.

File names contain the day, the month or both:
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

# The number of a part and the number of parts in a name, such as `part1_7` or `2 of 5`.
_PART: Final = re.compile(
    r"(?<![a-z])(?:(?:parte?|partie|teil|deel|del|chunk)[-_ ]?0*(\d{1,3})(?:[-_ ]?(?:of|sur|von|van|av|de)[-_ ]?|[-_])"
    r"|(?<!\d)0*(\d{1,3})[-_ ]?(?:of|sur|von)[-_ ]?)0*(\d{1,3})(?!\d|[-_ ]*[a-z])",  # "5 of 22 columns" is not a part
    re.IGNORECASE,
)
# Words for a file of changes, in the languages of the registers.
_CHANGE: Final = (
    r"delta|intra-?day|last-?(?:day|week|month)|updates?|inserts?|deletes?|incremental|diff|changes|flux|mutations"
    r"|oppdateringer|endringer|mutaties|wijzigingen|änderungen|aenderungen|ändringar|muutokset|muudatused|izmaiņas"
    r"|pakeitimai|zmiany|změny|zmeny|zmene|promjene|variazioni|modificari|mises?-?à-?jour"
)
# A word for changes that is not a part of a longer word; `actual`, because Slovakia calls its daily batches so.
_CHANGES: Final = re.compile(
    rf"(?<![^\W\d_])(?<!last[-_ ])({_CHANGE})(?![^\W\d_])|^(actual)_(?=\d{{4}}-)", re.IGNORECASE
)
# Words for a complete file: with such a word, a name passes even if it contains a word for changes.
_COMPLETE_WORD: Final = re.compile(
    r"(?<![^\W\d_])(?:full|complete|complet|whole|entire|snapshot|init|alle|voll)(?![^\W\d_])",
    re.IGNORECASE,
)
# Words for changes that names of companies and towns contain, too.
_WORDS_IN_PROPER_NAMES: Final = ("Delta", "Flux", "DELTA", "FLUX")
# Suffixes that browsers and download managers give to a file until its download is complete.
_UNFINISHED: Final = (".part", ".partial", ".crdownload", ".download", ".tmp", ".opdownload")
# Marks of a second copy by browsers, desktops, editors and wget: before the suffix, at the end, or at the beginning.
_COPY_WORD: Final = "(?:copy|copie|kopie|kopia|kopi|copia|cópia|koopia|kopio|kópia|kopija)"
_COPY: Final = re.compile(
    rf"(?: ?\(\d{{1,3}}\)|[ _-]{{1,3}}{_COPY_WORD}(?:[ _-]?\d{{1,3}}| ?\(\d{{1,3}}\))?)(?=\.[\w.]{{1,20}}$|$)"
    rf"|(?:~|\.bak|\.orig|\.old|\.\d{{1,2}})$|^{_COPY_WORD} (?:\(\d{{1,3}}\) )?(?:of|de|von|van|av|af|di|da) ",
    re.IGNORECASE,
)
# Names of notes in a zip; copies of notes are not refused.
_NOTES: Final = re.compile(r"read.?me|lisez|liesmich|licen[cs]e|terms|notice", re.IGNORECASE)
# Answers of APIs, one file per company or day: such files with the same name in several folders are not copies.
_API_ANSWER_SUFFIX: Final = ".json"
# The fewest digits of a number that identifies a company; shorter numbers in a name are run numbers or times of day.
_FEWEST_ID_DIGITS: Final = 6
_TIME_ZONES: Final = timedelta(days=1)  # the most by which a local date can be ahead of UTC
# English name of a month -> its number.
_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
# A date is not part of a longer number. A month needs a separator, because six digits can be any number.
_DAY_IN_NAME: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_MONTH_IN_NAME: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.](0[1-9]|1[0-2])(?!\d)")
_MONTH_WORD_IN_NAME: Final = re.compile(
    rf"({'|'.join(_MONTHS)})[-_ ]?((?:19|20)\d\d)(?!\d)", re.IGNORECASE
)


def check(files: Sequence[Path], *, is_whole: bool) -> None:
    """Check what the names of the files of an import say about their parts, dates, changes and copies.

    Args:
        is_whole: whether the import replaces the complete table of a register, as an import of companies does. If not,
            as for filings of several days, files of several dates and files of changes are accepted.

    Raises:
        InputError: a part is missing, files are of two editions, or a file contains only changes, is half downloaded,
            or is a copy of another.
    """
    for path in files:
        if path.suffix.lower() in _UNFINISHED:
            raise InputError(f"{path} is an unfinished download; download it again")
    names = {name: file.name for file in files for name in _file_and_member_names(file)}
    if is_whole:
        for name, file in names.items():
            if change_word := _word_for_changes(name):
                raise InputError(
                    f"{file}{_member_suffix(name, file)} has only changes, according to its name ({change_word});"
                    " give the complete file of the register, or rename this file if it is complete"
                )
        refuse_two_editions(
            (_series(_PART.sub("", name)), name, file) for name, file in names.items()
        )
    _refuse_missing_parts(names)
    for _, message in copies(files, is_whole=is_whole):
        raise InputError(message)


def _word_for_changes(name: str) -> str | None:
    """The word in a file name that says that the file contains only changes; None without such a word."""
    stem = unicodedata.normalize("NFC", packing.stem(Path(name)))
    if _COMPLETE_WORD.search(stem):
        return None
    for match in _CHANGES.finditer(stem):
        if not _is_proper_name(stem, match):
            return match[0]
    return None


def _is_proper_name(stem: str, match: re.Match[str]) -> bool:
    """Whether `match` is part of the name of a company or a town: a word of _WORDS_IN_PROPER_NAMES next to others."""
    before, after = stem[: match.start()], stem[match.end() :]
    is_in_phrase = re.search(r"\w $", before) or re.search(r"^ [^\W\d_]", after)
    return match[0] in _WORDS_IN_PROPER_NAMES and bool(is_in_phrase)


def _file_and_member_names(file: Path) -> Iterator[str]:
    """The name of a file, and the names of its members if it is a zip."""
    yield file.name
    if packing.is_zip(file):
        with packing.open_zip(file) as archive:
            yield from (PurePosixPath(info.filename).name for info in packing.entries(archive))


class _PublishedFile(NamedTuple):
    """A given file or a member of a given zip, and a function that returns its CRC-32."""

    file: Path
    name: str
    size: int
    crc: Callable[[], int]

    def __str__(self) -> str:
        """The file with its folder, and the member after a colon, for messages."""
        return (
            f"{self.file.parent.name}/{self.file.name}{_member_suffix(self.name, self.file.name)}"
        )


def copies(files: Sequence[Path], *, is_whole: bool) -> Iterator[tuple[Path, str]]:
    """The files that are copies of an earlier file, each with the text of an error.

    A copy has the same content, or a name that differs only as browsers and desktops name copies. Two zips of filings
    can contain the same filing, so the members of such zips are not compared.

    Args:
        is_whole: whether the files are a complete register, not single filings.
    """
    published = list(_published_files(files, has_members=is_whole))
    sizes = Counter(file.size for file in published)
    by_name: dict[str, _PublishedFile] = {}
    by_content: dict[tuple[int, int], _PublishedFile] = {}
    for file in published:
        if file.size and sizes[file.size] > 1:
            first_with_content = by_content.setdefault((file.size, file.crc()), file)
            if first_with_content is not file:
                yield (
                    file.file,
                    f"{first_with_content} and {file} have the same content; give one of them",
                )
                continue
        name_of_original = packing.unpacked_name(
            _COPY.sub("", unicodedata.normalize("NFC", file.name))
        )
        first_with_name = by_name.setdefault(name_of_original.lower(), file)
        # Single filings, and answers of an API, can have the same name in several folders.
        can_share_name = first_with_name.name == file.name and (
            not is_whole or name_of_original.endswith(_API_ANSWER_SUFFIX)
        )
        if first_with_name is not file and not can_share_name:
            yield (
                file.file,
                f"{first_with_name} and {file} are two copies of one file, according to their names; give one, or"
                " rename them if both are parts",
            )


def _published_files(files: Sequence[Path], *, has_members: bool) -> Iterator[_PublishedFile]:
    """The given files, and if `has_members` the files inside given zips; notes, such as a readme, are left out."""
    for file in files:
        yield _PublishedFile(file, file.name, file.stat().st_size, partial(_crc_of_file, file))
        if has_members and packing.is_zip(file):
            with packing.open_zip(file) as archive:
                for info in packing.entries(archive):
                    if not _NOTES.search(info.filename):
                        name = PurePosixPath(info.filename).name
                        crc = partial(int, info.CRC)
                        yield _PublishedFile(file, name, info.file_size, crc)


def _crc_of_file(file: Path) -> int:
    """The CRC-32 of the bytes of a file, as a zip states it for its members."""
    crc = 0
    with file.open("rb") as stream:
        while chunk := stream.read(packing.CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def _member_suffix(name: str, file: str) -> str:
    """The text `: name` for a member of the zip `file`; empty for the file itself."""
    return "" if name == file else f": {name}"


def _refuse_missing_parts(names: Mapping[str, str]) -> None:
    """Raise InputError if names such as `part1_7` do not cover all parts of a series."""
    parts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in names:
        if match := _PART.search(name):
            number, count = int(match[1] or match[2]), int(match[3])
            parts[_series(name[: match.start()]), count].add(number)
    for (series, count), present_parts in parts.items():
        if missing := sorted(set(range(1, count + 1)) - present_parts):
            raise InputError(
                f"{series.strip('-_ ') or 'the file'}: part {', '.join(map(str, missing))} of {count} is missing;"
                " give all parts of one edition"
            )


def refuse_two_editions(files: Iterable[tuple[str, str, str]]) -> None:
    """Refuse files of one series with different dates in their names.

    Args:
        files: the series, the name and the given file of each published file.

    Raises:
        InputError: two files of a series have different dates.
    """
    editions: dict[str, dict[str, str]] = defaultdict(dict)
    for series, name, file in files:
        if day := date_in_name(name) or date_in_name(file):
            editions[series].setdefault(day, file)
    for days in editions.values():
        if len(days) > 1:
            first_day, last_day = min(days), max(days)
            raise InputError(
                f"{days[first_day]} is of {first_day}, {days[last_day]} of {last_day}: two editions of one file; "
                "give the files of one edition"
            )


def _series(name: str) -> str:
    """The series of a file: its name without dates and short numbers; files of a series differ only in these."""
    undated_name = strip_dates(name)
    return re.sub(rf"(?<!\d)\d{{1,{_FEWEST_ID_DIGITS - 1}}}(?!\d)", "", undated_name).lower()


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


def strip_dates(name: str) -> str:
    """A name without the dates in it.

    >>> strip_dates("odpis_0000413516_2022-03-08.json")
    'odpis_0000413516_.json'
    """
    for pattern in (_DAY_IN_NAME, _MONTH_IN_NAME, _MONTH_WORD_IN_NAME):
        name = pattern.sub("", name)
    return name


def _dates_in_name(name: str) -> Iterator[str]:
    """The days in the name of a file, then its months in digits and in words, as ISO text."""
    for year, _, month, day in _DAY_IN_NAME.findall(name):
        with suppress(ValueError):  # digits that are not a date
            yield date(int(year), int(month), int(day)).isoformat()
    if match := _MONTH_IN_NAME.search(name):
        yield f"{match[1]}-{match[2]}"
    if match := _MONTH_WORD_IN_NAME.search(name):
        yield f"{match[2]}-{_MONTHS[match[1].lower()]:02}"


def date_of_file(file: Path) -> FileDate:
    """The date in the name of `file`, if there is one.

    The date in the name of a single filing (uk-accounts) is ignored, because it is the closing day of the accounts.
    """
    is_filing = file.suffix in (".html", ".xhtml", ".xbrl")
    day = None if is_filing else date_in_name(file.name)
    return FileDate(day, "nom") if day else FileDate(None, "inconnue")


def latest_date() -> str:
    """The latest date that is not in the future (ISO 8601): tomorrow, for the time zones ahead of UTC."""
    return (datetime.now(UTC).date() + _TIME_ZONES).isoformat()
