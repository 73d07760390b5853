"""Changes of companies between two generations: of all companies step by step, or of watched companies.

They serve callers who keep a copy of the data or follow companies. `modifications` answers GET, the steps of all
companies; `watch` answers POST, the net changes of a list or a search. `shards/changes` compares and stores changes.
`answers` has the objects of the API, `tools` the tool of assistants.
"""
