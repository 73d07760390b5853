"""Text cleaning: one Unicode form, no empty values, no control characters but inside identifiers.

Every text becomes NFC; a run of control characters and line separators becomes one blank; a blank
text becomes null. A text over its cap in CAPS is cut and its row marked. A contact or an address
over its cap becomes null, because a part of one is useless (§2.1: "an approximate value is never
returned"). So does an address with another scheme than http and https, since a program would follow
it as a link, and an e-mail address that is none (several in one field, "n/a"). Of an address of the web
a user before the host is left out (RFC 3986 §3.2.1): `https://bank.fr@evil.com` reads as another site,
and a password is nobody's business. The texts of a list
are cleaned likewise; a list without any text is null. Cleaning is idempotent. What no one sees at an end of a
text is trimmed, and within a word it is left out (a soft hyphen). Identifiers become NFC and are trimmed; `rejections`
refuses those that are not printable inside.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.canonical import TEXTS

CUT: Final = "text_cut"  # working column: whether the row had a text over its cap
NO_LINK: Final = "no_link"  # working column: the addresses of the row that are none of the web
NO_EMAIL: Final = "no_email"  # working column: whether the e-mail address of the row is none

# Column -> most code points. Names in European registers have up to about 350.
CAPS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "nom": 500,
        "forme": 200,
        "statut": 200,
        "activite": 500,
        "ville": 200,
        "code_postal": 30,
        "region": 200,
        "adresse": 500,
        "tranche_effectif": 50,
        "description": 2000,
        "site_web": 500,
        "domaine": 253,  # RFC 1035 §2.3.4
        "email": 254,  # RFC 5321 §4.5.3.1.3
        "telephone": 50,
        "url_registre": 1000,
        "lei": 20,  # ISO 17442
        "tva": 30,
        "noms_anterieurs": 500,
        "nace_secondaires": 30,
        "libelle": 500,
    }
)
WHOLE_OR_NULL: Final = frozenset(
    {"site_web", "domaine", "email", "telephone", "url_registre", "lei", "tva"}
)
# Columns that programs follow as links, and what leads elsewhere than to the web: `javascript:`, `data:`,
# `file:`, `mailto:` … A host with a port has no scheme.
_LINKS: Final = ("site_web", "url_registre")
_ELSEWHERE: Final = r"(?i)^[a-z][a-z0-9+.-]*:"
_WEB: Final = r"(?i)^(?:https?:|[^:/?#]+\.[^:/?#]+:[0-9]+(?:[/?#]|$))"
_USER: Final = r"(?i)^((?:https?:)?//)[^/?#\\]*@"
# An address of RFC 5321 and 6531 in the forms that are in use: no quoted names, no numbers in brackets.
_NAME: Final = r"[^\s@<>()\[\]\\,;:.\"]+"
_LABEL: Final = r"[\p{L}\p{N}\p{M}]+(?:-+[\p{L}\p{N}\p{M}]+)*"
_EMAIL: Final = (
    rf"^{_NAME}(?:\.{_NAME})*@(?:{_LABEL}\.)+(?:[\p{{L}}\p{{M}}]{{2,}}|xn--[A-Za-z0-9-]+)$"
)
# A number that was read as a float before it was text, as pandas does with a column that has nulls.
_AS_FLOAT: Final = r"^([0-9]{5,})\.0$"
_CONTROL: Final = r"[\p{Cc}\p{Zl}\p{Zp}]+"
# Characters without a width within a word: a soft hyphen, a zero-width space.
_UNSEEN: Final = r"\p{Cf}+"
# Blanks, controls and format characters, such as the zero-width space and the mark at the head of a file.
INVISIBLE_ENDS: Final = r"^[\p{Z}\p{Cc}\p{Cf}]+|[\p{Z}\p{Cc}\p{Cf}]+$"
# A text of these characters only, without a blank at an end, is already clean: NFC never changes
# them, whatever their neighbours. Most texts are such and are neither normalised nor copied.
_TIDY: Final = r"\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0388-\u03ff\u0400-\u0482\u048a-\u052f"
_UNTIDY: Final = rf"[^{_TIDY}]|^ | $|^$"


def clean(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Clean every text column of `frame`; add CUT, NO_LINK and NO_EMAIL."""
    schema = frame.collect_schema()
    names = [name for name, dtype in schema.items() if dtype == pl.String]
    lists = [name for name, dtype in schema.items() if dtype == TEXTS]
    links = [name for name in _LINKS if name in names]
    tidied = frame.with_columns(
        *(_tidy(name) for name in names),
        *(pl.col(name).list.eval(_clean_text(pl.element())).list.drop_nulls() for name in lists),
    ).with_columns(pl.col(name).str.replace(_USER, "$1") for name in links)
    capped = [name for name in names if name in CAPS]
    over = [
        *(pl.col(name).str.len_chars() > CAPS[name] for name in capped),
        *(_longest_length(name) > CAPS[name] for name in lists),
    ]
    is_email = pl.col("email").str.contains(_EMAIL) if "email" in names else pl.lit(True)
    emails = [pl.when(is_email).then("email").alias("email")] if "email" in names else []
    return tidied.with_columns(
        *(_cap(name) for name in capped),
        *(_capped_list(name) for name in lists),
        pl.any_horizontal(*over).fill_null(False).alias(CUT),
        pl.sum_horizontal(pl.lit(0, pl.Int64), *map(_leads_elsewhere, links)).alias(NO_LINK),
        (~is_email).fill_null(False).alias(NO_EMAIL),
    ).with_columns(
        *(pl.when(~_leads_elsewhere(name)).then(name).alias(name) for name in links), *emails
    )


def _leads_elsewhere(name: str) -> pl.Expr:
    """Whether an address has a scheme that is none of the web."""
    text = pl.col(name)
    return text.str.contains(_ELSEWHERE) & ~text.str.contains(_WEB)


def _tidy(name: str) -> pl.Expr:
    kept_inside = name == "id"
    tidied = pl.col(name).map_batches(
        lambda texts: _clean_untidy(texts, kept_inside), return_dtype=pl.String, is_elementwise=True
    )
    return identifier(tidied) if kept_inside else tidied


def identifier(text: pl.Expr) -> pl.Expr:
    """An identifier that was a float on its way as the whole number that it is."""
    return text.str.replace(_AS_FLOAT, "$1")


def _clean_untidy(texts: pl.Series, kept_inside: bool) -> pl.Series:
    """Clean the untidy ones of `texts`."""
    untidy = texts.str.contains(_UNTIDY).arg_true()
    if untidy.is_empty():
        return texts
    found = _clean_text(pl.col(texts.name), kept_inside)
    cleaned = texts.gather(untidy).to_frame().select(found)
    return texts.scatter(untidy, cleaned.to_series())


def _clean_text(text: pl.Expr, kept_inside: bool = False) -> pl.Expr:
    """The cleaned text, null for a blank one; controls inside it stay if `kept_inside`."""
    found = text
    if not kept_inside:
        found = found.str.replace_all(_CONTROL, " ").str.replace_all(_UNSEEN, "")
    found = found.str.normalize("NFC").str.replace_all(INVISIBLE_ENDS, "")
    return pl.when(found != "").then(found)


def _cap(name: str) -> pl.Expr:
    text, cap = pl.col(name), CAPS[name]
    if name in WHOLE_OR_NULL:
        return pl.when(text.str.len_chars() <= cap).then(text).alias(name)
    return text.str.head(cap).str.strip_chars_end().alias(name)


def _longest_length(name: str) -> pl.Expr:
    """The most code points of a text in a list."""
    return pl.col(name).list.eval(pl.element().str.len_chars()).list.max()


def _capped_list(name: str) -> pl.Expr:
    """The distinct texts, cut to the cap; null if there is none."""
    cut = pl.element().str.head(CAPS[name]).str.strip_chars_end()
    texts = pl.col(name).list.eval(cut).list.unique(maintain_order=True)
    return pl.when(texts.list.len() > 0).then(texts).alias(name)
