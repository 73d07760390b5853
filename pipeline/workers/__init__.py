"""Tasks in processes: on this machine, or on a Dask cluster, with the same results.

Read `processes` first (also the memory of a task, which bounds how many run at once and how many rows each
holds), then `dask_cluster`, which has the same method `run`. `isolation` runs one call in a process whose
end of any kind is an error of that call, such as the import of a file that nobody has seen before.
"""
