"""/rapprochement: lists in several encodings, separators and languages; the verdicts and the CSV of a list (X5)."""

import csv
import html
import io
import re
from collections.abc import Sequence

import pytest

from tests.serve.client import Server
from tests.serve.surfaces.site.visitor import Page, Visitor, sign_up_member

PATH = "/rapprochement"
# Two companies and a name that no company has, under German headings; the last one means no field.
THREE_LINES = "\r\n".join(
    (
        "Firma;Land;Ort;Interne Nr.",
        "Mueller Maschinenbau;Deutschland;;7",
        "Société Générale d'Orléans;FR;Orléans;=1+1",
        "Żabka Ψ nirgends;;;9",
        "",
    )
)


def match_list(visitor: Visitor, file: bytes, **form: str) -> Page:
    """The page after the upload of a list."""
    visitor.get(PATH)
    return visitor.upload(PATH, file, form)


def calls_today(server: Server, account: str) -> int:
    """The calls that an account with the plan `free` has made today."""
    usage = server.store.usage(account, server.context.plans["free"], server.context.now())
    return usage.result().calls.used


def read_card(page: Page) -> dict[str, str]:
    """The card that describes how the list was read: its terms and values."""
    card = page.html.partition('id="compris"')[2].partition("</section>")[0]
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card)
    return {term: html.unescape(re.sub("<[^>]*>", "", value)) for term, value in pairs}


def rows_of(page: Page) -> list[tuple[int, str]]:
    """The rows of a list on the page, in order: the number of the line and the HTML of the row."""
    review = page.html.partition('id="choix"')[2].partition("</form>")[0]
    return [
        (int(number), row)
        for number, row in re.findall(
            r'<td class="num" data-label="\w+">(\d+)</td>(.*?)</tr>', review, re.S
        )
    ]


def verdicts_of(page: Page) -> list[str]:
    """The verdict of each line, in the order of the list."""
    return [re.findall(r'class="badge \w*">([^<]*)<', row)[0] for _, row in sorted(rows_of(page))]


def csv_rows(raw: bytes, separator: str = ";") -> Sequence[dict[str, str]]:
    """The rows of a CSV by heading."""
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig")), delimiter=separator))


@pytest.mark.parametrize(
    ("encoding", "label"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")],
)
def test_a_file_is_read_in_its_encoding_which_is_shown(
    server: Server, encoding: str, label: str
) -> None:
    visitor, account = sign_up_member(server)
    page = match_list(visitor, THREE_LINES.encode(encoding))

    assert page.status == 200, page.text
    assert read_card(page) == {
        "Encodage": label,
        "Séparateur": "point-virgule",
        "Colonnes": "Firma = nom, Land = pays, Ort = ville",
        "Non utilisées": "Interne Nr.",
        "Lignes": "3",
    }
    assert "/societes/DE/F1103R_HRB218916" in page.html
    assert "/societes/FR/552100554" in page.html
    assert verdicts_of(page)[2] == "aucun"
    assert calls_today(server, account) == 1


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        ("nom,ville\nSociété Générale d'Orléans,Orléans\n", "latin-1", "Windows-1252"),
        ("nazwa\tmiasto\nŻabka Śląsk\tŁódź\n", "cp1250", "Windows-1250"),
        ("наименование|град\nХлебозавод|София\n", "cp1251", "Windows-1251"),
    ],
)
def test_a_code_page_is_recognised_by_its_letters(
    server: Server, text: str, encoding: str, label: str
) -> None:
    page = match_list(Visitor(server), text.encode(encoding))

    assert read_card(page)["Encodage"] == label
    assert set(read_card(page)["Colonnes"].split()) >= {"nom,", "ville"}
    assert all(
        f"<bdi>{cell}" in html.unescape(page.html)
        for cell in re.split("[,\t|]", text.splitlines()[1])
    )


def test_a_wrongly_detected_encoding_can_be_corrected(server: Server) -> None:
    """By the field of the form; byte 4 begins the first letter that is not UTF-8"""
    raw = "nom\nŠkoda Třinec železárny\n".encode("cp1250")

    assert "Třinec" in match_list(Visitor(server), raw, encodage="Windows-1250").text
    refused = match_list(Visitor(server), raw, encodage="UTF-8")
    assert (refused.status, "octet 4" in refused.text) == (400, True)
    assert match_list(Visitor(server), raw, encodage="EBCDIC").status == 400


def test_the_csv_of_verdicts_has_the_columns_of_the_list_and_no_formulas(server: Server) -> None:
    """An apostrophe before `=1+1` makes it a text"""
    visitor, _ = sign_up_member(server)
    page = match_list(visitor, THREE_LINES.encode())
    reply = visitor.get(f"{page.path}?format=csv")

    assert reply.headers["Content-Disposition"].startswith('attachment; filename="liste-e-2026-')
    rows = csv_rows(reply.html.encode())
    assert [row["Firma"] for row in rows] == [
        "Mueller Maschinenbau", "Société Générale d'Orléans", "Żabka Ψ nirgends",
    ]  # fmt: skip
    assert [row["Interne Nr."] for row in rows] == ["7", "'=1+1", "9"]
    assert [row["societe_id"] for row in rows] == ["F1103R_HRB218916", "552100554", ""]
    assert rows[2]["verdict"] == "aucun"
    assert float(rows[0]["note"].replace(",", ".")) > 0.5
    assert "nom identique" in rows[0]["raisons"]


def test_an_invalid_row_has_an_error_and_costs_nothing(server: Server) -> None:
    # An unreadable number; neither a name nor a number; a cell too many; a name too long; an empty row.
    text = "nom;id;pays\n;voir annexe;\n;;FR\nA;;FR;trop\n" + "x" * 301 + ";;\n;;\n"
    visitor, account = sign_up_member(server)
    page = match_list(visitor, text.encode())

    assert verdicts_of(page) == ["en erreur"] * 4
    for message in (
        "id 'voir annexe'",
        "il faut <code>nom</code>, <code>id</code>",
        "4 cellules",
        "300",
    ):
        assert message in html.unescape(page.html)
    assert read_card(page)["Lignes"] == "4 et 1 vides"
    assert calls_today(server, account) == 0


@pytest.mark.parametrize(
    ("file", "status", "message"),
    [
        (b"", 400, "la liste est vide"),
        (b"\n;;\n", 400, "la liste est vide"),
        (b"PK\x03\x04....", 400, "le classeur .xlsx ne peut être lu"),
        (b"a;b\n1;2\n", 400, "aucune colonne de nom"),
        (b"nom\nA\0B\n", 400, "U+0000"),
        (b"nom\n" + b"A\n" * 1_001, 413, "1001 lignes, 1000 au plus"),
        (b"nom\n" + b"A\n" * 10_001, 413, "10001 lignes, 10000 au plus"),
        (b"nom" + b";x" * 300 + b"\n", 400, "301 colonnes, 200 au plus"),
        (b'nom;ville\nA;"' + b"x" * 200_000, 400, "guillemet"),
    ],
)
def test_a_file_that_is_not_a_list_is_refused_with_the_reason(
    server: Server, file: bytes, status: int, message: str
) -> None:
    page = match_list(Visitor(server), file)

    assert (page.status, message in html.unescape(page.html)) == (status, True), page.text[:2_000]
    assert 'id="liste"' in page.html  # the form, to send another list


def test_a_file_and_a_text_at_once_are_refused(server: Server) -> None:
    assert "l’un ou l’autre" in match_list(
        Visitor(server), b"nom\nA\n", texte="nom\nB"
    ).text.replace("'", "’")


def test_a_form_that_is_too_large_or_broken_is_refused(server: Server) -> None:
    visitor = Visitor(server)

    assert match_list(visitor, b"nom\n" + b"A" * (4 << 20)).status == 413
    for body in (
        b"",
        b"--x",
        b"--x\r\n\r\n",
        b"--x\r\nContent-Disposition: form-data\r\n\r\nA\r\n--x--",
    ):
        kind = {"Content-Type": "multipart/form-data; boundary=x", "Accept": "text/html"}
        assert server.ask(PATH, "POST", kind, body=body).status in (400, 403)
    kind = {"Content-Type": "multipart/form-data", "Accept": "text/html"}
    assert server.ask(PATH, "POST", kind, body=b"nom").status == 400
    assert server.ask("/connexion", "POST", kind, body=b"").status == 415


def test_a_visitor_gets_two_lines_matched_with_the_country_of_the_form(server: Server) -> None:
    text = "Mueller Maschinenbau\nLab Partners\nFitlab\n"
    visitor = Visitor(server)
    visitor.get(PATH)

    page = visitor.send(PATH, {"texte": text, "pays": "UK"})
    assert verdicts_of(page)[0] == "probable"  # a German company (X19)
    assert "pays autre que celui indiqué" in page.text
    assert "/societes/UK/OC301540" in page.html
    assert len(verdicts_of(page)) == 2
    assert "2 lignes sur 3 rapprochées sans compte." in page.text


def test_a_script_that_reads_a_list_gets_the_lines_that_the_plan_allows_in_parts_of_1000(
    server: Server,
) -> None:
    """A call is ten lines, so `free` has 500 lines a day; a visitor has two"""
    raw = b"nom;pays\n" + b"Mueller Maschinenbau;DE\n" * 2_500
    data_visitor, free_visitor = sign_up_member(server, "data")[0], sign_up_member(server)[0]

    parts = re.findall(
        r'<textarea class="morceau" data-rows="\d+" hidden>(.*?)</textarea>',
        match_list(data_visitor, raw, sortie="lecture").html,
        re.DOTALL,
    )
    assert [part.count("Mueller") for part in parts] == [1_000, 1_000, 500]
    assert all(part.startswith("nom;pays") for part in parts)
    page_of_free = match_list(free_visitor, raw, sortie="lecture")  # 50 calls a day
    assert page_of_free.html.partition("morceau")[2].count("Mueller") == 500
    assert "500 lignes sur 2500" in page_of_free.figures
    visitor_html = match_list(Visitor(server), raw, sortie="lecture").html
    assert visitor_html.partition("morceau")[2].count("Mueller") == 2


def test_a_further_part_is_added_to_its_list_once(server: Server) -> None:
    """A script sends a long list in parts; `debut` is the number of the first line of a part"""
    visitor, account = sign_up_member(server, "data")
    first_page = match_list(visitor, b"nom;pays\n" + b"Fitlab;FR\n" * 100)
    code = first_page.path.rpartition("/")[2]
    visitor.get(PATH)
    form = {"texte": "nom;pays\nLab Partners;UK", "separateur": ";", "liste": code, "debut": "101"}

    page = visitor.send(PATH, form)
    calls_after = calls_today(server, account)
    repeated = visitor.send(PATH, form)
    other_member = sign_up_member(server, "data")[0]
    other_member.get(PATH)
    foreign = other_member.send(PATH, {**form, "debut": "102"})

    assert page.path == first_page.path
    assert rows_of(visitor.get(f"{first_page.path}?page=3"))[-1][0] == 101
    assert (repeated.status, "101 ne peut être ajoutée" in repeated.text) == (409, True)
    assert foreign.status == 404
    # 10 calls for 100 lines, and 1 for the further line.
    assert calls_today(server, account) == calls_after == 11
    visitor.get(PATH)
    assert visitor.send(PATH, {**form, "debut": "0"}).status == 400
    assert visitor.send(PATH, {**form, "sortie": "xml"}).status == 400


def test_a_list_beyond_the_calls_of_the_day_is_refused_and_not_counted(server: Server) -> None:
    visitor, account = sign_up_member(server)  # 50 calls a day
    page = match_list(visitor, b"nom\n" + b"Fitlab\n" * 501)

    assert (page.status, "51 appels" in page.text) == (429, True)
    assert calls_today(server, account) == 0


def test_lines_beyond_the_limit_of_a_visitor_are_summed_up_in_one_sentence(server: Server) -> None:
    page = match_list(Visitor(server), ("nom\r\n" + "Siemens\r\n" * 9).encode())

    assert len(verdicts_of(page)) == 2
    assert "2 lignes sur 9 rapprochées sans compte." in page.text
    assert "en erreur" not in page.text
