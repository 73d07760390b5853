"""/rapprochement: the detected and the chosen columns of a list (X5)."""

import re
from collections.abc import Mapping
from html import unescape

import pytest

from serve.features.matching import list_file, pages
from tests.serve.client import Server
from tests.serve.features.matching.test_pages import (
    PATH,
    calls_today,
    match_list,
    read_card,
    rows_of,
)
from tests.serve.surfaces.site.visitor import FORM, Page, Visitor, sign_up_member

# A list whose headings are German question words, which mean no field.
UNKNOWN_HEADINGS = "Wer;Wo;Was\nMueller Maschinenbau;DE;7\nFitlab;FR;8\n"


def selected_fields(page: Page) -> dict[str, str]:
    """The chosen field of each select."""
    selects = re.findall(r'<select form="liste" name="(colonne_\d+)".*?</select>', page.html)
    options_by_name = re.findall(r'name="(colonne_\d+)"(.*?)</select>', page.html)
    assert len(selects) == len(options_by_name)
    selected = (
        (name, re.findall(r'value="(\w*)" selected', options)) for name, options in options_by_name
    )
    return {name: value[0] if value else "" for name, value in selected}


def list_text(page: Page) -> str:
    """The list in the text field of the form."""
    return unescape(re.findall(r'<textarea id="texte".*?>(.*?)</textarea>', page.html, re.S)[0])


@pytest.mark.parametrize("accept", ["fr", "en"])
def test_each_column_has_a_select_with_the_detected_field_selected(
    server: Server, accept: str
) -> None:
    visitor = Visitor(server, {"Accept-Language": accept})
    page = match_list(visitor, b"Firma;Land;Interne Nr.\nFitlab;FR;7\n", sortie="lecture")

    assert selected_fields(page) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    for field in pages.COLUMN_FIELDS:
        assert page.html.count(f'<option value="{field}"') == 3
    assert "cle" not in pages.COLUMN_FIELDS
    button, ignored = {
        "fr": ("Rapprocher de nouveau avec ces colonnes", "— ignorer —"),
        "en": ("Match again with these columns", "— ignore —"),
    }[accept]
    assert button in page.text and ignored in page.text


def test_columns_with_unknown_headings_are_chosen_and_the_list_is_sent_again(
    server: Server,
) -> None:
    visitor, account = sign_up_member(server)
    # Browsers do not send a file again, so the page returns the list as text.
    page = match_list(visitor, UNKNOWN_HEADINGS.encode("utf-16"))

    assert (page.status, "aucune colonne de nom" in page.text) == (400, True)
    assert selected_fields(page) == {"colonne_0": "", "colonne_1": "", "colonne_2": ""}
    assert calls_today(server, account) == 0
    form = {"texte": list_text(page), "colonnes": "1", "colonne_0": "nom", "colonne_1": "pays"}
    list_page = visitor.send(PATH, form)
    assert list_page.status == 200, list_page.text
    assert read_card(list_page)["Colonnes"] == "Wer = nom, Wo = pays"
    assert "/societes/DE/F1103R_HRB218916" in list_page.html
    calls_before = calls_today(server, account)
    form_again = visitor.get(f"{PATH}?liste={list_page.path.rpartition('/')[2]}")
    assert selected_fields(form_again) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    assert list_text(form_again).split() == form["texte"].split()
    assert calls_today(server, account) == calls_before


def test_a_chosen_column_overrides_a_heading(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    visitor.get(PATH)
    text = "nom;raison sociale\n17;Fitlab\n"
    page_by_headings = visitor.send(PATH, {"texte": text})
    visitor.get(PATH)
    form = {"texte": text, "colonnes": "1", "colonne_0": "", "colonne_1": "nom"}

    assert read_card(page_by_headings)["Colonnes"] == "nom = nom"
    page_by_choice = visitor.send(PATH, form)
    assert read_card(page_by_choice)["Colonnes"] == "raison sociale = nom"


@pytest.mark.parametrize(
    ("accept", "column", "note", "error"),
    [
        (
            "fr",
            "colonne",
            "La première ligne ressemble aux suivantes",
            "la liste n'a pas de titres",
        ),
        ("en", "column", "The first row is like the rows below", "the list has no headings"),
    ],
)
def test_a_list_without_headings_loses_no_line(
    server: Server, accept: str, column: str, note: str, error: str
) -> None:
    visitor = Visitor(server, {"Accept-Language": accept})
    page = match_list(visitor, b"DE;Mueller Maschinenbau GmbH\nFR;Fitlab SAS\n")

    assert (page.status, note in page.text, error in unescape(page.html)) == (400, True, True)
    assert selected_fields(page) == {"colonne_0": "", "colonne_1": ""}
    chosen_columns = {"colonnes": "1", "colonne_0": "pays", "colonne_1": "nom"}
    form = {"texte": list_text(page), "titres": "non", **chosen_columns}
    list_page = visitor.send(PATH, form)
    assert list_page.status == 200, list_page.text
    assert f"{column} 1 =" in list_page.text and f"{column} 2 =" in list_page.text
    visitor.get(PATH)
    assert [number for number, _ in sorted(rows_of(list_page))] == [1, 2]
    assert "/societes/DE/F1103R_HRB218916" in list_page.html
    page_with_headings = visitor.send(PATH, {**form, "titres": "oui"})
    assert [number for number, _ in rows_of(page_with_headings)] == [1]
    visitor.get(PATH)
    assert note not in page_with_headings.text
    parts_for_script = re.findall(
        r'<textarea class="morceau" data-rows="\d+" hidden>(.*?)</textarea>',
        visitor.send(PATH, {**form, "sortie": "lecture"}).html,
        re.DOTALL,
    )
    assert unescape(parts_for_script[0]).split() == form["texte"].split()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"titres": "peut-être"}, "oui, non"),
        ({"colonne_0": "couleur"}, "champ inconnu 'couleur'"),
        ({"colonne_0": "nom", "colonne_2": "nom"}, "`nom` est déjà la colonne 1"),
        ({"colonne_0": "", "colonne_1": "pays"}, "aucune colonne de nom"),
    ],
)
def test_an_invalid_choice_of_columns_is_refused(
    server: Server, form: Mapping[str, str], message: str
) -> None:
    visitor = Visitor(server)
    visitor.get(PATH)
    page = visitor.send(PATH, {"texte": UNKNOWN_HEADINGS, "colonnes": "1", **form})

    assert page.status == 400
    assert message.replace("`", "") in page.text.replace("`", "")
    assert 'id="liste"' in page.html


def test_a_form_may_have_a_choice_for_each_of_200_columns_but_few_other_fields(
    server: Server,
) -> None:
    visitor = Visitor(server)
    visitor.get(PATH)
    columns = list_file.MOST_COLUMNS
    headings = ";".join(f"x{number}" for number in range(columns))
    row = ";".join([*["1"] * (columns - 1), "Fitlab"])
    ignored = {f"colonne_{number}": "" for number in range(columns)}
    chosen = {f"colonne_{columns - 1}": "nom"}
    form = {"texte": f"{headings}\n{row}", "colonnes": "1", **ignored, **chosen}

    page = visitor.send(PATH, form)
    assert page.status == 200, page.text
    form_page = visitor.get(f"{PATH}?liste={page.path.rpartition('/')[2]}")
    assert selected_fields(form_page) == ignored | chosen
    assert read_card(page)["Colonnes"] == f"x{columns - 1} = nom"
    assert "Fitlab" in rows_of(page)[0][1]
    unknown_fields = {f"autre_{number}": "" for number in range(30)}
    assert visitor.send(PATH, {**form, **unknown_fields}).status == 400
    kind = {"Content-Type": FORM, "Accept": "text/html"}
    body = "&".join(f"a{number}=" for number in range(33)).encode()
    assert server.ask("/connexion", "POST", kind, body=body).status == 400


def test_chosen_columns_replace_the_detected_columns() -> None:
    raw = b"nom;b;c\n1;2;3"

    assert list_file.read(raw, columns={0: "", 2: "nom", 7: "id"}).columns == {"nom": 2}
    # The fields headings, is_headed, rows and columns of a ListFile.
    assert list_file.read(b"A GmbH\nB GmbH", columns={0: "id"})[2:6] == (
        ("nom",), False, [["A GmbH"], ["B GmbH"]], {"id": 0},
    )  # fmt: skip
