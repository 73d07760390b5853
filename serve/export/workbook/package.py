"""The package of a workbook: what xlsxwriter has no setting for, in methods that it lets one override."""

from xlsxwriter import Workbook
from xlsxwriter.core import Core
from xlsxwriter.packager import Packager


class LanguageWorkbook(Workbook):  # type: ignore[misc]  # xlsxwriter has no types
    """A workbook that states its language (`dc:language`), the property `language`."""

    def _get_packager(self) -> Packager:
        return _LanguagePackager()


class _LanguagePackager(Packager):  # type: ignore[misc]  # xlsxwriter has no types
    def _write_core_file(self) -> None:
        core = _LanguageCore()
        core._set_properties(self.workbook.doc_properties)
        core._set_xml_writer(self._filename("docProps/core.xml"))
        core._assemble_xml_file()


class _LanguageCore(Core):  # type: ignore[misc]  # xlsxwriter has no types
    def _write_cp_content_status(self) -> None:
        """The last element of the file, and the language after it."""
        super()._write_cp_content_status()
        if language := self.properties.get("language"):
            self._xml_data_element("dc:language", language)
