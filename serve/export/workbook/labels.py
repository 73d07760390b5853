"""The texts of a workbook in French and English, and its notation of numbers and days.

They are names of sheets, headings and explanations; the data stay French (F11).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from shards.generations.register_sources import RegisterImport

LANGUAGES: Final = ("fr", "en")

_MONTHS: Final = {
    "fr": ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
           "octobre", "novembre", "décembre"),
    "en": ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December"),
}  # fmt: skip
_THIN: Final = "\u202f"  # narrow no-break space


class Labels:
    """The texts of one language, by name."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._place = LANGUAGES.index(lang)

    def __call__(self, name: str, **values: Any) -> str:
        """The text of that name, with `values` in their places."""
        return TEXTS[name][self._place].format(**values)

    def number(self, value: int) -> str:
        """A count within a sentence.

        >>> Labels("en").number(12345), Labels("fr").number(12345) == "12\u202f345"
        ('12,345', True)
        """
        return f"{value:,}".replace(",", _THIN if self.lang == "fr" else ",")

    def attribution(self, one: RegisterImport) -> str:
        """The words that the licence of a register demands, and its name."""
        words = one.attribution_en if self.lang == "en" else one.attribution
        return f"{words} ({one.licence})"

    def date(self, text: str) -> str:
        """A date of a register's file within a sentence: a day, a month or a year.

        >>> Labels("en").date("2024-09"), Labels("fr").date("2026-11-01"), Labels("fr").date("2022")
        ('September 2024', '1er novembre 2026', '2022')
        """
        year, _, rest = text.partition("-")
        month, _, day = rest.partition("-")
        if day:
            return self.day(datetime(int(year), int(month), int(day), tzinfo=UTC))
        return f"{_MONTHS[self.lang][int(month) - 1]} {year}" if month else year

    def day(self, moment: datetime) -> str:
        """A day within a sentence.

        >>> Labels("fr").day(datetime(2026, 11, 21))
        '21 novembre 2026'
        """
        day = "1er" if self.lang == "fr" and moment.day == 1 else moment.day
        return f"{day} {_MONTHS[self.lang][moment.month - 1]} {moment.year}"


TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    # Names of sheets (F8).
    "intro": ("Intro", "Intro"),
    "scope": ("Périmètre", "Scope"),
    "countries": ("Par pays", "By country"),
    "sectors": ("Par secteur", "By sector"),
    "list": ("Liste", "List"),
    "contacts": ("Contacts", "Contacts"),
    "key_figures": ("Chiffres clés", "Key figures"),
    "lines": ("Comptes (lignes)", "Statements (lines)"),
    "index": ("Index des comptes", "Index of statements"),
    "method": ("Méthodologie", "Methodology"),
    "log": ("Journal", "Log"),
    # Intro.
    "title": ("Sociétés européennes", "European companies"),
    "subtitle": ("Export du registre des sociétés", "Export of the company register"),
    "subtitle_day": (
        "Export du registre des sociétés · fichiers des registres du {day}",
        "Export of the company register · files of the registers of {day}",
    ),
    "subtitle_days": (
        "Export du registre des sociétés · fichiers des registres du {oldest} au {newest}",
        "Export of the company register · files of the registers from {oldest} to {newest}",
    ),
    "subject": ("Export d'un périmètre de recherche", "Export of a search scope"),
    "keywords": ("sociétés, registres, comptes", "companies, registers, accounts"),
    "truncated": (
        "{total} sociétés correspondent ; ce fichier contient les {rows} premières ({limit}).",
        "{total} companies match; this file has the first {rows} ({limit}).",
    ),
    "limit_plan": (
        "limite de l'offre {plan} : {cap} lignes par export",
        "limit of the plan {plan}: {cap} rows per export",
    ),
    "limit_asked": ("limite demandée", "limit asked for"),
    "empty": (
        "Aucune société ne correspond à ce périmètre. L'export n'est pas décompté.",
        "No company matches this scope. The export is not counted.",
    ),
    "essentials": ("L'essentiel", "At a glance"),
    "total": ("Sociétés dans le périmètre", "Companies in the scope"),
    "rows": ("Sociétés dans ce fichier", "Companies in this file"),
    "with_comptes": ("dont avec états financiers", "of which with financial statements"),
    "with_turnover": ("dont avec chiffre d'affaires", "of which with a turnover"),
    "sum": ("Chiffre d'affaires cumulé (EUR)", "Sum of turnover (EUR)"),
    "median": ("Chiffre d'affaires médian (EUR)", "Median turnover (EUR)"),
    "filters": ("Périmètre demandé", "Scope asked for"),
    "contents": ("Dans ce classeur", "In this workbook"),
    "legend": ("Légende", "Legend"),
    "about_scope": (
        "Filtres, sociétés par tranche de chiffre d'affaires",
        "Filters, companies by band of turnover",
    ),
    "about_countries": (
        "Sociétés par pays : tout le périmètre, et ce fichier",
        "Companies by country: the whole scope, and this file",
    ),
    "about_sectors": (
        "Sociétés par secteur : tout le périmètre, et ce fichier",
        "Companies by sector: the whole scope, and this file",
    ),
    "about_list": ("Une ligne par société", "One row a company"),
    "about_contacts": (
        "Site web, domaine, email, téléphone",
        "Website, domain, e-mail, telephone",
    ),
    "about_key_figures": (
        "Une ligne par société dont les comptes sont dans ce classeur : cinq exercices en euros, ratios",
        "One row a company whose statements are in this workbook: five years in euros, ratios",
    ),
    "about_lines": (
        "Une ligne par société, exercice et poste, pour les tableaux croisés",
        "One row a company, year and line, for pivot tables",
    ),
    "about_index": (
        "Les feuilles d'états financiers, avec un lien vers chacune",
        "The sheets of financial statements, with a link to each",
    ),
    "about_compte": (
        "1 feuille d'états financiers : {first}",
        "1 sheet of financial statements: {first}",
    ),
    "about_comptes": (
        "{n} feuilles d'états financiers, de {first} à {last}",
        "{n} sheets of financial statements, from {first} to {last}",
    ),
    "comptes": ("Comptes", "Statements"),
    "about_method": ("Champs, sources, taux, limites", "Fields, sources, rates, limits"),
    "about_log": (
        "Paramètres, date et durée de cet export, versions",
        "Parameters, time and duration of this export, versions",
    ),
    "legend_bold": ("Gras sur fond clair", "Bold on a pale ground"),
    "legend_bold_is": ("Total ou agrégat comptable", "A total, or an aggregate of the accounts"),
    "legend_link": ("Bleu souligné", "Blue and underlined"),
    "legend_link_is": (
        "Lien vers une feuille, ou vers la fiche officielle de la société",
        "A link to a sheet, or to the official page of the company",
    ),
    "legend_empty": ("Cellule vide", "Empty cell"),
    "legend_empty_is": (
        "Information que le registre ne publie pas ; jamais un zéro",
        "What the register does not publish; never a zero",
    ),
    "legend_formula": ("Calculs", "Calculations"),
    "legend_formula_is": (
        "Variations, montants en euros des comptes et ratios sont des formules, que l'on peut suivre et modifier",
        "Changes, amounts in euros of the statements and ratios are formulas, which can be followed and changed",
    ),
    "legend_money": ("Montants", "Amounts"),
    "legend_money_is": (
        "En euros où le titre le dit, sinon dans la devise indiquée ; affichés à l'unité, la "
        "cellule garde les décimales",
        "In euros where the heading says so, else in the currency stated; shown in units, the "
        "cell keeps the decimals",
    ),
    "data": ("Données", "Data"),
    "version": ("Version des données", "Version of the data"),
    "published": ("Publication des données", "Publication of the data"),
    "plan": ("Offre", "Plan"),
    # Filters.
    "pays": ("Pays", "Countries"),
    "secteur": ("Secteurs", "Sectors"),
    "sous_secteur": ("Sous-secteurs", "Sub-sectors"),
    "q": ("Nom ou identifiant", "Name or identifier"),
    "tri": ("Ordre", "Order"),
    "ca": ("Chiffre d'affaires (EUR)", "Turnover (EUR)"),
    "effectif": ("Effectif", "Headcount"),
    "site_web": ("Site web", "Website"),
    "avec_ca": ("Chiffre d'affaires publié", "Turnover published"),
    "ids": ("Sociétés nommées", "Companies named"),
    "found_ids": ("{n} trouvées par identifiant", "{n} found by identifier"),
    "ids_inconnus": ("Identifiants inconnus", "Unknown identifiers"),
    "etat": ("État", "State"),
    "ville": ("Ville", "Town"),
    "code_postal": ("Code postal", "Postcode"),
    "forme": ("Forme juridique", "Legal form"),
    "nace": ("Code NACE", "NACE code"),
    "cree": ("Date de création", "Date of creation"),
    "actif": ("Total de l'actif (EUR)", "Total assets (EUR)"),
    "avec_comptes": ("États financiers publiés", "Statements published"),
    "all_countries": ("Tous ({n})", "All ({n})"),
    "all_sectors": ("Tous ({n})", "All ({n})"),
    "declared": ("déclaré", "declared"),
    "yes": ("oui", "yes"),
    "from": ("à partir de {low}", "from {low}"),
    "up_to": ("jusqu'à {high}", "up to {high}"),
    "between": ("de {low} à {high}", "from {low} to {high}"),
    "ca_desc": ("chiffre d'affaires décroissant", "turnover, descending"),
    "ca_asc": ("chiffre d'affaires croissant", "turnover, ascending"),
    "nom": ("nom", "name"),
    "effectif_desc": ("effectif décroissant", "headcount, descending"),
    "recent": ("création la plus récente", "latest creation first"),
    "capital_desc": ("capital social décroissant", "share capital, descending"),
    "score": ("complétude des données", "completeness of the data"),
    # Tables of the scope.
    "code": ("Code", "Code"),
    "country": ("Pays", "Country"),
    "sector": ("Secteur", "Sector"),
    "band": ("Tranche de chiffre d'affaires", "Band of turnover"),
    "in_scope": ("Sociétés du périmètre", "Companies in scope"),
    "share": ("Part du périmètre", "Share of scope"),
    "in_file": ("Dans ce fichier", "In this file"),
    "file_share": ("Part du fichier", "Share of file"),
    "all": ("Ensemble", "Total"),
    "no_sector": ("Sans secteur", "Without a sector"),
    "by_band": ("Sociétés du fichier par tranche", "Companies of the file by band"),
    "no_turnover": ("Non publié", "Not published"),
    "negative": ("Négatif", "Negative"),
    "below": ("Moins de {high}", "Below {high}"),
    "range": ("De {low} à {high}", "{low} to {high}"),
    "above": ("{low} et plus", "{low} and more"),
    "k": ("{n} k€", "€{n}k"),
    "m": ("{n} M€", "€{n}m"),
    "chart_countries": ("Sociétés du périmètre par pays", "Companies in scope by country"),
    "chart_sectors": ("Sociétés du périmètre par secteur", "Companies in scope by sector"),
    "note_amounts": (
        "Comptes de sociétés : tout le périmètre et ce fichier. Montants : sociétés de ce "
        "fichier dont le chiffre d'affaires est publié.",
        "Counts of companies: the whole scope and this file. Amounts: companies of this file "
        "whose turnover is published.",
    ),
    # Contacts.
    "no_contacts": (
        "Les coordonnées sont incluses à partir de l'offre Données : /tarifs",
        "Contact details are included from the plan Data upward: /tarifs",
    ),
    # Columns of the list that are no field of the API.
    "col_feuille": ("Feuille de comptes", "Statements sheet"),
    "def_feuille": (
        "Ce classeur a une feuille avec les comptes de la société",
        "This workbook has a sheet with the statements of the company",
    ),
    "col_total_actif_eur": ("Total de l'actif (EUR)", "Total assets (EUR)"),
    "def_total_actif_eur": (
        "Total de l'actif du dernier exercice, à l'unité, en euros au cours annuel moyen",
        "Total assets of the last fiscal year, in units, in euros at the annual average rate",
    ),
    "col_capital_social_eur": ("Capital social (EUR)", "Share capital (EUR)"),
    "def_capital_social_eur": (
        "Capital social en euros, au cours annuel moyen de l'exercice du chiffre d'affaires, sinon du bilan, "
        "sinon de la dernière année connue",
        "Share capital in euros, at the annual average rate of the year of the turnover, else of the balance "
        "sheet, else of the last year that is known",
    ),
    "col_ca_publie": ("Chiffre d'affaires (devise)", "Turnover (own currency)"),
    "def_ca_publie": (
        "Chiffre d'affaires publié, à l'unité, dans sa devise",
        "Turnover as published, in units, in its currency",
    ),
    "col_total_actif": ("Total de l'actif (devise)", "Total assets (own currency)"),
    "def_total_actif": (
        "Total de l'actif publié, à l'unité, dans sa devise",
        "Total assets as published, in units, in their currency",
    ),
    "col_forme_libelle": ("Forme juridique en français", "Legal form in English"),
    "def_forme_libelle": (
        "Forme juridique, traduite ; vide si la table n'a pas la forme",
        "Legal form, translated; empty if the table lacks the form",
    ),
    "col_tranche_libelle": ("Tranche d'effectif (salariés)", "Headcount band (employees)"),
    "def_tranche_libelle": ("Tranche d'effectif en clair", "Headcount band in words"),
    # Statements.
    "back": ("← Retour à la liste", "← Back to the list"),
    "line": ("Poste", "Line"),
    "year": ("Exercice", "Year"),
    "first_year": ("Premier exercice", "First year"),
    "last_year": ("Dernier exercice (N)", "Last year (N)"),
    "sheet": ("Feuille", "Sheet"),
    "section": ("État", "Statement"),
    "order": ("Ordre", "Order"),
    "value": ("Valeur (devise)", "Value (own currency)"),
    "value_eur": ("Valeur (EUR)", "Value (EUR)"),
    "trend": ("{figure}, tendance", "{figure}, trend"),
    "turnover_before": (
        "Chiffre d'affaires N-1 au taux de N (EUR)",
        "Turnover N-1 at the rate of N (EUR)",
    ),
    "change": ("Variation {span}", "Change {span}"),
    "change_percent": ("Variation en %", "Change in %"),
    "in_euros": ("En euros, au cours annuel moyen", "In euros, at the annual average rate"),
    "rate_of_year": (
        "Euros pour une unité de la devise",
        "Euros per unit of the currency",
    ),
    "ratios": ("Ratios", "Ratios"),
    "bilan_actif": ("Bilan : actif", "Balance sheet: assets"),
    "bilan_passif": ("Bilan : passif", "Balance sheet: liabilities"),
    "compte_resultat": ("Compte de résultat", "Income statement"),
    "annexe": ("Annexe", "Annexes"),
    "unit": (
        "Montants en {currencies}, à l'unité. Agrégats en gras.",
        "Amounts in {currencies}, in units. Aggregates in bold.",
    ),
    "unit_unknown": (
        "Devise non indiquée, montants à l'unité. Agrégats en gras.",
        "Currency not stated, amounts in units. Aggregates in bold.",
    ),
    "currency": ("Devise", "Currency"),
    # Methodology.
    "fields": ("Champs", "Fields"),
    "field": ("Champ de l'API", "Field of the API"),
    "column": ("Colonne", "Column"),
    "definition": ("Définition", "Definition"),
    "sources": ("Sources", "Sources"),
    "register": ("Registre", "Register"),
    "attributions": ("Attributions et licences", "Attributions and licences"),
    "attribution": ("Attribution, licence", "Attribution, licence"),
    "files_of": ("Fichiers du", "Files of"),
    "rates": (
        "Taux annuels moyens employés (unités pour un euro)",
        "Annual average rates used (units for one euro)",
    ),
    "currency_year": ("Devise et exercice", "Currency and year"),
    "rate": ("Taux", "Rate"),
    "source": ("Source", "Source"),
    "bce": ("Banque centrale européenne", "European Central Bank"),
    "bce_redenomination": (
        "Banque centrale européenne, après redénomination",
        "European Central Bank, after redenomination",
    ),
    "fixe": ("Taux de conversion irrévocable", "Irrevocable conversion rate"),
    "limits": ("Limites", "Limits"),
    "limit_total": (
        "Le nombre de sociétés du périmètre est exact et n'est jamais tronqué ; le fichier "
        "contient les premières dans l'ordre demandé.",
        "The number of companies in the scope is exact and never truncated; the file has the "
        "first of them in the order asked for.",
    ),
    "limit_null": (
        "Un filtre sur un montant ou un effectif écarte les sociétés qui ne le publient pas ; "
        "dans un ordre, elles viennent en dernier.",
        "A filter on an amount or a headcount leaves out the companies that do not publish it; "
        "in an order they come last.",
    ),
    "limit_dissolved": (
        "Les sociétés dissoutes ou radiées que le registre publie sont incluses : voir Statut.",
        "Dissolved companies that the register publishes are included: see Status.",
    ),
    "limit_comptes": (
        "États financiers : au plus 5 exercices, tels que déposés ; une feuille pour les "
        "premières sociétés de la liste qui en ont, au plus {cap} selon l'offre.",
        "Financial statements: at most 5 fiscal years, as filed; a sheet for the first companies "
        "of the list that have some, at most {cap} by plan.",
    ),
    "limit_columns": (
        "Les colonnes sont celles que la demande nomme, ou toujours les mêmes, quelles que soient l'offre et les "
        "données ; alors les valeurs "
        "brutes dont d'autres colonnes sont tirées sont groupées et repliées à droite de la liste.",
        "The columns are those that the request names, or always the same, whatever the plan and the data; then "
        "the raw values of which other "
        "columns are made are grouped and closed at the right of the list.",
    ),
    "limit_text": (
        "Les identifiants et les codes sont du texte : leurs zéros de tête sont significatifs.",
        "Identifiers and codes are text: their leading zeros are significant.",
    ),
    # Journal.
    "log_head": ("Journal de l'export", "Log of the export"),
    "request": ("Demande", "Request"),
    "parameters": ("Paramètres reçus", "Parameters received"),
    "none": ("aucun", "none"),
    "counts": ("Décomptes", "Counts"),
    "timings": ("Durées (secondes)", "Timings (seconds)"),
    "versions": ("Versions", "Versions"),
    "made": ("Date de l'export (UTC)", "Time of the export (UTC)"),
    "request_id": ("Identifiant de la requête", "Request id"),
    "lang": ("Langue", "Language"),
    "cap_rows": ("Lignes au plus (offre)", "Rows at most (plan)"),
    "cap_comptes": ("Feuilles de comptes au plus (offre)", "Statements sheets at most (plan)"),
    "comptes_sheets": ("Feuilles de comptes", "Statements sheets"),
    "with_contacts": ("Coordonnées incluses", "Contact details included"),
    "no": ("non", "no"),
    "altered_texts": (
        "Textes raccourcis ou nettoyés pour tenir dans une cellule",
        "Texts cut or cleaned to fit a cell",
    ),
    "altered_links": (
        "Liens laissés en texte (65 530 par feuille)",
        "Links left as text (65 530 a sheet)",
    ),
    "searching": ("Recherche et décomptes", "Search and counts"),
    "reading": ("Lecture des sociétés et des comptes", "Reading companies and statements"),
    "writing": ("Écriture des feuilles précédentes", "Writing the sheets before this one"),
    "api": ("API", "API"),
    "format": ("Format des données", "Format of the data"),
}
