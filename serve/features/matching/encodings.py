"""Encodings of the files that people send: detected from a byte-order mark, else from the bytes.

A file that can be UTF-16 or UTF-8 is read as such. Otherwise the one-byte code page with the best score is used: bytes
above 127 should be letters inside words. Windows-1252 wins a tie. Czech in windows-1250 may be read as windows-1252, so
the visitor can choose the encoding. Pure.
"""

import codecs
import re
from typing import Final, NamedTuple

from serve.contract import errors
from serve.contract.errors import ApiError

# The encodings that a visitor can choose, by their names on the page; the values are the names in Python.
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
# The code pages that are tried for a file that is not Unicode; of equal scores the first one wins.
_CODE_PAGES: Final = ("Windows-1252", "Windows-1250", "Windows-1251", "Windows-1257")
# The first bytes of a file with a byte order mark, and its encoding.
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_SAMPLE: Final = 1 << 16  # bytes at the beginning of a file, from which the code page is detected
# The first bytes of files that are not text, with the error message for each.
_REFUSED_FILES: Final = (
    (b"PK\x03\x04", errors.text("un_classeur")),
    (b"\xd0\xcf\x11\xe0", errors.text("un_classeur_xls")),
    (b"%PDF", errors.text("un_pdf")),
)
# Signs of a wrong code page: Icelandic letters, a grave accent that Italian has only at the end of words,
# three accented letters in a row, a capital after a small letter, a word in two scripts.
_UNLIKELY_LETTERS: Final = {
    "Windows-1252": re.compile(r"[ÞþÐð]|[ìòùÈÌÒÙ](?=[^\W\d_])"),
    "Windows-1251": re.compile(r"[a-zA-Z](?=[Ѐ-ӿ])|(?<=[Ѐ-ӿ])[a-zA-Z]"),
}
_THREE_ACCENTS: Final = re.compile(r"(?:(?![\d_Ѐ-ӿ])[^\W\x00-\x7f]){3}")
_INNER_CAPITAL: Final = re.compile(r"[a-zà-öø-ÿ](?=[À-ÖØ-Þ])")
# Characters that no text has.
_CONTROL: Final = re.compile("[\0-\x08\x0e-\x1f\x7f\ufffe\uffff]")


class DecodedText(NamedTuple):
    """A text and the name of its original encoding."""

    text: str
    encoding: str


def decode_file(raw: bytes, chosen: str = "") -> DecodedText:
    """Decode a file.

    Args:
        chosen: a name of `CHOICES`, or "" to detect the encoding.

    Raises:
        ApiError: 400: the file is not text, or is not in the chosen encoding.

    >>> decode_file("Żabka".encode("utf-16")).encoding, decode_file("Société".encode("cp1252"))
    ('UTF-16', DecodedText(text='Société', encoding='Windows-1252'))
    >>> decode_file("Хлеб".encode("cp1251")), decode_file("Spółka Łódź".encode("cp1250")).encoding
    (DecodedText(text='Хлеб', encoding='Windows-1251'), 'Windows-1250')
    """
    for signature, why in _REFUSED_FILES:
        if raw.startswith(signature):
            raise ApiError("corps_invalide", why)
    name = chosen or _detect(raw)
    if name not in CHOICES:
        choices = ", ".join(CHOICES)
        raise errors.invalid_parameter(
            "encodage", "inconnu_admis", shown=repr(name[:50]), known=choices
        )
    try:
        text = raw.decode(CHOICES[name]) if chosen else _decode(raw, name)
    except UnicodeDecodeError as error:
        raise ApiError("corps_invalide", "autre_encodage", place=error.start, name=name) from error
    if control := _CONTROL.search(text):
        code = f"U+{ord(control[0]):04X}"
        raise ApiError("corps_invalide", "caractere_refuse", place=control.start() + 1, shown=code)
    return DecodedText(text.removeprefix("\ufeff"), name)


def _detect(raw: bytes) -> str:
    """The name of the encoding of a file: UTF-16 or UTF-8 if it can be, else the most likely code page."""
    for mark, name in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return name
    if _order_without_mark(raw):
        return "UTF-16"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return _detect_code_page(raw)
    return "UTF-8"


def _order_without_mark(raw: bytes) -> str:
    """The byte order of UTF-16 without a byte-order mark, or "".

    In UTF-16, the high byte of each separator and Latin letter is zero. Other text has no zero bytes.
    """
    sample = raw[:2_000]
    for order, high_bytes in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if len(sample) >= 4 and high_bytes.count(0) > 0.4 * len(high_bytes):
            return order
    return ""


def _decode(raw: bytes, name: str) -> str:
    """Decode a file in a detected encoding; the codec of UTF-16 needs the byte order if there is no mark."""
    has_mark = any(raw.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS)
    order = "" if has_mark or name != "UTF-16" else _order_without_mark(raw)
    return raw.decode(order or CHOICES[name])


def _detect_code_page(raw: bytes) -> str:
    """The code page with the best score; the first one wins a tie."""
    sample = raw[:_SAMPLE]

    def score(name: str) -> int:
        """How well a code page fits, the higher the better.

        Letters above 127 add 1; other characters above 127 subtract 2, signs of a wrong code page 3.
        """
        text = sample.decode(CHOICES[name], "replace")
        letters = sum(1 if char.isalpha() else -2 for char in text if ord(char) > 127)
        patterns = [_THREE_ACCENTS, _INNER_CAPITAL, *filter(None, [_UNLIKELY_LETTERS.get(name)])]
        return letters - 3 * sum(len(pattern.findall(text)) for pattern in patterns)

    return max(_CODE_PAGES, key=score)
