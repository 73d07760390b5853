"""Generations: complete sets of shards in a folder DATA, of which one is published.

`generation_files` opens a generation by name, `pointer` reads and replaces DATA/CURRENT, `manifest`, `reference` and
`register_sources` are the documents beside the shards. `locks` keeps writers and readers apart; `atomic_files` makes
files and folders appear whole. `groups` says who consolidates whom (X12). `change_steps` has the folders of changes
`DATA/changes/<from>-<to>/`, and finds the way from an old generation to the published one.

`publication` is the procedure by which a new generation becomes the published one, or nothing changes; rollback
included. `smoke_test` is its last gate: a sample of searches, compared with the answers of a search without indexes.
The caller passes the functions that compare generations and that derive further files, since these are capabilities.
"""
