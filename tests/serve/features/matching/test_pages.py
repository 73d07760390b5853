"""/rapprochement: lists of any encoding, separator and language, their verdicts, and the file of them (X5)."""

import csv
import html
import io
import re
from collections.abc import Sequence

import pytest

from tests.serve.client import Served
from tests.serve.surfaces.site.visitor import Seen, Visitor, member

PATH = "/rapprochement"
LIST = "\r\n".join(
    (
        "Firma;Land;Ort;Interne Nr.",
        "Mueller Maschinenbau;Deutschland;;7",
        "Société Générale d'Orléans;FR;Orléans;=1+1",
        "Żabka Ψ nirgends;;;9",
        "",
    )
)


def matched(visitor: Visitor, file: bytes, **form: str) -> Seen:
    visitor.get(PATH)
    return visitor.upload(PATH, file, form)


def calls(served: Served, account: str) -> int:
    """The calls that an account with the plan `free` has made today."""
    usage = served.store.usage(account, served.context.plans["free"], served.context.now())
    return usage.result().calls.used


def understood(seen: Seen) -> dict[str, str]:
    card = seen.html.partition('id="compris"')[2].partition("</section>")[0]
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card)
    return {term: html.unescape(re.sub("<[^>]*>", "", value)) for term, value in pairs}


def rows_of(seen: Seen) -> list[tuple[int, str]]:
    """The rows of a list in their order: the number of the line, and the rest of the row."""
    review = seen.html.partition('id="choix"')[2].partition("</form>")[0]
    return [
        (int(n), row)
        for n, row in re.findall(
            r'<td class="num" data-label="\w+">(\d+)</td>(.*?)</tr>', review, re.S
        )
    ]


def verdicts(seen: Seen) -> list[str]:
    """The verdict of each line, in the order of the list."""
    return [re.findall(r'class="badge \w*">([^<]*)<', row)[0] for _, row in sorted(rows_of(seen))]


def table_of(raw: bytes, separator: str = ";") -> Sequence[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig")), delimiter=separator))


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")],
)
def test_a_file_is_read_in_its_encoding_and_told_so(
    served: Served, encoding: str, shown: str
) -> None:
    visitor, account = member(served)
    seen = matched(visitor, LIST.encode(encoding))

    assert seen.status == 200, seen.text
    assert understood(seen) == {
        "Encodage": shown,
        "Séparateur": "point-virgule",
        "Colonnes": "Firma = nom, Land = pays, Ort = ville",
        "Non utilisées": "Interne Nr.",
        "Lignes": "3",
    }
    assert "/societes/DE/F1103R_HRB218916" in seen.html
    assert "/societes/FR/552100554" in seen.html
    assert verdicts(seen)[2] == "aucun"
    assert calls(served, account) == 1


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("nom,ville\nSociété Générale d'Orléans,Orléans\n", "latin-1", "Windows-1252"),
        ("nazwa\tmiasto\nŻabka Śląsk\tŁódź\n", "cp1250", "Windows-1250"),
        ("наименование|град\nХлебозавод|София\n", "cp1251", "Windows-1251"),
    ],
)
def test_a_code_page_is_recognised_by_its_letters(
    served: Served, text: str, encoding: str, shown: str
) -> None:
    seen = matched(Visitor(served), text.encode(encoding))

    assert understood(seen)["Encodage"] == shown
    assert set(understood(seen)["Colonnes"].split()) >= {"nom,", "ville"}
    assert all(
        f"<bdi>{cell}" in html.unescape(seen.html)
        for cell in re.split("[,\t|]", text.splitlines()[1])
    )


def test_what_was_recognised_wrongly_may_be_chosen(served: Served) -> None:
    raw = "nom\nŠkoda Třinec železárny\n".encode("cp1250")

    assert "Třinec" in matched(Visitor(served), raw, encodage="Windows-1250").text
    refused = matched(Visitor(served), raw, encodage="UTF-8")
    assert (refused.status, "octet 4" in refused.text) == (400, True)
    assert matched(Visitor(served), raw, encodage="EBCDIC").status == 400


def test_the_file_of_verdicts_keeps_the_list_and_holds_no_formula(served: Served) -> None:
    visitor, _ = member(served)
    seen = matched(visitor, LIST.encode())
    reply = visitor.get(f"{seen.path}?format=csv")

    assert reply.headers["Content-Disposition"].startswith('attachment; filename="liste-e-2026-')
    rows = table_of(reply.html.encode())
    assert [row["Firma"] for row in rows] == [
        "Mueller Maschinenbau", "Société Générale d'Orléans", "Żabka Ψ nirgends",
    ]  # fmt: skip
    assert [row["Interne Nr."] for row in rows] == ["7", "'=1+1", "9"]
    assert [row["societe_id"] for row in rows] == ["F1103R_HRB218916", "552100554", ""]
    assert rows[2]["verdict"] == "aucun"
    assert float(rows[0]["note"].replace(",", ".")) > 0.5
    assert "nom identique" in rows[0]["raisons"]


def test_a_row_that_is_no_line_has_its_error_and_costs_nothing(served: Served) -> None:
    text = "nom;id;pays\n;voir annexe;\n;;FR\nA;;FR;trop\n" + "x" * 301 + ";;\n;;\n"
    visitor, account = member(served)
    seen = matched(visitor, text.encode())

    assert verdicts(seen) == ["en erreur"] * 4
    for said in (
        "id 'voir annexe'",
        "il faut <code>nom</code>, <code>id</code>",
        "4 cellules",
        "300",
    ):
        assert said in html.unescape(seen.html)
    assert understood(seen)["Lignes"] == "4 et 1 vides"
    assert calls(served, account) == 0


@pytest.mark.parametrize(
    ("file", "status", "said"),
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
def test_what_is_no_list_is_refused_and_the_page_says_why(
    served: Served, file: bytes, status: int, said: str
) -> None:
    seen = matched(Visitor(served), file)

    assert (seen.status, said in html.unescape(seen.html)) == (status, True), seen.text[:2_000]
    assert 'id="liste"' in seen.html  # to try again


def test_a_file_and_a_text_at_once_are_refused(served: Served) -> None:
    assert "l’un ou l’autre" in matched(Visitor(served), b"nom\nA\n", texte="nom\nB").text.replace(
        "'", "’"
    )


def test_a_form_that_is_too_large_or_broken_is_refused(served: Served) -> None:
    visitor = Visitor(served)

    assert matched(visitor, b"nom\n" + b"A" * (4 << 20)).status == 413
    for body in (
        b"",
        b"--x",
        b"--x\r\n\r\n",
        b"--x\r\nContent-Disposition: form-data\r\n\r\nA\r\n--x--",
    ):
        kind = {"Content-Type": "multipart/form-data; boundary=x", "Accept": "text/html"}
        assert served.ask(PATH, "POST", kind, body=body).status in (400, 403)
    kind = {"Content-Type": "multipart/form-data", "Accept": "text/html"}
    assert served.ask(PATH, "POST", kind, body=b"nom").status == 400
    assert served.ask("/connexion", "POST", kind, body=b"").status == 415


def test_a_visitor_has_two_lines_and_the_country_of_the_form_counts(served: Served) -> None:
    text = "Mueller Maschinenbau\nLab Partners\nFitlab\n"
    visitor = Visitor(served)
    visitor.get(PATH)

    seen = visitor.send(PATH, {"texte": text, "pays": "UK"})
    assert verdicts(seen)[0] == "probable"  # it is German, which a second look finds (X19)
    assert "autre pays" in seen.text
    assert "/societes/UK/OC301540" in seen.html
    assert len(verdicts(seen)) == 2
    assert "2 lignes sur 3 rapprochées sans compte." in seen.text


def test_a_reading_gives_the_lines_that_the_plan_allows_in_pieces(served: Served) -> None:
    raw = b"nom;pays\n" + b"Mueller Maschinenbau;DE\n" * 2_500
    data, free = member(served, "data")[0], member(served)[0]

    pieces = re.findall(
        r'<textarea class="morceau" data-rows="\d+" hidden>(.*?)</textarea>',
        matched(data, raw, sortie="lecture").html,
        re.DOTALL,
    )
    assert [piece.count("Mueller") for piece in pieces] == [1_000, 1_000, 500]
    assert all(piece.startswith("nom;pays") for piece in pieces)
    some = matched(free, raw, sortie="lecture")  # 50 calls a day
    assert some.html.partition("morceau")[2].count("Mueller") == 500
    assert "500 lignes sur 2500" in some.figures
    read = matched(Visitor(served), raw, sortie="lecture").html
    assert read.partition("morceau")[2].count("Mueller") == 2


def test_a_further_piece_is_added_to_its_list_once(served: Served) -> None:
    visitor, account = member(served, "data")
    first = matched(visitor, b"nom;pays\n" + b"Fitlab;FR\n" * 100)
    code = first.path.rpartition("/")[2]
    visitor.get(PATH)
    form = {"texte": "nom;pays\nLab Partners;UK", "separateur": ";", "liste": code, "debut": "101"}

    seen = visitor.send(PATH, form)
    counted = calls(served, account)
    again = visitor.send(PATH, form)
    other = member(served, "data")[0]
    other.get(PATH)
    foreign = other.send(PATH, {**form, "debut": "102"})

    assert seen.path == first.path
    assert rows_of(visitor.get(f"{first.path}?page=3"))[-1][0] == 101
    assert (again.status, "101 ne peut être ajoutée" in again.text) == (409, True)
    assert foreign.status == 404
    assert calls(served, account) == counted == 11
    visitor.get(PATH)
    assert visitor.send(PATH, {**form, "debut": "0"}).status == 400
    assert visitor.send(PATH, {**form, "sortie": "xml"}).status == 400


def test_more_lines_than_the_day_has_are_refused_and_none_is_counted(served: Served) -> None:
    visitor, account = member(served)  # 50 calls a day
    seen = matched(visitor, b"nom\n" + b"Fitlab\n" * 501)

    assert (seen.status, "51 appels" in seen.text) == (429, True)
    assert calls(served, account) == 0


def test_lines_after_those_of_a_visitor_are_folded_into_one_sentence(served: Served) -> None:
    seen = matched(Visitor(served), ("nom\r\n" + "Siemens\r\n" * 9).encode())

    assert len(verdicts(seen)) == 2
    assert "2 lignes sur 9 rapprochées sans compte." in seen.text
    assert "en erreur" not in seen.text
