"""The log and the metrics of a serving process.

`log` collects the facts of a request for its line, makes lines of JSON without secrets, and writes them to stderr
without waiting for its reader; `metrics` counts for /metrics, over all workers of a server, and measures the memory and
the time of their processes.
"""
