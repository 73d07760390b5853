"""Romania: the excerpt of OD_FIRME with authorised activities beside it."""

from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, read

FIRME = RAW / "ro" / "od_firme_5_of_22_columns.csv"


@pytest.mark.parametrize(
    ("caen", "version", "codes"),
    [
        ("111^2\n{0}^6201^2\n{0}^6201^0", "2", ["0111", "6201"]),
        ("6210^3\n{0}^6201^2\n{0}^4711^3", "2.1", ["6210", "4711"]),
        ("4711^Versiunea 2008", "2", ["4711"]),
        ("4711^Versiunea 2025\n{0}^4719^Versiunea 2003", "2.1", ["4711"]),
    ],
)
def test_authorised_activities_are_further_ones_of_the_newest_revision(
    tmp_path: Path, caen: str, version: str, codes: list[str]
) -> None:
    first = FIRME.read_text(encoding="utf-8-sig").splitlines()[:2]
    number = dict(zip(first[0].split("^"), first[1].split("^"), strict=True))["COD_INMATRICULARE"]
    authorised = tmp_path / "OD_CAEN_AUTORIZAT.CSV"
    rows = f"{number}^{caen.format(number)}\nJ99/1/1999^0112^2\n"
    authorised.write_text(f"COD_INMATRICULARE^COD_CAEN_AUTORIZAT^VER_CAEN_AUTORIZAT\n{rows}")

    found = read("ro-onrc", [FIRME, authorised], tmp_path).kept.collect()

    assert found.height == 4
    assert found["nace_code"].null_count() == 4  # none of them is the main activity
    held = found.filter(found["nace_secondaires"].is_not_null())
    assert held.select("nace_version", "nace_secondaires").rows() == [(version, codes)]


def test_a_code_of_an_old_version_is_counted(tmp_path: Path) -> None:
    header, row = FIRME.read_text(encoding="utf-8-sig").splitlines()[:2]
    number = dict(zip(header.split("^"), row.split("^"), strict=True))["COD_INMATRICULARE"]
    authorised = tmp_path / "OD_CAEN_AUTORIZAT.CSV"
    authorised.write_text(
        f"COD_INMATRICULARE^COD_CAEN_AUTORIZAT^VER_CAEN_AUTORIZAT\n{number}^5211^1\n"
    )

    found = read("ro-onrc", [FIRME, authorised], tmp_path)

    assert found.counts.noted == {"CAEN d'une version ancienne": 1}
    assert found.kept.collect()["nace_secondaires"].null_count() == 4
