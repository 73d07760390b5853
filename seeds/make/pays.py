"""The table `noms_de_pays.csv`: codes and names of countries, in the languages of the 25 served countries.

    pip install babel==2.19.0
    python seeds/make/pays.py            writes noms_de_pays.csv

Codes are those of ISO 3166-1: two letters, three letters, three digits. Names are those of the Unicode CLDR, which the
package `babel` ships (Unicode License v3, © 1991-2026 Unicode, Inc.). Rows with the source `projet` stay in the table:
names that the CLDR does not have. A name that means two countries is ambiguous, so it is left out.
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
# ISO code -> the code of this project, if it differs (contract B1).
PROJECT_CODES: Final = {"GB": "UK"}


def names_by_country() -> dict[str, dict[str, str]]:
    """For each country, by ISO code, its codes and names in all LANGUAGES.

    The key of a name is its folded spelling; the value is its `source`, a zero byte, and the spelling.
    """
    babel: Any = import_module("babel")
    aliases = import_module("babel.core").get_global("territory_aliases")
    by_country: dict[str, dict[str, str]] = defaultdict(dict)
    # An alias that stands for several countries is the code of a former country, so it is left out.
    iso_of_alias = {code: targets[0] for code, targets in aliases.items() if len(targets) == 1}
    # Codes from 900 on are for private use.
    countries = sorted(
        {iso for code, iso in iso_of_alias.items() if code.isdigit() and code < "900"}
    )
    for iso2 in countries:
        codes = [
            code for code, iso in sorted(iso_of_alias.items()) if iso == iso2 and len(code) == 3
        ]
        texts = [babel.Locale(language).territories.get(iso2) for language in LANGUAGES]
        for source, text in (("iso", code) for code in (iso2, *codes)):
            by_country[iso2].setdefault(_fold(text), f"{source}\0{text}")
        for text in filter(None, texts):
            by_country[iso2].setdefault(_fold(text), f"cldr\0{text}")
    return by_country


def _fold(text: str) -> str:
    """A text without case, accents and signs, for comparisons."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if char.isalnum())


def main() -> int:
    """Write the table from the CLDR, and keep its rows of the source `projet` whose names the CLDR lacks; return 0."""
    project_rows = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            project_rows = [row for row in csv.DictReader(file) if row["source"] == "projet"]
    by_country = names_by_country()
    # The countries of each folded name: a name of several countries is left out.
    owners: dict[str, set[str]] = defaultdict(set)
    for iso2, texts in by_country.items():
        for folded in texts:
            owners[folded].add(iso2)
    rows = [
        (PROJECT_CODES.get(iso2, iso2), *reversed(text.split("\0")))
        for iso2, texts in by_country.items()
        for folded, text in texts.items()
        if len(owners[folded]) == 1
    ]
    spellings = {_fold(nom) for _, nom, _ in rows}
    rows += [tuple(row.values()) for row in project_rows if _fold(row["nom"]) not in spellings]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
