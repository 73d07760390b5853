"""Romania: the excerpt of OD_FIRME, with a file of authorised activities (codes of CAEN and their version)."""

from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, read

FIRME = RAW / "ro" / "od_firme_5_of_22_columns.csv"


@pytest.mark.parametrize(
    # {0} is the number of the company in the register.
    ("codes_and_versions", "version", "secondary_codes"),
    [
        ("111^2\n{0}^6201^2\n{0}^6201^0", "2", ["0111", "6201"]),
        ("6210^3\n{0}^6201^2\n{0}^4711^3", "2.1", ["6210", "4711"]),
        ("4711^Versiunea 2008", "2", ["4711"]),
        ("4711^Versiunea 2025\n{0}^4719^Versiunea 2003", "2.1", ["4711"]),
    ],
)
def test_authorised_activities_of_the_newest_revision_are_secondary(
    tmp_path: Path, codes_and_versions: str, version: str, secondary_codes: list[str]
) -> None:
    header_and_row = FIRME.read_text(encoding="utf-8-sig").splitlines()[:2]
    number = dict(zip(header_and_row[0].split("^"), header_and_row[1].split("^"), strict=True))[
        "COD_INMATRICULARE"
    ]
    authorised = tmp_path / "OD_CAEN_AUTORIZAT.CSV"
    # The excerpt has no company J99/1/1999.
    rows = f"{number}^{codes_and_versions.format(number)}\nJ99/1/1999^0112^2\n"
    authorised.write_text(f"COD_INMATRICULARE^COD_CAEN_AUTORIZAT^VER_CAEN_AUTORIZAT\n{rows}")

    companies = read("ro-onrc", [FIRME, authorised], tmp_path).kept.collect()

    assert companies.height == 4
    assert companies["nace_code"].null_count() == 4  # none of them is the main activity
    with_activities = companies.filter(companies["nace_secondaires"].is_not_null())
    assert with_activities.select("nace_version", "nace_secondaires").rows() == [
        (version, secondary_codes)
    ]


def test_an_activity_of_an_old_version_is_left_out_and_counted(tmp_path: Path) -> None:
    header, row = FIRME.read_text(encoding="utf-8-sig").splitlines()[:2]
    number = dict(zip(header.split("^"), row.split("^"), strict=True))["COD_INMATRICULARE"]
    authorised = tmp_path / "OD_CAEN_AUTORIZAT.CSV"
    authorised.write_text(
        f"COD_INMATRICULARE^COD_CAEN_AUTORIZAT^VER_CAEN_AUTORIZAT\n{number}^5211^1\n"
    )

    reading = read("ro-onrc", [FIRME, authorised], tmp_path)

    assert reading.counts.noted == {"CAEN d'une version ancienne": 1}
    assert reading.kept.collect()["nace_secondaires"].null_count() == 4
