"""The words and figures of what the commands print to a person: English.

Reports and rejected rows on disk name reasons in French (`quality.json`, `imports/*.json`, the
column `motif`); these texts are data and do not change. The commands print the English words below
instead. A reason that is not in the table is printed as it is.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ENGLISH: Final[Mapping[str, str]] = MappingProxyType(
    {
        # rejected companies
        "identifiant vide": "empty identifier",
        "identifiant trop long": "identifier too long",
        "identifiant non imprimable": "identifier not printable",
        "nom vide": "empty name",
        "nom avec une date de naissance ou un dirigeant": "name with a birth date or an officer",
        "montant non fini": "amount not finite",
        "effectif négatif": "negative headcount",
        "effectif démesuré": "headcount too large",
        "date de création illisible": "unreadable date of creation",
        "date de source illisible": "unreadable date of the source",
        "devise illisible": "unreadable currency",
        "multiplicateur nul ou négatif": "multiplier zero or negative",
        "exercice invraisemblable": "implausible fiscal year",
        "version de la NACE inconnue": "unknown NACE revision",
        "pays inconnu": "unknown country",
        "opposition d'une personne": "objection of a person",
        "société": "company",
        # statement lines
        "état inconnu": "unknown statement",
        "exercice absent ou invraisemblable": "fiscal year missing or implausible",
        "code et libellé absents": "neither code nor label",
        "valeur absente ou non finie": "value missing or not finite",
        "société absente": "no such company",
        "copie": "exact copy",
        "exercice ancien": "older fiscal year",
        "bilan non équilibré": "balance sheet does not close",
        "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins": (
            "turnover 100 or 1,000 times its neighbours'"
        ),
        "chiffre d'affaires huit fois celui des exercices voisins, ou le huitième": (
            "turnover eight times its neighbours', or an eighth"
        ),
        "résultat d'une autre unité que le chiffre d'affaires": "result of another unit",
        "comptes individuels et consolidés selon les exercices": (
            "accounts of the company or of its group, by year"
        ),
        # activity codes and amounts
        "code inconnu": "unknown code",
        "aucun code": "no code",
        "sans devise": "no currency",
        "sans exercice": "no fiscal year",
        "montant démesuré": "amount too large",
        # codes outside NACE (seeds/nace_hors.csv)
        "aucun code déclaré": "no code declared",
        "gestion d'immeuble par ses résidents : forme ancienne à quatre chiffres": (
            "residents' management: old form of four digits"
        ),
        "gestion d'immeuble par ses résidents : ménages hors des 84 secteurs,"
        " code propre à la UK SIC 2007": "residents' management: code of UK SIC 2007 alone",
        "société en sommeil : code propre à Companies House": (
            "dormant company: code of Companies House alone"
        ),
        "société en sommeil : forme ancienne à quatre chiffres": (
            "dormant company: old form of four digits"
        ),
        "société sans activité : code propre à Companies House": (
            "non-trading company: code of Companies House alone"
        ),
        "société sans activité : forme ancienne à quatre chiffres": (
            "non-trading company: old form of four digits"
        ),
        # imports: rows and filings of the registers
        "sans identifiant": "no identifier",
        "sans nom": "no name",
        "personne physique": "natural person",
        "date illisible": "unreadable date",
        "effectif illisible": "unreadable headcount",
        "capital illisible": "unreadable capital",
        "EMTAK absent": "no EMTAK code",
        "EMTAK illisible": "unreadable EMTAK code",
        "codes EMTAK sans société": "EMTAK codes without a company",
        "SIC absent": "no SIC code",
        "SIC illisible": "unreadable SIC code",
        "nom de fichier inconnu": "unknown file name",
        "ni XBRL ni iXBRL": "neither XBRL nor iXBRL",
        "fichier abîmé": "damaged file",
        "numéro contredit par le dépôt": "company number contradicted by the filing",
        "aucun poste reconnu": "no known concept",
        "numéro de société absent": "no company number",
        "date de clôture absente": "no closing date",
        "nombre illisible": "unreadable number",
        "pas un document XBRL": "no XBRL document",
        "pas un document JSON": "no JSON document",
        "modèle d'état (aucune donnée)": "template of statements (no data)",
        "modèle d'état inconnu": "unknown template",
        "tableau d'une autre taille que son modèle": "table of another size than its template",
        "données non publiques": "data not public",
        "comptes intermédiaires": "interim accounts",
        "comptes confidentiels": "confidential accounts",
        "dépôt supprimé": "deleted deposit",
        "type de bilan inconnu": "unknown form of accounts",
        "dépôt sans page saisie": "deposit without keyed pages",
        "structure inattendue": "unexpected structure",
        "nature de comptes inconnue": "unknown kind of accounts",
        "montants signalés faux par le registre": "amounts that the register marks as wrong",
        "déclaration d'un autre type": "declaration of another type",
        "dépôt trop volumineux": "filing too large",
        "lignes remplacées par un dépôt ultérieur": "lines replaced by a later filing",
        "concepts inconnus": "unknown concepts",
        "date de clôture illisible": "unreadable closing date",
        "unité inconnue": "unknown unit of amounts",
        "devise absente": "no currency",
        "remplacé par un dépôt plus récent": "replaced by a later filing",
        "postes inconnus": "unknown elements",
        "poste sans code": "element without a code",
        "sans montant": "no amount",
        "montant illisible": "unreadable amount",
        "durées d'exercice invraisemblables": "lengths that no fiscal year has",
        "postes répétés": "repeated elements",
        "postes contradictoires (le premier est repris)": "contradictory elements (first kept)",
        "sociétés": "companies",
        "exercices": "fiscal years",
        "lignes écrites": "lines written",
        "faits lus": "facts read",
        "faits illisibles": "unreadable facts",
        "faits répétés": "repeated facts",
        "faits contradictoires": "contradictory facts",
        "faits repris sous un autre concept": "facts given by another concept too",
        "faits ventilés (le total est repris)": "parts of a total (the total is kept)",
        "faits à une autre date que la clôture": "facts of a date other than the closing date",
        "lignes d'annexe écartées (contradictoires)": "lines of notes left out (contradictory)",
        "bilans aux signes inversés, rétablis": "balance sheets with reversed signs, corrected",
        "total de l'actif confirmé": "total assets confirmed",
        "total de l'actif contredit": "total assets contradicted",
        "total de l'actif non calculé (plusieurs devises)": "total assets not summed (currencies)",
        "total de l'actif non calculé (négatif)": "total assets not summed (negative)",
    }
)
# Reasons that hold a value.
_PATTERNS: Final = (
    (re.compile(r"sans taux (\S+) (\d+)"), r"no rate of \1 for \2"),
    (re.compile(r"division (\d\d) hors des secteurs"), r"division \1 is no sector"),
    (re.compile(r"UK SIC 2003 \(NACE Rév\. 1\.1\), jamais converti : (.+)"), r"UK SIC 2003: \1"),
    (re.compile(r"absente du registre national \((.+)\)"), r"not in the national register (\1)"),
    (re.compile(r"pays (.+)"), r"country \1"),
    (re.compile(r"bilan non équilibré : (\S+) (\d+)"), r"\1 \2 (balance sheet)"),
    (re.compile(r"chiffre d'affaires (?:100|huit) .+ : (\S+) (\d+)"), r"\1 \2 (turnover)"),
    (re.compile(r"résultat d'une autre .+ : (\S+) (\d+)"), r"\1 \2 (result)"),
    (re.compile(r"comptes individuels .+ : (\S+) (\d+)"), r"\1 \2 (company or group)"),
    (re.compile(r"(.+) en cp1252"), r"\1 is in Windows-1252"),
)


def english(reason: str) -> str:
    """The English words for a reason of a report.

    >>> english("nom vide"), english("sans taux EEK 2030"), english("SIC 2003")
    ('empty name', 'no rate of EEK for 2030', 'SIC 2003')
    """
    if reason in ENGLISH:
        return ENGLISH[reason]
    for pattern, words in _PATTERNS:
        if match := pattern.fullmatch(reason):
            return match.expand(words)
    return reason


def counted(reason: str, count: int) -> str:
    """A reason with its count, as in a list of reasons.

    >>> counted("nom vide", 1200)
    'empty name (1,200)'
    """
    return f"{english(reason)} ({count:,})"
