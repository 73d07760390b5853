"""Where a cell may lead: a cell of the workbook, or a page of the web. Pure functions."""

import re
from typing import Final

# Excel's own limits: links of a sheet, and characters of the target of one.
MOST: Final = 65_530
LONGEST: Final = 2_079

_PAGE: Final = re.compile(r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")


def within(name: str, cell: str = "A1") -> str:
    """The target of a link to a cell of the sheet `name`.

    >>> within("FR l'un")
    "internal:'FR l''un'!A1"
    """
    doubled = name.replace("'", "''")
    return f"internal:'{doubled}'!{cell}"


def is_page(url: str) -> bool:
    """Can `url` be the target of a link: http or https, spelt as RFC 3986 has it, short enough?

    >>> is_page("https://ariregister.rik.ee/est/company/10000018"), is_page("http://a b")
    (True, False)
    """
    return len(url) <= LONGEST and _PAGE.fullmatch(url) is not None
