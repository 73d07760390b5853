"""Modules whose library only `make bench` installs are not collected without it."""

from importlib.util import find_spec

_NEEDS = {"plot.py": "matplotlib", "peers/duckdb.py": "duckdb", "peers/tantivy.py": "tantivy"}

collect_ignore = [path for path, library in _NEEDS.items() if find_spec(library) is None]
