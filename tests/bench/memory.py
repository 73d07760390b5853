"""`python -m tests.bench.memory DATA`: the private memory of a server of two workers and of all its processes.

It is the anonymous memory of each (`Pss_Anon` of proc_pid_smaps(5)), with what two of them share counted once: after
the start, after markets of nine scopes, right after exports of 10 000 companies, and once nobody uses their processes.
"""

import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from serve.guests.files.worker_pool import KEPT
from tests.bench.load import Server
from tests.bench.processes import tree
from tests.bench.served import get, keys, serving

EXPORTS: Final = 16
AT_ONCE: Final = 8
SETTLED: Final = 20  # seconds until the shards are read and the base is analysed
_SCOPES: Final = (
    "", "pays=FR", "pays=UK", "pays=DE", "pays=IT", "ca_min=100000", "pays=ES", "pays=NL", "pays=BE",
)  # fmt: skip


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state")
        accounts = keys(state, EXPORTS)
        with serving(data, state, "--workers", "2") as server:
            print("| private MiB, two workers | all | each process |\n| --- | --: | --- |")
            time.sleep(SETTLED)
            _tell("after the start", server)
            for scope in _SCOPES:
                get(server, f"analyses/marche?{scope}", accounts[0])
            _tell("after nine markets", server)
            with ThreadPoolExecutor(AT_ONCE) as threads:
                list(threads.map(lambda one: get(server, "export?limit=10000", one), accounts))
            _tell(f"after {EXPORTS} exports", server)
            time.sleep(KEPT + 10)
            _tell(f"{KEPT + 10:g} s later", server)


def _tell(when: str, server: Server) -> None:
    each = [_anonymous(pid) for pid in tree(server.pid)]
    print(f"| {when} | {sum(each):.0f} | {' + '.join(f'{one:.0f}' for one in each)} |", flush=True)


def _anonymous(pid: int) -> float:
    found = re.search(r"Pss_Anon: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())
    assert found
    return int(found[1]) / 1024


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the DATA folder of a built generation")
    main(Path(sys.argv[1]))
