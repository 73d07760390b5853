"""The nightly run: fetch, import, build, verify, publish, sign, prune, and a report.

Read `nightly` (the stages in order), then `imports` (each edition in a separate folder), `report` and `config`.
`command` is the command line of `fetch` and `nightly`.

The first stage is also the command `python -m pipeline fetch SOURCE --out RAW`: `published_files` (the files that
registers publish, seeds/sources.csv, and the checks of a fetched file), then `fetching` (sources, files, editions),
`download` (one file: conditional, continued from an earlier night) and `receipt` (the record of a fetched file). The
HTTP client and the retries are shared with mirrors: `client` and `download` of `shards.mirror`.
"""
