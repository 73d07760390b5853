"""The headcount bands of INSEE in words.

Codes are those of `tranche_effectif` (§2.1), the same in all countries.
"""

from typing import Final

_THIN: Final = "\u202f"  # narrow no-break space

# The minimum and the maximum of each band.
BANDS: Final = {
    "00": (0, 0), "01": (1, 2), "02": (3, 5), "03": (6, 9), "11": (10, 19), "12": (20, 49),
    "21": (50, 99), "22": (100, 199), "31": (200, 249), "32": (250, 499), "41": (500, 999),
    "42": (1_000, 1_999), "51": (2_000, 4_999), "52": (5_000, 9_999), "53": (10_000, None),
}  # fmt: skip


def band(code: str | None, lang: str) -> str | None:
    """A band in words; an unknown code is returned as it is.

    >>> band("12", "en"), band("53", "fr"), band("00", "fr")
    ('20–49', '10\u202f000 et plus', '0')
    """
    if code not in BANDS:
        return code
    least, most = BANDS[code]
    low = _number(least, lang)
    if most is None:
        return f"{low} {'et plus' if lang == 'fr' else 'and more'}"
    return low if least == most else f"{low}–{_number(most, lang)}"


def _number(value: int, lang: str) -> str:
    return f"{value:,}".replace(",", _THIN if lang == "fr" else ",")
