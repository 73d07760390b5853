"""Exports: a pool of processes that make workbooks and tables, and their temporary files.

Start at `export`: the rows that a plan allows (F1), reserving and counting (F5), the headers `X-Export-…` (F7, F13).
`worker_pool` gives a request its file and kills a worker that takes too long; `temp_files` owns the folder in which
files grow, `file_name` names the result. `worker` is the code of the worker processes, `workbook` and `tables` are what
they make. `adapter` is the HTTP side.
"""
