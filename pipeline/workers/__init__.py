"""Tasks in processes: on this machine, or on a Dask cluster, with the same results.

Read `processes` first (it also estimates the memory of a task, which limits the tasks that run at once and the rows of
each task in memory), then `dask_cluster`, whose class has the same method `run`. `isolation` runs one call, such as the
import of an untrusted file, in its own process: if the process dies in any way, the call raises an error.
"""
