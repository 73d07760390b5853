"""The bodies of requests. Nothing unknown is ignored, so all are closed."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from serve.contract import parameters
from serve.contract.limits import (
    DEFAULT_CANDIDATES,
    LONGEST_VALUE,
    MOST_CANDIDATES,
    MOST_LINES,
)
from serve.contract.objects.declaration import AbsentKey, component, part, with_keywords
from serve.contract.parameters import Parameter
from serve.contract.text import Text
from shards.codec.record import FIELDS


def _of_parameters(name: str, given: Sequence[Parameter]) -> type:
    """A class with a field for each parameter."""
    fields = {one.name: Annotated[Any | AbsentKey, one] for one in given}
    return type(name, (), {"__annotations__": fields})


DemandeExport: Final[type] = component(
    "Ce qu’il faut exporter ; un objet vide est la base entière. Une liste peut aussi être un tableau.",
    "What to export; an empty object is the whole base. A list may be an array, too.",
    closed=True,
)(_of_parameters("DemandeExport", parameters.EXPORT))

_Filtres: Final[type] = part(
    "Les filtres d’une recherche ; un objet vide est la base entière. Une liste peut aussi être un "
    "tableau.",
    "The filters of a search; an empty object is the whole base. A list may be an array, too.",
    closed=True,
)(_of_parameters("Filtres", parameters.WATCHED))


@component(
    "Ce qu’il faut suivre, `ids` ou `recherche`, et depuis quand.",
    "What to watch, either `ids` or `recherche`, and since when.",
    closed=True,
)
class DemandeModifications:
    depuis: Annotated[str, parameters.DEPUIS]
    limit: Annotated[int | AbsentKey, parameters.LIMIT]
    curseur: Annotated[str | AbsentKey, parameters.CURSEUR]
    version: Annotated[str | AbsentKey, parameters.VERSION]
    ids: Annotated[
        Sequence[str] | AbsentKey,
        with_keywords(minItems=1, maxItems=parameters.MOST_IDS),
        Text(
            "Les sociétés, chacune par pays et identifiant : `UK:00944111`.",
            "Companies, each as country and identifier: `UK:00944111`.",
        ),
    ]
    recherche: _Filtres | AbsentKey  # type: ignore[valid-type]


_Donnee = Annotated[
    str | AbsentKey, with_keywords(type=["string", "number", "null"], maxLength=LONGEST_VALUE)
]


@part("Une ligne.", "A line.", closed=True)
class LigneDonnee:
    cle: Annotated[
        _Donnee,
        Text(
            "La clé de la ligne, à laquelle on reconnaît sa réponse. Elle est obligatoire, et "
            "chacune ne sert qu’une fois.",
            "Key of the line, by which its answer is known. Must be given, once each.",
        ),
    ]
    nom: Annotated[
        _Donnee,
        Text(
            "Le nom, avec ou sans sa forme juridique.",
            "Name, with or without its legal form.",
        ),
    ]
    pays: Annotated[
        _Donnee,
        Text(
            "Les pays où elle peut être, par code (ISO 3166-1 à deux ou trois lettres, ou à trois "
            "chiffres) ou par nom dans une langue des 25 pays, séparés par des virgules ; tous si "
            "absent. Un pays illisible est laissé de côté (`pays_illisible`).",
            "Countries it may be in, as codes (ISO 3166-1 of two or three letters, or three digits) "
            "or names in a language of the 25 countries, separated by commas; any if absent. A "
            "country that cannot be read is left out (`pays_illisible`).",
        ),
    ]
    id: Annotated[
        _Donnee,
        Text(
            "Le numéro d’immatriculation, sous toute graphie : avec sa mention, son tribunal ou son "
            "registre, en EUID. `n/a`, `-` ou des zéros comptent comme absents ; un texte sans "
            "numéro est laissé de côté (`id_illisible`).",
            "Registration number, in any spelling: with its label, court or register, as EUID. "
            "`n/a`, `-` or zeros count as absent; a text without a number is left out "
            "(`id_illisible`).",
        ),
    ]
    tva: Annotated[_Donnee, Text("Le numéro de TVA.", "VAT number.")]
    ville: Annotated[_Donnee, Text("La ville.", "Town.")]
    code_postal: Annotated[_Donnee, Text("Le code postal.", "Postcode.")]
    date_creation: Annotated[
        _Donnee,
        Text(
            "La date de création, dans toute notation ; une heure est ignorée. De `03/04/1968`, qui "
            "peut désigner deux jours, seule l’année compte (`date_ambigue`) ; une date illisible est "
            "laissée de côté (`date_illisible`).",
            "Date of creation, in any notation; a time is left out. Of `03/04/1968`, which may mean "
            "two days, only the year counts (`date_ambigue`); a date that cannot be read is left out "
            "(`date_illisible`).",
        ),
    ]
    adresse: Annotated[_Donnee, Text("La rue et le numéro.", "Street and number.")]
    activite: Annotated[
        _Donnee,
        Text(
            "L’activité : un code de la NACE, ou des mots.",
            "Activity: a code of the NACE, or words.",
        ),
    ]
    site_web: Annotated[_Donnee, Text("Le site web.", "Website.")]
    email: Annotated[
        _Donnee,
        Text(
            "L’adresse électronique ; seul son domaine est comparé.",
            "E-mail address; only its domain is compared.",
        ),
    ]
    lei: Annotated[_Donnee, Text("Le LEI.", "LEI.")]


@component("Les lignes à rapprocher.", "The lines to match.", closed=True)
class DemandeRapprochement:
    lignes: Annotated[
        Sequence[LigneDonnee],
        with_keywords(maxItems=MOST_LINES),
        Text(
            "Les lignes ; chacune a besoin de `cle`, et de `nom`, `id`, `tva` ou `lei`.",
            "The lines; each needs `cle`, and `nom`, `id`, `tva` or `lei`.",
        ),
    ]
    limite: Annotated[
        int | AbsentKey,
        with_keywords(minimum=1, maximum=MOST_CANDIDATES),
        Text(
            f"Candidats d’une ligne au plus. Par défaut `{DEFAULT_CANDIDATES}`.",
            f"Candidates of a line at most. By default `{DEFAULT_CANDIDATES}`.",
        ),
    ]
    colonnes: Annotated[
        Sequence[Annotated[str, with_keywords(enum=list(FIELDS))]] | AbsentKey,
        with_keywords(type=["array", "null"]),
        Text(
            "Les champs de la société dont les valeurs accompagnent une ligne `sur` ou "
            "`probable` ; les coordonnées selon les droits.",
            "Fields of the company whose values are sent with a line that is `sur` or `probable`; "
            "contacts by right.",
        ),
    ]
    version: Annotated[
        str | AbsentKey | None,
        Text("La génération qui doit répondre.", "Generation that must answer."),
    ]


FormulaireReconciliation: Final[type] = component(
    "Les paramètres de GET, en formulaire.", "The parameters of GET, as a form.", closed=True
)(_of_parameters("FormulaireReconciliation", parameters.RECONCILIATION))


# The examples of a body, by the text that says what is asked for.
EXAMPLES: Final[Mapping[type, Mapping[str, tuple[Text, Mapping[str, Any]]]]] = {
    DemandeModifications: {
        "ids": (
            Text("Deux sociétés", "Two companies"),
            {"depuis": parameters.DEPUIS.example, "ids": ["UK:00944111", "EE:16325572"]},
        ),
        "recherche": (
            Text(
                "Les restaurants de plus d’un million d’euros",
                "Restaurants of over a million euros",
            ),
            {
                "depuis": parameters.DEPUIS.example,
                "recherche": {"pays": "FR,UK", "secteur": "restauration", "ca_min": 1_000_000},
            },
        ),
    },
    DemandeExport: {
        "export": (
            Text(
                "Les sociétés britanniques dont le nom contient `steel`, en anglais",
                "British companies with `steel` in their name, in English",
            ),
            {"pays": "UK", "q": "steel", "limit": 50, "lang": "en"},
        ),
    },
    DemandeRapprochement: {
        "lines": (
            Text("Une société britannique", "A British company"),
            {
                "lignes": [
                    {
                        "cle": "1",
                        "nom": "Royal Tool Control Limited",
                        "pays": "UK",
                        "ville": "Sheffield",
                    }
                ]
            },
        ),
    },
}
