"""/compte: the meters and keys of an organisation; those of another organisation are out of reach."""

import re

from quota.ledger import account_rows
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.calls import Purchase
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Server
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member


def known_keys_field(html: str) -> str:
    """The hidden field `connues` of the form for a key: the number of keys that the page showed."""
    match = re.search(r'name="connues" value="(\d+)"', html)
    assert match
    return match[1]


def test_the_account_page_has_the_numbers_of_the_api(server: Server) -> None:
    """D15"""
    visitor, account = sign_up_member(server, "data", api_tool=True)
    _, key = create_key(server.store, account, PLANS, server.context.now()).result()
    headers = {"Authorization": f"Bearer {key}"}
    for path in ("/api/v1/societes", "/api/v1/societes/FR/552100554"):
        server.ask(path, headers=headers)
    account_json = server.ask("/api/v1/compte", headers=headers).json

    text = visitor.get("/compte").figures

    calls_of_today, credits = account_json["compteurs"]["appels_jour"], account_json["credits"]
    assert f"Appels aujourd’hui {calls_of_today['utilise']} / {calls_of_today['limite']}" in text
    assert f"Crédits de la dotation {credits['utilises']} / {credits['dotation']}" in text
    assert "Exports ce mois-ci 0 / 40" in text
    assert "2 / 3" in text  # keys: one of the sign-up and one created above; the plan allows three


def test_the_records_of_the_month_are_listed_with_price_and_link(server: Server) -> None:
    visitor, account = sign_up_member(server, "data", api_tool=True)
    _, key = create_key(server.store, account, PLANS, server.context.now()).result()
    headers = {"Authorization": f"Bearer {key}"}
    empty_page_text = visitor.get("/compte").text
    for path in ("FR/552100554", "EE/12652512", "FR/552100554"):
        server.ask(f"/api/v1/societes/{path}", headers=headers)
    server.ask("/api/v1/societes/FR/552100554/analyses/entreprise", headers=headers)
    # 5 credits for a company of an earlier generation.
    purchase_of_removed_company = Purchase(
        account, call_limit=9, company="EE/99999999", cost=5, grant=5_000
    )
    server.store.take_and_charge(purchase_of_removed_company, server.context.now()).result()

    page = visitor.get("/compte?lang=en")

    table = page.html.partition('id="fiches"')[2].partition("</section>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</tr>', table, re.DOTALL)
    assert "Aucune fiche complète ce mois-ci" in empty_page_text
    assert [re.sub(r"<[^>]*>", " ", row).split()[0] for row in rows] == [
        "99999999", "Société", "Société",
    ]  # fmt: skip  # the Estonian company has no statements, so its record is free
    assert [row.rpartition('<td class="num">')[2].partition("<")[0] for row in rows] == [
        "5", "trial", "5",
    ]  # fmt: skip
    assert 'href="/societes/FR/552100554"' in rows[2]
    assert "href" not in rows[0]  # no generation has this company any more
    assert "Opening them again costs no credits until 1 Dec 2026" in page.text


def test_a_new_key_has_its_name_and_its_last_day_of_use(server: Server) -> None:
    """Both calls of the new key are of today"""
    visitor, _ = sign_up_member(server, "data")
    html_without_key = visitor.get("/compte").html

    key_page = visitor.send(
        "/compte/cles", {"connues": known_keys_field(html_without_key), "libelle": "CRM de Żabka"}
    )
    server.ask("/api/v1/societes", headers={"Authorization": f"Bearer {key_page.key}"})
    server.ask("/api/v1/societes", headers={"Authorization": f"Bearer {key_page.key}"})
    page_with_key = visitor.get("/compte")

    row = page_with_key.html[page_with_key.html.index("CRM de Żabka") :]
    assert key_page.key not in page_with_key.html
    day = f"{server.context.now().day} "  # of the two calls above
    assert re.search(rf'<td class="num"[^>]*>{day}', row)
    assert re.search(r'<td class="num"[^>]*>\s*2<svg class="days"', row)
    assert f"<title>{day}" in row
    assert "Appels par jour, sur 30 jours : au plus 2" in page_with_key.text


def test_a_reconciliation_address_is_created_shown_once_and_revoked(server: Server) -> None:
    """X5: a member of another organisation cannot revoke it (404)"""
    visitor, account = sign_up_member(server, "data")
    stranger, _ = sign_up_member(server, "data")
    visitor.get("/compte")

    address_page = visitor.send(
        "/compte/adresses", {"connues": "0", "libelle": "OpenRefine de Żabka"}
    )
    repeated_form = visitor.send("/compte/adresses", {"connues": "0"})
    (path,) = set(re.findall(r"/api/v1/reconciliation/soc_rec_\w+", address_page.html))
    (address,) = server.store.read(account_rows.keys_of, account, ADDRESSES).result()
    assert (repeated_form.status, path in repeated_form.html) == (409, False)
    assert "OpenRefine de Żabka" in repeated_form.text
    assert server.ask(f"{path}?queries=%7B%7D").status == 200
    stranger.get("/compte")
    assert stranger.send("/compte/adresses/revocation", {"adresse": address.id}).status == 404
    assert visitor.send("/compte/adresses/revocation", {"adresse": address.id}).status == 303

    assert server.ask(path).code == "cle_invalide"
    assert "révoquée le" in visitor.get("/compte").text
    for count in range(1, 4):  # the plan allows three keys, so three addresses
        assert visitor.send("/compte/adresses", {"connues": str(count)}).status == 200
    assert "plus d’adresses" in visitor.send("/compte/adresses", {"connues": "4"}).text


def test_a_repeated_form_creates_no_second_key(server: Server) -> None:
    """The form says how many keys the person saw; the first key is that of the sign-up"""
    visitor, account = sign_up_member(server, "data")
    count = known_keys_field(visitor.get("/compte").html)

    first_page = visitor.send("/compte/cles", {"connues": count})
    repeated_page = visitor.send("/compte/cles", {"connues": count})

    assert (first_page.status, repeated_page.status) == (200, 409)
    assert "soc_live_…" in repeated_page.html
    assert not re.search(r"soc_live_[0-9A-Za-z]{38}", repeated_page.html)
    assert len(server.store.read(account_rows.keys_of, account).result()) == 2


def test_a_plan_limits_the_number_of_keys(server: Server) -> None:
    """§5 rule 6: the sign-up has created the only key that `free` allows"""
    visitor, account = sign_up_member(server)
    count = known_keys_field(visitor.get("/compte").html)

    refused = visitor.send("/compte/cles", {"connues": count})

    assert refused.status == 409
    assert "révoquez-en une d’abord" in refused.text
    assert len(server.store.read(account_rows.keys_of, account).result()) == 1


def test_a_revoked_key_is_refused_at_the_next_call(server: Server) -> None:
    """§5 rule 6, A4: the page revokes it, and the API refuses it"""
    visitor, account = sign_up_member(server, "data")
    key_page = visitor.send(
        "/compte/cles", {"connues": known_keys_field(visitor.get("/compte").html)}
    )
    headers = {"Authorization": f"Bearer {key_page.key}"}
    assert server.ask("/api/v1/compte", headers=headers).status == 200
    key = next(
        key
        for key in server.store.read(account_rows.keys_of, account).result()
        if key.last4 == key_page.key[-4:]
    )

    redirect = visitor.send("/compte/cles/revocation", {"cle": key.id})

    assert (redirect.status, redirect.headers["Location"]) == (303, "/compte#cles")
    assert server.ask("/api/v1/compte", headers=headers).status == 401
    assert "révoquée le" in visitor.get("/compte").text


def test_the_key_of_another_organisation_cannot_be_revoked(server: Server) -> None:
    """Its key is answered like one that does not exist"""
    visitor, _ = sign_up_member(server)
    _, other_account = sign_up_member(server)
    (key,) = server.store.read(account_rows.keys_of, other_account).result()
    visitor.get("/compte")

    answers = {
        name: visitor.send("/compte/cles/revocation", {"cle": name})
        for name in (key.id, "k_000000000000", "")
    }

    assert {page.status for page in answers.values()} == {404}
    assert server.store.read(account_rows.keys_of, other_account).result()[0].revoked is None


def test_without_the_tool_keys_are_at_the_free_level_and_the_account_says_so(
    server: Server,
) -> None:
    """A7, decision 044"""
    visitor, account = sign_up_member(server, "corporate")
    _, key = create_key(server.store, account, PLANS, server.context.now()).result()

    answer = server.ask("/api/v1/societes", headers={"Authorization": f"Bearer {key}"}).json
    search_page = visitor.get("/?tri=nom")

    assert answer["plafond_resultats"] == 5
    assert "1–25" in search_page.text
    assert "vos clés sont servies au niveau Découverte" in visitor.get("/compte").text


def test_account_forms_need_a_session(server: Server) -> None:
    for path in ("/compte/cles", "/compte/cles/revocation", "/compte/mot-de-passe"):
        visitor = Visitor(server)
        visitor.get("/connexion")

        assert visitor.send(path).headers["Location"] == "/connexion?suite="
        assert visitor.get(path).status == 405
