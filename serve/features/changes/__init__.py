"""Changes: what happened to companies between two generations, step by step or for those that somebody watches.

For whoever keeps a copy or follows companies. `modifications` answers GET, the steps of all companies; `watch` reads
and answers POST, the net changes of a list or a search. The changes themselves are compared and stored by
`shards/changes`. `answers` has the objects of the API, `tools` the tool of assistants.
"""
