"""The options of the file of an export: its format, its columns, and whether it has statement lines (X7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from serve.contract import company_fields, errors, export_tables
from serve.contract.parameters import COLONNES
from serve.request import accept
from serve.request.place_names import suggestions
from shards.codec.folding import fold


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of the file of an export.

    Attributes:
        format: one of `export_tables.FORMATS`.
        colonnes: the columns of the companies, in their order; none means all.
        comptes: statement lines are wanted as a second table; a workbook has them anyway.
    """

    format: str = export_tables.WORKBOOK
    colonnes: tuple[str, ...] = ()
    comptes: bool = False

    @property
    def is_table(self) -> bool:
        """Whether the file is a table, or a `.zip` of two, and no workbook."""
        return self.format != export_tables.WORKBOOK

    @property
    def media_type(self) -> str:
        return export_tables.ZIP if self.has_two_tables else export_tables.MEDIA_TYPES[self.format]

    @property
    def extension(self) -> str:
        """The end of the file name, with its dot."""
        return f".{self.format}.zip" if self.has_two_tables else f".{self.format}"

    @property
    def has_two_tables(self) -> bool:
        return self.is_table and self.comptes


WORKBOOK: Final = FileOptions()


def chosen_options(
    wanted: str | None, colonnes: tuple[str, ...] | None, comptes: bool | None, accepted: str | None
) -> FileOptions:
    """The options that were asked for; the header Accept decides where there is no `format`.

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    return FileOptions(wanted or _preferred_format(accepted), colonnes or (), bool(comptes))


def _preferred_format(header: str | None) -> str:
    """The format that the header Accept likes best; of several that it likes alike, the first one that it means.

    A quality of 0 takes a type out of a range (RFC 9110 §12.5.1).

    >>> [_preferred_format(accept) for accept in ("text/html, text/csv;q=0.9", "text/html, */*;q=0.8", None)]
    ['csv', 'xlsx', 'xlsx']

    Raises:
        ApiError: 406 `format_non_acceptable`.
    """
    if not (header or "").strip():
        return export_tables.WORKBOOK
    items = accept.qualities(header)
    refused = {export_tables.ACCEPTED.get(word) for word, quality in items if quality == 0}
    for word in accept.best_first(header):
        for media_type, name in export_tables.ACCEPTED.items():
            meant = word in (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
            if meant and name not in refused:
                return name
    raise errors.format_non_acceptable(header or "", tuple(export_tables.ACCEPTED))


def columns(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns. Raises ApiError 400 `parametre_invalide`."""
    known = export_tables.company_columns()
    if unknown := [name for name in names if name not in known]:
        shown = ", ".join(repr(name[:100]) for name in unknown[:5])
        why = errors.why("pas_une_colonne", shown=shown, shown_2=", ".join(known))
        alike = suggestions(unknown, _columns_by_spelling())
        raise errors.parametre_invalide(COLONNES.name, why, valeurs=tuple(known), suggestions=alike)
    return tuple(names)


@cache
def _columns_by_spelling() -> Mapping[str, str]:
    """The columns by their folded names and headings."""
    return {
        fold(word): field.champ
        for field in company_fields.fields()
        for word in (field.title["en"], field.title["fr"], field.champ)
    }
