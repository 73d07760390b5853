"""Other spellings of identifiers and codes, such as those of a spreadsheet.

A spreadsheet or a database writes the code `0101` as `101` or `101.0`, and people write `PFA` as `pfa` or `P.F.A.`. A
declaration compares published values with codes; a value in another spelling would be another value, and a natural
person would not be recognised. So a value that is another spelling of a declared code becomes this code: both have the
same folded text (contract B15), without blanks, the leading zeros of a number and the ending `.0` of a float. A value
with the key of no declared code, or of several, is unchanged.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

import polars as pl

from pipeline.registers.toml import sql
from pipeline.registers.toml.declaration import Declaration
from shards.codec.folding import fold

_FLOAT_ENDING: Final = re.compile(r"^([0-9]+)[.,]0+$")  # `101.0`, or `101,0` of a spreadsheet
# Texts that are longer than a code by more than this factor and as many characters are not compared with it: folding
# all names or numbers of a register takes seconds.
_SPELLING_LENGTH: Final = 3
# Digits, after blanks and the ending `.0` of a float are removed; dots can separate groups of three digits.
_BLANKS: Final = r"\p{Z}+"
_AS_FLOAT: Final = r"^([0-9]+)\.0$"
_DIGITS: Final = r"^[0-9]+$|^[0-9]{1,4}(?:\.[0-9]{3})+$"


def compared_codes(declared: Declaration) -> dict[str, set[str]]:
    """The codes with which the expressions of a declaration compare each column."""
    codes: dict[str, set[str]] = {}
    for text in declared.expressions:
        for column, code in sql.compared_codes(text):
            codes.setdefault(column, set()).add(code)
    return codes


def identifying_columns(declared: Declaration) -> set[str]:
    """The columns that the identifier of a company is computed from, and the keys of joins."""
    computed: dict[str, list[str]] = {
        name: [derived.sql] for name, derived in declared.derived.items()
    }
    for kind in declared.files.values():
        for name, (texts, _) in kind.columns.items():
            computed.setdefault(name, []).extend(texts)
    names = {name for join in declared.joins.values() for pair in join.on.items() for name in pair}
    id_texts = [declared.statements.id] if declared.statements else declared.columns["id"].sql
    unread = [*id_texts, *(text for name in names for text in computed.get(name, ()))]
    while unread:
        read_names = sql.column_names(unread.pop()) - names
        names |= read_names
        unread += [text for name in read_names for text in computed.get(name, ())]
    return names


def respell(name: str, codes: Collection[str]) -> pl.Expr:
    """The column `name` with a code of `codes` for each value that is another spelling of it."""
    code_of_key: dict[str, str] = {}
    ambiguous_keys: set[str] = {""}
    for code in codes:
        key = _key(code)
        if code_of_key.setdefault(key, code) != code:
            ambiguous_keys.add(key)
    usable_codes = {key: code for key, code in code_of_key.items() if key not in ambiguous_keys}
    all_codes = frozenset(codes)
    longest = _SPELLING_LENGTH * max(map(len, codes), default=0) + _SPELLING_LENGTH
    return pl.col(name).map_batches(
        lambda texts: _respell_series(texts, usable_codes, all_codes, longest),
        return_dtype=pl.String,
        is_elementwise=True,
    )


def _respell_series(
    texts: pl.Series, code_of_key: Mapping[str, str], codes: Collection[str], longest: int
) -> pl.Series:
    """`texts` with a code for each other spelling of a code, up to `longest` characters.

    Each distinct text is looked up once.
    """
    distinct = texts.drop_nulls().unique()
    respelled = {
        text: code
        for text in distinct.filter(distinct.str.len_chars() <= longest)
        if text not in codes and (code := code_of_key.get(_key(text)))
    }
    return texts.replace(list(respelled), list(respelled.values())) if respelled else texts


def _key(text: str) -> str:
    """The text by which spellings of a code are compared; empty for a text without letters and digits.

    >>> _key("I.I."), _key("0101"), _key("101.0"), _key("000")
    ('ii', '101', '101', '0')
    """
    key = fold(_FLOAT_ENDING.sub(r"\1", text.strip())).replace(" ", "")
    return (key.lstrip("0") or "0") if key.isdecimal() else key


def pad_number(name: str, width: int) -> pl.Expr:
    """The column `name` with numbers of at least `width` digits: zeros are added at the beginning.

    A number has only digits after blanks, dots between groups of three digits, and the ending `.0` of a number that was
    a float are removed. Other texts are unchanged, and no text is cut.
    """
    complete = rf"^[0-9]{{{width},}}$"
    return pl.col(name).map_batches(
        lambda texts: _pad_series(texts, width, complete),
        return_dtype=pl.String,
        is_elementwise=True,
    )


def _pad_series(texts: pl.Series, width: int, complete: str) -> pl.Series:
    """`pad_number` for a series; only texts that do not match `complete` are changed, and most texts match."""
    others = (~texts.str.contains(complete)).arg_true()
    if others.is_empty():
        return texts
    published = texts.gather(others)
    number = published.str.replace_all(_BLANKS, "").str.replace(_AS_FLOAT, "$1")
    padded = number.str.replace_all(".", "", literal=True).str.zfill(width)
    return texts.scatter(others, padded.zip_with(number.str.contains(_DIGITS), published))
