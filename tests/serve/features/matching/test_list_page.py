"""/listes/{code}: a matched list is stored with its verdicts and choices; using it again is free (X5)."""

import csv
import io
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
import zstandard
from openpyxl import load_workbook

from quota.ledger import lists
from quota.ledger.exports import Usage
from quota.new_values import list_id
from quota.periods import seconds
from serve.features.matching import list_page
from tests.quota.filling import create_list
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.features.matching.test_pages import (
    PATH,
    match_list,
    read_card,
    rows_of,
    verdicts_of,
)
from tests.serve.surfaces.site.visitor import FORM, Page, Visitor, sign_up_member
from tests.world import company

# Lines of several verdicts, the doubtful lines last.
MANY_LINES = "nom;pays\n" + "".join(
    ("Société Générale d'Orléans;FR\n" * 60, "Żabka Ψ nirgends;\n", "?;FR\n", "Mueller;DE\n")
)
# A matched company, a name that no company has, and another matched company; with two columns of the user.
THREE_LINES = (
    "Réf;Société;Pays;Note interne\r\n"
    "C-1;Mueller Maschinenbau;DE;=1+1\r\n"
    "C-2;Żabka Ψ nirgends;;b\r\n"
    "C-3;Lab;EE;c\r\n"
)


def usage_of(server: Server, account: str, plan: str = "data") -> Usage:
    """The calls, exports and credits that an account with this plan has used."""
    return server.store.usage(account, server.context.plans[plan], server.context.now()).result()


def code_of(page: Page) -> str:
    """The secret code of a list, at the end of its address."""
    return page.path.rpartition("/")[2]


def candidate_choices(page: Page, line: int) -> list[str]:
    """The values of the buttons that choose a candidate of a line."""
    return re.findall(rf'name="choix" value="({line}:\d*)"', page.html)


def csv_rows(page: Page, separator: str = ";") -> list[dict[str, str]]:
    """The rows of a CSV that a page returned, by heading."""
    text = page.html.removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text), delimiter=separator))


def test_opening_a_list_again_keeps_verdicts_and_choices_and_is_free(server: Server) -> None:
    """The form chooses no company for line 1; only the match is a call"""
    visitor, account = sign_up_member(server, "data")
    page = match_list(visitor, THREE_LINES.encode())
    usage_before = usage_of(server, account)

    visitor.get("/societes/DE/F1103R_HRB218916")
    after_choice = visitor.send(page.path, {"choix": "1:"})
    opened_again = visitor.get(page.path)
    file = visitor.get(f"{page.path}?format=csv")
    unmatched = visitor.get(f"{page.path}?verdict=aucun")

    assert "choisi par vous" in after_choice.text
    assert rows_of(opened_again) == rows_of(after_choice) != rows_of(page)
    assert [row["societe_id"] for row in csv_rows(file)] == ["", "", "OC301540"]
    assert csv_rows(file)[0]["choix"] == "manuel"
    # Line 1 has no company any more, so it is among those without one.
    assert [number for number, _ in rows_of(unmatched)] == [1, 2]
    assert usage_of(server, account).calls.used == usage_before.calls.used == 1
    assert usage_of(server, account).exports.used == 0


def test_a_choice_is_a_candidate_of_its_line_or_no_company(server: Server) -> None:
    """`1:0` is the first candidate of line 1, and `1:` is no company. Unknown lines and candidates are refused"""
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nMueller Maschinenbau;DE\n")

    without_company = visitor.send(page.path, {"choix": "1:"})
    replies = [
        visitor.send(page.path, {"choix": item}) for item in ("1:9", "2:0", "x", "0:0", "1:0:0")
    ]
    restored = visitor.send(page.path, {"choix": "1:0"})

    assert "choisi par vous" in without_company.text and 'value="1:0"' in without_company.html
    assert [item.status for item in replies] == [400] * 5
    assert "choisi par vous" not in restored.text


def test_lines_with_a_company_chosen_by_a_person_are_counted_apart(server: Server) -> None:
    """Fixed: a line whose company a person had chosen still showed the red verdict "aucun"."""
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, b"nom\nLab Mueller\nXqzwv\n")
    verdicts_before = verdicts_of(page)

    chosen = visitor.send(page.path, {"choix": candidate_choices(page, 1)[0]})
    chosen_lines = visitor.get(f"{page.path}?verdict=choisi")
    unchosen = visitor.get(f"{page.path}?verdict={verdicts_before[1]}")
    row = csv_rows(visitor.get(f"{page.path}?format=csv"))[0]

    assert verdicts_of(chosen) == ["choisi", verdicts_before[1]]
    assert chosen.text.count("1 choisi") == 2  # in the heading, and above the lines
    assert [number for number, _ in rows_of(chosen_lines)] == [1]
    assert [number for number, _ in rows_of(unchosen)] == [2]
    assert (row["verdict"], row["choix"]) == (verdicts_before[0], "manuel")


def test_a_line_whose_company_a_person_rejected_is_not_shown_as_sure(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, "\n".join(THREE_LINES.splitlines()[:2]).encode())
    verdicts_before = verdicts_of(page)

    rejected = visitor.send(page.path, {"choix": "1:"})

    assert verdicts_before == ["sûr"]
    assert verdicts_of(rejected) == ["aucun"]
    assert "choisi par vous" in rejected.text
    assert "1 lignes" not in page.text


def test_a_list_that_a_script_sent_in_parts_shows_no_encoding(server: Server) -> None:
    """Fixed: a workbook or a file in Windows-1252 that the script sent in parts was shown as "UTF-8"."""
    visitor, _ = sign_up_member(server, "data")
    form = {"texte": "nom;pays\nMueller;DE", "separateur": ";"}

    complete, first_part = (
        visitor.send("/rapprochement", form | fields) for fields in ({}, {"debut": "1"})
    )

    assert read_card(complete)["Encodage"] == "UTF-8"
    assert read_card(first_part).keys() == read_card(complete).keys() - {"Encodage", "Séparateur"}


def test_lines_are_shown_in_order_fifty_a_page_or_filtered_by_verdict(server: Server) -> None:
    """63 lines, of which line 61 has no company and line 62 is in error"""
    visitor, _ = sign_up_member(server)
    first_page = match_list(visitor, MANY_LINES.encode())

    pages = [visitor.get(f"{first_page.path}?page={page}") for page in (1, 2, 3)]
    unmatched = visitor.get(f"{first_page.path}?verdict=aucun")
    refused = [
        visitor.get(f"{first_page.path}?{item}") for item in ("verdict=x", "page=0", "format=pdf")
    ]

    assert [number for item in pages for number, _ in rows_of(item)] == list(range(1, 64))
    assert [len(rows_of(item)) for item in pages] == [50, 13, 0]  # of 63 lines
    assert verdicts_of(pages[1])[10:12] == ["aucun", "en erreur"]
    assert [number for number, _ in rows_of(unmatched)] == [61]
    assert "1 aucun · 1 en erreur" in first_page.text
    assert [item.status for item in refused] == [400, 400, 400]


def test_another_account_and_a_stranger_cannot_open_a_list(server: Server) -> None:
    """An account gets 404, a stranger the page to log in"""
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nFitlab;FR\n")
    other_member, _ = sign_up_member(server, "data")
    stranger = Visitor(server)

    foreign_pages = [
        other_member.get(page.path),
        other_member.send(page.path, {"geste": "supprimer"}),
    ]
    foreign_form = other_member.get(f"{PATH}?liste={code_of(page)}")
    log_in = stranger.get(page.path)

    assert [reply.status for reply in (*foreign_pages, foreign_form)] == [404] * 3
    assert "Fitlab" not in "".join(reply.html for reply in (*foreign_pages, foreign_form, log_in))
    assert log_in.headers["Location"] == f"/connexion?suite={page.path}"
    assert stranger.get("/listes/soc_liste_unknown").status == 404
    assert visitor.get(page.path).status == 200


def test_a_list_of_a_visitor_opens_by_its_address_alone(server: Server) -> None:
    """The address holds the secret code of the list, so any visitor who has it may change the list"""
    page = match_list(Visitor(server), b"nom;pays\nFitlab;FR\nLab;EE\nA;EE\n")
    other_visitor = Visitor(server)
    opened = other_visitor.get(page.path)

    changed = other_visitor.send(page.path, {"choix": "1:"})
    other_visitor.get(page.path)
    unknown = other_visitor.send(page.path, {"geste": "rien"})

    assert [number for number, _ in rows_of(opened)] == [1, 2]  # a visitor gets two lines matched
    assert "toute personne qui a cette adresse peut la voir" in opened.text
    assert '<meta name="robots" content="noindex">' in opened.html
    assert code_of(page) not in opened.html.partition("</head>")[0]
    assert (changed.status, unknown.status) == (200, 400)
    stored_list = server.store.read(
        lists.rows_of, list_id(code_of(page)), seconds(server.context.now())
    ).result()
    # The store has neither an account nor the secret code of the list.
    assert stored_list and (stored_list.head.account, stored_list.head.code) == ("", "")
    # A form without the token of a visitor is refused, also with the code.
    assert server.ask(page.path, "POST", {"Content-Type": FORM}, body=b"geste=nom").status == 403


def test_a_list_has_a_name_and_is_deleted_with_all_its_rows(server: Server) -> None:
    visitor, account = sign_up_member(server, "data")
    page = match_list(visitor, THREE_LINES.encode())

    renamed = visitor.send(page.path, {"geste": "nom", "nom": "  Clients   <b>Żabka "})
    listed = visitor.get("/compte")
    visitor.get(page.path)
    reply = visitor.send(page.path, {"geste": "supprimer"})

    assert "<h1><bdi>liste é</bdi></h1>" in page.html  # the name of the file
    assert "<h1><bdi>Clients &lt;b&gt;Żabka</bdi></h1>" in renamed.html
    assert f'href="{page.path}"' in listed.html
    assert reply.headers["Location"] == "/compte#listes"
    assert visitor.get(page.path).status == 404
    assert server.store.read(lists.lists_of, account, seconds(server.context.now())).result() == []


def test_a_list_expires_after_thirty_days(server: Server) -> None:
    visitor, account = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nFitlab;FR\n")
    now = server.context.now()

    after_29_days = server.store.read(
        lists.rows_of, list_id(code_of(page)), seconds(now + timedelta(days=29))
    ).result()
    after_31_days = server.store.read(
        lists.rows_of, list_id(code_of(page)), seconds(now + timedelta(days=31))
    ).result()

    assert after_29_days and after_29_days.head.account == account
    assert after_31_days is None


def test_an_account_with_too_many_lists_is_refused_before_a_call_is_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, account = sign_up_member(server, "data")
    match_list(visitor, b"nom;pays\nFitlab;FR\n")
    monkeypatch.setattr(lists, "LISTS_MOST", 1)

    refused = match_list(visitor, b"nom;pays\nFitlab;FR\n")

    assert refused.status == 409
    assert "1 listes" in refused.text and "supprimez-en une" in refused.text
    assert "Fitlab" in refused.html  # the list, to send it again
    assert usage_of(server, account).calls.used == 1


def test_the_list_of_a_visitor_is_limited_in_size(server: Server) -> None:
    # 16 000 different characters, which compression hardly shortens.
    long_row = (
        "nom;a\nFitlab;"
        + "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(16_000))
        + "\n"
    )
    many_errors = "nom;id;pays\n" + ";voir annexe;\n" * 900

    refused = match_list(Visitor(server), long_row.encode())
    page = match_list(Visitor(server), many_errors.encode())

    assert (refused.status, "16 Kio" in refused.text) == (413, True)
    assert len(rows_of(page)) == 50
    assert "50 lignes sur 900" in page.text


def test_the_csv_of_a_list_has_its_columns_first_and_a_decimal_comma(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, THREE_LINES.encode())
    english = Visitor(server, {"Accept-Language": "en"}, visitor.cookies)

    french_file = visitor.get(f"{page.path}?format=csv")
    commas = match_list(visitor, b"nom,pays\nFitlab,FR\n")

    rows = csv_rows(french_file)
    assert list(rows[0])[:4] == ["Réf", "Société", "Pays", "Note interne"]
    assert [row["Réf"] for row in rows] == ["C-1", "C-2", "C-3"]
    assert rows[0]["Note interne"] == "'=1+1"
    assert re.fullmatch(r"0,\d+", rows[0]["note"])
    assert "(0,00)" not in french_file.html and "(0.00)" not in french_file.html
    english_rows = csv_rows(english.get(f"{page.path}?format=csv&lang=en"))
    assert re.fullmatch(r"0\.\d+", english_rows[0]["note"])
    (comma_row,) = csv_rows(visitor.get(f"{commas.path}?format=csv"), ",")
    assert re.fullmatch(r"[01]\.\d+", comma_row["note"])


def test_a_company_that_is_gone_is_marked(server: Server) -> None:
    """A list whose candidate is a company of no generation is stored directly"""
    visitor, account = sign_up_member(server, "data")
    first_page = match_list(visitor, b"nom;pays\nFitlab;FR\n")
    now = server.context.now()
    stored_list = server.store.read(
        lists.rows_of, list_id(code_of(first_page)), seconds(now)
    ).result()
    assert stored_list
    # A stored line: its cells; its candidates by country, identifier, score and reasons; and no error.
    chunk = zstandard.compress(b'[[["Fitlab","FR"],[["FR","000000000",0.9,[]]],null]]')
    list_part = lists.ListPart([chunk], b"s\0")
    code = create_list(server.store, account, "Alt", stored_list.table, list_part, now).result()

    page = visitor.get(f"/listes/{code}")
    file = visitor.get(f"/listes/{code}?format=csv")

    assert "n’est plus dans les registres publiés" in page.text
    assert (csv_rows(file)[0]["societe_id"], csv_rows(file)[0]["societe_nom"]) == ("000000000", "")


def test_a_list_survives_a_restart_and_marks_gone_and_renamed_companies(
    tmp_path: Path,
) -> None:
    """Before the second start company 1 is removed and company 2 is renamed"""
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    rows = [company("FR", str(number), f"Société Numéro {number}") for number in range(1, 4)]
    text = "\n".join(
        ["Réf;nom;pays", *(f"R{number};Société Numéro {number};FR" for number in range(1, 4))]
    )
    world.publish(data, rows, {})
    with run_server(data, state=state) as server:
        visitor, account = sign_up_member(server, "data")
        page = match_list(visitor, text.encode())
        visitor.send(page.path, {"geste": "nom", "nom": "Clients"})
        visitor.send(page.path, {"choix": "3:"})
        calls_before = usage_of(server, account).calls.used

    renamed = company("FR", "2", "Tout Autre Nom")
    world.publish(data, [rows[2], renamed], {})
    with run_server(data, state=state) as server:
        visitor = Visitor(server, cookies=visitor.cookies)
        page_after_restart = visitor.get(page.path)
        file = csv_rows(visitor.get(f"{page.path}?format=csv"))
        search = visitor.send(page.path, {"geste": "recherche"}).headers["Location"]
        results = visitor.get(search).text
        book = load_workbook(io.BytesIO(visitor.post(page.path, {"geste": "xlsx"}).body))
        english = visitor.get(f"{page.path}?lang=en").text

        assert usage_of(server, account).calls.used == calls_before + 1  # the search
    gone_row, renamed_row, unchosen_row = (row for _, row in rows_of(page_after_restart))
    assert "Clients" in page_after_restart.text
    assert "n’est plus dans les registres publiés" in gone_row
    assert (
        "Tout Autre Nom" in renamed_row and "a changé de nom depuis le rapprochement" in renamed_row
    )
    assert "choisi par vous" in unchosen_row and "renommée" not in unchosen_row
    assert "is no longer in the published registers" in english
    assert "was renamed after the matching" in english
    assert [row["erreur"] for row in file] == [
        "n’est plus dans les registres publiés", "a changé de nom depuis le rapprochement", ""
    ]  # fmt: skip
    assert "Identifiants inconnus : FR:1" in results
    headings, *own_rows = book["Ma liste"].iter_rows(values_only=True)
    remarks = [row[headings.index("Remarque")] for row in own_rows]
    assert remarks == ["n'est plus dans les registres publiés", None, None]
    assert any(
        "nomme 2 sociétés, ce classeur en décrit 1" in str(row) for row in book["Intro"].values
    )


def test_an_old_list_without_stored_names_marks_no_company_as_renamed(server: Server) -> None:
    visitor, account = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nFitlab;FR\n")
    now = server.context.now()
    stored_list = server.store.read(lists.rows_of, list_id(code_of(page)), seconds(now)).result()
    assert stored_list
    # A stored line: its cells; its candidate, without the digest of the name that newer lists have; and no error.
    chunk = zstandard.compress(b'[[["Mueller","DE"],[["DE","F1103R_HRB218916",0.9,[]]],null]]')
    list_part = lists.ListPart([chunk], b"s\0")
    code = create_list(server.store, account, "Alt", stored_list.table, list_part, now).result()

    page_text = visitor.get(f"/listes/{code}").text

    assert "DE · F1103R_HRB218916" in page_text
    assert "a changé de nom" not in page_text


def test_a_workbook_of_a_list_promises_no_more_companies_than_it_describes(server: Server) -> None:
    """Fixed: the page promised 10 000 companies, the limit of any export, but a list exports at most 1 000."""
    large, _ = sign_up_member(server, "integral")
    small, _ = sign_up_member(server)

    texts = [match_list(visitor, b"nom;pays\nFitlab;FR\n").figures for visitor in (large, small)]

    assert ["au plus 1000 sociétés" in text for text in texts] == [True, False]
    assert "au plus 25 sociétés" in texts[1]


def test_a_search_by_several_identifiers_says_that_it_has_its_own_order(server: Server) -> None:
    text_of_two = Visitor(server).get("/?ids=DE:F1103R_HRB218916,FR:552100554").text
    text_of_one = Visitor(server).get("/?ids=FR:552100554").text

    assert "dans l’ordre choisi ci-dessous et non dans celui de la liste" in text_of_two
    assert "dans l’ordre choisi" not in text_of_one


def test_the_account_page_says_that_a_repeated_export_lacks_the_columns_of_the_list(
    server: Server,
) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, THREE_LINES.encode())
    text_before = visitor.get("/compte").text
    visitor.get(page.path)
    visitor.post(page.path, {"geste": "xlsx"})

    text_after = visitor.get("/compte").text

    assert "sans vos propres colonnes" not in text_before
    assert "sans vos propres colonnes" in text_after


def test_chosen_companies_open_as_a_search_in_the_order_of_the_list(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    text = b"nom;pays\nMueller Maschinenbau;DE\nFitlab;FR\nNirgends Zz;\nMueller Maschinenbau;DE\n"
    page = match_list(visitor, text)

    reply = visitor.send(page.path, {"geste": "recherche"})
    visitor.get(page.path)
    empty = visitor.send(match_list(visitor, b"nom\nNirgends Zz\n").path, {"geste": "recherche"})

    ids = unescape(reply.headers["Location"]).partition("ids=")[2].split(",")
    assert ids[0] == "DE:F1103R_HRB218916"
    assert len(ids) == len(set(ids))
    assert visitor.get(reply.headers["Location"]).status == 200
    assert (empty.status, "aucune société n'est choisie" in empty.text) == (400, True)


def test_a_search_for_many_companies_shows_their_number_instead_of_identifiers(
    server: Server,
) -> None:
    """Fixed: the chip of the filter and the title had all identifiers and were 1 461 px wide."""
    many_ids = ",".join(
        ["DE:F1103R_HRB218916", "FR:552100554", *(f"FR:{number:09}" for number in range(53))]
    )

    page = Visitor(server).get(f"/?ids={many_ids}")
    english = Visitor(server, {"Accept-Language": "en"}).get(f"/?ids={many_ids}&pays=FR")
    single = Visitor(server).get("/?ids=FR:552100554")

    title = page.html.partition("<title>")[2].partition("</title>")[0]
    assert title.startswith("Ma liste · 55 · ")  # 2 + 53 identifiers
    assert "<bdi>Ma liste · 55</bdi>" in page.html
    assert "<bdi>My list · 55</bdi>" in english.html
    assert "Ma liste ·" not in single.html


def test_too_many_companies_for_a_search_are_announced_before_it_opens(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _ = sign_up_member(server, "data")
    first_page = match_list(
        visitor,
        b"nom;pays\nMueller Maschinenbau;DE\nSoci\xc3\xa9t\xc3\xa9 G\xc3\xa9n\xc3\xa9rale;FR\n",
    )
    monkeypatch.setattr(list_page, "MOST_IDS", 1)

    page = visitor.send(first_page.path, {"geste": "recherche"})
    reply = visitor.send(first_page.path, {"geste": "recherche", "premieres": "1"})

    assert "Sociétés choisies : 2 . Une recherche en nomme au plus 1." in page.figures
    assert reply.headers["Location"] == "/?ids=DE:F1103R_HRB218916"


def test_the_workbook_of_a_list_has_the_name_of_the_list(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, THREE_LINES.encode())
    visitor.send(page.path, {"geste": "nom", "nom": "Clients Żabka"})

    file = visitor.post(page.path, {"geste": "xlsx"})

    assert file.status == 200
    assert 'filename="clients-zabka-' in file.headers["Content-Disposition"]


@pytest.mark.parametrize(("lang", "sheet"), [("fr", "Ma liste"), ("en", "My list")])
def test_the_workbook_of_a_list_has_its_columns_first(
    server: Server, lang: str, sheet: str
) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, (THREE_LINES + "C-4;Mueller Maschinenbau;DE;+3\r\n").encode())
    visitor.headers = {"Accept-Language": lang}
    visitor.cookies.pop("langue", None)

    file = visitor.post(f"{page.path}?lang={lang}", {"geste": "xlsx"})

    book = load_workbook(io.BytesIO(file.body))
    table = book[book.sheetnames[0]]
    head, *rows = table.iter_rows(values_only=True)
    assert head[:4] == ("Réf", "Société", "Pays", "Note interne")
    assert len({str(heading).casefold() for heading in head}) == len(head)
    assert [row[0] for row in rows] == ["C-1", "C-2", "C-3", "C-4"]
    assert [row[3] for row in rows] == ["=1+1", "b", "c", "+3"]
    assert table["D2"].data_type == "s" and table["D2"].quotePrefix
    # Column 9 has the identifier: after four columns of the list, four about the match, and the country.
    assert [row[9] for row in rows] == ["F1103R_HRB218916", None, "OC301540", "F1103R_HRB218916"]
    # The sheet with each matched company once; in English it is the sixth sheet.
    listed = book["Liste" if sheet in book.sheetnames and lang == "fr" else book.sheetnames[5]]
    assert [row[1] for row in listed.iter_rows(2, values_only=True)] == [rows[0][9], rows[2][9]]


def test_several_lines_of_a_verdict_are_counted_in_the_plural(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    line = "Mueller Maschinenbau;DE\n"

    page_of_one, page_of_two = (
        match_list(visitor, f"nom;pays\n{line * lines}".encode()) for lines in (1, 2)
    )

    (name,) = verdicts_of(page_of_one)
    assert f"1 {name}" in page_of_one.text and f"1 {name}s" not in page_of_one.text
    assert page_of_two.text.count(f"2 {name}s") == 2  # in the heading, and above the lines


def test_a_visitor_must_log_in_for_a_workbook(server: Server) -> None:
    visitor = Visitor(server)
    page = match_list(visitor, b"nom\nFitlab\n")

    reply = visitor.send(page.path, {"geste": "xlsx"})

    assert 'value="xlsx"' not in page.html
    assert "pour un classeur Excel" in page.text
    assert reply.headers["Location"] == f"/connexion?suite={page.path}"


def test_the_stored_rows_of_a_list_have_no_values_of_companies(server: Server) -> None:
    """The cells of the user and the identifier are stored, the name of the company is not"""
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nmueller maschinen bau;DE\n")

    name = list_id(code_of(page)).encode()
    rows = [row for table in (b"L/", b"N/", b"Q/") for row in server.store.table_rows(table)]
    stored_values = [value for key, value in rows if name in key]
    # Values that begin with the magic number of Zstandard are compressed.
    decompressed = [
        zstandard.decompress(value) if value[:4] == b"\x28\xb5\x2f\xfd" else value
        for value in stored_values
    ]

    assert len(stored_values) == 4  # all rows that the store has of this list
    assert b"mueller maschinen bau" in b"".join(decompressed)
    assert b"F1103R_HRB218916" in b"".join(decompressed)
    assert b"Maschinenbau" not in b"".join(decompressed)


def test_lines_of_the_same_company_are_marked_on_every_page(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    orleans, mueller = "Société Générale d'Orléans;FR\n", "Mueller Maschinenbau;DE\n"
    page = match_list(visitor, f"nom;pays\n{orleans}{mueller * 50}{orleans}".encode())

    first_page_text, second_page_text = page.text, visitor.get(f"{page.path}?page=2").text

    assert "doublon de la ligne 1" in second_page_text  # line 1 is on the first page
    assert "doublon de la ligne 2" in second_page_text
    assert "doublon de la ligne 1" not in first_page_text
    assert first_page_text.count("doublon de la ligne 2") == 48  # lines 3 to 50


def test_a_line_without_a_company_offers_to_see_its_candidates(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    page = match_list(visitor, b"nom;pays\nMueller Maschinenbau;DE\n")
    list_text = visitor.get(page.path).text

    unchosen = visitor.send(page.path, {"choix": "1:"})

    count = len(candidate_choices(unchosen, 1))
    assert re.search(rf"changer \({count}\)", list_text)
    assert re.search(rf"voir {count} candidats? la ligne 1", unchosen.text)


def test_a_list_in_english_has_english_punctuation(server: Server) -> None:
    visitor, _ = sign_up_member(server, "data")
    text = b"name;country;town;id\nSociete General d'Orleans;FR;Paris;\n;FR;;\n"
    path = match_list(visitor, text).path
    english = visitor.get(f"{path}?lang=en")
    file = visitor.get(f"{path}?format=csv&lang=en")

    assert re.search(r"\d(\.\d)?%", english.text)
    assert "viewing, choosing and downloading cost no calls" in english.text
    for content in (english.text, file.html):
        assert " ;" not in content.partition("Verdict")[2]
        assert "`" not in content
    assert re.search(r'href="/rapprochement" aria-current="true"', english.html)


def test_a_column_of_numbers_comes_back_as_numbers(server: Server) -> None:
    """Fixed: `montant` was text in the workbook and could not be summed.

    A column stays text if a number would lose characters, such as the zeros of `007` or `1.50`.
    """
    visitor, _ = sign_up_member(server, "data")
    lines = (
        "Société Générale d'Orléans;FR;1200.5;007;12;1.50",
        "Mueller Maschinenbau;DE;-3;12;;2",
        "Żabka Ψ nirgends;;;13;5;3",
    )
    text = "\n".join(("nom;pays;montant;code;parts;version", *lines))
    page = match_list(visitor, text.encode())

    file = visitor.post(page.path, {"geste": "xlsx"})

    headings, *rows = next(iter(load_workbook(io.BytesIO(file.body)))).iter_rows(values_only=True)
    rows_by_heading = [dict(zip(headings, row, strict=True)) for row in rows]
    assert [row["montant"] for row in rows_by_heading] == [1200.5, -3, None]
    assert [row["code"] for row in rows_by_heading] == ["007", "12", "13"]
    assert [row["parts"] for row in rows_by_heading] == [12, None, 5]
    assert [row["version"] for row in rows_by_heading] == ["1.50", "2", "3"]
