"""The nightly run: fetch, import, build, verify, publish, sign, prune, and one report of all of it.

Read `nightly` (the stages in order), then `imports` (each edition in a folder of its own), `report` and `config`.
`command` is the command line of `fetch` and `nightly`.

The fetch of `python -m pipeline fetch SOURCE --out RAW` is the first stage: `published_files` (the files that registers
publish, seeds/sources.csv, and the checks that make a file credible), then `fetching` (sources, files, editions),
`download` (one file: conditional, resumed from the night before) and `receipt` (the record beside it). The HTTP client
and the tries are those of mirrors: `client` and `download` of `shards.mirror`.
"""
