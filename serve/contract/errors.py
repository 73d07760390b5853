"""The errors of the API (§7, contract G7): `raise ApiError("trop_de_lignes", count=count, most=most)`.

An error is a row of `errors.csv`, in tables/ or in the folder of its feature: its code, its header, and its message in
French and English (X0), which names the value and the remedy. A row without a code is a part of a message, such as its
`{why}`. tables/error_codes.csv has the status of a code and the keys beside `erreur` (G6). serve/http turns an ApiError
into a response. A test holds every use of a row to its placeholders.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from serve.contract.secret_mask import mask_keys
from serve.contract.text import TABLES, Text, ending, read_rows

Suggestions = Mapping[str, Sequence[str]]

LANGUAGES: Final = ("fr", "en")  # the first is the default


class Code(NamedTuple):
    """An error code. `extra`: keys that may stand beside `erreur` (G6); `meaning`: for documents."""

    status: int
    meaning: Text
    extra: tuple[str, ...] = ()


class ErrorRow(NamedTuple):
    """A row of errors.csv. `header`: a line such as `Retry-After: 5`, or ""."""

    code: str
    header: str
    text: Text


ALL_CODES: Final[Mapping[str, Code]] = MappingProxyType({
    row["code"]: Code(
        int(row["status"]), Text(row["fr"], row["en"]), tuple(row["extra"].split())
    )
    for row in read_rows(TABLES / "error_codes.csv")
})  # fmt: skip
# Those that programs get; the others are of pages, and have no meaning in documents.
CODES: Final = MappingProxyType({name: code for name, code in ALL_CODES.items() if code.meaning.fr})

MESSAGES: Final[Mapping[str, ErrorRow]] = {
    row["name"]: ErrorRow(row["code"], row["header"], Text(row["fr"], row["en"]))
    for table in sorted(Path(__file__).parents[1].glob("*/*/errors.csv"))
    for row in read_rows(table)
}


def text(name: str, /, **values: object) -> Text:
    """A message or a part of one, filled."""
    return MESSAGES[name].text.fill(**values)


# The parts of a request that are no parameters, as `parametre` of an error.
QUERY_STRING: Final = text("chaine_de_requete")
HEADER: Final = text("en_tete")
REQUEST: Final = text("la_requete")


class ApiError(Exception):
    """A response `{"erreur": {"code", "message"}, **extra}` with an HTTP status and headers.

    Attributes:
        texts: the message in French and in English.
        page: another message for people, where `texts` are for programs.

    It repeats what was sent, but for keys: one may be there by mistake (A5).
    """

    page: Text | None = None

    def __init__(self, name: str, why: str | Text = "", /, **values: Any) -> None:
        """
        Args:
            name: a row of errors.csv.
            why: its `{why}`, or the row of that text.
            values: fill the message, `why` and the header. Those that the code declares as `extra` are in the body,
                too, and a list of them is shown by its first few.
        """
        message = MESSAGES[name]
        declared = ALL_CODES[message.code]
        extra = {key: value for key, value in values.items() if key in declared.extra}
        shown = values | {
            key: _first_few(value)
            for key, value in extra.items()
            if isinstance(value, list | tuple) and not isinstance(value, Text)
        }
        if why:
            shown["why"] = why if isinstance(why, Text) else text(why, **shown)
        header, _, line = message.header.partition(": ")
        self.code = message.code
        self.status = declared.status
        self.texts = Text(*map(mask_keys, message.text.fill(**shown)))
        self.headers = {header: line.format_map(shown)} if header else {}
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
        """Another sentence of the message; None adds nothing."""
        if remedy is not None:
            self.texts = text("faute_et_remede", error=self.texts, remedy=remedy)

    def erreur(self, lang: str) -> dict[str, str]:
        return {"code": self.code, "message": self.texts.in_language(lang)}


def invalid_parameter(name: str | Text, why: str | Text, /, **values: Any) -> ApiError:
    """The commonest error: a parameter, or another part of the request, that cannot be used."""
    return ApiError("parametre_invalide", why, parametre=name, **values)


def unknown_parameters(
    unknown: Sequence[str], allowed: Sequence[str], suggestions: Suggestions
) -> ApiError:
    """Unknown names, never their values: one may be a key put into the URL (contract A5)."""
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
    """No company, or several that it could be; `proches`: the nearest ones, as `UK:00944111`."""
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


def uncounted(*, maybe_done: bool) -> ApiError:
    """The store of counters cannot be used (G9). `maybe_done`: it got the call, and its reply was lost."""
    return ApiError("indisponible_incertain" if maybe_done else "indisponible", "sans_compteurs")


def not_set_up(why: str, contact: str | None = None, page: str = "") -> ApiError:
    """`why` is not set up here. Waiting does not help, so there is no Retry-After.

    Args:
        contact: the address of the operator, where the server has it.
        page: the text that people are shown instead.
    """
    at = ending(contact)
    error = ApiError("config", why, at=at)
    if page:
        error.page = text(page, at=at)
    return error


def _first_few(values: Sequence[str]) -> str:
    # The arrays have every value, the sentence the first few.
    shown = ", ".join(value[:100].strip() or repr(value[:100]) for value in values[:10])
    return f"{shown}, …" if len(values) > 10 else shown
