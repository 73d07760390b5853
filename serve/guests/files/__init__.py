"""Exports: a pool of processes that make workbooks and tables, and their temporary files.

Start at `worker_pool`, which gives a request its file and kills a worker that takes too long;
`temp_files` owns the folder in which files grow, `file_name` names the result. `worker` is the code of the worker
processes, `workbook` and `tables` are what they make. The route is serve/guests/files/adapter.py.
"""
