"""Reasons and formulas of answers in the language of the caller.

Figures that are null say why (`motif`), candidates of a list why they are candidates (`raisons`), ratios how they are
computed (`formule`). Inside the server these are codes; `told` and `matched` write the words, and keep the codes beside
them for programs (`motif_code`, `raisons_codes`, `formule_code`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final

from serve.contract import seed_tables
from shards.ratios.ratio_table import ratios

# French and English, as everywhere.
Texts = tuple[str, str]

MOTIFS: Final[Mapping[str, Texts]] = {
    "aucun_ca": ("aucun chiffre d'affaires connu", "no turnover is known"),
    "aucun_ratio": (
        "aucune société comparée n'a publié les postes nécessaires",
        "no compared company has published the lines that are needed",
    ),
    "aucune_relation": (
        "les données LEI ne connaissent aucun lien de cette société",
        "the LEI data know no link of this company",
    ),
    "aucune_societe": ("aucune société trouvée", "no company was found"),
    "boucle": (
        "les sociétés mères ramènent à l'une d'elles",
        "the parents lead back to one of themselves",
    ),
    "ca_inconnu": (
        "chiffre d'affaires inconnu d'une des deux sociétés ou des deux",
        "the turnover of one of the two companies, or of both, is not known",
    ),
    "date_absente": (
        "aucun fichier de registre n'a le jour d'une cessation",
        "no register file has the day on which a company ceased",
    ),
    "denominateur_negatif": ("dénominateur négatif", "the denominator is negative"),
    "denominateur_nul": ("dénominateur nul", "the denominator is zero"),
    "devise_changee": (
        "devise changée depuis l'exercice précédent",
        "the currency changed since the year before",
    ),
    "effectif_inconnu": (
        "effectif inconnu d'une des deux sociétés ou des deux",
        "the headcount of one of the two companies, or of both, is not known",
    ),
    "exercice_absent": ("exercice précédent absent", "the year before is missing"),
    "lei_absent": ("la société n'a pas de LEI", "the company has no LEI"),
    "parents_coupes": (
        "plus de 100 sociétés mères : les suivantes sont coupées",
        "more than 100 parents: further ones are cut off",
    ),
    "poste_absent": ("postes non déposés", "lines that were not filed"),
    "secteur_absent": ("secteur inconnu", "the sector is not known"),
    "taille_inconnue": (
        "chiffre d'affaires et effectif inconnus d'une des deux sociétés ou des deux",
        "the turnover and the headcount of one of the two companies, or of both, are not known",
    ),
    "taux_absent": ("taux de change absent", "there is no exchange rate"),
}

# By the code of an evidence (shards/search/matching/evidence.py).
RAISONS: Final[Mapping[str, Texts]] = {
    "id_identique": ("identifiant identique", "same identifier"),
    "id_corrige": ("identifiant écrit autrement", "identifier written otherwise"),
    "id_different": ("identifiant différent", "other identifier"),
    "tva_identique": ("numéro de TVA identique", "same VAT number"),
    "nom_identique": ("nom identique", "same name"),
    "ancien_nom": ("ancien nom", "former name"),
    "faute": ("une faute de frappe", "a typing error"),
    "fautes": ("plusieurs fautes de frappe", "several typing errors"),
    "abreviation": ("abréviation", "abbreviation"),
    "debut_de_mot": ("mot abrégé", "shortened word"),
    "espace": ("mots réunis ou séparés", "words joined or parted"),
    "ordre": ("ordre des mots", "order of words"),
    "mot_manquant": ("mot absent du registre", "a word that the register lacks"),
    "mot_en_plus": ("mot en plus au registre", "a further word in the register"),
    "nombre_different": ("numéro différent", "other number"),
    "forme_autre": ("forme juridique différente", "other legal form"),
    "forme_absente": ("forme juridique non indiquée", "no legal form given"),
    "ville_identique": ("même ville", "same town"),
    "ville_dans_le_nom": ("ville écrite avec le nom", "town written with the name"),
    "ville_proche": ("ville écrite autrement", "town written otherwise"),
    "ville_differente": ("ville différente", "other town"),
    "code_postal_identique": ("même code postal", "same postcode"),
    "code_postal_proche": ("code postal voisin", "neighbouring postcode"),
    "code_postal_different": ("code postal différent", "other postcode"),
    "date_identique": ("même date de création", "same date of creation"),
    "date_differente": ("date de création différente", "other date of creation"),
}

# A name of a line or of a row of the table of ratios, or a sign, in a formula.
_PART: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*(?:-[a-z][A-Za-z]*)*)(?P<before>@-1)?(?P<optional>\?)?"
    r"|(?P<sign> - | \* | \| )"
)
_SIGNS: Final[Mapping[str, Texts]] = {
    " - ": (" − ", " − "),
    " * ": (" × ", " × "),
    " | ": (" ou, à défaut, ", " or else "),
}
_BEFORE: Final = (" (exercice précédent)", " (year before)")
_OPTIONAL: Final = (" (si déposé)", " (if filed)")
_MONTHS: Final = "mois"
_MONTHS_TEXTS: Final = ("mois", "months")


def motif(code: str, lang: str) -> str:
    """A reason in words; the lines that it names stand behind a colon.

    >>> motif("poste_absent: ProfitLoss", "en")
    'lines that were not filed: Profit (loss) for the year'
    """
    name, _, lines = code.partition(": ")
    english = lang == "en"
    text = MOTIFS[name][english]
    if not lines:
        return text
    named = ", ".join(_named(line, english) for line in lines.split(", "))
    return f"{text}{': ' if english else ' : '}{named}"


def formule(text: str, lang: str) -> str:
    """A formula of the table of ratios in words.

    >>> formule("(resultat) / (total_actif) × 12 / mois", "en")
    '(Profit (loss) for the year) / (Total assets) × 12 / months'
    """
    english = lang == "en"

    def worded(found: re.Match[str]) -> str:
        if found["sign"]:
            return _SIGNS[found["sign"]][english]
        before = _BEFORE[english] if found["before"] else ""
        optional = _OPTIONAL[english] if found["optional"] else ""
        return f"{_named(found['name'], english)}{before}{optional}"

    return _PART.sub(worded, text)


def told(value: Any, lang: str) -> Any:
    """An object with its reasons and formulas in words (`motif`), made from their codes (`motif_code`)."""
    if isinstance(value, list):
        return [told(one, lang) for one in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {name: told(member, lang) for name, member in vars(value).items()}
    for name, words in _WORDS.items():
        if (code := found.get(f"{name}_code")) is not None:
            found[name] = words(code, lang)
    return type(value)(**found)


def matched(codes: Sequence[str], lang: str) -> list[str]:
    """The reasons of a candidate in words."""
    return [RAISONS[code][lang == "en"] for code in codes]


def _named(name: str, english: bool) -> str:
    """A line of the chart, a row of the table of ratios, or the months of a year, in words."""
    if name == _MONTHS:
        return _MONTHS_TEXTS[english]
    if row := ratios().get(name):
        return row.libelle["en" if english else "fr"]
    return seed_tables.line_labels()[name][english]


_WORDS: Final = {"motif": motif, "formule": formule}
