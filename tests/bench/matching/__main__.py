"""Measure how well lists are matched, or find the weights anew.

python -m tests.bench.matching split INPUT WORK
python -m pipeline build --input WORK/kept/* --out DATA
python -m tests.bench.matching fit DATA WORK [--declared index-egalite-fh.csv]
python -m tests.bench.matching measure DATA WORK [--lines 6000] [--seed 3] [--noise first|lists]
    [--part all|other_half|other_countries]

Weights are fitted on lines of both noises that mean one half of the companies of the four large registers, and on the
names that one half of the French companies typed; the other halves and the other countries are for measuring.
python -m tests.bench.matching declared DATA index-egalite-fh.csv
python -m tests.bench.matching written DATA [FILE]
python -m tests.bench.matching kinds DATA [--lines 300] [--seed 3] [--part other_half] [--kind KIND] [--show 5]
python -m tests.bench.matching speed DATA [--lines 2000]
"""

import argparse
import gc
import itertools
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from seeds import TABLES
from serve.contract import activities
from serve.contract.seed_tables import match_weights, name_tables, number_notation, rows
from serve.features.matching import rapprochement
from shards.generations import pointer
from shards.matching.evidence import WeighedCompany
from shards.matching.line import LIKELY, SURE, Line
from shards.matching.matcher import Matcher
from shards.matching.verdicts import (
    OF_SHARE,
    SURE_BY_NAME,
    SURE_FROM,
    Weights,
    shares,
)
from shards.reader.shard import Shard
from shards.search.search import ShardSet
from tests.bench.matching import kinds, labelled
from tests.bench.matching.fit import CONSTANT, Example, fit, fit_shares, rising_curve
from tests.bench.matching.labelled import Chosen, LabelledLine, LabelledLines
from tests.bench.matching.list_noise import ListNoise
from tests.bench.matching.noise import Noise, NoiseTables

_FIT_SEEDS: Final = (2, 202)
# How often a name counts that somebody typed, beside lines of the noises, which are many more.
_TYPED: Final = 2
_TENTHS: Final = 10


class Judged(NamedTuple):
    """A line, the note of its best candidate, whether that is right, and whether it is called sure or likely."""

    line: LabelledLine
    note: float
    right: bool
    sure: bool = False
    likely: bool = False


def open_base(data: Path) -> ShardSet:
    """The published generation."""
    name = pointer.current_name(data)
    assert name is not None, f"{data} has no published generation"
    base = ShardSet()
    for path in sorted((data / name).glob("*.shard")):
        base[path.stem] = Shard(path)
    return base


def _matcher(base: ShardSet) -> Matcher:
    """A matcher as a caller with the right to contacts has it."""
    return Matcher(
        base,
        name_tables(),
        match_weights(),
        number_notation(),
        activities=activities.classes,
        coordonnees=True,
    )


def _labelled(base: ShardSet, work: Path, noise: str = "first", part: str = "all") -> LabelledLines:
    known = NoiseTables.of_rows(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    absent = labelled.absent_companies(work)
    return LabelledLines(base, absent, name_tables(), known, _NOISES[noise], _PARTS[part])


def _is_fitted(iso2: str, identifier: str) -> bool:
    """Whether weights are fitted on lines that mean this company."""
    return iso2 in _FITTED and _is_fitted_number(identifier)


def _is_fitted_number(identifier: str) -> bool:
    return zlib.crc32(identifier[::-1].encode()) % 2 == 0


def _is_other_half(iso2: str, identifier: str) -> bool:
    return iso2 in _FITTED and not _is_fitted(iso2, identifier)


_NOISES: Final[Mapping[str, type[Noise]]] = {"first": Noise, "lists": ListNoise}
_FITTED: Final = frozenset(("UK", "DE", "EE", "FR"))
_PARTS: Final[Mapping[str, Chosen]] = {
    "all": lambda iso2, identifier: True,
    "fitted": _is_fitted,
    "other_half": _is_other_half,
    "other_countries": lambda iso2, identifier: iso2 not in _FITTED,
}


def _place(line: LabelledLine, weighed: Sequence[WeighedCompany]) -> int | None:
    """Where the company that a line means is among its candidates."""
    keys = [(each.company["iso2"], each.company["id"]) for each in weighed]
    return keys.index(line.truth) if line.truth in keys else None


def fit_weights(data: Path, work: Path, lines: int, declared: Path | None) -> None:
    """Write the weights, but the threshold of `sur` and weights of what no line has, and the curve of the notes."""
    base = open_base(data)
    matcher = _matcher(base)
    of_names = (
        labelled.declared_lines(base, declared, _is_fitted_number, alike=True) if declared else []
    )
    drawn = {noise: _labelled(base, work, noise, "fitted") for noise in _NOISES}
    # The curve and what makes a probability of a share are fitted on other lines than the weights.
    examples, others = (
        _examples(matcher, of_names[part::2]) * _TYPED
        + [one for each in drawn.values() for one in _examples(matcher, each.draw(lines, seed))]
        for part, seed in enumerate(_FIT_SEEDS)
    )
    known = match_weights()
    # A number with zeros added is written otherwise: more weight than that would rank it before an exact one.
    # Too few lines are the initials of a company of their town: that weight is the best one for lines of this kind.
    set_by_hand = (SURE_FROM, SURE_BY_NAME, "id_zeros", "initiales_ville")
    names = [name for name in known if name not in (CONSTANT, *OF_SHARE, *set_by_hand)]
    met = {name for one in examples for evidence in one.candidates for name in evidence}
    fitted = fit(
        [one for one in examples if one.candidates], [name for name in names if name in met]
    )
    found = Weights(known | fitted)
    # A published VAT number and a LEI say as much as the identifier: each is of one company, few lines have one.
    found["tva_identique"] = found["lei_identique"] = found["id_identique"]
    found["lei_different"] = found["id_different"]
    best = []
    for one in others:
        shared = shares([found.strength(evidence) for evidence in one.candidates])
        if shared:
            place = max(range(len(shared)), key=shared.__getitem__)
            best.append((*shared[place], place == one.right))
    found |= zip(OF_SHARE, fit_shares(best), strict=True)
    _write("rapprochement.csv", "indice,poids", found.items())
    judged = []
    for one in others:
        likely = max(zip(found.probabilities(one.candidates), itertools.count()), default=(0.0, -1))
        judged.append((likely[0], likely[1] == one.right))
    _write("rapprochement_notes.csv", "probabilite,note", rising_curve(judged))


def _examples(matcher: Matcher, lines: Sequence[LabelledLine]) -> list[Example]:
    found = []
    for line in lines:
        weighed = matcher.weigh(line.line)
        found.append(Example([each.evidence for each in weighed], _place(line, weighed)))
    return found


def _write(name: str, head: str, pairs: Iterable[tuple[object, float]]) -> None:
    lines = [f"{one},{other:g}" for one, other in pairs]
    (TABLES / name).write_text("\n".join([head, *lines, ""]))


def measure(data: Path, work: Path, lines: int, seed: int, noise: str, part: str) -> None:
    """Print precision, recall, calibration and speed."""
    base = open_base(data)
    drawn = _labelled(base, work, noise, part).draw(lines, seed)
    matcher = _matcher(base)
    start = time.process_time()
    judged = _judged(matcher, drawn)
    took = time.process_time() - start
    _print(f"societes, {noise}, {part}, {lines} lines, seed {seed}", judged)
    print(f"{lines / took:.0f} lines/s of one core, {sum(s.rows for s in base.values())} companies")
    _print_calibration(judged)
    for kind in sorted({change for each in judged for change in each.line.changes}):
        _print_kind(kind, [each for each in judged if kind in each.line.changes])


def _judged(matcher: Matcher, lines: Sequence[LabelledLine]) -> list[Judged]:
    judged = []
    for line in lines:
        found = matcher.match(line.line, 3)
        best = found.candidats[0] if found.candidats else None
        right = best is not None and (best.iso2, best.id) == line.truth
        sure, likely = found.verdict == SURE, found.verdict in (SURE, LIKELY)
        judged.append(Judged(line, best.note if best else 0.0, right, sure, likely))
    return judged


def measure_declared(data: Path, names: Path) -> None:
    """Print the same of names that French companies typed in other years (a file of Egapro), of the other half."""
    base = open_base(data)
    matcher = _matcher(base)
    lines = labelled.declared_lines(base, names, lambda siren: not _is_fitted_number(siren))
    judged = _judged(matcher, lines)
    _print("names declared in other years", judged)
    _print_calibration(judged)


def measure_kinds(
    data: Path, lines: int, seed: int, part: str, chosen_kind: str | None, show: int
) -> None:
    """Print verdicts on names with one change, kind by kind."""
    base = open_base(data)
    matcher, chosen = _matcher(base), _PARTS[part]
    tables = NoiseTables.of_rows(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    print(kinds.HEAD)
    for kind in [chosen_kind] if chosen_kind else kinds.KINDS:
        drawn = kinds.lines(base, tables, kind, lines, seed, chosen)
        print(kinds.count_kind(matcher, drawn, show).row(kind), flush=True)
    if chosen_kind:
        return
    counts = kinds.raised_by_activity(matcher, base, lines, seed, chosen)
    print(
        "activity in words: note raised {}, lowered {}, no candidate {} of {} lines".format(*counts)
    )


def measure_written(data: Path, path: Path) -> None:
    """Print verdicts on names that were written by hand: `nom;pays;ville;sens`, an empty `sens` is absent."""
    base = open_base(data)
    matcher = _matcher(base)
    lines = []
    for row in pl.read_csv(path, separator=";", infer_schema_length=0).iter_rows(named=True):
        iso2, _, number = (row["sens"] or "").partition(" ")
        if number and (iso2 not in base or base[iso2].find(number) is None):
            continue
        line = Line(row["nom"], (row["pays"],) if row["pays"] else (), ville=row["ville"])
        lines.append(LabelledLine(line, (iso2, number) if number else None, (), 0))
    judged = _judged(matcher, lines)
    _print("names written by hand", judged)
    none = sum(each.right and each.note < 0.5 for each in judged)
    print(f"  right first and below 0.5: {none}")
    _print_calibration(judged)


def _print_calibration(judged: Sequence[Judged]) -> None:
    """How often notes come true, and by how much they are wrong on average, weighted by lines."""
    wrong = 0.0
    for tenth in range(_TENTHS):
        low, high = tenth / _TENTHS, (tenth + 1) / _TENTHS
        part = [each for each in judged if min(int(each.note * _TENTHS), _TENTHS - 1) == tenth]
        if part:
            mean = sum(each.note for each in part) / len(part)
            share = sum(each.right for each in part) / len(part)
            wrong += abs(mean - share) * len(part) / len(judged)
            print(f"| {low:.1f}–{high:.1f} | {len(part)} | {mean:.3f} | {share:.3f} |")
    print(f"expected calibration error {wrong:.4f}")


def _print_kind(kind: str, judged: Sequence[Judged]) -> None:
    present = [each for each in judged if each.line.truth and not each.line.namesakes]
    first = sum(each.right for each in present) / max(1, len(present))
    sure = [each for each in judged if each.sure]
    wrong = sum(not each.right for each in sure)
    print(
        f"| {kind} | {len(judged)} | first right without namesakes {first:.1%} "
        f"| sur {len(sure)}, {wrong} wrong |"
    )


def _print(title: str, judged: Sequence[Judged]) -> None:
    present = [each for each in judged if each.line.truth]
    absent = [each for each in judged if not each.line.truth]
    first = sum(each.right for each in present) / len(present)
    alone = [each for each in present if not each.line.namesakes]
    print(f"{title}: {len(present)} present, {len(absent)} absent")
    print(f"  first candidate right {first:.2%}", end="")
    print(f", without namesakes {sum(each.right for each in alone) / len(alone):.2%}")
    likely = [each for each in judged if each.likely]
    right = sum(each.right for each in likely)
    print(f"  F1 {2 * right / max(1, len(likely) + len(present)):.3f}")
    sure = [each for each in judged if each.sure]
    wrong = sum(not each.right for each in sure)
    missing = sum(not each.line.truth for each in sure)
    print(f"  sur: {len(sure)}, precision {1 - wrong / max(1, len(sure)):.2%} ({wrong} wrong)")
    print(
        f"  absent called sur {missing / max(1, len(absent)):.2%}, of the present ones sur", end=""
    )
    print(f" {sum(each.right for each in sure) / len(present):.1%}")


def speed(data: Path, lines: int, seed: int) -> None:
    """Print lines a second of one core, for lines that mean companies of DATA, half of them misspelt."""
    base = open_base(data)
    drawn = [each.line for each in _labelled_of(base, lines, seed)]
    matcher = _matcher(base)
    for line in drawn[: len(drawn) // 10]:
        matcher.match(line, 3)
    gc.freeze()  # as a worker of the server does
    times = []
    for line in drawn:
        start = time.process_time()
        matcher.match(line, 3)
        times.append(time.process_time() - start)
    times.sort()
    start = time.process_time()
    for first in range(0, lines, rapprochement.AT_ONCE):
        matcher.match_all(drawn[first : first + rapprochement.AT_ONCE], 3)
    took = time.process_time() - start
    print(
        f"{sum(s.rows for s in base.values())} companies: {lines / sum(times):.0f} lines/s of one core, "
        f"{lines / took:.0f} in batches of {rapprochement.AT_ONCE}"
    )
    for share in (0.5, 0.9, 0.99, 1.0):
        print(f"  {share:.0%} within {1e3 * times[min(lines - 1, int(share * lines))]:.2f} ms")


def _labelled_of(base: ShardSet, lines: int, seed: int) -> list[LabelledLine]:
    noise = NoiseTables.of_rows(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    return labelled.present_lines(base, noise, lines, seed)


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.matching", description=__doc__)
    parser.add_argument(
        "command",
        choices=("split", "fit", "measure", "declared", "written", "kinds", "speed"),
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--lines", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--declared", type=Path)
    parser.add_argument("--noise", choices=tuple(_NOISES), default="first")
    parser.add_argument("--part", choices=tuple(_PARTS), default="all")
    parser.add_argument("--kind", choices=tuple(kinds.KINDS))
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    if given.command == "split":
        labelled.split(given.source, given.work)
    elif given.command == "fit":
        fit_weights(given.source, given.work, given.lines, given.declared)
    elif given.command == "declared":
        measure_declared(given.source, given.work)
    elif given.command == "written":
        measure_written(given.source, given.work or Path(__file__).with_name("written.csv"))
    elif given.command == "kinds":
        measure_kinds(given.source, given.lines, given.seed, given.part, given.kind, given.show)
    elif given.command == "measure":
        measure(given.source, given.work, given.lines, given.seed, given.noise, given.part)
    else:
        speed(given.source, given.lines, given.seed)


if __name__ == "__main__":
    main()
