"""/rapprochement: the columns of a list, as they are understood and as they are chosen (X5)."""

import re
from collections.abc import Mapping
from html import unescape

import pytest

from serve.features.matching import list_file, pages
from tests.serve.client import Served
from tests.serve.features.matching.test_pages import (
    PATH,
    calls,
    matched,
    rows_of,
    understood,
)
from tests.serve.surfaces.site.visitor import FORM, Seen, Visitor, member

UNKNOWN = "Wer;Wo;Was\nMueller Maschinenbau;DE;7\nFitlab;FR;8\n"


def choices(seen: Seen) -> dict[str, str]:
    """The field that each select has chosen."""
    found = re.findall(r'<select form="liste" name="(colonne_\d+)".*?</select>', seen.html)
    parts = re.findall(r'name="(colonne_\d+)"(.*?)</select>', seen.html)
    assert len(found) == len(parts)
    chosen = ((name, re.findall(r'value="(\w*)" selected', options)) for name, options in parts)
    return {name: value[0] if value else "" for name, value in chosen}


def listed(seen: Seen) -> str:
    """The text of the form, which the next one sends."""
    return unescape(re.findall(r'<textarea id="texte".*?>(.*?)</textarea>', seen.html, re.S)[0])


@pytest.mark.parametrize("accept", ["fr", "en"])
def test_each_column_has_a_choice_and_what_was_understood_is_chosen(
    served: Served, accept: str
) -> None:
    visitor = Visitor(served, {"Accept-Language": accept})
    seen = matched(visitor, b"Firma;Land;Interne Nr.\nFitlab;FR;7\n", sortie="lecture")

    assert choices(seen) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    for field in pages.COLUMN_FIELDS:
        assert seen.html.count(f'<option value="{field}"') == 3
    assert "cle" not in pages.COLUMN_FIELDS
    again, none = {
        "fr": ("Rapprocher de nouveau avec ces colonnes", "— ignorer —"),
        "en": ("Match again with these columns", "— ignore —"),
    }[accept]
    assert again in seen.text and none in seen.text


def test_where_no_column_is_known_they_are_chosen_and_the_list_is_sent_again(
    served: Served,
) -> None:
    visitor, account = member(served)
    seen = matched(visitor, UNKNOWN.encode("utf-16"))  # a file, which no browser sends again

    assert (seen.status, "aucune colonne de nom" in seen.text) == (400, True)
    assert choices(seen) == {"colonne_0": "", "colonne_1": "", "colonne_2": ""}
    assert calls(served, account) == 0
    form = {"texte": listed(seen), "colonnes": "1", "colonne_0": "nom", "colonne_1": "pays"}
    again = visitor.send(PATH, form)
    assert again.status == 200, again.text
    assert understood(again)["Colonnes"] == "Wer = nom, Wo = pays"
    assert "/societes/DE/F1103R_HRB218916" in again.html
    counted = calls(served, account)
    form_again = visitor.get(f"{PATH}?liste={again.path.rpartition('/')[2]}")
    assert choices(form_again) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    assert listed(form_again).split() == form["texte"].split()
    assert calls(served, account) == counted


def test_a_choice_counts_more_than_a_heading(served: Served) -> None:
    visitor, _ = member(served)
    visitor.get(PATH)
    text = "nom;raison sociale\n17;Fitlab\n"
    wrong = visitor.send(PATH, {"texte": text})
    visitor.get(PATH)
    form = {"texte": text, "colonnes": "1", "colonne_0": "", "colonne_1": "nom"}

    assert understood(wrong)["Colonnes"] == "nom = nom"
    seen = visitor.send(PATH, form)
    assert understood(seen)["Colonnes"] == "raison sociale = nom"


@pytest.mark.parametrize(
    ("accept", "column", "said", "error"),
    [
        (
            "fr",
            "colonne",
            "La première ligne ressemble aux suivantes",
            "la liste n'a pas de titres",
        ),
        ("en", "column", "The first row is like those below", "the list has no headings"),
    ],
)
def test_a_list_without_headings_loses_no_line(
    served: Served, accept: str, column: str, said: str, error: str
) -> None:
    visitor = Visitor(served, {"Accept-Language": accept})
    seen = matched(visitor, b"DE;Mueller Maschinenbau GmbH\nFR;Fitlab SAS\n")

    assert (seen.status, said in seen.text, error in unescape(seen.html)) == (400, True, True)
    assert choices(seen) == {"colonne_0": "", "colonne_1": ""}
    chosen_columns = {"colonnes": "1", "colonne_0": "pays", "colonne_1": "nom"}
    form = {"texte": listed(seen), "titres": "non", **chosen_columns}
    again = visitor.send(PATH, form)
    assert again.status == 200, again.text
    assert f"{column} 1 =" in again.text and f"{column} 2 =" in again.text
    visitor.get(PATH)
    assert [number for number, _ in sorted(rows_of(again))] == [1, 2]
    assert "/societes/DE/F1103R_HRB218916" in again.html
    headed = visitor.send(PATH, {**form, "titres": "oui"})
    assert [number for number, _ in rows_of(headed)] == [1]
    visitor.get(PATH)
    assert said not in headed.text
    pieces = re.findall(
        r'<textarea class="morceau" data-rows="\d+" hidden>(.*?)</textarea>',
        visitor.send(PATH, {**form, "sortie": "lecture"}).html,
        re.DOTALL,
    )
    assert unescape(pieces[0]).split() == form["texte"].split()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"titres": "peut-être"}, "oui, non"),
        ({"colonne_0": "couleur"}, "champ inconnu 'couleur'"),
        ({"colonne_0": "nom", "colonne_2": "nom"}, "`nom` est déjà la colonne 1"),
        ({"colonne_0": "", "colonne_1": "pays"}, "aucune colonne de nom"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(
    served: Served, form: Mapping[str, str], said: str
) -> None:
    visitor = Visitor(served)
    visitor.get(PATH)
    seen = visitor.send(PATH, {"texte": UNKNOWN, "colonnes": "1", **form})

    assert seen.status == 400
    assert said.replace("`", "") in seen.text.replace("`", "")
    assert 'id="liste"' in seen.html


def test_each_of_two_hundred_columns_has_a_choice_and_a_form_no_more_fields(served: Served) -> None:
    visitor = Visitor(served)
    visitor.get(PATH)
    most = list_file.MOST_COLUMNS
    wide = ";".join(f"x{n}" for n in range(most))
    row = ";".join([*["1"] * (most - 1), "Fitlab"])
    every = {f"colonne_{n}": "" for n in range(most)}
    last = {f"colonne_{most - 1}": "nom"}
    form = {"texte": f"{wide}\n{row}", "colonnes": "1", **every, **last}

    seen = visitor.send(PATH, form)
    assert seen.status == 200, seen.text
    again = visitor.get(f"{PATH}?liste={seen.path.rpartition('/')[2]}")
    assert choices(again) == every | last
    assert understood(seen)["Colonnes"] == f"x{most - 1} = nom"
    assert "Fitlab" in rows_of(seen)[0][1]
    many = {f"autre_{n}": "" for n in range(30)}
    assert visitor.send(PATH, {**form, **many}).status == 400
    kind = {"Content-Type": FORM, "Accept": "text/html"}
    body = "&".join(f"a{n}=" for n in range(33)).encode()
    assert served.ask("/connexion", "POST", kind, body=body).status == 400


def test_columns_that_are_chosen_are_read() -> None:
    raw = b"nom;b;c\n1;2;3"

    assert list_file.read(raw, columns={0: "", 2: "nom", 7: "id"}).columns == {"nom": 2}
    assert list_file.read(b"A GmbH\nB GmbH", columns={0: "id"})[2:6] == (
        ("nom",), False, [["A GmbH"], ["B GmbH"]], {"id": 0},
    )  # fmt: skip
