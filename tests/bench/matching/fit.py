"""The weights and the curve of the notes.

`seeds/rapprochement.csv`: maximum likelihood of a conditional logit, by Newton's method.
`seeds/rapprochement_notes.csv`: by probability of the best candidate, the share of lines whose best candidate is right.

Each line chooses a candidate or no candidate. The likelihood is concave, so the weights do not depend on the start of
the search; a small ridge keeps the weights of rare evidence finite.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.matching.evidence import Evidence

_RIDGE: Final = 0.3  # factor of the sum of squared weights
_STEPS: Final = 60  # of Newton's method, at most
# Lines per group of nearly the same probability; the mean of a group is a point of the curve.
_GROUP: Final = 80
CONSTANT: Final = "constante"  # the name of the weight that every candidate has

Reals = NDArray[np.float64]


class Example(NamedTuple):
    """The evidence of the candidates of a line, and the position of the right candidate, None without one."""

    candidates: Sequence[Evidence]
    right: int | None


def fit(examples: Sequence[Example], names: Sequence[str]) -> dict[str, float]:
    """The weights of `names`, the constant first, by Newton's method on the likelihood with a ridge.

    A step that raises the loss is halved until it lowers the loss; a tiny step ends the search.
    """
    rows = [row for example in examples for row in example.candidates]
    values = np.array([[1.0, *(row.get(name, 0.0) for name in names)] for row in rows])
    counts = np.array([len(example.candidates) for example in examples])
    line_numbers = np.repeat(np.arange(len(examples)), counts)
    first_rows = np.cumsum(counts) - counts
    right = np.zeros(len(rows))
    for start, example in zip(first_rows, examples, strict=True):
        if example.right is not None:
            right[start + example.right] = 1.0
    weights = np.zeros(values.shape[1])
    weights[0] = -3.0  # most candidates are wrong
    best = _loss(values, line_numbers, right, weights, len(examples))
    for _ in range(_STEPS):
        probabilities = _probabilities(values, line_numbers, weights, len(examples))
        gradient = values.T @ (right - probabilities) - _RIDGE * weights
        means = np.zeros((len(examples), values.shape[1]))
        np.add.at(means, line_numbers, probabilities[:, None] * values)
        curvature = (values * probabilities[:, None]).T @ values - means.T @ means
        step = np.linalg.solve(curvature + _RIDGE * np.eye(len(weights)), gradient)
        size = 1.0
        while (
            loss := _loss(values, line_numbers, right, weights + size * step, len(examples))
        ) > best:
            size /= 2
            if size < 1e-6:
                break
        if size < 1e-6:
            break
        weights, best = weights + size * step, loss
        if np.abs(size * step).max() < 1e-4:
            break
    return dict(zip((CONSTANT, *names), weights.round(3).tolist(), strict=True))


def fit_shares(judged: Sequence[tuple[float, float, bool]]) -> list[float]:
    """The constant and the weights of share and lead (`shards.matching.verdicts.shares`), by logistic regression.

    Args:
        judged: share and lead of the best candidate of each line, and whether it is right.
    """
    values = np.array([(1.0, share, lead) for share, lead, _ in judged])
    right = np.array([float(best[2]) for best in judged])
    weights = np.array([0.0, 1.0, 0.0])
    for _ in range(_STEPS):
        probabilities = 1 / (1 + np.exp(-(values @ weights)))
        curvature = (
            values * (probabilities * (1 - probabilities))[:, None]
        ).T @ values + _RIDGE * np.eye(3)
        weights = weights + np.linalg.solve(
            curvature, values.T @ (right - probabilities) - _RIDGE * weights
        )
    return [float(weight) for weight in weights.round(3)]


def _probabilities(
    values: Reals, line_numbers: NDArray[np.intp], weights: Reals, lines: int
) -> Reals:
    """The probability of each candidate of its line; the 1 is the odds of no candidate."""
    # Bounds keep exp from overflowing.
    odds = np.exp(np.clip(values @ weights, -60, 60))
    total_odds = 1 + np.bincount(line_numbers, odds, minlength=lines)
    return odds / total_odds[line_numbers]


def _loss(
    values: Reals, line_numbers: NDArray[np.intp], right: Reals, weights: Reals, lines: int
) -> float:
    """The negative log likelihood of the right candidates, plus the ridge."""
    strength = np.clip(values @ weights, -60, 60)
    log_totals = np.log1p(np.bincount(line_numbers, np.exp(strength), minlength=lines))
    ridge = 0.5 * _RIDGE * float(weights @ weights)
    return float(log_totals.sum() - strength @ right) + ridge


def rising_curve(judged: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """A rising curve from probabilities to shares of right candidates: pool adjacent violators over groups of lines.

    Args:
        judged: the probability of the best candidate of each line, and whether it is right.
    """
    ordered = sorted(judged)
    groups = [ordered[low : low + _GROUP] for low in range(0, len(ordered), _GROUP)]
    pooled: list[tuple[float, float, int]] = []  # sum of probabilities, right candidates, lines
    for group in groups:
        pooled.append((sum(p for p, _ in group), sum(right for _, right in group), len(group)))
        while len(pooled) > 1 and pooled[-2][1] * pooled[-1][2] >= pooled[-1][1] * pooled[-2][2]:
            last_group, previous_group = pooled.pop(), pooled.pop()
            pooled.append(
                (
                    last_group[0] + previous_group[0],
                    last_group[1] + previous_group[1],
                    last_group[2] + previous_group[2],
                )
            )
    points = [(round(total / n, 5), round(right / n, 5)) for total, right, n in pooled]
    inside = [(p, note) for p, note in points if 0 < p < 1 and 0 < note < 1]
    return [(0.0, 0.0), *inside, (1.0, 1.0)]
