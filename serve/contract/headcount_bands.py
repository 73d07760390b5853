"""The headcount bands of INSEE in words.

Codes are those of `tranche_effectif` (§2.1), the same in all countries.
"""

from serve.contract import notation
from shards.codec.bands import INSEE


def band(code: str | None, lang: str) -> str | None:
    """A band in words; an unknown code is returned as it is.

    >>> band("12", "en"), band("53", "fr"), band("00", "fr")
    ('20–49', '10\u202f000 et plus', '0')
    """
    if code is None or code not in INSEE:
        return code
    least, most = INSEE[code]
    low = notation.whole(least, lang)
    if most is None:
        return f"{low} {'et plus' if lang == 'fr' else 'and more'}"
    return low if least == most else f"{low}–{notation.whole(most, lang)}"
