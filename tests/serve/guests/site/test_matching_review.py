"""/rapprochement: columns that are chosen, the review of verdicts, and what becomes of the chosen companies (X5)."""

import io
import re
from collections.abc import Mapping
from html import unescape

import openpyxl
import pytest

from serve.guests.site.pages.lists import chosen_companies, columns
from serve.guests.site.pages.lists.csv_files import list_file
from tests.serve.client import Served
from tests.serve.guests.site.test_matching import (
    PATH,
    calls,
    matched,
    rows_of,
    understood,
    verdicts,
)
from tests.serve.guests.site.visitor import FORM, Seen, Visitor, member

USE = f"{PATH}/societes"
UNKNOWN = "Wer;Wo;Was\nMueller Maschinenbau;DE;7\nFitlab;FR;8\n"
# Of each verdict some, the doubtful ones last.
LIST = "nom;pays\n" + "".join(
    ("Société Générale d'Orléans;FR\n" * 60, "Żabka Ψ nirgends;\n", "?;FR\n", "Mueller;DE\n")
)


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


def ticked(seen: Seen) -> Mapping[str, str]:
    radios = re.findall(r'name="(choix_\d+)" value="([^"]*)"[^>]*? checked', seen.html)
    return {name: unescape(value) for name, value in radios}


@pytest.mark.parametrize("accept", ["fr", "en"])
def test_each_column_has_a_choice_and_what_was_understood_is_chosen(
    served: Served, accept: str
) -> None:
    visitor = Visitor(served, {"Accept-Language": accept})
    seen = matched(visitor, b"Firma;Land;Interne Nr.\nFitlab;FR;7\n")

    assert choices(seen) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    for field in columns.FIELDS:
        assert seen.html.count(f'<option value="{field}"') == 3
    assert "cle" not in columns.FIELDS
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
    assert choices(again) == {"colonne_0": "nom", "colonne_1": "pays", "colonne_2": ""}
    assert listed(again) == form["texte"]


def test_a_choice_counts_more_than_a_heading_and_goes_with_each_piece(served: Served) -> None:
    visitor, _ = member(served)
    visitor.get(PATH)
    text = "nom;raison sociale\n17;Fitlab\n"
    wrong = visitor.send(PATH, {"texte": text})
    form = {"texte": text, "colonnes": "1", "colonne_0": "", "colonne_1": "nom", "debut": "1001"}

    assert understood(wrong)["Colonnes"] == "nom = nom"
    seen = visitor.send(PATH, form)
    assert understood(seen)["Colonnes"] == "raison sociale = nom"
    assert rows_of(seen)[0][0] == 1_001
    assert "colonne_0" not in choices(visitor.send(PATH, {"texte": "Fitlab", "sortie": "csv"}))


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
    assert [number for number, _ in sorted(rows_of(again))] == [1, 2]
    assert "/societes/DE/F1103R_HRB218916" in again.html
    headed = visitor.send(PATH, {**form, "titres": "oui"})
    assert [number for number, _ in rows_of(headed)] == [1]
    assert said not in headed.text
    pieces = re.findall(
        r'<textarea class="morceau" hidden>(.*?)</textarea>',
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
    assert choices(seen) == every | last
    assert understood(seen)["Colonnes"] == f"x{most - 1} = nom"
    assert "Fitlab" in rows_of(seen)[0][1]
    many = {f"autre_{n}": "" for n in range(30)}
    assert visitor.send(PATH, {**form, **many}).status == 400
    kind = {"Content-Type": FORM, "Accept": "text/html"}
    body = "&".join(f"a{n}=" for n in range(33)).encode()
    assert served.ask("/connexion", "POST", kind, body=body).status == 400
    assert served.ask(USE, "POST", kind, body=body * 40).status == 400


def test_the_review_begins_with_what_is_doubtful_fifty_a_page(served: Served) -> None:
    visitor, _ = member(served)
    seen = matched(visitor, LIST.encode())

    order = [number for number, _ in rows_of(seen)]
    assert sorted(order) == list(range(1, 64))
    by_line = verdicts(seen)
    assert by_line[60:62] == ["aucun", "en erreur"]
    rank = ["ambigu", "probable", "en erreur", "aucun", "sûr"]
    shown = [rank.index(by_line[number - 1]) for number in order]
    assert shown == sorted(shown)
    sizes = [part.count("<tr><td") for part in seen.html.split('<details class="page"')[1:]]
    assert max(sizes) == 50 and sum(sizes) == 63
    opened = [part.startswith(" open") for part in seen.html.split('<details class="page"')[1:]]
    assert opened[0] and sum(n for n, is_open in zip(sizes, opened, strict=True) if is_open) <= 50
    assert re.search(r'type="radio" name="verdict" value="sur"> <b>\d+</b>', seen.html)


def test_chosen_companies_open_as_a_search(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom;pays\nMueller Maschinenbau;DE\nFitlab;FR\nNirgends Zz;\n")
    form = dict(ticked(seen))

    assert form["choix_1"] == "DE:F1103R_HRB218916"
    assert "aucune d’elles" in seen.text
    none = {**form, "choix_2": ""}
    reply = visitor.send(USE, {**none, "sortie": "recherche"})
    assert (reply.status, reply.headers["Location"]) == (303, "/?ids=DE:F1103R_HRB218916")
    found = visitor.get(reply.headers["Location"])
    assert found.html.count("/societes/DE/F1103R_HRB218916")
    other = visitor.send(
        USE, {"choix_1": "FR:552100554", "ids": "AT:FN é/1", "sortie": "recherche"}
    )
    assert other.headers["Location"] == "/?ids=AT:FN%20%C3%A9%2F1,FR:552100554"
    empty = visitor.send(USE, {"choix_1": "", "sortie": "recherche"})
    assert (empty.status, "aucune société n'est choisie" in empty.text) == (400, True)
    assert visitor.send(USE, {"ids": "FR:1", "sortie": "pdf"}).status == 400


def test_more_than_a_search_may_name_are_said_before_any_is_opened(served: Served) -> None:
    visitor = Visitor(served)
    visitor.get(PATH)
    many = [f"FR:{n:09}" for n in range(1_200)]
    said = visitor.send(USE, {"ids": ",".join(many), "sortie": "recherche"})

    assert said.status == 200
    assert "Sociétés choisies : 1200 . Une recherche en nomme au plus 1000." in said.figures
    fields = dict(re.findall(r'type="hidden" name="(ids|premieres)" value="([^"]*)"', said.html))
    reply = visitor.send(USE, {**fields, "sortie": "recherche"})
    assert reply.headers["Location"] == "/?ids=" + ",".join(many[:1_000])
    assert visitor.get(reply.headers["Location"]).status == 200
    assert chosen_companies._cut_to_fit(many) == many[:1_000]


def test_a_workbook_of_chosen_companies_is_an_export_with_its_price_beside(
    served: Served,
) -> None:
    visitor, account = member(served, "data")
    seen = matched(
        visitor,
        b"nom;pays\nMueller Maschinenbau;DE\nSoci\xc3\xa9t\xc3\xa9 G\xc3\xa9n\xc3\xa9rale;FR\n",
    )
    kind = {
        "Cookie": "; ".join(f"{n}={v}" for n, v in visitor.cookies.items()),
        "Content-Type": FORM,
    }
    body = f"jeton={visitor.token}&sortie=xlsx&choix_1=DE:F1103R_HRB218916&choix_2=FR:552100554"

    assert "Compte pour 1 export sur 40 ce mois-ci (déjà 0)" in seen.text
    reply = served.ask(USE, "POST", kind, body=body.encode())
    assert reply.status == 200
    book = openpyxl.load_workbook(io.BytesIO(reply.body), read_only=True)
    cells = {
        str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row
    }
    assert {"F1103R_HRB218916", "552100554"} <= cells
    usage = served.store.usage(account, served.context.plans["data"], served.context.now())
    assert usage.result().exports.used == 1


def test_a_visitor_is_told_where_workbooks_are(served: Served) -> None:
    visitor = Visitor(served)
    seen = matched(visitor, b"nom\nFitlab\n")

    assert 'value="xlsx"' not in seen.html
    assert "pour un classeur Excel" in seen.text
    reply = visitor.send(USE, {"ids": "FR:1", "sortie": "xlsx"})
    assert reply.headers["Location"] == "/connexion?suite=/rapprochement"
    assert served.ask(USE, "POST", {"Content-Type": FORM}, body=b"ids=FR:1").status == 403


def test_columns_that_are_chosen_are_read() -> None:
    raw = b"nom;b;c\n1;2;3"

    assert list_file.read(raw, columns={0: "", 2: "nom", 7: "id"}).columns == {"nom": 2}
    assert list_file.read(b"A GmbH\nB GmbH", columns={0: "id"})[2:6] == (
        ("nom",), False, [["A GmbH"], ["B GmbH"]], {"id": 0},
    )  # fmt: skip
