"""The tests, in the folders of the rooms; `tests/tiers.py` says which of them a target runs.

- `oracle.py` and `world.py`: a plain-Python search, and small companies to search in.
- `demo.py`: the bundled excerpts, built. `prose.py`: documents, docstrings and comments, as text.
- `proof/`: crashes and full disks. `judges/`: programs of other projects. `bench/`: measurements.
- `golden/`: bytes and answers that must stay as they are.
"""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
