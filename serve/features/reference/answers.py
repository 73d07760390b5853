"""The public lists: countries, sectors, sub-sectors, sources (§4.1 to §4.3, X9); and the checks of a process (G10)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from serve.contract.declaration import (
    AnswerObject,
    Count,
    KnownValues,
    Moment,
    component,
    with_keywords,
)
from serve.contract.text import Text


@component("Un pays.", "A country.", name="Pays")
class PaysDeListe:
    iso2: Annotated[
        str,
        Text(
            "Le code, tel qu’on l’envoie : ISO 3166-1 alpha-2, `UK` pour le Royaume-Uni.",
            "Code, as it is sent: ISO 3166-1 alpha-2, `UK` for the United Kingdom.",
        ),
    ]
    slug: Annotated[str, Text("Le nom pour les adresses.", "Name for addresses.")]
    nom_fr: Annotated[str, Text("Le nom, en français.", "Name, French.")]
    nom_en: Annotated[str, Text("Le nom, en anglais.", "Name, English.")]
    devise: Annotated[str, Text("La devise (ISO 4217).", "Currency (ISO 4217).")]
    registre: Annotated[str, Text("Le nom du registre.", "Name of the register.")]
    n_societes: Annotated[Count, Text("Les sociétés.", "Companies.")]


@component("Les pays.", "The countries.")
class ListePays(AnswerObject):
    total: Annotated[Count, Text("Le nombre d’éléments de la liste.", "Entries in the list.")]
    pays: Annotated[Sequence[PaysDeListe], Text("Les pays.", "Countries.")]


@component("Un secteur.", "A sector.", name="Secteur")
class SecteurDeListe:
    secteur: Annotated[
        str,
        Text(
            "Le libellé, en français ; il peut être envoyé tel quel.",
            "Label, French; may be sent as it is.",
        ),
    ]
    secteur_en: Annotated[str, Text("Le libellé, en anglais.", "Label, English.")]
    slug: Annotated[
        str,
        Text(
            "La forme courte, à envoyer à la place du libellé.",
            "Short form, to be sent instead of the label.",
        ),
    ]
    grand_secteur: Annotated[
        str, Text("Le grand secteur, en français.", "Top-level group, French.")
    ]
    n_societes: Annotated[Count, Text("Les sociétés.", "Companies.")]


@component("Les secteurs.", "The sectors.")
class ListeSecteurs(AnswerObject):
    total: Annotated[Count, Text("Le nombre d’éléments de la liste.", "Entries in the list.")]
    secteurs: Annotated[Sequence[SecteurDeListe], Text("Les secteurs.", "Sectors.")]


@component("Un sous-secteur.", "A sub-sector.", name="SousSecteur")
class SousSecteurDeListe:
    sous_secteur: Annotated[
        str,
        Text(
            "Le libellé, en français ; à envoyer exactement ainsi.",
            "Label, French; to be sent exactly so.",
        ),
    ]
    n_societes: Annotated[Count, Text("Les sociétés.", "Companies.")]
    sous_secteur_en: Annotated[str, Text("Le libellé, en anglais.", "Label, English.")]


@component("Le périmètre qui a été compté.", "The scope that was counted.")
class Perimetre:
    pays: Annotated[Sequence[str], Text("Les pays : leurs codes.", "Countries: codes.")]
    secteurs: Annotated[
        Sequence[str], Text("Les secteurs : leurs libellés français.", "Sectors: French labels.")
    ]


@component(
    "Les sous-secteurs qui ont une société dans le périmètre.",
    "The sub-sectors that have a company in the scope.",
)
class ListeSousSecteurs(AnswerObject):
    total: Annotated[Count, Text("Le nombre d’éléments de la liste.", "Entries in the list.")]
    perimetre: Perimetre
    sous_secteurs: Annotated[
        Sequence[SousSecteurDeListe], Text("Les sous-secteurs.", "Sub-sectors.")
    ]


@component("La licence des fichiers d’un registre.", "The licence of a register's files.")
class Licence:
    nom: Annotated[str, Text("Le nom de la licence.", "Name of the licence.")]
    adresse: Annotated[str | None, Text("Son texte.", "Its text.")]
    attribution: Annotated[
        str,
        Text(
            "Les mots qu’elle exige à côté des données, en français.",
            "Words that it demands beside the data, French.",
        ),
    ]
    attribution_en: Annotated[str, Text("Les mêmes, en anglais.", "The same, English.")]


@component("Un fichier publié qui a été lu.", "A published file that was read.")
class FichierSource:
    nom: Annotated[str, Text("Le nom.", "Name.")]
    date: Annotated[
        str | None,
        Text(
            "La date du fichier, jamais celle de sa copie ; null si elle est inconnue. ISO 8601 : "
            "un jour ou, là où on n’en sait pas plus, un mois ou une année.",
            "Date of the file, never that of its copy; null if it is unknown. ISO 8601: a day or, "
            "where no more is known, a month or a year.",
        ),
    ]
    origine_date: Annotated[
        str,
        KnownValues(("contenu", "nom", "indiquee", "inconnue")),
        Text(
            "D’où vient la date : du contenu, du nom ou de l’exploitant ; ou elle est inconnue.",
            "Where the date is from: the content, the name or the operator; or it is unknown.",
        ),
    ]


@component("Un import d’un registre.", "An import of a register.", name="Source")
class SourceDeDonnees:
    source: Annotated[str, Text("Le nom de l’importateur.", "Name of the importer.")]
    table: Annotated[
        str,
        KnownValues(("societes", "comptes")),
        Text("Sociétés ou comptes.", "Companies or statements."),
    ]
    complement: Annotated[
        bool,
        Text(
            "Si elle ne fait que compléter une autre source du pays.",
            "Whether it only completes another source of the country.",
        ),
    ]
    registre: Annotated[str, Text("L’éditeur.", "Publisher.")]
    adresse: Annotated[
        str | None,
        Text(
            "Où les fichiers sont publiés ; null sans adresse.",
            "Where the files are published; null without an address.",
        ),
    ]
    licence: Licence
    date_source: Annotated[
        str | None,
        Text(
            "La date de l’édition : la plus ancienne de ses fichiers ; null si elle est inconnue.",
            "Date of the edition: the oldest of its files; null if it is unknown.",
        ),
    ]
    importe: Annotated[
        Moment,
        Text(
            "Le moment de l’import des fichiers (UTC, ISO 8601).",
            "When the files were imported (UTC, ISO 8601).",
        ),
    ]
    lignes: Annotated[Count, Text("Les lignes de ce pays.", "Rows of this country.")]
    fichiers: Annotated[Sequence[FichierSource], Text("Les fichiers.", "Files.")]


@component(
    "Un pays : ses sources, et quelle part de chaque champ est connue.",
    "A country: its sources, and how much of each field is known.",
)
class SourcesPays:
    iso2: Annotated[str, Text("Le code du pays.", "Code of the country.")]
    slug: Annotated[str, Text("Le nom pour les adresses.", "Name for addresses.")]
    nom_fr: Annotated[str, Text("Le nom, en français.", "Name, French.")]
    nom_en: Annotated[str, Text("Le nom, en anglais.", "Name, English.")]
    registre: Annotated[str, Text("Le nom du registre du pays.", "Name of the country's register.")]
    n_societes: Annotated[
        Count,
        Text(
            "Les sociétés ; 0 : il n’y a pas de données de ce pays.",
            "Companies; 0: there are no data of this country.",
        ),
    ]
    date_source: Annotated[
        str | None,
        Text(
            "L’âge des données : la date la plus ancienne des fichiers de sociétés. ISO 8601 : "
            "un jour ou, là où on n’en sait pas plus, un mois ou une année.",
            "Age of the data: oldest date of the files of companies. ISO 8601: a day or, where "
            "no more is known, a month or a year.",
        ),
    ]
    sources: Annotated[
        Sequence[SourceDeDonnees],
        Text("Les sources, celles de sociétés d’abord.", "Sources, those of companies first."),
    ]
    champs: Annotated[
        Mapping[str, Annotated[float, with_keywords(minimum=0, maximum=1)]],
        Text(
            "La part des sociétés qui ont chaque champ, de 0 à 1 ; `comptes` : qui ont des "
            "comptes. Vide là où il n’y a pas de société.",
            "Share of the companies that have each field, 0 to 1; `comptes`: that have "
            "statements. Empty where there is no company.",
        ),
    ]


@component(
    "D’où viennent les sociétés, et de quand.",
    "Where the companies come from, and how old that is.",
)
class ListeSources(AnswerObject):
    total: Annotated[Count, Text("Les pays de la liste.", "Countries in the list.")]
    date_min: Annotated[
        str | None,
        Text(
            "La `date_source` la plus ancienne. ISO 8601 : un jour ou, là où on n’en sait pas "
            "plus, un mois ou une année.",
            "Oldest `date_source`. ISO 8601: a day or, where no more is known, a month or a year.",
        ),
    ]
    date_max: Annotated[
        str | None,
        Text(
            "La `date_source` la plus récente. ISO 8601 : un jour ou, là où on n’en sait pas "
            "plus, un mois ou une année.",
            "Newest `date_source`. ISO 8601: a day or, where no more is known, a month or a year.",
        ),
    ]
    pays_sans_donnees: Annotated[
        Sequence[str], Text("Les pays sans société.", "Countries without a company.")
    ]
    pays: Annotated[Sequence[SourcesPays], Text("Les pays.", "Countries.")]
