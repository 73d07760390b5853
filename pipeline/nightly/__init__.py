"""The nightly run: fetch, import, build, verify, publish, sign, prune, and one report of all of it.

Read `nightly` (the stages in order), then `imports` (each edition in a folder of its own), `report` and `config`.
`fetch/` brings what registers publish. `command` is the command line of both. `forecast` is the plan of a night
(`--plan`), `progress` what a terminal shows, `textfile` metrics for Prometheus.
"""
