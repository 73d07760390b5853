"""The weights of `seeds/rapprochement.csv`: maximum likelihood of a conditional logit, by Newton's method.

Each line chooses one of its candidates or none of them. The likelihood is concave, so the weights do not depend on
where the search begins; a small ridge keeps those finite that rare evidence decides alone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.search.matching.evidence import Evidence

_RIDGE: Final = 0.3
_STEPS: Final = 60
CONSTANT: Final = "constante"

Reals = NDArray[np.float64]


class Example(NamedTuple):
    """The evidence of the candidates of a line, and the place of the right one; None if none is."""

    candidates: Sequence[Evidence]
    right: int | None


def fit(examples: Sequence[Example], names: Sequence[str]) -> dict[str, float]:
    """The weights of `names`, the constant first."""
    rows = [row for example in examples for row in example.candidates]
    values = np.array([[1.0, *(row.get(name, 0.0) for name in names)] for row in rows])
    counts = np.array([len(example.candidates) for example in examples])
    line = np.repeat(np.arange(len(examples)), counts)
    first = np.cumsum(counts) - counts
    right = np.zeros(len(rows))
    for start, example in zip(first, examples, strict=True):
        if example.right is not None:
            right[start + example.right] = 1.0
    found = np.zeros(values.shape[1])
    found[0] = -3.0
    best = _loss(values, line, right, found, len(examples))
    for _ in range(_STEPS):
        notes = _notes(values, line, found, len(examples))
        gradient = values.T @ (right - notes) - _RIDGE * found
        means = np.zeros((len(examples), values.shape[1]))
        np.add.at(means, line, notes[:, None] * values)
        curvature = (values * notes[:, None]).T @ values - means.T @ means
        step = np.linalg.solve(curvature + _RIDGE * np.eye(len(found)), gradient)
        size = 1.0
        while (loss := _loss(values, line, right, found + size * step, len(examples))) > best:
            size /= 2
            if size < 1e-6:
                break
        if size < 1e-6:
            break
        found, best = found + size * step, loss
        if np.abs(size * step).max() < 1e-4:
            break
    return dict(zip((CONSTANT, *names), found.round(3).tolist(), strict=True))


def _notes(values: Reals, line: NDArray[np.intp], weights: Reals, lines: int) -> Reals:
    odds = np.exp(np.clip(values @ weights, -60, 60))
    whole = 1 + np.bincount(line, odds, minlength=lines)
    return odds / whole[line]


def _loss(values: Reals, line: NDArray[np.intp], right: Reals, weights: Reals, lines: int) -> float:
    strength = np.clip(values @ weights, -60, 60)
    whole = np.log1p(np.bincount(line, np.exp(strength), minlength=lines))
    ridge = 0.5 * _RIDGE * float(weights @ weights)
    return float(whole.sum() - strength @ right) + ridge
