"""The examples of the document are answers of the bundled data (`examples.json` of features)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from serve.app import PRODUCT
from tests import golden
from tests.serve.access.test_credits import make_customer
from tests.serve.client import PLANS, Customer, Server, run_server
from tests.serve.clock import Clock

# Longer lists of an example are cut.
MOST_ENTRIES: Final = 3
# These replace the random parts of an account and its key.
FIXED_IDS: Final = {"id": ("a_kwQwnnTrk7Fi", "k_OZODlAYFNuEI"), "fin": "mSn4"}

# This replaces the time of import of the bundled excerpts, which differs in each run.
FIXED_IMPORT_TIME: Final = {"importe": "2026-11-21T05:00:00+00:00"}

SEARCH: Final = "/api/v1/societes"
COMPANY: Final = f"{SEARCH}/UK/09418436"
LARGE: Final = f"{SEARCH}/FR/383474814"
SUBSIDIARY: Final = f"{SEARCH}/NL/O1A2ET91OUYOZUUJI538"
REVOKED_KEY: Final = {"Authorization": "Bearer soc_live_revoked"}

# The name, the route, the summary (French and English, or code that is the same in both), the path, and the caller:
# a plan, or an account in a state of `callers` below.
EXAMPLES: Final = (
    ("pays", "pays",
     ("Les trois premiers de 25 pays", "The first three of 25 countries"), "/api/v1/pays", "visiteur"),
    ("secteurs", "secteurs",
     ("Les trois premiers de 84 secteurs", "The first three of 84 sectors"), "/api/v1/secteurs", "visiteur"),
    ("sous-secteurs", "sous-secteurs",
     ("Les restaurants d’Estonie", "Restaurants in Estonia"),
     "/api/v1/sous-secteurs?secteur=restauration&pays=EE", "visiteur"),
    ("sources", "sources",
     ("Les sources de l’Estonie et du Royaume-Uni", "The sources of Estonia and the United Kingdom"),
     "/api/v1/sources?pays=EE,UK", "visiteur"),
    ("suggestions", "suggestions",
     ("Le début d’un nom", "The beginning of a name"),
     "/api/v1/suggestions?q=royal%20to", "data"),
    ("societes-visiteur", "societes",
     ("Sans clé", "Without a key"), f"{SEARCH}?pays=EE,UK&q=steel", "visiteur"),
    ("societes-data", "societes",
     ("Offre `data`", "Plan `data`"),
     f"{SEARCH}?pays=UK&secteur=restauration&tri=recent&limit=1", "data"),
    ("societes-nommees", "societes",
     ("Deux sociétés nommées, dont une inconnue", "Two companies named, one of them unknown"),
     f"{SEARCH}?ids=GB:09418436,EE:0&etat=active&cree_min=2015", "data"),
    ("repartition", "repartition",
     ("Les restaurants par pays et par état", "Restaurants by country and state"),
     "/api/v1/repartition?par=pays,etat&secteur=restauration", "visiteur"),
    ("societe-visiteur", "societe",
     ("Sans clé", "Without a key"), COMPANY, "visiteur"),
    ("comparables", "comparables",
     ("La société la plus proche", "The nearest company"), f"{LARGE}/comparables?n=1", "visiteur"),
    ("groupe", "groupe",
     ("Une filiale et ses mères", "A subsidiary and its parents"), f"{SUBSIDIARY}/groupe", "visiteur"),
    ("societe-data", "societe",
     ("Offre `data`, les premières lignes", "Plan `data`, the first lines"), COMPANY, "data"),
    ("compte", "compte",
     ("Offre `data`", "Plan `data`"), "/api/v1/compte", "data"),
    ("pays_inconnu", "societes", "`pays=EL`", f"{SEARCH}?pays=EL", "visiteur"),
    ("forme_inconnue", "societes", "`forme=Private Ltd Company`",
     f"{SEARCH}?forme=Private+Ltd+Company", "visiteur"),
    ("nace_inconnu", "societes", "`nace=56.9`", f"{SEARCH}?nace=56.9", "visiteur"),
    ("activite_inconnue", "societes", "`activite=bakary`", f"{SEARCH}?activite=bakary", "visiteur"),
    ("parametre_inconnu", "societes", "`payss=EE`", f"{SEARCH}?payss=EE", "visiteur"),
    ("parametre_invalide", "societes", "`tri=name`", f"{SEARCH}?tri=name", "visiteur"),
    ("cle_invalide-societes", "societes",
     ("Une clé non valable", "An invalid key"),
     f"{SEARCH}?pays=EE&q=steel", "refused"),
    ("cle_invalide-societe", "societe",
     ("Une clé non valable", "An invalid key"), COMPANY, "refused"),
    ("compte_requis", "export",
     ("Un export sans clé", "An export without a key"), "/api/v1/export", "visiteur"),
    ("credits_epuises", "societe",
     ("Plus aucun crédit", "No credits left"), COMPANY, "poor"),
    ("societe_introuvable", "societe",
     ("Une société qui n’existe pas", "No such company"), f"{SEARCH}/UK/0", "data"),
    ("quota_api", "societes",
     ("Les appels du jour sont épuisés", "The calls of the day are used up"), SEARCH, "spent"),
)  # fmt: skip


@pytest.fixture(scope="module")
def demo(demo_data: Path) -> Iterator[Server]:
    """A server of the bundled data, at a fixed time."""
    with run_server(demo_data, now=Clock("2026-11-21T12:00:00")) as server:
        yield server


def test_the_examples_are_golden(demo: Server) -> None:
    """All examples are requested again; `make golden` rewrites them"""
    callers = {"visiteur": {}, "refused": REVOKED_KEY, "data": demo.customer("data").headers}
    callers |= {
        "poor": make_customer(demo).headers,
        "spent": _customer_without_calls(demo).headers,
    }
    folders = list(PRODUCT.folders())
    parts = zip((*PRODUCT.features, *PRODUCT.surfaces), folders, strict=True)
    of_routes = {operation.route: folder for part, folder in parts for operation in part.operations}
    examples: dict[Path, dict[str, Any]] = {}
    for place, (name, route, summary, path, caller) in enumerate(EXAMPLES, 1):
        reply = demo.ask(path, headers=callers[caller])
        value = _shorten(reply.json) if route != "compte" else _anonymise(reply.json)
        french, english = (summary, summary) if isinstance(summary, str) else summary
        examples.setdefault(of_routes[route], {})[name] = {
            "route": route,
            "status": reply.status,
            "place": 10 * place,
            "summary": {"fr": french, "en": english},
            "value": value,
        }

    recorded_before = {folder for folder in folders if (folder / "examples.json").exists()}
    assert set(examples) >= recorded_before
    golden.check_files({
        folder / "examples.json": orjson.dumps(recorded, option=orjson.OPT_INDENT_2).decode() + "\n"
        for folder, recorded in examples.items()
    })  # fmt: skip


def _customer_without_calls(demo: Server) -> Customer:
    """An account that has used the calls of its day."""
    customer = demo.customer("free")
    for _ in range(PLANS["free"].appels_api_par_jour):
        demo.ask(SEARCH, headers=customer.headers)
    return customer


def _shorten(value: Any) -> Any:
    """The value with the first entries of each list of objects, and a fixed time of import."""
    if isinstance(value, dict):
        return {
            name: FIXED_IMPORT_TIME.get(name) or _shorten(member) for name, member in value.items()
        }
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_shorten(entry) for entry in value[:MOST_ENTRIES]]
    return value


def _anonymise(account: Any) -> Any:
    """Replace the random parts of an account and of its keys by fixed ones."""
    account_id, key_id = FIXED_IDS["id"]
    account["compte"]["id"] = account_id
    for key in account["cles"]:
        key |= {"id": key_id, "fin": FIXED_IDS["fin"]}
    return account
