"""Fetch what registers publish: `python -m pipeline fetch SOURCE --out RAW`.

Read `published_files` (what there is to fetch: seeds/sources.csv), then `fetching` (sources, files, editions),
`download` (one file: conditional, resumed, retried), `plausibility` (what makes a file credible) and `receipt` (what is
recorded beside it). `client` is the only module of the batch job that speaks HTTP. `part_file` keeps what has not come
whole, `pace` ends a download that is too slow.
"""
