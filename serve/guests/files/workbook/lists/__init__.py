"""The long lists of a workbook: up to 10 000 rows, each an Excel table.

Read `list_columns` (the columns of companies as data), `column_cells` (values to XML, many at once) and
`table_sheet` (a list as a sheet); `company_sheets` writes Liste and Contacts with them,
`own_list_sheet` the lines of a reader's list.
"""
