"""Text cleaning: one Unicode form, no empty values, no control characters except inside identifiers.

Every text becomes NFC; a run of control characters and line separators becomes one blank; a blank text becomes null. A
text over its cap in CAPS is cut to the cap, and its row is marked (CUT). A contact or a web address over its cap
becomes null, because a part of it is useless (§2.1: "an approximate value is never returned"). A web address with
another scheme than http and https becomes null, since programs follow it as a link; so does an invalid e-mail address
(several in one field, "n/a"). The user before the host of a web address is removed (RFC 3986 §3.2.1):
`https://bank.fr@evil.com` reads as another site, and a password is private. The texts of a list are cleaned in the same
way; a list without text is null. Cleaning a clean text changes nothing. Invisible characters are trimmed at both ends
of a text, and removed within it (a soft hyphen). Identifiers become NFC and are trimmed; `rejections` refuses
unprintable characters inside them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

from pipeline.canonical import TEXTS

CUT: Final = "text_cut"  # working column: whether the row had a text over its cap
NO_LINK: Final = "no_link"  # working column: the number of addresses of the row with another scheme
NO_EMAIL: Final = "no_email"  # working column: whether the e-mail address of the row is invalid

# Column -> the largest number of code points. Names in European registers have up to about 350.
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
# Columns whose texts become null if they are over their cap; other texts are cut.
WHOLE_OR_NULL: Final = frozenset(
    {"site_web", "domaine", "email", "telephone", "url_registre", "lei", "tva"}
)
# Columns that programs follow as links. _SCHEME matches a scheme (`javascript:`, `data:`, `file:`, `mailto:` …), but
# also a host with a port; _WEB matches http, https, and a host with a port.
_LINKS: Final = ("site_web", "url_registre")
_SCHEME: Final = r"(?i)^[a-z][a-z0-9+.-]*:"
_WEB: Final = r"(?i)^(?:https?:|[^:/?#]+\.[^:/?#]+:[0-9]+(?:[/?#]|$))"
# The user before the host.
_USER: Final = r"(?i)^((?:https?:)?//)[^/?#\\]*@"
# An e-mail address of RFC 5321 and 6531 in the usual forms: no quoted names, no numbers in brackets. Dots separate the
# words (_EMAIL_WORD) before the @, and the labels (_DOMAIN_LABEL) of the domain.
_EMAIL_WORD: Final = r"[^\s@<>()\[\]\\,;:.\"]+"
_DOMAIN_LABEL: Final = r"[\p{L}\p{N}\p{M}]+(?:-+[\p{L}\p{N}\p{M}]+)*"
_EMAIL: Final = (
    rf"^{_EMAIL_WORD}(?:\.{_EMAIL_WORD})*@"
    rf"(?:{_DOMAIN_LABEL}\.)+(?:[\p{{L}}\p{{M}}]{{2,}}|xn--[A-Za-z0-9-]+)$"
)
# A number that became a float before it became text, as in pandas for a column with nulls.
_AS_FLOAT: Final = r"^([0-9]{5,})\.0$"
# Control characters, and separators of lines and paragraphs.
_CONTROL: Final = r"[\p{Cc}\p{Zl}\p{Zp}]+"
# Characters without a width within a word: a soft hyphen, a zero-width space.
_ZERO_WIDTH: Final = r"\p{Cf}+"
# Blanks, controls and format characters, such as the zero-width space and the byte order mark.
INVISIBLE_ENDS: Final = r"^[\p{Z}\p{Cc}\p{Cf}]+|[\p{Z}\p{Cc}\p{Cf}]+$"
# A text of only these characters, without a blank at its beginning or end, is already clean: NFC never changes these
# characters. Most texts are clean, and are neither normalised nor copied.
_TIDY: Final = r"\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0388-\u03ff\u0400-\u0482\u048a-\u052f"
_UNTIDY: Final = rf"[^{_TIDY}]|^ | $|^$"


def clean(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Clean every text column of `frame`: texts over their cap are cut, invalid links and e-mail addresses become null.

    CUT, NO_LINK and NO_EMAIL are added: whether a text was cut, the number of links and whether the e-mail address
    became null.
    """
    schema = frame.collect_schema()
    names = [name for name, dtype in schema.items() if dtype == pl.String]
    lists = [name for name, dtype in schema.items() if dtype == TEXTS]
    links = [name for name in _LINKS if name in names]
    tidied = frame.with_columns(
        *(_clean_column(name) for name in names),
        *(pl.col(name).list.eval(_clean_text(pl.element())).list.drop_nulls() for name in lists),
    ).with_columns(pl.col(name).str.replace(_USER, "$1") for name in links)
    capped = [name for name in names if name in CAPS]
    is_over_cap = [
        *(pl.col(name).str.len_chars() > CAPS[name] for name in capped),
        *(
            pl.col(name).list.eval(pl.element().str.len_chars()).list.max() > CAPS[name]
            for name in lists
        ),
    ]
    is_email = pl.col("email").str.contains(_EMAIL) if "email" in names else pl.lit(True)
    emails = [pl.when(is_email).then("email").alias("email")] if "email" in names else []
    # CUT, NO_LINK and NO_EMAIL are computed from links and addresses, so they are added before these become null.
    return tidied.with_columns(
        *(_cut_column(name) for name in capped),
        *(_cut_list_column(name) for name in lists),
        pl.any_horizontal(*is_over_cap).fill_null(False).alias(CUT),
        pl.sum_horizontal(pl.lit(0, pl.Int64), *map(_has_other_scheme, links)).alias(NO_LINK),
        (~is_email).fill_null(False).alias(NO_EMAIL),
    ).with_columns(
        *(pl.when(~_has_other_scheme(name)).then(name).alias(name) for name in links), *emails
    )


def _has_other_scheme(name: str) -> pl.Expr:
    """Whether an address has another scheme than http and https."""
    text = pl.col(name)
    return text.str.contains(_SCHEME) & ~text.str.contains(_WEB)


def _clean_column(name: str) -> pl.Expr:
    """The cleaned column `name`.

    Controls inside an identifier stay, so that `rejections` refuses it; the ending `.0` of an identifier is removed.
    """
    keep_controls = name == "id"
    tidied = pl.col(name).map_batches(
        lambda texts: _clean_untidy(texts, keep_controls),
        return_dtype=pl.String,
        is_elementwise=True,
    )
    return drop_float_ending(tidied) if keep_controls else tidied


def drop_float_ending(text: pl.Expr) -> pl.Expr:
    """An identifier without the ending `.0` of a number that was a float."""
    return text.str.replace(_AS_FLOAT, "$1")


def _clean_untidy(texts: pl.Series, keep_controls: bool) -> pl.Series:
    """Clean the texts that are not already clean (_UNTIDY); see `_clean_text` for `keep_controls`."""
    untidy = texts.str.contains(_UNTIDY).arg_true()
    if untidy.is_empty():
        return texts
    clean_text = _clean_text(pl.col(texts.name), keep_controls)
    cleaned = texts.gather(untidy).to_frame().select(clean_text)
    return texts.scatter(untidy, cleaned.to_series())


def _clean_text(text: pl.Expr, keep_controls: bool = False) -> pl.Expr:
    """The cleaned text, null for a blank text; control characters inside the text stay if `keep_controls`."""
    cleaned = text
    if not keep_controls:
        cleaned = cleaned.str.replace_all(_CONTROL, " ").str.replace_all(_ZERO_WIDTH, "")
    cleaned = cleaned.str.normalize("NFC").str.replace_all(INVISIBLE_ENDS, "")
    return pl.when(cleaned != "").then(cleaned)


def _cut_column(name: str) -> pl.Expr:
    """A column with its texts cut to the cap; in a column of WHOLE_OR_NULL, a text over the cap becomes null."""
    text, cap = pl.col(name), CAPS[name]
    if name in WHOLE_OR_NULL:
        return pl.when(text.str.len_chars() <= cap).then(text).alias(name)
    return text.str.head(cap).str.strip_chars_end().alias(name)


def _cut_list_column(name: str) -> pl.Expr:
    """A column of lists with the distinct texts, each cut to the cap; null for a list without texts."""
    cut = pl.element().str.head(CAPS[name]).str.strip_chars_end()
    texts = pl.col(name).list.eval(cut).list.unique(maintain_order=True)
    return pl.when(texts.list.len() > 0).then(texts).alias(name)
