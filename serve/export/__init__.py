"""Excel exports: a pool of processes that make workbooks, and their temporary files.

Start at `worker_pool`, which gives a request its file and kills a worker that takes too long;
`temp_files` owns the folder in which files grow, `file_name` names the result. `workbook` is the
workbook itself, and the code of the worker processes. The route is serve/http/export_adapter.py.
"""
