"""The weights and the curve of the notes.

`seeds/rapprochement.csv`: maximum likelihood of a conditional logit, by Newton's method.
`seeds/rapprochement_notes.csv`: how often the best candidate of a probability is the right one.

Each line chooses one of its candidates or none of them. The likelihood is concave, so the weights do not depend on
where the search begins; a small ridge keeps those finite that rare evidence decides alone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.matching.evidence import Evidence

_RIDGE: Final = 0.3
_STEPS: Final = 60
# Lines with nearly the same probability, whose mean is a point of the curve.
_GROUP: Final = 80
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


def fit_shares(judged: Sequence[tuple[float, float, bool]]) -> list[float]:
    """The constant and the weights of share and lead of the best candidates of lines: a logistic regression."""
    values = np.array([(1.0, share, lead) for share, lead, _ in judged])
    right = np.array([float(each[2]) for each in judged])
    found = np.array([0.0, 1.0, 0.0])
    for _ in range(_STEPS):
        notes = 1 / (1 + np.exp(-(values @ found)))
        curvature = (values * (notes * (1 - notes))[:, None]).T @ values + _RIDGE * np.eye(3)
        found = found + np.linalg.solve(curvature, values.T @ (right - notes) - _RIDGE * found)
    return [float(each) for each in found.round(3)]


def _notes(values: Reals, line: NDArray[np.intp], weights: Reals, lines: int) -> Reals:
    odds = np.exp(np.clip(values @ weights, -60, 60))
    whole = 1 + np.bincount(line, odds, minlength=lines)
    return odds / whole[line]


def _loss(values: Reals, line: NDArray[np.intp], right: Reals, weights: Reals, lines: int) -> float:
    strength = np.clip(values @ weights, -60, 60)
    whole = np.log1p(np.bincount(line, np.exp(strength), minlength=lines))
    ridge = 0.5 * _RIDGE * float(weights @ weights)
    return float(whole.sum() - strength @ right) + ridge


def rising_curve(judged: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """A rising curve from probabilities to how often they come true: pool adjacent violators over groups of lines.

    Args:
        judged: the probability of the best candidate of each line, and whether it is the right one.
    """
    ordered = sorted(judged)
    groups = [ordered[low : low + _GROUP] for low in range(0, len(ordered), _GROUP)]
    pooled: list[tuple[float, float, int]] = []  # sums of probabilities and of right ones, lines
    for group in groups:
        pooled.append((sum(p for p, _ in group), sum(right for _, right in group), len(group)))
        while len(pooled) > 1 and pooled[-2][1] * pooled[-1][2] >= pooled[-1][1] * pooled[-2][2]:
            one, other = pooled.pop(), pooled.pop()
            pooled.append((one[0] + other[0], one[1] + other[1], one[2] + other[2]))
    points = [(round(p / n, 5), round(right / n, 5)) for p, right, n in pooled]
    inside = [(p, note) for p, note in points if 0 < p < 1 and 0 < note < 1]
    return [(0.0, 0.0), *inside, (1.0, 1.0)]
