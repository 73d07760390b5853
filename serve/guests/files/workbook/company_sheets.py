"""The sheets Liste and Contacts: one row per company, in the order of the scope."""

from collections.abc import Mapping
from typing import Final

from serve.guests.files.workbook import list_columns, styles, table_sheet
from serve.guests.files.workbook.export_data import ExportData
from serve.guests.files.workbook.labels import Labels
from serve.guests.files.workbook.list_columns import IDENTITY, PRINTED, company_column
from serve.guests.files.workbook.sheet import Sheet
from serve.guests.files.workbook.table_sheet import TableColumn
from shards.codec.record import CONTACTS

_BARS: Final = ("ca_eur", "total_actif_eur")
# A box in the look of `styles.notice`.
_NOTICE: Final = {"width": 420, "height": 40, "object_position": 3}


def liste(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Liste: every public field, and what is made of some of them (list_columns.py), or what is wanted.

    The name of a company links to the sheet with its statements; `comptes` has their names by row.
    """
    wanted = data.request.file.colonnes
    columns = list_columns.columns(labels, wanted)
    tabled = [TableColumn.of_company(column, data) for column in columns]
    last = data.count
    table_sheet.write(sheet, "societes", tabled, comptes, count=last)
    for col, column in enumerate(columns):
        if column.name in _BARS:
            bar = {"type": "data_bar", "bar_color": styles.BAR, "bar_solid": True}
            sheet.raw.conditional_format(1, col, max(1, last), col, bar)
    sheet.raw.print_area(0, 0, last, len(wanted or PRINTED) - 1)


def contacts(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Contacts: the contact fields, with empty columns if the plan lacks the right (§4.6).

    The cells are in the same places whatever the plan; what is missing is said in a box above the empty ones.
    """
    wanted = [company_column(name, labels) for name in (*IDENTITY, "ville", *CONTACTS)]
    columns = [TableColumn.of_company(column, data) for column in wanted]
    table_sheet.write(sheet, "contacts", columns, count=data.count)
    if not data.request.plan.coordonnees:
        sheet.raw.insert_textbox(1, len(columns) - len(CONTACTS), labels("no_contacts"), _NOTICE)
