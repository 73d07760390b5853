"""The errors of the API (§7, contract G7): `raise ApiError("trop_de_lignes", count=count, most=most)`.

An error is a row of `errors.csv`, in tables/ or in the folder of its feature: its code, its header, and its message in
French and English (X0), which names the value and the remedy. A row without a code is a part of a message, such as the
reason for its placeholder `{why}`. tables/error_codes.csv has the status of a code, and the keys in addition to
`erreur` (G6). serve/http turns an ApiError into a response. A test compares every use of a row with its placeholders.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from serve.contract.secret_mask import mask_keys
from serve.contract.text import TABLES, Text, ending, read_rows

# Known names or values that are similar, by unknown name or value.
SuggestionsByName = Mapping[str, Sequence[str]]

LANGUAGES: Final = ("fr", "en")  # the first is the default


class Code(NamedTuple):
    """An error code. `extra`: the keys in addition to `erreur` (G6); `meaning`: the text for documents."""

    status: int
    meaning: Text
    extra: tuple[str, ...] = ()


class ErrorRow(NamedTuple):
    """A row of errors.csv. `header`: a response header such as `Retry-After: 5`, or ""."""

    code: str
    header: str
    text: Text


# The error codes by name.
ALL_CODES: Final[Mapping[str, Code]] = MappingProxyType({
    row["code"]: Code(
        int(row["status"]), Text(row["fr"], row["en"]), tuple(row["extra"].split())
    )
    for row in read_rows(TABLES / "error_codes.csv")
})  # fmt: skip
# The codes that programs get. The other codes are of pages, and have no text in documents.
CODES: Final = MappingProxyType({name: code for name, code in ALL_CODES.items() if code.meaning.fr})

# The rows of all errors.csv by name.
MESSAGES: Final[Mapping[str, ErrorRow]] = {
    row["name"]: ErrorRow(row["code"], row["header"], Text(row["fr"], row["en"]))
    for table in sorted(Path(__file__).parents[1].glob("*/*/errors.csv"))
    for row in read_rows(table)
}


def text(name: str, /, **values: object) -> Text:
    """The message, or part of a message, in the row `name` of errors.csv, with its placeholders filled by `values`."""
    return MESSAGES[name].text.fill(**values)


# Values of `parametre` in an error, for parts of a request that are not parameters.
QUERY_STRING: Final = text("chaine_de_requete")
HEADER: Final = text("en_tete")
REQUEST: Final = text("la_requete")


class ApiError(Exception):
    """A response `{"erreur": {"code", "message"}, **extra}` with an HTTP status and headers.

    Attributes:
        texts: the message in French and in English.
        page: another message, for pages; None if pages show `texts`.

    A message repeats values that the client sent. Keys in these values are masked: a client can send a key in the wrong
    place by mistake (A5).
    """

    page: Text | None = None

    def __init__(self, name: str, why: str | Text = "", /, **values: Any) -> None:
        """Fill in the message and the header of a row.

        Args:
            name: a row of errors.csv.
            why: the text of `{why}`, or the name of its row.
            values: the placeholders of the message, of `why` and of the header. Values that the code declares as
                `extra` are in the body too; the message has only the first few items of such a list.
        """
        message = MESSAGES[name]
        declared = ALL_CODES[message.code]
        extra = {key: value for key, value in values.items() if key in declared.extra}
        placeholders = values | {
            key: _first_few(value)
            for key, value in extra.items()
            if isinstance(value, list | tuple) and not isinstance(value, Text)
        }
        if why:
            placeholders["why"] = why if isinstance(why, Text) else text(why, **placeholders)
        header_name, _, header_value = message.header.partition(": ")
        self.code = message.code
        self.status = declared.status
        self.texts = Text(*map(mask_keys, message.text.fill(**placeholders)))
        self.headers = {header_name: header_value.format_map(placeholders)} if header_name else {}
        self.extra: dict[str, Any] = {
            key: value.fr if isinstance(value, Text) else mask_keys(value)
            for key, value in extra.items()
        }
        super().__init__(f"{self.status} {self.code}: {self.texts.fr}")

    @property
    def message(self) -> str:
        """The message in French."""
        return self.texts.fr

    def body(self, lang: str) -> bytes:
        """The JSON object (§2.6) in one of LANGUAGES."""
        return orjson.dumps({"erreur": self.erreur(lang), **self.extra})

    def add_remedy(self, remedy: Text | None) -> None:
        """Add a sentence to the message; None adds nothing."""
        if remedy is not None:
            self.texts = text("faute_et_remede", error=self.texts, remedy=remedy)

    def erreur(self, lang: str) -> dict[str, str]:
        """The object `erreur` of the body, in one of LANGUAGES."""
        return {"code": self.code, "message": self.texts.translation(lang)}


def invalid_parameter(name: str | Text, why: str | Text, /, **values: Any) -> ApiError:
    """The error for a parameter, or another part of the request, that cannot be used."""
    return ApiError("parametre_invalide", why, parametre=name, **values)


def unknown_parameters(
    unknown: Sequence[str], allowed: Sequence[str], suggestions: SuggestionsByName
) -> ApiError:
    """The error for unknown parameters. The error has the names and not the values, since a value may be a key (A5)."""
    names = ", ".join(allowed)
    remedy = text("parametres_admis", names=names) if allowed else text("parametres_absents")
    return ApiError(
        "parametre_inconnu",
        parametres_inconnus=unknown,
        parametres_admis=allowed,
        suggestions=suggestions,
        remedy=remedy,
    )


def no_company(iso2: str, identifiant: str, proches: Sequence[str] = ()) -> ApiError:
    """The 404 for an identifier of no company, or of several; `proches` are similar companies, as `UK:00944111`."""
    if proches:
        remedy = text("proches", names=", ".join(proches))
    else:
        country = f"pays={iso2}&" if iso2 else ""
        remedy = text("recherche", path=f"/api/v1/societes?{country}q=…")
    return ApiError(
        "societe_introuvable_du_pays" if iso2 else "societe_introuvable",
        iso2=iso2,
        identifiant=identifiant,
        remedy=remedy,
        proches=proches,
    )


def store_unavailable(*, maybe_done: bool) -> ApiError:
    """The error for a store of counters that fails (G9). `maybe_done`: the store may have counted the call."""
    return ApiError("indisponible_incertain" if maybe_done else "indisponible", "sans_compteurs")


def not_set_up(why: str, contact: str | None = None, page: str = "") -> ApiError:
    """The error for a service that this server lacks. The error has no Retry-After, since waiting does not help.

    Args:
        why: the name of the row that describes the service.
        contact: the address of the operator, if the server has it.
        page: the name of the text for people; "" for the same text.
    """
    address = ending(contact)
    error = ApiError("config", why, at=address)
    if page:
        error.page = text(page, at=address)
    return error


def _first_few(values: Sequence[str]) -> str:
    """The first ten values, shortened, for a message; the arrays of the body have every value."""
    # A blank value is shown in quotes, since it would not be visible without them.
    listed_values = ", ".join(value[:100].strip() or repr(value[:100]) for value in values[:10])
    return f"{listed_values}, …" if len(values) > 10 else listed_values
