"""The date of a published file in its name, and the last day that counts as one.

Registers put the day, the month or both into the names of their files, and people into those of their downloads:
`BasicCompanyData-2026-11-01-part1_7.zip`, `20240505-0000-gleif-goldencopy-lei2.json.zip`,
`KboOpenData_0127_2024_09_Full.zip`, `Accounts_Monthly_Data-January2024.zip`.
"""

import calendar
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from pipeline.registers.register import FileDate

_TIME_ZONES: Final = timedelta(days=1)
_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
# A date stands between characters that are no digits; a month between separators, for a longer number has any digits.
_DAY: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_MONTH: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.](0[1-9]|1[0-2])(?!\d)")
_WORDS: Final = re.compile(rf"({'|'.join(_MONTHS)})[-_ ]?((?:19|20)\d\d)(?!\d)", re.IGNORECASE)


def in_name(name: str) -> str | None:
    """The day or the month in the name of a file; None if there is none, or it is in the future.

    >>> in_name("BasicCompanyData-2026-11-01-part1_7.zip"), in_name("lei2-intra-day-20240505-0000.json")
    ('2026-11-01', '2024-05-05')
    >>> in_name("KboOpenData_0127_2024_09_Full.zip"), in_name("Accounts_Monthly_Data-January2024.zip")
    ('2024-09', '2024-01')
    >>> in_name("enheter_2024_54col.csv"), in_name("krs_odpis_0000413516.json"), in_name("a-20241399.csv")
    (None, None, None)
    """
    return next((day for day in _dates(name) if day <= latest_date()), None)


def without_date(name: str) -> str:
    """A name without the dates in it.

    >>> without_date("odpis_0000413516_2022-03-08.json")
    'odpis_0000413516_.json'
    """
    for pattern in (_DAY, _MONTH, _WORDS):
        name = pattern.sub("", name)
    return name


def _dates(name: str) -> Iterator[str]:
    for year, _, month, day in _DAY.findall(name):
        with suppress(ValueError):  # digits that are no date
            yield date(int(year), int(month), int(day)).isoformat()
    if found := _MONTH.search(name):
        yield f"{found[1]}-{found[2]}"
    if found := _WORDS.search(name):
        yield f"{found[2]}-{_MONTHS[found[1].lower()]:02}"


def of_file(file: Path) -> FileDate:
    """The date in the name of `file`, if there is one.

    A single filing (uk-accounts) is named after the closing day of its accounts, so its name does not count.
    """
    is_filing = file.suffix in (".html", ".xhtml", ".xbrl")
    told = None if is_filing else in_name(file.name)
    return FileDate(told, "nom") if told else FileDate(None, "inconnue")


def latest_date() -> str:
    """The last day that counts as a date (ISO 8601): today, and a day for the time zones ahead of UTC."""
    return (datetime.now(UTC).date() + _TIME_ZONES).isoformat()
