"""Measure the matching of lists, or fit its weights again.

python -m tests.bench.matching split INPUT WORK
python -m pipeline build --input WORK/kept/* --out DATA
python -m tests.bench.matching fit DATA WORK [--declared index-egalite-fh.csv]
python -m tests.bench.matching measure DATA WORK [--lines 6000] [--seed 3] [--noise first|lists]
    [--part all|other_half|other_countries]

Weights are fitted on lines of both noises for half of the companies of the four large registers, and on the names that
half of the French companies typed. The other halves and the other countries are for measuring.
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
    PROBABILITY_WEIGHTS,
    SURE_BY_NAME,
    SURE_FROM,
    Weights,
    shares,
)
from shards.reader.shard import Shard
from shards.search.search import ShardSet
from tests.bench.matching import kinds, labelled
from tests.bench.matching.fit import CONSTANT, Example, fit, fit_shares, rising_curve
from tests.bench.matching.labelled import CompanyFilter, LabelledLine, LabelledLines
from tests.bench.matching.list_noise import ListNoise
from tests.bench.matching.noise import Noise, NoiseTables

_FIT_SEEDS: Final = (2, 202)  # of the lines on which the evidence is fitted, and the curve
# How often a typed name counts, because lines of the noises are much more numerous.
_TYPED: Final = 2
_TENTHS: Final = 10  # of the note, in the table of calibration


class Judgement(NamedTuple):
    """A line, the note of its best candidate, and verdicts.

    Attributes:
        note: the probability that the candidate is right, from 0 to 1; 0 without a candidate.
        right: whether the candidate is the company that the line means.
        sure: whether the verdict is `sur`.
        likely: whether the verdict is `sur` or `probable`.
    """

    line: LabelledLine
    note: float
    right: bool
    sure: bool = False
    likely: bool = False


def open_base(data: Path) -> ShardSet:
    """The open shards of the published generation of `data`, by country."""
    name = pointer.current_name(data)
    assert name is not None, f"{data} has no published generation"
    base = ShardSet()
    for path in sorted((data / name).glob("*.shard")):
        base[path.stem] = Shard(path)
    return base


def _matcher(base: ShardSet) -> Matcher:
    """The matcher of a caller with the right to contacts."""
    return Matcher(
        base,
        name_tables(),
        match_weights(),
        number_notation(),
        activities=activities.classes,
        coordonnees=True,
    )


def _labelled_lines(
    base: ShardSet, work: Path, noise: str = "first", part: str = "all"
) -> LabelledLines:
    """A source of lines with a noise, for a part of the companies and for absent companies."""
    tables = NoiseTables.parse(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    absent = labelled.absent_companies(work)
    return LabelledLines(base, absent, name_tables(), tables, _NOISES[noise], _PARTS[part])


def _is_fitted(iso2: str, identifier: str) -> bool:
    """Whether weights are fitted on lines that mean this company."""
    return iso2 in _FITTED and _is_fitted_number(identifier)


def _is_fitted_number(identifier: str) -> bool:
    """True for half of the identifiers; the reversed text makes it independent of `labelled.split`."""
    return zlib.crc32(identifier[::-1].encode()) % 2 == 0


def _is_other_half(iso2: str, identifier: str) -> bool:
    """Whether the company is of a fitted country, but no line that means it is fitted on."""
    return iso2 in _FITTED and not _is_fitted(iso2, identifier)


# The values of --noise.
_NOISES: Final[Mapping[str, type[Noise]]] = {"first": Noise, "lists": ListNoise}
# The countries on whose lines the weights are fitted; lines of the other countries only measure them.
_FITTED: Final = frozenset(("UK", "DE", "EE", "FR"))
# The values of --part, each with the companies that lines may mean.
_PARTS: Final[Mapping[str, CompanyFilter]] = {
    "all": lambda iso2, identifier: True,
    "fitted": _is_fitted,
    "other_half": _is_other_half,
    "other_countries": lambda iso2, identifier: iso2 not in _FITTED,
}


def _right_place(line: LabelledLine, weighed: Sequence[WeighedCompany]) -> int | None:
    """The place of the right company among the candidates of a line; None if it is not a candidate."""
    keys = [(candidate.company["iso2"], candidate.company["id"]) for candidate in weighed]
    return keys.index(line.truth) if line.truth in keys else None


def fit_weights(data: Path, work: Path, lines: int, declared: Path | None) -> None:
    """Write the weights and the curve of the notes.

    Weights that were set by hand, and weights of evidence that no line has, stay.
    """
    base = open_base(data)
    matcher = _matcher(base)
    typed_lines = (
        labelled.declared_lines(base, declared, _is_fitted_number, with_present_name=True)
        if declared
        else []
    )
    sources = {noise: _labelled_lines(base, work, noise, "fitted") for noise in _NOISES}
    # The weights of evidence are fitted on the first examples. The curve of the notes, and the weights that turn a
    # share into a probability, are fitted on the others, so on lines that the evidence is not fitted to.
    examples, curve_examples = (
        _examples(matcher, typed_lines[half::2]) * _TYPED
        + [
            example
            for labelled_lines in sources.values()
            for example in _examples(matcher, labelled_lines.draw(lines, seed))
        ]
        for half, seed in enumerate(_FIT_SEEDS)
    )
    current = match_weights()
    # A number with added zeros is another spelling: a higher weight would rank it before an exact number.
    # Too few lines are initials with a town: this weight is the best for such lines alone.
    set_by_hand = (SURE_FROM, SURE_BY_NAME, "id_zeros", "initiales_ville")
    names = [name for name in current if name not in (CONSTANT, *PROBABILITY_WEIGHTS, *set_by_hand)]
    names_with_lines = {
        name for example in examples for evidence in example.candidates for name in evidence
    }
    fitted = fit(
        [example for example in examples if example.candidates],
        [name for name in names if name in names_with_lines],
    )
    weights = Weights(current | fitted)
    # A VAT number or an LEI identifies one company, as the identifier does; too few lines have one to fit a weight.
    weights["tva_identique"] = weights["lei_identique"] = weights["id_identique"]
    weights["lei_different"] = weights["id_different"]
    best_candidates = []
    for example in curve_examples:
        share_and_leads = shares([weights.strength(evidence) for evidence in example.candidates])
        if share_and_leads:
            best_place = max(range(len(share_and_leads)), key=share_and_leads.__getitem__)
            best_candidates.append((*share_and_leads[best_place], best_place == example.right))
    weights |= zip(PROBABILITY_WEIGHTS, fit_shares(best_candidates), strict=True)
    _write_table("rapprochement.csv", "indice,poids", weights.items())
    points = []
    for example in curve_examples:
        probability_and_place = max(
            # The place breaks ties; -1 stands for no candidate.
            zip(weights.probabilities(example.candidates), itertools.count()),
            default=(0.0, -1),
        )
        points.append((probability_and_place[0], probability_and_place[1] == example.right))
    _write_table("rapprochement_notes.csv", "probabilite,note", rising_curve(points))


def _examples(matcher: Matcher, lines: Sequence[LabelledLine]) -> list[Example]:
    """An example per line, on which weights are fitted: the evidence of its candidates, and which of them is right."""
    examples = []
    for line in lines:
        weighed = matcher.weigh(line.line)
        examples.append(
            Example([candidate.evidence for candidate in weighed], _right_place(line, weighed))
        )
    return examples


def _write_table(name: str, header: str, pairs: Iterable[tuple[object, float]]) -> None:
    """Write a table of two columns to `seeds/`."""
    lines = [f"{key},{number:g}" for key, number in pairs]
    (TABLES / name).write_text("\n".join([header, *lines, ""]))


def measure(data: Path, work: Path, lines: int, seed: int, noise: str, part: str) -> None:
    """Match `lines` labelled lines, and print precision, recall, calibration (whether notes are right) and speed."""
    base = open_base(data)
    labelled_lines = _labelled_lines(base, work, noise, part).draw(lines, seed)
    matcher = _matcher(base)
    start = time.process_time()
    judged = _judge(matcher, labelled_lines)
    seconds = time.process_time() - start
    _print_quality(f"societes, {noise}, {part}, {lines} lines, seed {seed}", judged)
    print(
        f"{lines / seconds:.0f} lines/s of one core, {sum(s.rows for s in base.values())} companies"
    )
    _print_calibration(judged)
    for kind in sorted({change for judgement in judged for change in judgement.line.changes}):
        _print_kind(kind, [judgement for judgement in judged if kind in judgement.line.changes])


def _judge(matcher: Matcher, lines: Sequence[LabelledLine]) -> list[Judgement]:
    """Match each line and compare its best candidate with the company that it means."""
    judged = []
    for line in lines:
        result = matcher.match(line.line, 3)
        best = result.candidats[0] if result.candidats else None
        right = best is not None and (best.iso2, best.id) == line.truth
        sure, likely = result.verdict == SURE, result.verdict in (SURE, LIKELY)
        judged.append(Judgement(line, best.note if best else 0.0, right, sure, likely))
    return judged


def measure_declared(data: Path, names: Path) -> None:
    """Print precision, recall and calibration for names that French companies typed in earlier years (Egapro).

    The companies are those of the half on which no weight is fitted.
    """
    base = open_base(data)
    matcher = _matcher(base)
    lines = labelled.declared_lines(base, names, lambda siren: not _is_fitted_number(siren))
    judged = _judge(matcher, lines)
    _print_quality("names declared in other years", judged)
    _print_calibration(judged)


def measure_kinds(
    data: Path, lines: int, seed: int, part: str, chosen_kind: str | None, show: int
) -> None:
    """Print verdicts on names with one change, by kind of change."""
    base = open_base(data)
    matcher, is_chosen = _matcher(base), _PARTS[part]
    tables = NoiseTables.parse(rows("formes_juridiques.csv"), rows("abreviations.csv"))
    print(kinds.HEAD)
    for kind in [chosen_kind] if chosen_kind else kinds.KINDS:
        kind_lines = kinds.lines(base, tables, kind, lines, seed, is_chosen)
        print(kinds.count_kind(matcher, kind_lines, show).row(kind), flush=True)
    if chosen_kind:
        return
    counts = kinds.raised_by_activity(matcher, base, lines, seed, is_chosen)
    print(
        "activity in words: note raised {}, lowered {}, no candidate {} of {} lines".format(*counts)
    )


def measure_written(data: Path, path: Path) -> None:
    """Print verdicts on the handwritten names of a file with the columns `nom;pays;ville;sens`.

    `sens` is the country and identifier of the company meant, as "EE 10000018", or empty for an absent company. Lines
    that mean a company which the generation does not have are left out.
    """
    base = open_base(data)
    matcher = _matcher(base)
    lines = []
    for row in pl.read_csv(path, separator=";", infer_schema_length=0).iter_rows(named=True):
        iso2, _, number = (row["sens"] or "").partition(" ")
        if number and (iso2 not in base or base[iso2].find(number) is None):
            continue
        line = Line(row["nom"], (row["pays"],) if row["pays"] else (), ville=row["ville"])
        lines.append(LabelledLine(line, (iso2, number) if number else None, (), 0))
    judged = _judge(matcher, lines)
    _print_quality("handwritten names", judged)
    right_below_half = sum(judgement.right and judgement.note < 0.5 for judgement in judged)
    print(f"  right first and below 0.5: {right_below_half}")
    _print_calibration(judged)


def _print_calibration(judged: Sequence[Judgement]) -> None:
    """Print the share of right candidates by tenth of the note, and the expected calibration error."""
    error = 0.0
    for tenth in range(_TENTHS):
        low, high = tenth / _TENTHS, (tenth + 1) / _TENTHS
        in_tenth = [
            judgement
            for judgement in judged
            if min(int(judgement.note * _TENTHS), _TENTHS - 1) == tenth
        ]
        if in_tenth:
            mean_note = sum(judgement.note for judgement in in_tenth) / len(in_tenth)
            right_share = sum(judgement.right for judgement in in_tenth) / len(in_tenth)
            error += abs(mean_note - right_share) * len(in_tenth) / len(judged)
            print(
                f"| {low:.1f}–{high:.1f} | {len(in_tenth)} | {mean_note:.3f} | {right_share:.3f} |"
            )
    print(f"expected calibration error {error:.4f}")


def _print_kind(kind: str, judged: Sequence[Judgement]) -> None:
    """Print the table row of the lines with a kind of change."""
    present = [
        judgement for judgement in judged if judgement.line.truth and not judgement.line.namesakes
    ]
    first_right = sum(judgement.right for judgement in present) / max(1, len(present))
    sure = [judgement for judgement in judged if judgement.sure]
    wrong_sure = sum(not judgement.right for judgement in sure)
    print(
        f"| {kind} | {len(judged)} | first right without namesakes {first_right:.1%} "
        f"| sur {len(sure)}, {wrong_sure} wrong |"
    )


def _print_quality(title: str, judged: Sequence[Judgement]) -> None:
    """Print recall of the first candidate, F1, and the precision of the verdict `sur`."""
    present = [judgement for judgement in judged if judgement.line.truth]
    absent = [judgement for judgement in judged if not judgement.line.truth]
    first_right = sum(judgement.right for judgement in present) / len(present)
    without_namesakes = [judgement for judgement in present if not judgement.line.namesakes]
    print(f"{title}: {len(present)} present, {len(absent)} absent")
    print(f"  first candidate right {first_right:.2%}", end="")
    print(
        f", without namesakes {sum(judgement.right for judgement in without_namesakes) / len(without_namesakes):.2%}"
    )
    likely = [judgement for judgement in judged if judgement.likely]
    likely_right = sum(judgement.right for judgement in likely)
    print(f"  F1 {2 * likely_right / max(1, len(likely) + len(present)):.3f}")
    sure = [judgement for judgement in judged if judgement.sure]
    wrong_sure = sum(not judgement.right for judgement in sure)
    absent_sure = sum(not judgement.line.truth for judgement in sure)
    print(
        f"  sur: {len(sure)}, precision {1 - wrong_sure / max(1, len(sure)):.2%} ({wrong_sure} wrong)"
    )
    print(
        f"  absent called sur {absent_sure / max(1, len(absent)):.2%}, of the present ones sur",
        end="",
    )
    print(f" {sum(judgement.right for judgement in sure) / len(present):.1%}")


def speed(data: Path, lines: int, seed: int) -> None:
    """Print lines per second of one core, for lines of the first noise that mean companies of DATA."""
    base = open_base(data)
    lines_to_match = [labelled_line.line for labelled_line in _present_lines(base, lines, seed)]
    matcher = _matcher(base)
    for line in lines_to_match[: len(lines_to_match) // 10]:  # fills the memos
        matcher.match(line, 3)
    gc.freeze()  # as a worker of the server does
    times = []
    for line in lines_to_match:
        start = time.process_time()
        matcher.match(line, 3)
        times.append(time.process_time() - start)
    times.sort()
    start = time.process_time()
    for batch_start in range(0, lines, rapprochement.LINES_PER_JOB):
        matcher.match_all(
            lines_to_match[batch_start : batch_start + rapprochement.LINES_PER_JOB], 3
        )
    batch_seconds = time.process_time() - start
    print(
        f"{sum(s.rows for s in base.values())} companies: {lines / sum(times):.0f} lines/s of one core, "
        f"{lines / batch_seconds:.0f} in batches of {rapprochement.LINES_PER_JOB}"
    )
    for share in (0.5, 0.9, 0.99, 1.0):
        print(f"  {share:.0%} within {1e3 * times[min(lines - 1, int(share * lines))]:.2f} ms")


def _present_lines(base: ShardSet, lines: int, seed: int) -> list[LabelledLine]:
    """Draw lines of the first noise that mean companies of DATA."""
    noise = NoiseTables.parse(rows("formes_juridiques.csv"), rows("abreviations.csv"))
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
    options = parser.parse_args()
    if options.command == "split":
        labelled.split(options.source, options.work)
    elif options.command == "fit":
        fit_weights(options.source, options.work, options.lines, options.declared)
    elif options.command == "declared":
        measure_declared(options.source, options.work)
    elif options.command == "written":
        measure_written(options.source, options.work or Path(__file__).with_name("written.csv"))
    elif options.command == "kinds":
        measure_kinds(
            options.source, options.lines, options.seed, options.part, options.kind, options.show
        )
    elif options.command == "measure":
        measure(
            options.source, options.work, options.lines, options.seed, options.noise, options.part
        )
    else:
        speed(options.source, options.lines, options.seed)


if __name__ == "__main__":
    main()
