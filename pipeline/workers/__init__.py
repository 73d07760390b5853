"""Tasks in processes: on this machine, or on a Dask cluster, with the same results.

Read `processes` first, then `dask_cluster`, which has the same method `run`. `memory` bounds how
many tasks run at once and how many rows each holds.
"""
