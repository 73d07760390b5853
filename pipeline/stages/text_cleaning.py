"""Text of registers, made clean: one Unicode form, no control character, no empty value.

Every text column becomes NFC, each run of control characters and line separators one blank, and
what is then blank is null. A text longer than its cap in CAPS is cut, and the row marked; a contact
or an address that is longer becomes null instead, because a part of one leads nowhere (§2.1: "an
approximate value is never returned"). Cleaning is idempotent. It never touches the inside of an
identifier: that is trimmed, and refused later if it holds what cannot be printed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

CUT: Final = "texte_coupe"  # working column: this row had a text over its cap

# Code points. A name in a European register has at most some 350.
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
        "libelle": 500,
    }
)
WHOLE_OR_NULL: Final = frozenset({"site_web", "domaine", "email", "telephone", "url_registre"})
_CONTROL: Final = r"[\p{Cc}\p{Zl}\p{Zp}]+"
# A text that holds only these, no blank at an end, is clean as it is: NFC leaves these letters
# alone, whatever stands beside them. Most texts are such, and are neither normalised nor copied.
_TIDY: Final = r"\x20-\x7e\u00a1-\u02ff\u0388-\u03ff\u0400-\u0482\u048a-\u052f"
_UNTIDY: Final = rf"[^{_TIDY}]|^ | $|^$"


def clean(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Clean every text column of `frame`; add CUT."""
    names = [name for name, dtype in frame.collect_schema().items() if dtype == pl.String]
    tidied = frame.with_columns(_tidy(name) for name in names)
    capped = [name for name in names if name in CAPS]
    over = [pl.col(name).str.len_chars() > CAPS[name] for name in capped]
    return tidied.with_columns(
        *(_capped(name) for name in capped),
        pl.any_horizontal(*over).fill_null(False).alias(CUT),
    )


def _tidy(name: str) -> pl.Expr:
    kept_inside = name == "id"
    return pl.col(name).map_batches(
        lambda texts: _tidied(texts, kept_inside), return_dtype=pl.String, is_elementwise=True
    )


def _tidied(texts: pl.Series, kept_inside: bool) -> pl.Series:
    """`texts`, of which the untidy ones are cleaned."""
    untidy = texts.str.contains(_UNTIDY).arg_true()
    if untidy.is_empty():
        return texts
    found = pl.col(texts.name).str.normalize("NFC")
    if not kept_inside:
        found = found.str.replace_all(_CONTROL, " ")
    found = found.str.strip_chars()
    cleaned = texts.gather(untidy).to_frame().select(pl.when(found != "").then(found))
    return texts.scatter(untidy, cleaned.to_series())


def _capped(name: str) -> pl.Expr:
    text, cap = pl.col(name), CAPS[name]
    if name in WHOLE_OR_NULL:
        return pl.when(text.str.len_chars() <= cap).then(text).alias(name)
    cut = text.str.head(cap).str.strip_chars_end()
    return pl.when(text.str.len_chars() <= cap).then(text).otherwise(cut).alias(name)
