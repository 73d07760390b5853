"""Mirrors: fetch the published generation of another host and publish it here.

Read `mirror` first: one round, and rounds repeated. It uses a `source` (`source_kinds`: a folder, a web server, a
bucket), whose documents it checks, `signature`, `blobs` (the files) and `subset` (a generation of some countries).
`command` is the command line. Nightly fetches of `pipeline` share `client` (HTTP) and `download` (of a file: resumed,
retried, ended if too slow).

A source is not trusted: it may be unreachable, incomplete or wrong. A file must have the digest in the manifest. With
`--public-key` the manifest must have a signature, which is neither older than the last one nor expired. Files are
published in the order of a build (files, folder name, CURRENT), so a reader of DATA sees complete generations at any
moment. `source` has the errors of a source.
"""
