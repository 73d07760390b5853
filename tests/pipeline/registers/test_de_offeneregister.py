"""Germany: the excerpt of OffeneRegister."""

import bz2
import json
from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, company, read

EXCERPT = RAW / "de" / "offeneregister_excerpt.jsonl.bz2"


def test_every_entity_is_accounted_for(tmp_path: Path) -> None:
    found = read("de-offeneregister", [EXCERPT], tmp_path)

    assert (found.counts.read, found.counts.kept) == (1396, 460)
    assert found.counts.dropped == {"association": 287, "radiée": 649}
    assert (found.counts.rejected, found.counts.noted) == ({}, {})


def test_an_entity_becomes_a_company(tmp_path: Path) -> None:
    found = read("de-offeneregister", [EXCERPT], tmp_path)

    assert company(found, "B1204_HRB260632") == {
        "iso2": "DE",
        "id": "B1204_HRB260632",
        "nom": "Nutzfahrzeugtechnik Dufner GmbH",
        "forme": "GmbH",
        "statut": "Eingetragen",
        "ville": "Teningen",
        "code_postal": "79331",
        "region": "Baden-Württemberg",
        "adresse": "Siemensstraße 10",
        "noms_anterieurs": ["DITTON GmbH"],
        "date_source": "2019-01-31",
    }


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Kibek GmbH.", "GmbH"),
        ("Wilhelm Fiedler GmbH u. Co. KG", "GmbH & Co. KG"),
        (
            "Bauträger Gesellschaft mit beschränkter Haftung & Co. Kommanditgesellschaft",
            "GmbH & Co. KG",
        ),
        ("Start UG (haftungsbeschränkt)", "UG (haftungsbeschränkt)"),
        ("Start UG (haftungsbeschränkt) & Co. KG", "GmbH & Co. KG"),
        ("Paul Pinsel KG", "KG"),
        ("Werk Aktiengesellschaft", "AG"),
        ("Merck KGaA", "KGaA"),
        ("Brillen Günther", None),
    ],
)
def test_the_form_is_the_end_of_the_name(tmp_path: Path, name: str, form: str | None) -> None:
    assert _one(tmp_path, name).get("forme") == form


@pytest.mark.parametrize(
    "name", ["Anna Weiß e.K.", "Weiß e. K., Blumen", "Weiß e.Kfr.", "Hut Inh. A. Weiß", "Anna Weiß"]
)
def test_sole_merchants_are_dropped(tmp_path: Path, name: str) -> None:
    found = read("de-offeneregister", [_published(tmp_path, name, "HRA"), EXCERPT], tmp_path)

    assert found.kept.filter(id="X1_HRA1").collect().is_empty()


@pytest.mark.parametrize(
    "name", ["Weiß & Söhne", "Sparkasse Münster", "Stadtwerke Ulm", "Weiß KG Hüte", "Gebr. Weiß"]
)
def test_partnerships_and_public_bodies_without_a_form_are_kept(tmp_path: Path, name: str) -> None:
    found = read("de-offeneregister", [_published(tmp_path, name, "HRA")], tmp_path)

    assert company(found, "X1_HRA1")["nom"] == name


def _published(tmp_path: Path, name: str, art: str) -> Path:
    record = json.loads(bz2.decompress(EXCERPT.read_bytes()).split(b"\n", 1)[0])
    record |= {
        "name": name,
        "company_number": f"X1_{art}1",
        "current_status": "currently registered",
    }
    record["all_attributes"]["_registerArt"] = art
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return file


def _one(tmp_path: Path, name: str) -> dict[str, object]:
    return company(
        read("de-offeneregister", [_published(tmp_path, name, "HRB")], tmp_path), "X1_HRB1"
    )
