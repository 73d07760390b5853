"""The workbook of an export (§4.6): from what was asked for to a file, without HTTP or counters."""
