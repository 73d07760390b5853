"""The `[statements]` of a declaration: its required keys, and errors that name the place."""

from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.registers.toml import declaration, declaration_reader
from pipeline.registers.toml.declaration import Declaration, DeclarationError

DECLARATION = """
main = "comptes"
[file.comptes]
used = ["id", "fin", "ca", "groupe"]
[statements]
iso2 = "'FR'"
id = "id"
close = { date = "fin", format = "%Y-%m-%d" }
currency = "'EUR'"
group = "groupe = 'K'"
values = "ca"
"""
CSV = "id,fin,ca,groupe\n1,2020-12-31,5,C\n"


def _read_declaration(tmp_path: Path, toml: str) -> Declaration:
    """The declaration with this text, as of the source `fr-ratios`."""
    path = tmp_path / "fr-ratios.toml"  # the name gives the source, whose elements are mapped
    path.write_text(toml, encoding="utf-8")
    return declaration.read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("close =", "# close =", r"\[statements.close\]: missing; add it"),
        (
            'values = "ca"',
            "",
            r"\[statements\]: the amounts have no column; name `element` and `value`",
        ),
        ('values = "ca"', 'element = "ca"', r"\[statements\]: the amounts have no column"),
        ('values = "ca"', 'values = "ca"\nyear = "fin"', r"\[statements.year\]: unknown key"),
        ("[statements]", "[columns]\nid = 'id'\n[statements]", r"\[columns\]: is given with"),
    ],
)
def test_a_declaration_of_accounts_that_says_too_little_or_too_much_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        _read_declaration(tmp_path, DECLARATION.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "\"groupe = 'K'\"",
            '"gruppe = 1"',
            r"\[statements\] group: gruppe = 1: no column 'gruppe'",
        ),
        ('values = "ca"', 'values = "marge"', "comptes.csv has none of the columns marge"),
        (
            'values = "ca"',
            'values = "ca"\nsums = { Turnover = { plus = "ca" } }',
            r"\[statements.sums\] Turnover: no line of postes.csv",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_its_files_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    declared = _read_declaration(tmp_path, DECLARATION.replace(old, new))
    file = tmp_path / "comptes.csv"
    file.write_text(CSV, encoding="utf-8")

    with pytest.raises(InputError, match=message):
        declaration_reader.read(declared, [file], tmp_path)


def test_an_element_that_is_not_mapped_is_counted_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "comptes.csv"
    file.write_text(CSV, encoding="utf-8")

    reading = declaration_reader.read(_read_declaration(tmp_path, DECLARATION), [file], tmp_path)

    assert reading.kept.collect().is_empty()
    assert reading.counts.noted == {"postes inconnus": 1}
    assert reading.counts.examples == {"postes inconnus": ("ca (1)",)}
