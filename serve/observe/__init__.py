"""The log and the metrics of a serving process.

`log` collects the fields of a request for its log line, makes JSON lines without secrets, and writes them to stderr
without waiting for its reader. `metrics` counts for /metrics over all workers of a server, and measures the memory and
processor time of their processes.
"""
