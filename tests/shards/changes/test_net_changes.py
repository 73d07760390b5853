"""Changes that concern a search, over one step or several, held to two lists of companies."""

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

FIRST_ENTRY = 72  # after the header and three starts
LINES = [{"code": "FA", "valeur": 1.0, "devise": "EUR", "exercice": 2024}]

towns = st.sampled_from([None, "Orléans", "ORLEANS", "Łódź", "-", "Tallinn"])
postcodes = st.sampled_from([None, "sw1a 2aa", "SW1A", "45000", " "])


@st.composite
def publications(draw: st.DrawFn) -> list[list[Company]]:
    """The companies of Estonia in two to four publications; most are in several of them, often changed."""
    count = draw(st.integers(2, 4))
    return [
        [draw(drawn(f"{number}-A")) for number in range(6) if draw(st.integers(0, 3))]
        for _ in range(count)
    ]


@st.composite
def drawn(draw: st.DrawFn, identifier: str) -> Company:
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


def bounded(column: str, *values: float) -> st.SearchStrategy[Range]:
    """Bounds on a column, one of these values each, or none."""
    bound = st.sampled_from([None, None, *values])
    return st.builds(Range, st.just(column), bound, bound)


queries = st.builds(
    Query,
    secteurs=st.sampled_from([(), (), ("62",)]),
    sous_secteurs=st.sampled_from([None, None, ("47.1", "62.0"), ()]),
    q=st.sampled_from([None, None, "lab", "Œ", "1a", "-"]),
    ranges=st.tuples(
        bounded("ca_eur", 1e6),
        bounded("effectif", 0, 3),
        bounded("creation", 20240201),
        bounded("actif_eur", 0.25),
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


def written(folder: Path, found: Sequence[Sequence[Company]]) -> list[ChangeFile]:
    """The files of changes between each publication and the next; none where nothing changed."""
    files = []
    for number, companies in enumerate(found):
        lines = {one["id"]: LINES for one in companies if one["a_comptes"]}
        write_shard(folder / f"{number}", "EE", companies, lines)
        target = folder / f"{number}.changes"
        if number and any(
            comparison.compare(folder / f"{number - 1}", folder / f"{number}", "EE", target)
        ):
            files.append(ChangeFile(target))
    return files


def told(files: Sequence[ChangeFile], wanted: Sequence[Filter]) -> dict[Any, Any]:
    """What is found, in the form of the oracle; of statements, whether there are some."""
    found = {}
    net = net_changes.find(files, net_changes.companies(files), wanted)
    for kind in KINDS:
        for one in net.read(kind, 0, len(net.kinds[kind])):
            champs = dict(one.champs) if one.nature == CHANGED else None
            if champs and STATEMENTS in champs:
                was, becomes = champs.pop(STATEMENTS)
                champs["a_comptes"] = (was is not None, becomes is not None)
            found["EE", one.identifier] = (kind, champs)
    for file in files:
        file.close()
    return found


def expected(
    found: Sequence[Sequence[Company]], concerns: Callable[[Mapping[str, Any]], bool]
) -> Any:
    """What the oracle says of the first and the last publication."""
    return oracle.changes(found[0], found[-1], (*FIELDS, "a_comptes"), concerns)


@given(publications(), queries | st.none(), st.sampled_from([1, 3, 8_192]))
def test_what_concerns_a_search_or_some_companies_is_what_two_lists_say(
    found: list[list[Company]], query: Query | None, size: int
) -> None:
    """X8, E2"""
    wanted = columns.filters(query) if query else [columns.has_identifier(["1a", "3 A", "9"])]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_file, "BLOCK", size)
        patch.setattr(change_file, "BLOCK", size)
        files = written(Path(name), found)

        fast = told(files, wanted)
    assert fast == expected(
        found,
        lambda one: oracle.matches(one, query) if query else one["id"] in ("1-A", "3-A"),
    )


def test_read_backwards_who_entered_leaves(tmp_path: Path) -> None:
    poor, rich = (company("EE", "1", "Ä", ca_eur=amount) for amount in (1.0, 9.0))
    written(tmp_path, [[poor], [rich]])[0].close()

    back = ChangeFile(tmp_path / "1.changes", backwards=True)

    assert told([back], columns.filters(Query(ranges=(Range("ca_eur", 5.0),)))) == {
        ("EE", "1"): ("sortie", {"ca_eur": (9.0, 1.0)})
    }


def test_damaged_blocks_are_told(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [[company("EE", "1", "Ä")], [company("EE", "1", "É")]])
    file.close()
    path = tmp_path / "1.changes"
    whole = path.read_bytes()
    refused = 0
    for place in range(FIRST_ENTRY, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
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
    assert refused > 50


def test_the_companies_of_several_steps_are_made_once_while_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = written(tmp_path, [[company("EE", "1", "Ä", ca_eur=float(n))] for n in range(4)])
    memo = net_changes.CompanyMemo()

    made = [memo.companies_of(files[:2]), memo.companies_of(files[1:])]

    assert [memo.companies_of(files[:2]), memo.companies_of(files[1:])] == made
    assert memo.companies_of(files[:2]) is made[0]
    monkeypatch.setattr(net_changes, "_REMEMBERED", 4)  # changes of two ways
    assert memo.companies_of(files[1:]) is made[1]
    assert memo.companies_of(files) is not memo.companies_of(files[:2])  # the oldest makes way
    assert memo.companies_of(files[:2]) is not made[0]
    for file in files:
        file.close()


def test_a_company_that_is_again_as_it_was_did_not_change(tmp_path: Path) -> None:
    """Its score alone is another, which says nothing of it (X8)."""
    back = [
        company("EE", "1", "Ä", ca_eur=amount, score=n) for n, amount in enumerate((1.0, 9.0, 1.0))
    ]
    other = [company("EE", "2", "Ö", ca_eur=amount) for amount in (1.0, 9.0, 5.0)]
    files = written(tmp_path, [list(pair) for pair in zip(back, other, strict=True)])

    assert told(files, columns.filters(Query())) == {
        ("EE", "2"): ("modifiee", {"ca_eur": (1.0, 5.0)})
    }
