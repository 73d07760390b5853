"""/listes/{code}: a list that was matched is kept with its verdicts and choices, and nothing of it costs again (X5)."""

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
from tests.serve.client import Served, serving
from tests.serve.features.matching.test_pages import PATH, matched, rows_of, understood, verdicts
from tests.serve.surfaces.site.visitor import FORM, Seen, Visitor, member
from tests.world import company

# Of each verdict some, the doubtful ones last.
LONG = "nom;pays\n" + "".join(
    ("Société Générale d'Orléans;FR\n" * 60, "Żabka Ψ nirgends;\n", "?;FR\n", "Mueller;DE\n")
)
THREE = (
    "Réf;Société;Pays;Note interne\r\n"
    "C-1;Mueller Maschinenbau;DE;=1+1\r\n"
    "C-2;Żabka Ψ nirgends;;b\r\n"
    "C-3;Lab;EE;c\r\n"
)


def usage(served: Served, account: str, plan: str = "data") -> Usage:
    return served.store.usage(account, served.context.plans[plan], served.context.now()).result()


def code_of(seen: Seen) -> str:
    return seen.path.rpartition("/")[2]


def candidates(seen: Seen, line: int) -> list[str]:
    """The values of the buttons that choose for a line."""
    return re.findall(rf'name="choix" value="({line}:\d*)"', seen.html)


def table_of(seen: Seen, separator: str = ";") -> list[dict[str, str]]:
    text = seen.html.removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text), delimiter=separator))


def test_back_to_a_list_keeps_verdicts_and_choices_and_costs_nothing(served: Served) -> None:
    visitor, account = member(served, "data")
    seen = matched(visitor, THREE.encode())
    counted = usage(served, account)

    visitor.get("/societes/DE/F1103R_HRB218916")
    changed = visitor.send(seen.path, {"choix": "1:"})
    later = visitor.get(seen.path)
    file = visitor.get(f"{seen.path}?format=csv")
    filtered = visitor.get(f"{seen.path}?verdict=aucun")

    assert "choisi par vous" in changed.text
    assert rows_of(later) == rows_of(changed) != rows_of(seen)
    assert [row["societe_id"] for row in table_of(file)] == ["", "", "OC301540"]
    assert table_of(file)[0]["choix"] == "manuel"
    assert [number for number, _ in rows_of(filtered)] == [2]
    assert usage(served, account).calls.used == counted.calls.used == 1
    assert usage(served, account).exports.used == 0


def test_a_choice_is_of_the_candidates_of_its_line_or_none(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom;pays\nMueller Maschinenbau;DE\n")

    none = visitor.send(seen.path, {"choix": "1:"})
    refused = [
        visitor.send(seen.path, {"choix": one}) for one in ("1:9", "2:0", "x", "0:0", "1:0:0")
    ]
    back = visitor.send(seen.path, {"choix": "1:0"})

    assert "choisi par vous" in none.text and 'value="1:0"' in none.html
    assert [one.status for one in refused] == [400] * 5
    assert "choisi par vous" not in back.text


def test_lines_with_a_company_chosen_by_a_person_are_counted_apart(served: Served) -> None:
    """Before: a red "aucun" beside the company that was chosen."""
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom\nLab Mueller\nXqzwv\n")
    before = verdicts(seen)

    chosen = visitor.send(seen.path, {"choix": candidates(seen, 1)[0]})
    filtered = visitor.get(f"{seen.path}?verdict=choisi")
    rest = visitor.get(f"{seen.path}?verdict={before[1]}")
    row = table_of(visitor.get(f"{seen.path}?format=csv"))[0]

    assert verdicts(chosen) == ["choisi", before[1]]
    assert chosen.text.count("1 choisi") == 2  # in the head, and above the lines
    assert [number for number, _ in rows_of(filtered)] == [1]
    assert [number for number, _ in rows_of(rest)] == [2]
    assert (row["verdict"], row["choix"]) == (before[0], "manuel")


def test_a_list_in_pieces_does_not_tell_an_encoding(served: Served) -> None:
    """Before: "UTF-8" for a workbook and for a file in Windows-1252, which a script had sent in pieces."""
    visitor, _ = member(served, "data")
    form = {"texte": "nom;pays\nMueller;DE", "separateur": ";"}

    whole, pieces = (visitor.send("/rapprochement", form | more) for more in ({}, {"debut": "1"}))

    assert understood(whole)["Encodage"] == "UTF-8"
    assert understood(pieces).keys() == understood(whole).keys() - {"Encodage", "Séparateur"}


def test_the_lines_are_in_their_order_fifty_a_page_and_by_verdict(served: Served) -> None:
    visitor, _ = member(served)
    seen = matched(visitor, LONG.encode())

    pages = [visitor.get(f"{seen.path}?page={page}") for page in (1, 2, 3)]
    none = visitor.get(f"{seen.path}?verdict=aucun")
    wrong = [visitor.get(f"{seen.path}?{one}") for one in ("verdict=x", "page=0", "format=pdf")]

    assert [n for one in pages for n, _ in rows_of(one)] == list(range(1, 64))
    assert [len(rows_of(one)) for one in pages] == [50, 13, 0]
    assert verdicts(pages[1])[10:12] == ["aucun", "en erreur"]
    assert [n for n, _ in rows_of(none)] == [61]
    assert "1 aucun · 1 en erreur" in seen.text
    assert [one.status for one in wrong] == [400, 400, 400]


def test_another_account_and_a_stranger_cannot_open_a_list(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom;pays\nFitlab;FR\n")
    other, _ = member(served, "data")
    stranger = Visitor(served)

    foreign = [other.get(seen.path), other.send(seen.path, {"geste": "supprimer"})]
    again = other.get(f"{PATH}?liste={code_of(seen)}")
    asked = stranger.get(seen.path)

    assert [one.status for one in (*foreign, again)] == [404] * 3
    assert "Fitlab" not in "".join(one.html for one in (*foreign, again, asked))
    assert asked.headers["Location"] == f"/connexion?suite={seen.path}"
    assert stranger.get("/listes/soc_liste_unknown").status == 404
    assert visitor.get(seen.path).status == 200


def test_a_list_of_a_visitor_opens_by_its_address_alone(served: Served) -> None:
    seen = matched(Visitor(served), b"nom;pays\nFitlab;FR\nLab;EE\nA;EE\n")
    other = Visitor(served)
    opened = other.get(seen.path)

    changed = other.send(seen.path, {"choix": "1:"})
    other.get(seen.path)
    unknown = other.send(seen.path, {"geste": "rien"})

    assert [n for n, _ in rows_of(opened)] == [1, 2]
    assert "qui a cette adresse la voit" in opened.text
    assert '<meta name="robots" content="noindex">' in opened.html
    assert code_of(seen) not in opened.html.partition("</head>")[0]
    assert (changed.status, unknown.status) == (200, 400)
    head = served.store.read(
        lists.rows_of, list_id(code_of(seen)), seconds(served.context.now())
    ).result()
    assert head and (head.head.account, head.head.code) == ("", "")
    assert served.ask(seen.path, "POST", {"Content-Type": FORM}, body=b"geste=nom").status == 403


def test_a_list_has_a_name_and_is_deleted_with_all_its_rows(served: Served) -> None:
    visitor, account = member(served, "data")
    seen = matched(visitor, THREE.encode())

    renamed = visitor.send(seen.path, {"geste": "nom", "nom": "  Clients   <b>Żabka "})
    listed = visitor.get("/compte")
    visitor.get(seen.path)
    reply = visitor.send(seen.path, {"geste": "supprimer"})

    assert "<h1><bdi>liste é</bdi></h1>" in seen.html  # of the file
    assert "<h1><bdi>Clients &lt;b&gt;Żabka</bdi></h1>" in renamed.html
    assert f'href="{seen.path}"' in listed.html
    assert reply.headers["Location"] == "/compte#listes"
    assert visitor.get(seen.path).status == 404
    assert (
        served.store.read(lists.of_account, account, seconds(served.context.now())).result() == []
    )


def test_a_list_ends_after_thirty_days(served: Served) -> None:
    visitor, account = member(served, "data")
    seen = matched(visitor, b"nom;pays\nFitlab;FR\n")
    now = served.context.now()

    before = served.store.read(
        lists.rows_of, list_id(code_of(seen)), seconds(now + timedelta(days=29))
    ).result()
    after = served.store.read(
        lists.rows_of, list_id(code_of(seen)), seconds(now + timedelta(days=31))
    ).result()

    assert before and before.head.account == account
    assert after is None


def test_the_bound_of_an_account_is_said_before_a_call_is_counted(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, account = member(served, "data")
    matched(visitor, b"nom;pays\nFitlab;FR\n")
    monkeypatch.setattr(lists, "LISTS_MOST", 1)

    refused = matched(visitor, b"nom;pays\nFitlab;FR\n")

    assert refused.status == 409
    assert "1 listes" in refused.text and "supprimez-en une" in refused.text
    assert "Fitlab" in refused.html  # to send again
    assert usage(served, account).calls.used == 1


def test_a_list_of_a_visitor_has_a_bound(served: Served) -> None:
    wide = "nom;a\nFitlab;" + "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(16_000)) + "\n"
    errors = "nom;id;pays\n" + ";voir annexe;\n" * 900

    refused = matched(Visitor(served), wide.encode())
    seen = matched(Visitor(served), errors.encode())

    assert (refused.status, "16 Kio" in refused.text) == (413, True)
    assert len(rows_of(seen)) == 50
    assert "50 lignes sur 900" in seen.text


def test_the_file_of_a_list_has_its_columns_first_and_a_decimal_comma(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, THREE.encode())
    english = Visitor(served, {"Accept-Language": "en"}, visitor.cookies)

    french_file = visitor.get(f"{seen.path}?format=csv")
    commas = matched(visitor, b"nom,pays\nFitlab,FR\n")

    rows = table_of(french_file)
    assert list(rows[0])[:4] == ["Réf", "Société", "Pays", "Note interne"]
    assert [row["Réf"] for row in rows] == ["C-1", "C-2", "C-3"]
    assert rows[0]["Note interne"] == "'=1+1"
    assert re.fullmatch(r"0,\d+", rows[0]["note"])
    assert "(0,00)" not in french_file.html and "(0.00)" not in french_file.html
    english_rows = table_of(english.get(f"{seen.path}?format=csv&lang=en"))
    assert re.fullmatch(r"0\.\d+", english_rows[0]["note"])
    (comma_row,) = table_of(visitor.get(f"{commas.path}?format=csv"), ",")
    assert re.fullmatch(r"[01]\.\d+", comma_row["note"])


def test_a_company_that_is_gone_is_said_so(served: Served) -> None:
    visitor, account = member(served, "data")
    seen = matched(visitor, b"nom;pays\nFitlab;FR\n")
    now = served.context.now()
    stored = served.store.read(lists.rows_of, list_id(code_of(seen)), seconds(now)).result()
    assert stored
    chunk = zstandard.compress(b'[[["Fitlab","FR"],[["FR","000000000",0.9,[]]],null]]')
    part = lists.ListPart([chunk], b"s\0")
    code = create_list(served.store, account, "Alt", stored.table, part, now).result(10)

    shown = visitor.get(f"/listes/{code}")
    file = visitor.get(f"/listes/{code}?format=csv")

    assert "n’est plus dans les registres publiés" in shown.text
    assert (table_of(file)[0]["societe_id"], table_of(file)[0]["societe_nom"]) == ("000000000", "")


def test_a_list_stays_over_a_restart_and_says_which_companies_are_gone_or_renamed(
    tmp_path: Path,
) -> None:
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    rows = [company("FR", str(n), f"Société Numéro {n}") for n in range(1, 4)]
    text = "\n".join(["Réf;nom;pays", *(f"R{n};Société Numéro {n};FR" for n in range(1, 4))])
    world.publish(data, rows, {})
    with serving(data, state=state) as served:
        visitor, account = member(served, "data")
        seen = matched(visitor, text.encode())
        visitor.send(seen.path, {"geste": "nom", "nom": "Clients"})
        visitor.send(seen.path, {"choix": "3:"})
        counted = usage(served, account).calls.used

    renamed = company("FR", "2", "Tout Autre Nom")
    world.publish(data, [rows[2], renamed], {})
    with serving(data, state=state) as served:
        visitor = Visitor(served, cookies=visitor.cookies)
        later = visitor.get(seen.path)
        file = table_of(visitor.get(f"{seen.path}?format=csv"))
        search = visitor.send(seen.path, {"geste": "recherche"}).headers["Location"]
        found = visitor.get(search).text
        book = load_workbook(io.BytesIO(visitor.post(seen.path, {"geste": "xlsx"}).body))
        english = visitor.get(f"{seen.path}?lang=en").text

        assert usage(served, account).calls.used == counted + 1  # the search
    gone, other, none = (row for _, row in rows_of(later))
    assert "Clients" in later.text
    assert "n’est plus dans les registres publiés" in gone
    assert "Tout Autre Nom" in other and "a changé de nom depuis le rapprochement" in other
    assert "choisi par vous" in none and "renommée" not in none
    assert "is no longer in the published registers" in english
    assert "has another name since the matching" in english
    assert [row["erreur"] for row in file] == [
        "n’est plus dans les registres publiés", "a changé de nom depuis le rapprochement", ""
    ]  # fmt: skip
    assert "Identifiants inconnus : FR:1" in found
    head, *mine = book["Ma liste"].iter_rows(values_only=True)
    remarks = [row[head.index("Remarque")] for row in mine]
    assert remarks == ["n'est plus dans les registres publiés", None, None]
    assert any(
        "nomme 2 sociétés, ce classeur en décrit 1" in str(row) for row in book["Intro"].values
    )


def test_a_list_of_before_names_were_remembered_says_nothing_of_them(served: Served) -> None:
    visitor, account = member(served, "data")
    seen = matched(visitor, b"nom;pays\nFitlab;FR\n")
    now = served.context.now()
    stored = served.store.read(lists.rows_of, list_id(code_of(seen)), seconds(now)).result()
    assert stored
    chunk = zstandard.compress(b'[[["Mueller","DE"],[["DE","F1103R_HRB218916",0.9,[]]],null]]')
    part = lists.ListPart([chunk], b"s\0")
    code = create_list(served.store, account, "Alt", stored.table, part, now).result(10)

    shown = visitor.get(f"/listes/{code}").text

    assert "DE · F1103R_HRB218916" in shown
    assert "a changé de nom" not in shown


def test_a_workbook_of_a_list_promises_no_more_companies_than_it_describes(served: Served) -> None:
    """Before: "au plus 10 000 sociétés", the rows of an export of that plan; a list names 1 000 at most."""
    large, _ = member(served, "integral")
    small, _ = member(served)

    texts = [matched(one, b"nom;pays\nFitlab;FR\n").figures for one in (large, small)]

    assert ["au plus 1000 sociétés" in text for text in texts] == [True, False]
    assert "au plus 25 sociétés" in texts[1]


def test_the_search_of_a_list_says_whose_order_it_has(served: Served) -> None:
    two = Visitor(served).get("/?ids=DE:F1103R_HRB218916,FR:552100554").text
    one = Visitor(served).get("/?ids=FR:552100554").text

    assert "dans l’ordre choisi ci-dessous et non dans le sien" in two
    assert "dans l’ordre choisi" not in one


def test_the_account_says_that_an_export_of_a_list_is_made_again_without_own_columns(
    served: Served,
) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, THREE.encode())
    before = visitor.get("/compte").text
    visitor.get(seen.path)
    visitor.post(seen.path, {"geste": "xlsx"})

    after = visitor.get("/compte").text

    assert "sans vos propres colonnes" not in before
    assert "sans vos propres colonnes" in after


def test_chosen_companies_open_as_a_search_in_the_order_of_the_list(served: Served) -> None:
    visitor, _ = member(served, "data")
    text = b"nom;pays\nMueller Maschinenbau;DE\nFitlab;FR\nNirgends Zz;\nMueller Maschinenbau;DE\n"
    seen = matched(visitor, text)

    reply = visitor.send(seen.path, {"geste": "recherche"})
    visitor.get(seen.path)
    empty = visitor.send(matched(visitor, b"nom\nNirgends Zz\n").path, {"geste": "recherche"})

    ids = unescape(reply.headers["Location"]).partition("ids=")[2].split(",")
    assert ids[0] == "DE:F1103R_HRB218916"
    assert len(ids) == len(set(ids))
    assert visitor.get(reply.headers["Location"]).status == 200
    assert (empty.status, "aucune société n'est choisie" in empty.text) == (400, True)


def test_a_search_for_a_list_says_how_many_it_names_instead_of_all(served: Served) -> None:
    """Before: a chip and a title of all identifiers, 1 461 px"""
    many = ",".join(["DE:F1103R_HRB218916", "FR:552100554", *(f"FR:{n:09}" for n in range(53))])

    seen = Visitor(served).get(f"/?ids={many}")
    english = Visitor(served, {"Accept-Language": "en"}).get(f"/?ids={many}&pays=FR")
    one = Visitor(served).get("/?ids=FR:552100554")

    title = seen.html.partition("<title>")[2].partition("</title>")[0]
    assert title.startswith("Ma liste · 55 · ")
    assert "<bdi>Ma liste · 55</bdi>" in seen.html
    assert "<bdi>My list · 55</bdi>" in english.html
    assert "Ma liste ·" not in one.html


def test_more_than_a_search_may_name_are_said_before_any_is_opened(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _ = member(served, "data")
    seen = matched(
        visitor,
        b"nom;pays\nMueller Maschinenbau;DE\nSoci\xc3\xa9t\xc3\xa9 G\xc3\xa9n\xc3\xa9rale;FR\n",
    )
    monkeypatch.setattr(list_page, "MOST_IDS", 1)

    said = visitor.send(seen.path, {"geste": "recherche"})
    reply = visitor.send(seen.path, {"geste": "recherche", "premieres": "1"})

    assert "Sociétés choisies : 2 . Une recherche en nomme au plus 1." in said.figures
    assert reply.headers["Location"] == "/?ids=DE:F1103R_HRB218916"


def test_the_workbook_of_a_list_has_the_name_of_the_list(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, THREE.encode())
    visitor.send(seen.path, {"geste": "nom", "nom": "Clients Żabka"})

    file = visitor.post(seen.path, {"geste": "xlsx"})

    assert file.status == 200
    assert 'filename="clients-zabka-' in file.headers["Content-Disposition"]


@pytest.mark.parametrize(("lang", "sheet"), [("fr", "Ma liste"), ("en", "My list")])
def test_the_workbook_of_a_list_has_its_columns_first(
    served: Served, lang: str, sheet: str
) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, (THREE + "C-4;Mueller Maschinenbau;DE;+3\r\n").encode())
    visitor.headers = {"Accept-Language": lang}
    visitor.cookies.pop("langue", None)

    file = visitor.post(f"{seen.path}?lang={lang}", {"geste": "xlsx"})

    book = load_workbook(io.BytesIO(file.body))
    table = book[book.sheetnames[0]]
    head, *rows = table.iter_rows(values_only=True)
    assert head[:4] == ("Réf", "Société", "Pays", "Note interne")
    assert len({str(one).casefold() for one in head}) == len(head)
    assert [row[0] for row in rows] == ["C-1", "C-2", "C-3", "C-4"]
    assert [row[3] for row in rows] == ["=1+1", "b", "c", "+3"]
    assert table["D2"].data_type == "s" and table["D2"].quotePrefix
    assert [row[9] for row in rows] == ["F1103R_HRB218916", None, "OC301540", "F1103R_HRB218916"]
    listed = book["Liste" if sheet in book.sheetnames and lang == "fr" else book.sheetnames[5]]
    assert [row[1] for row in listed.iter_rows(2, values_only=True)] == [rows[0][9], rows[2][9]]


def test_several_lines_of_a_verdict_are_counted_in_the_plural(served: Served) -> None:
    visitor, _ = member(served, "data")
    line = "Mueller Maschinenbau;DE\n"

    once, twice = (matched(visitor, f"nom;pays\n{line * n}".encode()) for n in (1, 2))

    (name,) = verdicts(once)
    assert f"1 {name}" in once.text and f"1 {name}s" not in once.text
    assert twice.text.count(f"2 {name}s") == 2  # in the head, and above the lines


def test_a_visitor_is_told_where_workbooks_are(served: Served) -> None:
    visitor = Visitor(served)
    seen = matched(visitor, b"nom\nFitlab\n")

    reply = visitor.send(seen.path, {"geste": "xlsx"})

    assert 'value="xlsx"' not in seen.html
    assert "pour un classeur Excel" in seen.text
    assert reply.headers["Location"] == f"/connexion?suite={seen.path}"


def test_the_rows_of_a_list_have_no_value_of_a_company(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom;pays\nmueller maschinen bau;DE\n")

    name = list_id(code_of(seen)).encode()
    rows = [row for table in (b"L/", b"N/", b"Q/") for row in served.store.table_rows(table)]
    own = [value for key, value in rows if name in key]
    opened = [
        zstandard.decompress(value) if value[:4] == b"\x28\xb5\x2f\xfd" else value for value in own
    ]

    assert len(own) == 4
    assert b"mueller maschinen bau" in b"".join(opened)
    assert b"F1103R_HRB218916" in b"".join(opened)
    assert b"Maschinenbau" not in b"".join(opened)


def test_lines_of_the_same_company_say_so_on_every_page(served: Served) -> None:
    visitor, _ = member(served, "data")
    orleans, lab = "Société Générale d'Orléans;FR\n", "Mueller Maschinenbau;DE\n"
    seen = matched(visitor, f"nom;pays\n{orleans}{lab * 50}{orleans}".encode())

    first, second = seen.text, visitor.get(f"{seen.path}?page=2").text

    assert "doublon de la ligne 1" in second  # it is on the page before
    assert "doublon de la ligne 2" in second
    assert "doublon de la ligne 1" not in first
    assert first.count("doublon de la ligne 2") == 48


def test_a_line_without_a_company_offers_to_see_its_candidates(served: Served) -> None:
    visitor, _ = member(served, "data")
    seen = matched(visitor, b"nom;pays\nMueller Maschinenbau;DE\n")
    kept = visitor.get(seen.path).text

    none = visitor.send(seen.path, {"choix": "1:"})

    count = len(candidates(none, 1))
    assert re.search(rf"changer \({count}\)", kept)
    assert re.search(rf"voir {count} candidats? la ligne 1", none.text)


def test_a_list_in_english_is_spaced_as_english(served: Served) -> None:
    visitor, _ = member(served, "data")
    text = b"name;country;town;id\nSociete General d'Orleans;FR;Paris;\n;FR;;\n"
    path = matched(visitor, text).path
    english = visitor.get(f"{path}?lang=en")
    file = visitor.get(f"{path}?format=csv&lang=en")

    assert re.search(r"\d(\.\d)?%", english.text)
    assert "viewing, choosing and downloading cost no calls" in english.text
    for shown in (english.text, file.html):
        assert " ;" not in shown.partition("Verdict")[2]
        assert "`" not in shown
    assert re.search(r'href="/rapprochement" aria-current="true"', english.html)


def test_a_column_of_numbers_comes_back_as_numbers(served: Served) -> None:
    """Before: `montant` was text in the workbook, and could not be added up."""
    visitor, _ = member(served, "data")
    lines = (
        "Société Générale d'Orléans;FR;1200.5;007;12;1.50",
        "Mueller Maschinenbau;DE;-3;12;;2",
        "Żabka Ψ nirgends;;;13;5;3",
    )
    text = "\n".join(("nom;pays;montant;code;parts;version", *lines))
    seen = matched(visitor, text.encode())

    file = visitor.post(seen.path, {"geste": "xlsx"})

    head, *rows = next(iter(load_workbook(io.BytesIO(file.body)))).iter_rows(values_only=True)
    own = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["montant"] for row in own] == [1200.5, -3, None]
    assert [row["code"] for row in own] == ["007", "12", "13"]
    assert [row["parts"] for row in own] == [12, None, 5]
    assert [row["version"] for row in own] == ["1.50", "2", "3"]
