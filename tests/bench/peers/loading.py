"""Loading of peers, each in its own process, with the costs.

    WORK/peers-<generation>/companies/        the companies as Parquet, for all peers
    WORK/peers-<generation>/sqlite            the file or folder of a peer, once complete
    WORK/peers-<generation>/sqlite.json       the cost of loading it

Existing files are reused, so slow peers can be loaded beforehand and in parallel.
"""

import fcntl
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from shards.generations import pointer
from tests.bench.peers import peer
from tests.bench.peers.companies import Companies, extract
from tests.bench.processes import Cost, run

COMPANIES: Final = "companies"


def load(data: Path, work: Path, names: Sequence[str]) -> dict[str, Cost]:
    """Load the peers `names` with the published generation of `data`; return the cost of each."""
    if not names:
        return {}
    folder = peer_folder(data, work)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        extract(data, folder / COMPANIES)
    return {name: _load_peer(folder, name) for name in names}


def peer_folder(data: Path, work: Path) -> Path:
    """The folder of the peers of the published generation of `data`."""
    return work / f"peers-{pointer.current_name(data)}"


def _load_peer(folder: Path, name: str) -> Cost:
    """Load a peer in a new process, unless the file of its cost exists; return the cost."""
    cost_file = folder / f"{name}.json"
    if not cost_file.exists():
        command = [sys.executable, "-m", "tests.bench.peers.loading", str(folder), name]
        cost = run(command)
        cost_file.write_bytes(orjson.dumps(cost))
    return Cost(**orjson.loads(cost_file.read_bytes()))


def main(folder: Path, name: str) -> None:
    """Load a peer; its file gets its name when it is complete."""
    partial = folder / f"{name}.partial"
    if partial.is_dir():
        shutil.rmtree(partial)
    partial.unlink(missing_ok=True)
    peer.engine(name).load(Companies(folder / COMPANIES), partial)
    partial.rename(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
