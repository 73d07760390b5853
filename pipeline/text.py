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
    text = pl.col(name).str.normalize("NFC")
    if name != "id":
        text = text.str.replace_all(_CONTROL, " ")
    text = text.str.strip_chars()
    return pl.when(text != "").then(text).alias(name)


def _capped(name: str) -> pl.Expr:
    text, cap = pl.col(name), CAPS[name]
    if name in WHOLE_OR_NULL:
        return pl.when(text.str.len_chars() <= cap).then(text).alias(name)
    return text.str.head(cap).str.strip_chars_end().alias(name)
