"""Numbers as companies write them, in all 25 countries, on all routes and pages that take them (X4, X6, X19)."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
import pytest

from shards.codec.folding import fold_id
from tests.serve import world
from tests.serve.client import Customer, Server, run_server
from tests.serve.surfaces.mcp.client import tool_content
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member
from tests.world import Company, company

LEI: Final = "213800AAAAAAAAAAAA11"
# A company of each country: its identifier, and at least ten spellings of its numbers.
SPELLINGS: Final = {
    "FR": ("542065479", [
        "RCS Versailles 542 065 479", "542 065 479 R.C.S. Versailles", "RCS Pau B 542 065 479",
        "SIREN 542065479", "SIREN : 542.065.479", "N° SIREN 542-065-479", "SIREN542065479",
        "SIRET 542 065 479 00017", "FR-SIRET-54206547900017", "FR7801.542065479", "0002:542065479",
        "9957:FR32542065479", "TVA FR32542065479", "N° TVA intracommunautaire : FR 32 542065479",
        "iso6523-actorid-upis::0009:54206547900017", "FR-RCS-542065479",
        "Immatriculée au RCS de Versailles sous le numéro 542 065 479",
        "542 065 479 RCS Nanterre - TVA FR32542065479", "SIREN 542065479.0", "FR 542065479",
    ]),
    "UK": ("09707484", [
        "Company No. 09707484", "Company number: 9707484", "Registered in England and Wales No. 09707484",
        "Registered No 09707484", "Companies House 9707484", "CRN 09707484", "GB-COH-09707484",
        "UKEW.09707484", "9707484.0", "9.707484e6", "'09707484", '="09707484"', "GB 09707484", "(09707484)",
        "Co. Reg. No. 09707484", "Registered in England & Wales under number 09707484", "０９７０７４８４",
        "Company registration number 09707484", "Rhif y cwmni 09707484", "097 074\u00a084",
    ]),
    "IE": ("673935", [
        "Company No. 673935", "CRO 673935", "Registered in Ireland No. 673935", "IECRO.673935",
        "IE-CRO-673935", "Company Registration No: 673935", "673935.0", "IE673935", "No. 673935",
        "Uimhir na cuideachta 673935", "Registered number 673935", "CRO No. 673 935",
    ]),
    "DE": ("B1204_HRB260632", [
        "Amtsgericht Freiburg HRB 260632", "AG Freiburg, HRB 260632", "HRB 260632 (AG Freiburg)",
        "HRB 260632, Amtsgericht Freiburg", "Handelsregister B des Amtsgerichts Freiburg Nr. 260632",
        "Registergericht: Freiburg, Registernummer: HRB 260632", "DEB1204.HRB260632",
        "Freiburg HRB 260632", "HRB Freiburg 260632", "B1204 HRB 260632", "DE-B1204_HRB260632",
        "Handelsregister: Amtsgericht Freiburg i. Br., Abt. B, Nr. 260632", "HRB-Nr. 260632 Freiburg",
        "Amtsgericht Freiburg HR B 260 632",
    ]),
    "AT": ("FN258571b", [
        "FN 258571 b", "FN258571b", "Firmenbuchnummer: 258571b", "FN 258571b, Handelsgericht Wien",
        "ATBRA.258571-000", "Firmenbuch-Nr. FN 258571 b", "FB-Nr. 258571b", "FN: 258571 B", "258571b",
        "FN 258571", "Landesgericht Linz, FN 258571b", "AT FN 258571 b",
    ]),
    "CH": ("CHE107721785", [
        "CHE-107.721.785", "UID CHE-107.721.785", "IDE CHE-107.721.785", "CHE-107.721.785 MWST",
        "CHE-107.721.785 TVA", "UID: 107.721.785", "0183:CHE107721785", "CH107721785", "107.721.785",
        "N. IDI CHE-107.721.785", "Firmennummer CHE-107.721.785", "MWST-Nr. CHE-107.721.785 MWST",
        "9927:CHE107721785MWST", "che 107 721 785",
    ]),
    "BE": ("0403227515", [
        "BE 0403.227.515", "BCE 0403.227.515", "KBO 0403.227.515", "N° d'entreprise 0403.227.515",
        "Ondernemingsnummer: 0403.227.515", "BTW BE 0403.227.515", "TVA BE 0403 227 515", "RPM Bruxelles 0403.227.515",
        "BEKBOBCE.0403227515", "BEKBOBCE.0403.227.515", "0208:0403227515", "9925:BE0403227515", "403227515.0",
        "BE-BCE_KBO-0403227515", "RPR Brussel 0403.227.515", "403.227.515", "TVA 0403.227.515",
    ]),
    "NL": ("34237362", [
        "KvK 34237362", "KvK-nummer: 34237362", "K.v.K. nr. 34237362", "Kamer van Koophandel 34237362",
        "NLNHR.34237362", "NL-KVK-34237362", "0106:34237362", "KvK Amsterdam 34237362", "KVK34237362",
        "Handelsregister Amsterdam onder nummer 34237362", "34 23 73 62", "34237362.00",
    ]),
    "IT": ("00691500706", [
        "P.IVA 00691500706", "P. IVA: IT00691500706", "Partita IVA 00691500706", "C.F. e P.IVA 00691500706",
        "Codice fiscale 00691500706", "CF: 00691500706", "Registro Imprese di Campobasso n. 00691500706",
        "0211:IT00691500706", "9907:00691500706", "691500706", "IT 00691500706", "IT-CF-00691500706",
    ]),
    "ES": ("B20040903", [
        "CIF B20040903", "C.I.F.: B-20040903", "NIF: B20040903", "N.I.F. ESB20040903", "ESB20040903",
        "9920:ESB20040903", "B-20.040.903", "b 20040903", "NIF-IVA ES B20040903", "ES28065.B20040903",
        "CIF/NIF: B-20040903", "ES-RMC-B20040903",
    ]),
    "PT": ("500720185", [
        "NIPC 500720185", "NIPC: 500 720 185", "NIF PT500720185", "Contribuinte n.º 500 720 185",
        "Pessoa coletiva n.º 500720185", "PT 500720185", "9946:PT500720185", "N.I.P.C. 500.720.185",
        "NIPC/NIF 500720185", "500720185.0", "PT-NIPC-500720185",
        "Matriculada na Conservatória do Registo Comercial sob o n.º 500720185",
    ]),
    "PL": ("0000413516", [
        "KRS 0000413516", "KRS: 413516", "nr KRS 0000413516", "numer KRS: 0000 413 516", "PLKRS.0000413516",
        "PL-KRS-0000413516", "NIP 972-12-37-317", "NIP: 9721237317", "VAT UE PL9721237317", "9945:PL9721237317",
        "KRS 0000413516, NIP 972-12-37-317, REGON 123456785", "413516.0", "Krajowy Rejestr Sądowy 0000413516",
    ]),
    "CZ": ("26463199", [
        "IČO: 26463199", "IČ 26463199", "IČO 264 63 199", "ICO: 26463199", "DIČ: CZ26463199", "CZ26463199",
        "9929:CZ26463199", "CZ-ICO-26463199", "identifikační číslo 26463199", "IČO č. 26463199", "IČO26463199",
        "IČO: 26463199, DIČ: CZ26463199", "26463199.0",
    ]),
    "SK": ("31322832", [
        "IČO: 31322832", "IČO 31 322 832", "ICO 31322832", "IČO:31322832", "identifikačné číslo: 31322832",
        "SK-ORSR-31322832", "SK 31322832", "31322832.0", "(IČO) 31322832", "31322832 (IČO)", "IČO – 31322832",
        "IČO: 31322832, DIČ: 2020273893",
    ]),
    "SE": ("5560125790", [
        "Org.nr 556012-5790", "Org nr: 5560125790", "Organisationsnummer 556012-5790", "orgnr. 556012-5790",
        "SEBOLREG.556012-5790", "SEBOLREG5560125790", "0007:5560125790", "SE556012579001", "165560125790",
        "SE-ON-556012-5790", "VAT no. SE556012579001", "9955:SE556012579001", "org.-nr 556012–5790",
    ]),
    "NO": ("923609016", [
        "Org.nr 923 609 016", "Org.nr. NO 923 609 016 MVA", "Organisasjonsnummer: 923609016", "NO923609016MVA",
        "0192:923609016", "NOFOR.923609016", "NO-BRC-923609016", "Foretaksregisteret NO 923 609 016 MVA",
        "orgnr 923609016", "923609016 MVA", "NO 923609016", "9908:923609016",
    ]),
    "DK": ("12604645", [
        "CVR-nr. 12604645", "CVR: 12 60 46 45", "CVR-nummer 12604645", "CVR nr.: 12604645", "CVR12604645",
        "DK 12604645", "DKCVR.12604645", "DK-CVR-12604645", "0184:DK12604645", "0184:12604645",
        "SE-nr. 12604645", "CVR/SE 12604645",
    ]),
    "FI": ("0112038-9", [
        "Y-tunnus 0112038-9", "Y-tunnus: 01120389", "FO-nummer 0112038-9", "Business ID 0112038-9",
        "FIFPRO.0112038-9", "FI01120389", "ALV-nro FI01120389", "0216:003701120389", "0212:0112038-9",
        "0213:FI01120389", "112038-9", "LY-tunnus 0112038–9", "FI-PRO-0112038-9",
    ]),
    "EE": ("10182870", [
        "Registrikood 10182870", "reg. kood: 10182870", "reg.nr 10182870", "Äriregistri kood 10182870",
        "rg-kood 10182870", "KMKR nr EE100366327", "KMKR: EE 100 366 327", "0191:10182870", "EE-RIK-10182870",
        "EE10182870", "EEAR.10182870", "10182870.0", "KMKR 100366327",
    ]),
    "LV": ("40008234596", [
        "Reģ. Nr. 40008234596", "Reģistrācijas numurs 40008234596", "Vienotais reģistrācijas Nr. 40008234596",
        "Reģ.Nr.LV40008234596", "PVN reģ. Nr. LV40008234596", "LV40008234596", "0218:40008234596", "LV-RE-40008234596",
        "9939:LV40008234596", "4000 823 4596", "reg. Nr. 40008234596", "LVUR.40008234596",
    ]),
    "LT": ("110003978", [
        "Įmonės kodas 110003978", "įm. kodas: 110003978", "Juridinio asmens kodas 110003978", "JAR kodas 110003978",
        "Imones kodas 110003978", "0200:110003978", "LT-RC-110003978", "LTJAR.110003978", "į. k. 110003978",
        "kodas 110003978", "110 003 978", "110003978.0",
    ]),
    "HR": ("27759560625", [
        "OIB: 27759560625", "OIB 277 595 606 25", "OIB27759560625", "HR27759560625", "PDV ID: HR27759560625",
        "HR-OIB-27759560625", "9934:HR27759560625", "HRSR.27759560625", "osobni identifikacijski broj 27759560625",
        "MBS: 080000001, OIB: 27759560625", "27759560625.0", "OIB-27759560625",
    ]),
    "RO": ("13735411", [
        "CUI 13735411", "CUI: RO13735411", "CIF RO 13735411", "C.U.I.: 13735411", "Cod fiscal RO13735411",
        "cod unic de înregistrare 13735411", "RO13735411", "RO 13735411", "9947:RO13735411", "RO-CUI-13735411",
        "J40/1234/2005, CUI 13735411", "Nr. reg. com. J40/1234/2005, C.I.F. RO13735411", "13735411.0",
    ]),
    "BG": ("831902088", [
        "ЕИК 831902088", "ЕИК: 831902088", "БУЛСТАТ 831902088", "ЕИК/ПИК 831902088", "EIK 831902088",
        "УИК 831 902 088", "ДДС № BG831902088", "BG831902088", "9926:BG831902088", "BG-EIK-831902088",
        "BULSTAT: 831902088", "ИН по ДДС BG831902088", "831902088.0",
    ]),
    "LU": ("B82454", [
        "RCS Luxembourg B 82454", "R.C.S. Luxembourg : B 82.454", "B 82454", "B82.454", "LURCSL.B82454",
        "RCSL B82454", "LU-RCS-B82454", "0240:B82454", "Registre de commerce et des sociétés B 82454", "LU B82454",
        "RCS: B-82454", "b 82 454",
    ]),
}  # fmt: skip
# Companies of other countries and courts whose numbers have the digits of a company of SPELLINGS. A label, a court or
# a country in the text distinguishes them.
DECOYS: Final = (
    ("LT", "542065479"), ("EE", "12604645"), ("DE", "M1201_HRB260632"), ("UK", "00673935"), ("UK", "SC095000"),
    ("IE", "95000"), ("NO", "831902088"),
)  # fmt: skip
# Spellings whose digits two companies have, one of SPELLINGS and one of DECOYS.
AMBIGUOUS_SPELLINGS: Final = {"673935.0", "Company No. 673935", "Company Registration No: 673935", "No. 673935",
                    "Registered number 673935", "831902088.0"}  # fmt: skip
# Further numbers of the companies of SPELLINGS.
EXTRA_FIELDS: Final = {
    "PL": {"tva": "PL9721237317"},
    "EE": {"tva": "EE100366327"},
    "UK": {"lei": LEI},
}
COUNTRIES: Final = sorted(SPELLINGS)
# Texts that people of 25 countries write into a cell without a number.
PLACEHOLDERS: Final = (
    "n/a", "N/A", "-", "--", "NULL", "null", "0", "000000000", "00 000 000", "non assujetti", "unknown", "néant",
    "keine", "brak", "#N/A", "nan", "None", "?", ".", "SIREN : néant", "VAT: none", "xxx", "ei ole", "няма", "n.v.t.",
    "ukjent", "není", "žiadny", "ingen", "puudub", "nav", "nėra", "nema", "nu are", "no consta", "não aplicável",
    "non disponibile", "k. A.", "0.0", "FR00000000000", "en cours d'immatriculation",
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the companies of SPELLINGS, which are named after their countries, and of DECOYS."""
    data: Path = tmp_path_factory.mktemp("written")
    companies: list[Company] = [
        company(iso2, identifier, f"Zephyr Lantern {iso2}", **EXTRA_FIELDS.get(iso2, {}))
        for iso2, (identifier, _) in SPELLINGS.items()
    ]
    companies += [company(iso2, identifier, "Altra Ditta") for iso2, identifier in DECOYS]
    world.publish(data, companies, {})
    with run_server(data) as server:
        yield server


def unambiguous_spellings(iso2: str) -> list[str]:
    """The spellings that mean only the company of this country."""
    return [text for text in SPELLINGS[iso2][1] if text not in AMBIGUOUS_SPELLINGS]


def match_lines(server: Server, customer: Customer, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of lines sent to /api/v1/rapprochement."""
    body = orjson.dumps(
        {"lignes": [{"cle": str(number), **line} for number, line in enumerate(lines)], "limite": 3}
    )
    headers = {"Content-Type": "application/json", **customer.headers}
    reply = server.ask("/api/v1/rapprochement", "POST", headers, body=body)
    assert reply.status == 200, reply.body
    results: list[dict[str, Any]] = reply.json["resultats"]
    return results


def best_company(result: dict[str, Any]) -> tuple[str, str]:
    """The country and identifier of the first candidate of a line."""
    assert result.get("candidats"), result
    best = result["candidats"][0]
    return best["iso2"], best["id"]


def test_there_are_ten_spellings_of_a_number_of_each_country() -> None:
    assert len(SPELLINGS) == 25
    assert all(len(spellings) >= 10 for _, spellings in SPELLINGS.values())


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_identifiants_finds_the_company_of_each_spelling(
    server: Server, customer: Customer, iso2: str
) -> None:
    """X6"""
    for text in unambiguous_spellings(iso2):
        reply = server.ask(f"/api/v1/identifiants/{quote(text, safe='')}", headers=customer.headers)

        places = [
            (candidate["iso2"], candidate["id"]) for candidate in reply.json.get("candidats", ())
        ]
        assert places == [(iso2, SPELLINGS[iso2][0])], text


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_the_path_of_a_record_takes_each_spelling(
    server: Server, customer: Customer, iso2: str
) -> None:
    """X6, E2"""
    path = f"/api/v1/societes/{iso2}/{quote(SPELLINGS[iso2][0], safe='')}"
    for text in SPELLINGS[iso2][1]:
        if len(text) <= 64:
            headers = customer.headers
            reply = server.ask(f"/api/v1/societes/{iso2}/{quote(text, safe='')}", headers=headers)

            assert (reply.status, reply.headers.get("Content-Location")) == (200, path), text


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_a_search_finds_or_proposes_the_company(
    server: Server, customer: Customer, iso2: str
) -> None:
    """X4, B15: a row of the search or a proposed search has its number, and a suggestion has it too"""
    folded = fold_id(SPELLINGS[iso2][0])
    for text in SPELLINGS[iso2][1]:
        headers = customer.headers
        document = server.ask("/api/v1/societes", headers=headers, params={"q": text}).json
        suggested = server.ask("/api/v1/suggestions", headers=headers, params={"q": text}).json

        proposed = [item["q"] for item in document.get("vouliez_vous_dire", ())]
        rows = [item["id"] for item in document["societes"]]
        assert folded in proposed or SPELLINGS[iso2][0] in rows, text
        assert SPELLINGS[iso2][0] in [item["id"] for item in suggested["societes"]], text


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_the_search_box_leads_to_the_company(server: Server, iso2: str) -> None:
    """X6"""
    visitor = Visitor(server)
    for text in unambiguous_spellings(iso2):
        page = visitor.get(f"/?{urlencode({'q': text})}")

        path = f"/societes/{iso2}/{quote(SPELLINGS[iso2][0], safe='')}"
        assert (page.status, page.headers.get("Location")) == (303, path), text


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_a_list_takes_each_spelling_in_any_column_of_numbers(
    server: Server, customer: Customer, iso2: str
) -> None:
    """X19: a number may be in the column of another kind of number"""
    for field in ("id", "tva", "lei"):
        lines = [{field: text} for text in unambiguous_spellings(iso2)]
        lines += [{field: text, "nom": f"Zephyr Lantern {iso2}"} for text in SPELLINGS[iso2][1]]
        for line, result in zip(lines, match_lines(server, customer, *lines), strict=True):
            assert best_company(result) == (iso2, SPELLINGS[iso2][0]), line
            codes = result["candidats"][0]["raisons_codes"]
            assert not {"id_different", "id_illisible", "tva_illisible", "lei_different"} & {*codes}
            assert {"id_identique", "id_corrige", "tva_identique"} & {*codes}, line


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_openrefine_can_send_each_spelling(server: Server, customer: Customer, iso2: str) -> None:
    """OpenRefine sends a number as the text of a query (`a…`) or as the property `id` (`b…`)."""
    queries: dict[str, Any] = {}
    for number, text in enumerate(unambiguous_spellings(iso2)):
        queries[f"a{number}"] = {"query": text}
        queries[f"b{number}"] = {"query": "", "properties": [{"pid": "id", "v": text}]}
    form = urlencode({"queries": orjson.dumps(queries).decode()}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", **customer.headers}
    document = server.ask("/api/v1/reconciliation", "POST", headers, body=form).json

    for name, query in queries.items():
        assert document[name]["result"], query
        assert document[name]["result"][0]["id"] == f"{iso2}:{SPELLINGS[iso2][0]}", query


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_the_tools_take_spellings_of_a_number(
    server: Server, customer: Customer, iso2: str
) -> None:
    identifier, headers = SPELLINGS[iso2][0], customer.headers
    for text in unambiguous_spellings(iso2)[:12]:
        document = tool_content(server, "look_up", headers, valeur=text)
        record = (
            tool_content(server, "read_company", headers, iso2=iso2, id=text)
            if len(text) <= 64
            else {}
        )
        lines = [{"cle": "1", "id": text}]
        result = tool_content(server, "match_companies", headers, lignes=lines)["resultats"][0]

        assert [candidate["id"] for candidate in document["candidats"]] == [identifier], text
        assert not record or identifier in str(record), text
        assert best_company(result) == (iso2, identifier), text


@pytest.mark.parametrize("iso2", COUNTRIES)
def test_ids_and_the_page_of_lists_take_each_spelling(
    server: Server, customer: Customer, iso2: str
) -> None:
    identifier = SPELLINGS[iso2][0]
    id_texts = [text for text in SPELLINGS[iso2][1] if "," not in text and len(text) <= 60]
    for text in id_texts:
        params = {"ids": f"{iso2}:{text}"}
        document = server.ask("/api/v1/societes", headers=customer.headers, params=params).json
        assert [company["id"] for company in document["societes"]] == [identifier], text
    visitor, _ = sign_up_member(server, "data")
    file = io.StringIO()
    csv.writer(file).writerows(
        [["id", "nom"], *([text, ""] for text in unambiguous_spellings(iso2))]
    )
    visitor.get("/rapprochement")
    page = visitor.upload("/rapprochement", file.getvalue().encode())
    csv_page = visitor.get(f"{page.path}?format=csv")
    rows = list(csv.DictReader(io.StringIO(csv_page.html.removeprefix("\ufeff"))))
    wrong = [
        row
        for row in rows
        if identifier not in (row["societe_id"], *row["autres_candidats"].split(":")[1:])
    ]
    assert len(rows) == len(unambiguous_spellings(iso2)) and not wrong, wrong


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sc95000", "UK/SC095000"),
        ("413516", "PL/0000413516"),
        ("B 82454", "LU/B82454"),
        ("FN 258571", "AT/FN258571b"),
    ],
)
def test_a_shortened_number_leads_to_its_only_company(server: Server, text: str, path: str) -> None:
    """X4, X6: a number without its zeros, or with the letters of its register"""
    page = Visitor(server).get(f"/?{urlencode({'q': text})}")

    assert (page.status, page.headers.get("Location")) == (303, f"/societes/{path}")


@pytest.mark.parametrize("word", ["germany", "Allemagne", "Deutschland", "DEU", "276", "Niemcy"])
def test_the_name_of_a_country_as_a_filter_is_an_error_that_names_its_code(
    server: Server, word: str
) -> None:
    """B3"""
    reply = server.ask("/api/v1/societes", params={"pays": word})

    assert (reply.status, reply.code) == (400, "pays_inconnu")
    assert reply.json["suggestions"] == {word: ["DE"]}
    assert "Vouliez-vous dire : Allemagne (DE) ?" in reply.json["erreur"]["message"]
    assert "Allemagne (DE)" in Visitor(server).get(f"/?{urlencode({'pays': word})}").text


def test_a_number_of_two_companies_names_both_and_selects_neither(
    server: Server, customer: Customer
) -> None:
    for text in ("12604645", "HRB 260632", "831902088"):
        reply = server.ask(f"/api/v1/identifiants/{quote(text)}", headers=customer.headers)
        result = match_lines(server, customer, {"id": text})[0]

        assert len(reply.json["candidats"]) == 2, text
        assert result["verdict"] in ("ambigu", "aucun"), text


def test_a_number_with_other_letters_than_the_company_of_these_digits_is_404(
    server: Server, customer: Customer
) -> None:
    for text in ("SC 673935", "Company No. OC 673935", "NI673935", "J40/1260/4645"):
        reply = server.ask(f"/api/v1/identifiants/{quote(text, safe='')}", headers=customer.headers)

        assert reply.status == 404, (text, reply.body)


def test_a_number_with_a_contradicting_label_or_court_is_404(
    server: Server, customer: Customer
) -> None:
    numbers = ("KRS 542065479", "CVR 10182870", "Amtsgericht München HRB 260632", "FR7801.12604645",
             "DEF1103R.HRB260632", "0192:542065479", "DUNS 542065479", "REGON 12604645",
             "0088:542065479", "MBS 27759560625")  # fmt: skip
    for text in numbers:
        reply = server.ask(f"/api/v1/identifiants/{quote(text, safe='')}", headers=customer.headers)

        assert reply.status == 404, (text, reply.body)


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_not_a_number(server: Server, customer: Customer, text: str) -> None:
    """X19"""
    line_without_number = {"nom": "Zephyr Lantern FR", "pays": "FR"}
    lines = [
        line_without_number,
        *({**line_without_number, field: text} for field in ("id", "tva", "lei")),
    ]
    results = match_lines(server, customer, *lines)

    assert [result["candidats"] for result in results] == [results[0]["candidats"]] * 4
    assert "erreur" in match_lines(server, customer, {"id": text})[0]


@pytest.mark.parametrize("text", ["5.42065E+08", "voir annexe", "Versailles", "REGON 123456785"])
def test_an_unreadable_number_is_ignored_and_has_a_reason_code(
    server: Server, customer: Customer, text: str
) -> None:
    """X19: a number whose last digits Excel rounded away, or a text without a number of a company"""
    line_without_number = {"nom": "Zephyr Lantern FR", "pays": "FR"}
    without_number, with_number, number_alone = match_lines(
        server, customer, line_without_number, {**line_without_number, "id": text}, {"id": text}
    )

    assert (with_number["verdict"], best_company(with_number)) == (
        without_number["verdict"],
        ("FR", "542065479"),
    )
    assert with_number["candidats"][0]["raisons_codes"] == [
        *without_number["candidats"][0]["raisons_codes"], "id_illisible",
    ]  # fmt: skip
    assert text in number_alone["erreur"]["message"]


def test_a_lei_is_evidence_and_an_unpublished_vat_number_is_not(
    server: Server, customer: Customer
) -> None:
    lines = [
        {"lei": LEI.lower()}, {"id": LEI}, {"tva": f"LEI: {LEI}"},
        {"nom": "Zephyr Lantern UK", "pays": "UK", "lei": "549300AAAAAAAAAAAA21"},
        {"nom": "Zephyr Lantern DE", "pays": "DE", "tva": "DE811115368"},
        {"nom": "Zephyr Lantern DE", "pays": "DE", "id": "USt-IdNr. DE811115368"},
    ]  # fmt: skip
    answers = match_lines(server, customer, *lines)

    codes = [answer["candidats"][0]["raisons_codes"] for answer in answers]
    assert [best_company(answer)[0] for answer in answers] == ["UK"] * 4 + ["DE"] * 2
    assert "lei_identique" in codes[0]
    assert ["id_corrige" in answer for answer in codes[1:3]] == [True, True]
    assert "lei_different" in codes[3]
    assert ["id_different" in answer for answer in codes[4:]] == [False, False]
