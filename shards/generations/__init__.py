"""Generations: complete sets of shards in a folder DATA; CURRENT names the published generation.

`generation_files` opens a generation by name, `pointer` reads and replaces DATA/CURRENT, `manifest`, `reference` and
`register_sources` are the documents of a generation. `locks` keeps writers and readers apart; `atomic_files` writes
files and folders that are complete or absent. `groups` has the relationships of parents and subsidiaries (X12).
`change_steps` has the folders of changes `DATA/changes/<from>-<to>/`, and finds the way from an old generation to the
published one.

`publication` publishes a new generation, or changes nothing; it also rolls back. `smoke_test` is its last gate: a
sample of searches, compared with the answers of a search without indexes. The caller passes the functions that compare
generations and that derive further files, since these are capabilities.
"""
