"""Encodings of files that people have: a mark or the bytes tell, else the code page with the most letters.

What can be UTF-16 or UTF-8 is taken as such. Of the code pages of one byte, that one is taken in which the bytes above
127 are letters within words, the western one first: Czech in windows-1250 may pass for it, so the visitor may choose.
Pure.
"""

import codecs
import re
from typing import Final, NamedTuple

from serve.contract import errors
from serve.contract.errors import ApiError

# The encodings that may be chosen: the name that is shown, and that of Python.
CHOICES: Final = {
    "UTF-8": "utf-8-sig",
    "UTF-16": "utf-16",
    "Windows-1252": "cp1252",
    "Windows-1250": "cp1250",
    "Windows-1251": "cp1251",
    "Windows-1257": "cp1257",
    "ISO-8859-15": "iso8859-15",
    "ISO-8859-2": "iso8859-2",
    "Mac OS Roman": "mac-roman",
}
_CODE_PAGES: Final = ("Windows-1252", "Windows-1250", "Windows-1251", "Windows-1257")
_MARKS: Final = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_JUDGED: Final = 1 << 16  # bytes above 127 that decide on a code page
# Beginnings of files that are no text, and why they cannot be used.
_OTHER_FILES: Final = (
    (b"PK\x03\x04", errors.text("un_classeur")),
    (b"\xd0\xcf\x11\xe0", errors.text("un_classeur_xls")),
    (b"%PDF", errors.text("un_pdf")),
)
# What only a wrong code page makes of words: Icelandic letters, an accent that Italian has at the end of words alone,
# three accents in a row, a capital after a small letter, a word of two scripts.
_UNLIKELY: Final = {
    "Windows-1252": re.compile(r"[ÞþÐð]|[ìòùÈÌÒÙ](?=[^\W\d_])"),
    "Windows-1251": re.compile(r"[a-zA-Z](?=[Ѐ-ӿ])|(?<=[Ѐ-ӿ])[a-zA-Z]"),
}
_THREE_ACCENTS: Final = re.compile(r"(?:(?![\d_Ѐ-ӿ])[^\W\x00-\x7f]){3}")
_INNER_CAPITAL: Final = re.compile(r"[a-zà-öø-ÿ](?=[À-ÖØ-Þ])")
_CONTROL: Final = re.compile("[\0-\x08\x0e-\x1f\x7f\ufffe\uffff]")


class DecodedText(NamedTuple):
    """A text and the name of the encoding that it was in."""

    text: str
    encoding: str


def decode_file(raw: bytes, chosen: str = "") -> DecodedText:
    """The text of a file.

    Args:
        chosen: a name of `CHOICES`, or "" to find out.

    Raises:
        ApiError: 400: it is no text, or not in the chosen encoding.

    >>> decode_file("Żabka".encode("utf-16")).encoding, decode_file("Société".encode("cp1252"))
    ('UTF-16', DecodedText(text='Société', encoding='Windows-1252'))
    >>> decode_file("Хлеб".encode("cp1251")), decode_file("Spółka Łódź".encode("cp1250")).encoding
    (DecodedText(text='Хлеб', encoding='Windows-1251'), 'Windows-1250')
    """
    for begins, why in _OTHER_FILES:
        if raw.startswith(begins):
            raise ApiError("corps_invalide", why)
    name = chosen or _detect(raw)
    if name not in CHOICES:
        known = ", ".join(CHOICES)
        shown = repr(name[:50])
        raise errors.invalid_parameter("encodage", "inconnu_admis", shown=shown, known=known)
    try:
        text = raw.decode(CHOICES[name]) if chosen else _decode(raw, name)
    except UnicodeDecodeError as error:
        raise ApiError("corps_invalide", "autre_encodage", place=error.start, name=name) from error
    if control := _CONTROL.search(text):
        shown = f"U+{ord(control[0]):04X}"
        raise ApiError("corps_invalide", "caractere_refuse", place=control.start() + 1, shown=shown)
    return DecodedText(text.removeprefix("\ufeff"), name)


def _detect(raw: bytes) -> str:
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return name
    if _order_without_mark(raw):
        return "UTF-16"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return _code_page(raw)
    return "UTF-8"


def _order_without_mark(raw: bytes) -> str:
    """The byte order of UTF-16 that has no mark: every other byte of a separator or a Latin letter is zero."""
    head = raw[:2_000]
    for order, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= 4 and zeros.count(0) > 0.4 * len(zeros):
            return order
    return ""


def _decode(raw: bytes, name: str) -> str:
    marked = any(raw.startswith(mark) for mark, _ in _MARKS)
    order = "" if marked or name != "UTF-16" else _order_without_mark(raw)
    return raw.decode(order or CHOICES[name])


def _code_page(raw: bytes) -> str:
    """The first code page with the most letters."""
    high = raw[:_JUDGED]

    def letters(name: str) -> int:
        text = high.decode(CHOICES[name], "replace")
        score = sum(1 if char.isalpha() else -2 for char in text if ord(char) > 127)
        patterns = [_THREE_ACCENTS, _INNER_CAPITAL, *filter(None, [_UNLIKELY.get(name)])]
        return score - 3 * sum(len(pattern.findall(text)) for pattern in patterns)

    return max(_CODE_PAGES, key=letters)
