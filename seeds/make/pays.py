"""The table `noms_de_pays.csv`: codes and names of countries, in the languages of the 25.

    pip install babel==2.19.0
    python seeds/make/pays.py            writes noms_de_pays.csv

Codes are those of ISO 3166-1: two letters, three letters, three digits. Names are those of the Unicode CLDR, which
the package `babel` ships (Unicode License v3, © 1991-2026 Unicode, Inc.). Rows with another source are kept: names
that the CLDR does not have. A name that two countries have in two languages means neither, so it is left out.
"""

import csv
import sys
import unicodedata
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).parent.parent / "noms_de_pays.csv"
COLUMNS: Final = ("iso2", "nom", "source")
LANGUAGES: Final = (
    "fr", "en", "de", "nl", "it", "es", "pt", "ro", "pl", "cs", "sk", "sv", "nb", "nn", "da", "fi",
    "et", "lv", "lt", "hr", "bg", "ga", "cy", "lb", "rm", "ca", "eu", "gl",
)  # fmt: skip
# The code of this project for the United Kingdom (contract B1).
OWN: Final = {"GB": "UK"}


def names() -> dict[str, dict[str, str]]:
    """The codes and names of each country with their source, by their folded spelling."""
    babel: Any = import_module("babel")
    aliases = import_module("babel.core").get_global("territory_aliases")
    found: dict[str, dict[str, str]] = defaultdict(dict)
    numbered = {code: whole[0] for code, whole in aliases.items() if len(whole) == 1}
    # Codes from 900 on are for private use.
    countries = sorted({iso for code, iso in numbered.items() if code.isdigit() and code < "900"})
    for iso2 in countries:
        codes = [code for code, iso in sorted(numbered.items()) if iso == iso2 and len(code) == 3]
        texts = [babel.Locale(language).territories.get(iso2) for language in LANGUAGES]
        for source, text in (("iso", code) for code in (iso2, *codes)):
            found[iso2].setdefault(_folded(text), f"{source}\0{text}")
        for text in filter(None, texts):
            found[iso2].setdefault(_folded(text), f"cldr\0{text}")
    return found


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if char.isalnum())


def main() -> int:
    """Write the table."""
    own = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            own = [row for row in csv.DictReader(file) if row["source"] == "projet"]
    found = names()
    owners: dict[str, set[str]] = defaultdict(set)
    for iso2, texts in found.items():
        for folded in texts:
            owners[folded].add(iso2)
    rows = [
        (OWN.get(iso2, iso2), *reversed(text.split("\0")))
        for iso2, texts in found.items()
        for folded, text in texts.items()
        if len(owners[folded]) == 1
    ]
    known = {_folded(nom) for _, nom, _ in rows}
    rows += [tuple(row.values()) for row in own if _folded(row["nom"]) not in known]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
