"""What is only installed by `make bench` is not imported where it is missing."""

from importlib.util import find_spec

_NEEDS = {"plot.py": "matplotlib", "peers/duckdb.py": "duckdb", "peers/tantivy.py": "tantivy"}

collect_ignore = [path for path, library in _NEEDS.items() if find_spec(library) is None]
