"""Evidence of the address, activity, website and e-mail address of a line (extension X19)."""

from typing import Any

import pytest

from serve.contract import activities
from shards.matching.evidence import contact_evidence
from shards.matching.line import Line

COMPANY: dict[str, Any] = {
    "nom": "Bäckerei Hübner", "ville": "Köln", "code_postal": "50667", "adresse": "Hohe Straße 12",
    "nace_code": "10.71",
    "activite": "Manufacture of bread", "secteur": "Industries alimentaires", "sous_secteur": None,
    "nace_libelle": "Boulangerie", "description": None, "site_web": "https://www.hubner.de/",
    "domaine": None, "email": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        (Line(adresse="hohe strasse 12, 50667 KÖLN"), {"adresse_identique"}),
        (Line(adresse="Hohe Straße 14"), set()),
        (Line(adresse="Am Markt 3"), {"adresse_differente"}),
        (Line(activite="1071"), {"activite_identique"}),
        (Line(activite="10.7"), {"activite_identique"}),
        (Line(activite="C10"), {"activite_identique"}),
        (Line(activite="46.90"), {"activite_differente"}),
        (Line(activite="boulangeries"), {"activite_identique"}),
        (Line(activite="acier"), set()),
        (Line(site_web="hubner.de/shop"), {"site_identique"}),
        (Line(email="info@hubner.de"), {"site_identique"}),
        (Line(site_web="backerei-hubner.com"), {"site_du_nom"}),
        (Line(email="backereihubner@gmail.com"), set()),
        (Line(), set()),
    ],
)
def test_contact_fields_of_a_line_are_evidence(line: Line, reasons: set[str]) -> None:
    assert set(contact_evidence(line, COMPANY, {"gmail.com"})) == reasons


def test_words_of_an_activity_are_compared_by_their_classes() -> None:
    """The words are in another language than the labels of the company"""
    bakery = activities.classes("bakery")

    assert contact_evidence(Line(activite="bakery"), COMPANY, set(), bakery) == {
        "activite_identique": 1.0
    }
    assert (
        contact_evidence(Line(activite="bakery"), COMPANY | {"nace_code": "46.90"}, set(), bakery)
        == {}
    )


def test_hidden_contacts_of_a_company_are_not_evidence() -> None:
    """§2.1"""
    visible = COMPANY | {"site_web": "https://brot.koeln", "email": "info@brot.koeln"}
    hidden = COMPANY | {"site_web": None, "email": None}

    for line in (Line(site_web="brot.koeln/shop"), Line(email="info@brot.koeln")):
        assert contact_evidence(line, visible, set()) == {"site_identique": 1.0}
        assert contact_evidence(line, hidden, set()) == {}
    assert contact_evidence(Line(site_web="backerei-hubner.com"), hidden, set()) == {
        "site_du_nom": 1.0
    }
