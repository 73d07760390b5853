"""Changes that concern a search, over one or several steps, compared with two lists of companies."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.changes import change_file, comparison, net_changes
from shards.changes.change_file import CHANGED, STATEMENTS, ChangeFile
from shards.changes.net_changes import KINDS
from shards.codec.record import FIELDS
from shards.errors import CorruptError
from shards.query import Query, Range
from shards.search import columns
from shards.search.columns import Filter
from tests import oracle
from tests.world import Company, company, names, total_assets, write_shard

# The byte after the header and the three starts of a file with one change (FORMAT.md §12).
FIRST_ENTRY = 72
STATEMENT_LINES = [{"code": "FA", "valeur": 1.0, "devise": "EUR", "exercice": 2024}]

towns = st.sampled_from([None, "Orléans", "ORLEANS", "Łódź", "-", "Tallinn"])
postcodes = st.sampled_from([None, "sw1a 2aa", "SW1A", "45000", " "])


@st.composite
def publications(draw: st.DrawFn) -> list[list[Company]]:
    """The companies of Estonia in two to four publications; each publication has about three of four companies."""
    publication_count = draw(st.integers(2, 4))
    return [
        [draw(company_variants(f"{number}-A")) for number in range(6) if draw(st.integers(0, 3))]
        for _ in range(publication_count)
    ]


@st.composite
def company_variants(draw: st.DrawFn, identifier: str) -> Company:
    """A company with this identifier; few values per field, so that two variants often agree."""
    division, groupe = draw(st.sampled_from([(None, None), ("62", "62.0"), ("47", "47.1")]))
    return company(
        "EE", identifier, draw(st.sampled_from(["Ännchen", "Lab 1", "Œuvre"]) | names),
        division=division,
        groupe=groupe,
        nace_code=draw(st.sampled_from([None, "62.01", "47.11"])),
        ca_eur=draw(st.sampled_from([None, 0.0, 1e6, 2e6])),
        effectif=draw(st.sampled_from([None, 0, 3])),
        ville=draw(towns),
        code_postal=draw(postcodes),
        forme=draw(st.sampled_from([None, "OÜ"])),
        date_creation=draw(st.sampled_from([None, "2024", "2024-02", "2024-02-29"])),
        etat=draw(st.sampled_from(["active", "inconnu"])),
        site_web=draw(st.sampled_from([None, "https://a.ee"])),
        score=draw(st.integers(0, 2)),
        date_source=draw(st.sampled_from([None, "2026"])),
        a_comptes=draw(st.booleans()),
        **total_assets(draw(st.sampled_from([None, -2.5, 0.25, 5e7]))),
    )  # fmt: skip


def bounds(column: str, *values: float) -> st.SearchStrategy[Range]:
    """A range of a column; each bound is one of these values or None."""
    bound = st.sampled_from([None, None, *values])
    return st.builds(Range, st.just(column), bound, bound)


queries = st.builds(
    Query,
    secteurs=st.sampled_from([(), (), ("62",)]),
    sous_secteurs=st.sampled_from([None, None, ("47.1", "62.0"), ()]),
    q=st.sampled_from([None, None, "lab", "Œ", "1a", "-"]),
    ranges=st.tuples(
        bounds("ca_eur", 1e6),
        bounds("effectif", 0, 3),
        bounds("creation", 20240201),
        bounds("actif_eur", 0.25),
    ),
    site_web=st.booleans(),
    avec_ca=st.booleans(),
    ids=st.sampled_from([None, None, (("EE", "1-A"), ("EE", "2-A")), ()]),
    etats=st.sampled_from([(), (), ("inconnu",)]),
    villes=st.sampled_from([(), (), ("orleans", "!"), ("?",)]),
    codes_postaux=st.sampled_from([(), (), ("SW1",), ("", "45")]),
    formes=st.sampled_from([(), (), ("OÜ",)]),
    nace=st.sampled_from([(), (), ("62", "47.1")]),
    avec_comptes=st.booleans(),
)


def write_change_files(folder: Path, datasets: Sequence[Sequence[Company]]) -> list[ChangeFile]:
    """The files of changes between each publication and the next; no file for a step without changes."""
    files = []
    for publication, companies in enumerate(datasets):
        lines = {entry["id"]: STATEMENT_LINES for entry in companies if entry["a_comptes"]}
        write_shard(folder / f"{publication}", "EE", companies, lines)
        target = folder / f"{publication}.changes"
        if publication and any(
            comparison.compare(
                folder / f"{publication - 1}", folder / f"{publication}", "EE", target
            )
        ):
            files.append(ChangeFile(target))
    return files


def find_changes(files: Sequence[ChangeFile], filters: Sequence[Filter]) -> dict[Any, Any]:
    """The net changes in the form of the oracle, where statements are only present or absent."""
    changes = {}
    net = net_changes.find(files, net_changes.companies(files), filters)
    for kind in KINDS:
        for change in net.read(kind, 0, len(net.kinds[kind])):
            champs = dict(change.champs) if change.nature == CHANGED else None
            if champs and STATEMENTS in champs:
                before, after = champs.pop(STATEMENTS)
                champs["a_comptes"] = (before is not None, after is not None)
            changes["EE", change.identifier] = (kind, champs)
    for file in files:
        file.close()
    return changes


def oracle_changes(
    datasets: Sequence[Sequence[Company]], concerns: Callable[[Mapping[str, Any]], bool]
) -> Any:
    """The changes between the first and the last publication, by the oracle."""
    return oracle.changes(datasets[0], datasets[-1], (*FIELDS, "a_comptes"), concerns)


@given(publications(), queries | st.none(), st.sampled_from([1, 3, 8_192]))
def test_changes_of_a_search_or_of_some_companies_are_those_between_two_lists(
    datasets: list[list[Company]], query: Query | None, changes_per_block: int
) -> None:
    """X8, E2: the steps between several generations add up to the changes from the first list to the last"""
    filters = columns.filters(query) if query else [columns.has_identifier(["1a", "3 A", "9"])]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_file, "BLOCK", changes_per_block)
        files = write_change_files(Path(name), datasets)

        result = find_changes(files, filters)
    assert result == oracle_changes(
        datasets,
        lambda entry: oracle.matches(entry, query) if query else entry["id"] in ("1-A", "3-A"),
    )


def test_a_company_that_entered_a_search_leaves_it_if_the_file_is_read_backwards(
    tmp_path: Path,
) -> None:
    poor, rich = (company("EE", "1", "Ä", ca_eur=amount) for amount in (1.0, 9.0))
    write_change_files(tmp_path, [[poor], [rich]])[0].close()

    reversed_file = ChangeFile(tmp_path / "1.changes", backwards=True)

    assert find_changes(
        [reversed_file], columns.filters(Query(ranges=(Range("ca_eur", 5.0),)))
    ) == {("EE", "1"): ("sortie", {"ca_eur": (9.0, 1.0)})}


def test_damaged_blocks_are_refused(tmp_path: Path) -> None:
    """Every third byte after the header is changed: a search works or raises CorruptError."""
    (file,) = write_change_files(tmp_path, [[company("EE", "1", "Ä")], [company("EE", "1", "É")]])
    file.close()
    path = tmp_path / "1.changes"
    content = path.read_bytes()
    refused = 0
    for position in range(FIRST_ENTRY, len(content), 3):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0x55]) + content[position + 1 :]
        )
        with closing(ChangeFile(path)) as changes:
            try:
                net_changes.find(
                    [changes],
                    net_changes.companies([changes]),
                    columns.filters(Query(q="é", ranges=(Range("ca_eur", 1.0),))),
                )
                changes.details([0])
            except CorruptError:
                refused += 1
    assert refused > 50  # not all: some changed bytes leave a valid file


def test_the_companies_of_several_steps_are_read_once_while_the_memo_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated call returns the very result of the first call."""
    files = write_change_files(
        tmp_path, [[company("EE", "1", "Ä", ca_eur=float(amount))] for amount in range(4)]
    )
    memo = net_changes.CompanyMemo()

    first_results = [memo.companies_of(files[:2]), memo.companies_of(files[1:])]

    assert [memo.companies_of(files[:2]), memo.companies_of(files[1:])] == first_results
    assert memo.companies_of(files[:2]) is first_results[0]
    monkeypatch.setattr(net_changes, "_MOST_REMEMBERED", 4)  # room for two results
    assert memo.companies_of(files[1:]) is first_results[1]
    # The memo has room for two results, so a third result removes the oldest, which is then computed again.
    assert memo.companies_of(files) is not memo.companies_of(files[:2])
    assert memo.companies_of(files[:2]) is not first_results[0]
    for file in files:
        file.close()


def test_a_company_that_changed_back_did_not_change(tmp_path: Path) -> None:
    """Company 1 has its first turnover again; its score differs, which is not a change of a company (X8)."""
    changed_back = [
        company("EE", "1", "Ä", ca_eur=amount, score=score)
        for score, amount in enumerate((1.0, 9.0, 1.0))
    ]
    changed = [company("EE", "2", "Ö", ca_eur=amount) for amount in (1.0, 9.0, 5.0)]
    files = write_change_files(
        tmp_path, [list(pair) for pair in zip(changed_back, changed, strict=True)]
    )

    assert find_changes(files, columns.filters(Query())) == {
        ("EE", "2"): ("modifiee", {"ca_eur": (1.0, 5.0)})
    }
