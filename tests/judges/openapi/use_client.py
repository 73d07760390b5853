"""A program of a user of the package that openapi-python-client generates.

    python use_client.py ADDRESS KEY

test_python_client.py runs it with the package `european_companies` on its path; no module imports it.
"""

import sys
from io import BytesIO
from zipfile import ZipFile

from european_companies import AuthenticatedClient, Client  # type: ignore[import-not-found]
from european_companies.api.account import read_account  # type: ignore[import-not-found]
from european_companies.api.companies import (  # type: ignore[import-not-found]
    export_companies,
    read_company,
    search_companies,
)
from european_companies.api.lists import list_countries  # type: ignore[import-not-found]
from european_companies.models import (  # type: ignore[import-not-found]
    Erreur400,
    ExportCompaniesLang,
    Fiche,
    FicheRefusee,
    Recherche,
    RechercheRefusee,
    SearchCompaniesTri,
)


def main(address: str, key: str) -> None:
    """Call operations of the generated client as a visitor, with a key, and with an unknown key; check the types."""
    visitor = Client(base_url=address)
    caller = AuthenticatedClient(base_url=address, token=key)
    stranger = AuthenticatedClient(base_url=address, token="soc_live_unknown")

    countries = list_countries.sync(client=visitor)
    assert countries.total == len(countries.pays) == 25  # as in seeds/pays.csv

    preview = search_companies.sync(client=visitor, pays="EE,UK", q="steel")
    assert isinstance(preview, Recherche), preview
    assert (preview.apercu, len(preview.societes)) == (True, 2)

    page = search_companies.sync(client=caller, pays="UK", tri=SearchCompaniesTri.NOM, limit=3)
    assert isinstance(page, Recherche), page
    assert (page.plan, len(page.societes)) == ("data", 3)

    wrong = search_companies.sync(client=visitor, pays="EL")
    assert isinstance(wrong, Erreur400), wrong
    assert wrong.erreur.code == "pays_inconnu"

    # A code that does not exist yet.
    unknown_code = {"code": "nouveau_code", "message": "…"}
    assert Erreur400.from_dict({"erreur": unknown_code}).erreur.code == unknown_code["code"]

    refused = search_companies.sync_detailed(client=stranger, q="steel")
    assert (refused.status_code, type(refused.parsed)) == (401, RechercheRefusee)

    record = read_company.sync(client=caller, iso="UK", id="09418436")
    assert isinstance(record, Fiche), record
    assert record.comptes
    assert isinstance(read_company.sync(client=stranger, iso="UK", id="09418436"), FicheRefusee)

    workbook = export_companies.sync(client=caller, q="steel", limit=5, lang=ExportCompaniesLang.EN)
    assert "xl/workbook.xml" in ZipFile(BytesIO(workbook.payload.read())).namelist()

    account = read_account.sync(client=caller)
    # The search and the record of this key are two calls.
    assert (account.plan, account.compteurs.appels_jour.utilise) == ("data", 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
