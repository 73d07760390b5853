"""The log and the metrics of a serving process.

`request_trace` collects what the log line of a request will say, with the parameters of `query_fields`; `log` makes
lines of JSON without secrets; `log_writer` writes them to stderr and never waits for its reader; `metrics` counts for
/metrics, over all workers of a server; `process_usage` measures what they take of the machine.
"""
