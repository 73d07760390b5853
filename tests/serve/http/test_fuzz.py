"""Random requests: each response is a response of the contract, never a 500 (B, E1, G7)."""

from typing import Any
from urllib.parse import quote, urlencode

import orjson
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from serve.contract import parameters
from shards.query import ORDERS, STATES
from tests.serve.access.test_envelope import ENVELOPE
from tests.serve.client import Server
from tests.serve.world import COUNTRIES, IT, TWO_SECTORS_LABEL

# All examples use the same server, which no request may change.
one_server = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

numbers = st.integers(-10, 2_000).map(str) | st.floats().map(repr) | st.sampled_from(
    ["1e308", "-1e308", "9" * 40, "-" + "9" * 40, "2147483648", "0.5", ""]
)  # fmt: skip
likely_values: dict[str, st.SearchStrategy[str]] = {
    "pays": st.lists(st.sampled_from([*COUNTRIES, "GB", "fr", ""])).map(",".join),
    "secteur": st.lists(st.sampled_from([IT, "edition", "ASSURANCE"])).map("|".join),
    "sous_secteur": st.sampled_from([TWO_SECTORS_LABEL, "Édition", ""]),
    "q": st.text(max_size=130),
    "tri": st.sampled_from(ORDERS),
    "site_web": st.sampled_from(["", "1", "0"]),
    "avec_ca": st.sampled_from(["", "1"]),
    "ids": st.lists(st.sampled_from(["FR:552100554", "gb:x", "FR", "XX:1", ":"])).map(",".join),
    "etat": st.lists(st.sampled_from([*STATES, "ouverte"])).map(",".join),
    "ville": st.text(max_size=9),
    "code_postal": st.text(max_size=9),
    "forme": st.sampled_from(["SARL", "sarl", ""]),
    "nace": st.sampled_from(["62", "620", "62.01", "6", "99.99"]),
    "avec_comptes": st.sampled_from(["", "1"]),
}
SEARCH = parameters.names(parameters.SEARCH)
searches = st.fixed_dictionaries(
    {}, optional={name: likely_values.get(name, numbers) for name in SEARCH}
) | st.dictionaries(st.sampled_from(SEARCH) | st.text(max_size=5), st.text(max_size=20))
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)


@one_server
@given(params=searches)
@example(params={"q": "\x00", "ca_min": "1e308", "effectif_min": "9" * 40, "offset": "9" * 40})
def test_any_search_is_answered_or_refused(server: Server, params: dict[str, str]) -> None:
    """B"""
    reply = server.ask(f"/api/v1/societes?{urlencode(params, errors='replace')}")

    assert reply.status in (200, 400)
    if reply.status == 200:
        # An answer has these keys only in some cases (X9, X2, X4).
        optional_keys = ("pays_sans_donnees", "ids_inconnus", "noms_trouves", "vouliez_vous_dire",
                   "activites_comprises", "recherches_proposees")  # fmt: skip
        sent_keys = [name for name in optional_keys if name in reply.json]
        assert list(reply.json) == [*ENVELOPE, *sent_keys]
    else:
        assert reply.code


@one_server
@given(raw=st.binary(max_size=60))
def test_any_bytes_in_a_query_string_are_answered_or_refused(server: Server, raw: bytes) -> None:
    """B"""
    assert server.ask(f"/api/v1/societes?{quote(raw, safe='=&%+')}").status in (200, 400)


@one_server
@given(iso=text, identifier=text)
@example(iso="FR", identifier="552100554")
@example(iso="FR", identifier="..")
@example(iso="\ufffd", identifier="\x00")
def test_any_record_is_answered_or_refused(server: Server, iso: str, identifier: str) -> None:
    """E1"""
    path = f"/api/v1/societes/{quote(iso, safe='')}/{quote(identifier, safe='')}"
    reply: Any = server.ask(path)

    assert reply.status in (200, 400, 404)
    assert orjson.loads(reply.body)
