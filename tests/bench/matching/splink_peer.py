"""Splink 5 on DuckDB, set up as its manual does, as another way to match a list.

It gets what this project's own tables know: names without legal forms, identifiers without zeros and prefixes. Its
parameters are learnt from labelled lines of another seed, as the weights of this project are.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import splink.comparison_level_library as levels
from splink import DuckDBAPI, Linker, SettingsCreator
from splink.comparison_library import CustomComparison

from shards.codec.folding import fold, fold_id
from shards.search.matching.evidence import classes
from shards.search.matching.line import Line
from shards.search.matching.name_tables import NameTables
from shards.search.search import ShardSet
from tests.bench.matching.peers import Answer, Key

Bared = tuple[
    str, Line, tuple[str, ...], frozenset[str]
]  # a key, words without legal forms, their classes

# A line and a company are compared if one of these holds, and the country of the line, if it has one.
BLOCKS: Final = (
    "l.rarest = r.rarest",
    "l.rarest = r.second",
    "l.second = r.rarest",
    "l.beginning = r.beginning",
    "l.ending = r.ending",
    "l.number = r.number",
    "l.town = r.town and l.initial = r.initial",
    "l.postcode = r.postcode and l.initial = r.initial",
)
_COUNTRY: Final = " and (l.iso2 = r.iso2 or l.iso2 is null)"
_SAMPLED_PAIRS: Final = 20_000_000
_PRESENT: Final = 0.7  # of the lines, to begin with
_COLUMNS: Final = (
    "unique_id", "iso2", "name", "sorted", "joined", "rarest", "second", "beginning", "ending",
    "initial", "form", "town", "postcode", "date", "number",
)  # fmt: skip
_SCHEMA: Final = pa.schema(
    [(name, pa.string()) for name in _COLUMNS] + [("words", pa.list_(pa.string()))]
)


class Predicted(NamedTuple):
    """The best company of each line, and the seconds of processor time after the training."""

    answers: list[Answer]
    seconds: float


def predict(
    base: ShardSet,
    training: Sequence[tuple[Line, Key | None]],
    lines: Sequence[Line],
    tables: NameTables,
) -> Predicted:
    """Train on lines with the company that each means, then match others."""
    companies = [_bared(key, line, tables) for key, line in _companies(base)]
    sizes = Counter(word for _, _, words, _ in companies for word in set(words))
    right = _table(companies, sizes)
    known = [(f"{i}", line) for i, (line, _) in enumerate(training)]
    labels = {f"{i}": ":".join(truth) for i, (_, truth) in enumerate(training) if truth is not None}
    learner = _linker(_bared_lines(known, tables), labels, sizes, right, _settings(right.num_rows))
    learner.training.estimate_u_using_random_sampling(max_pairs=_SAMPLED_PAIRS, seed=1)
    learner.training.estimate_m_from_label_column("label")
    learnt = learner.misc.save_model_to_json()
    given = [(str(i), line) for i, line in enumerate(lines)]
    linker = _linker(_bared_lines(given, tables), {}, sizes, right, learnt)
    start = time.process_time()
    found = linker.inference.predict(threshold_match_probability=0.001).as_pyarrow_table()
    best: list[Answer] = [(None, 0.0)] * len(lines)
    for line, company, note in zip(
        found["unique_id_l"].to_pylist(),
        found["unique_id_r"].to_pylist(),
        found["match_probability"].to_pylist(),
        strict=True,
    ):
        if note > best[int(line)][1]:
            iso2, _, identifier = company.partition(":")
            best[int(line)] = (iso2, identifier), note
    return Predicted(best, time.process_time() - start)


def _settings(companies: int) -> SettingsCreator:
    name = CustomComparison(
        [
            levels.NullLevel("name"),
            levels.ExactMatchLevel("name", term_frequency_adjustments=True),
            levels.ExactMatchLevel("sorted", term_frequency_adjustments=True),
            levels.ExactMatchLevel("joined"),
            levels.JaroWinklerLevel("name", 0.95),
            levels.JaroWinklerLevel("sorted", 0.95),
            levels.CustomLevel(
                "len(list_intersect(words_l, words_r)) >= least(len(words_l), len(words_r))"
            ),
            levels.JaroWinklerLevel("name", 0.88),
            levels.CustomLevel("2 * len(list_intersect(words_l, words_r)) >= len(words_l)"),
            levels.ElseLevel(),
        ],
        "name",
    )
    rare = CustomComparison(
        [
            levels.NullLevel("rarest"),
            levels.ExactMatchLevel("rarest", term_frequency_adjustments=True),
            levels.JaroWinklerLevel("rarest", 0.9),
            levels.CustomLevel("rarest_l = second_r or second_l = rarest_r"),
            levels.ElseLevel(),
        ],
        "rarest",
    )
    place = [
        _exact("town", levels.JaroWinklerLevel("town", 0.9), frequency=True),
        _exact("postcode", levels.CustomLevel("postcode_l[:2] = postcode_r[:2]")),
        _exact("number", levels.LevenshteinLevel("number", 1)),
        _exact("date", levels.CustomLevel("date_l[:4] = date_r[:4]")),
        _exact("form"),
    ]
    return SettingsCreator(
        link_type="link_only",
        probability_two_random_records_match=_PRESENT / companies,
        comparisons=[name, rare, *place],
        blocking_rules_to_generate_predictions=[f"({rule}){_COUNTRY}" for rule in BLOCKS],
        retain_matching_columns=False,
    )


def _exact(column: str, *between: Any, frequency: bool = False) -> CustomComparison:
    exact = levels.ExactMatchLevel(column, term_frequency_adjustments=frequency)
    return CustomComparison([levels.NullLevel(column), exact, *between, levels.ElseLevel()], column)


# -- the columns -------------------------------------------------------------------------------


def _linker(
    lines: "Sequence[Bared]",
    labels: Mapping[str, str],
    sizes: Mapping[str, int],
    right: pa.Table,
    settings: Any,
) -> Any:
    """A linker of lines, whose `label` is the company that they mean, and companies, whose `label` is their own key."""
    api = DuckDBAPI()
    left = _table(lines, sizes)
    for_lines = [labels.get(key, f"line {key}") for key in left["unique_id"].to_pylist()]
    both = [
        api.register(left.append_column("label", [for_lines]), dataset_display_name="a_lines"),
        api.register(
            right.append_column("label", right["unique_id"]), dataset_display_name="b_companies"
        ),
    ]
    return Linker(both, settings, log_level="ERROR")


def _bared_lines(lines: Sequence[tuple[str, Line]], tables: NameTables) -> "list[Bared]":
    return [_bared(key, line, tables) for key, line in lines]


def _table(rows: "Sequence[Bared]", sizes: Mapping[str, int]) -> pa.Table:
    return pa.Table.from_pylist([_row(*each, sizes) for each in rows], _SCHEMA)


def _companies(base: ShardSet) -> Iterator[tuple[str, Line]]:
    for iso2, shard in base.items():
        for row in range(shard.rows):
            company = shard.company(row)
            date = str(company["date_creation"]) if company["date_creation"] else None
            yield (
                f"{iso2}:{company['id']}",
                Line(
                    company["nom"], (iso2,), company["id"], None, company["ville"],
                    company["code_postal"], date,
                ),
            )  # fmt: skip


def _bared(key: str, line: Line, tables: NameTables) -> "Bared":
    iso2 = line.pays[0] if len(line.pays) == 1 else ""
    bare = tables.bare_name(tuple(fold(line.nom or "").split()), iso2)
    return key, line, bare.words, classes(bare.forms)


def _row(
    key: str,
    line: Line,
    words: tuple[str, ...],
    classes: frozenset[str],
    sizes: Mapping[str, int],
) -> dict[str, Any]:
    iso2 = line.pays[0] if line.pays else None
    rare = [*sorted(words, key=lambda word: sizes.get(word, 0)), None, None]
    joined = "".join(words)
    return {
        "unique_id": key,
        "iso2": iso2,
        "name": " ".join(words) or None,
        "sorted": " ".join(sorted(words)) or None,
        "joined": joined or None,
        "words": list(words) or None,
        "rarest": rare[0],
        "second": rare[1],
        "beginning": joined[:6] or None,
        "ending": joined[-6:] or None,
        "initial": joined[:2] or None,
        "form": "+".join(sorted(classes)) or None,
        "town": fold(line.ville or "") or None,
        "postcode": fold_id(line.code_postal or "") or None,
        "date": line.date_creation,
        "number": _number(line.id, iso2),
    }


def _number(given: str | None, iso2: str | None) -> str | None:
    found = fold_id(given or "")
    for prefix in (iso2 or "", "GB" if iso2 == "UK" else ""):
        found = found.removeprefix(prefix)
    return found.lstrip("0") or None
