"""Identifiers, by prefix (contract B15) and one by one (E2): folded, sorted, with their rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shards import texts
from shards.orders import Rows
from shards.text import fold_id
from shards.texts import END, Texts


@dataclass(frozen=True, slots=True)
class Idents:
    """folded[i] is the folded identifier of the row rows[i]; ascending, ties by row."""

    folded: Texts
    rows: Rows


def build(ids: Sequence[str]) -> Idents:
    """The index of the identifiers of rows 0, 1, …"""
    ordered = sorted((fold_id(identifier), row) for row, identifier in enumerate(ids))
    rows = np.array([row for _, row in ordered], dtype=np.uint32)
    return Idents(texts.pack(folded for folded, _ in ordered), rows)


def beginning_with(idents: Idents, prefix: str) -> Rows:
    """The rows whose folded identifier begins with `prefix`, which is folded; in no order."""
    folded = idents.folded
    first, end = texts.beginning_with(prefix.encode(), len(folded), folded.__getitem__)
    return idents.rows[first:end]


def equal_to(idents: Idents, whole: str) -> Rows:
    """The rows whose folded identifier is `whole`, which is folded; in no order."""
    folded = idents.folded
    text = whole.encode() + END
    first, end = texts.beginning_with(text, len(folded), lambda i: folded[i] + END)
    return idents.rows[first:end]
