"""The log and the metrics of a serving process.

`request_trace` collects what the log line of a request will say; `log` writes lines of JSON to
stderr and removes secrets; `metrics` counts for /metrics, over all workers of a server.
"""
