"""Fetch the viewer of /docs again: `make viewer` (serve/docs/viewer says which version).

npm checks what it fetches against the registry's own digest; SHA256SUMS is written for whoever
looks at the repository, and a test compares it with the files.
"""

import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

from serve.docs.viewer import VENDORED, VERSION
from tests import ROOT

_NPM: Final = ROOT / "tests" / "judges" / "npm.py"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [sys.executable, _NPM, "pack", f"swagger-ui-dist@{VERSION}"]
        subprocess.run(command, cwd=folder, check=True)
        with tarfile.open(Path(folder) / f"swagger-ui-dist-{VERSION}.tgz") as archive:
            for file in sorted(VENDORED.iterdir()):
                member = f"package/{file.name}"
                if member in archive.getnames() and file.name != "README.md":
                    packed = archive.extractfile(member)
                    assert packed
                    file.write_bytes(packed.read())
    (VENDORED / "SHA256SUMS").write_text(sums())


def sums() -> str:
    """What SHA256SUMS must say, as `sha256sum` writes it."""
    ours = ("README.md", "SHA256SUMS")
    files = sorted(file for file in VENDORED.iterdir() if file.name not in ours)
    return "".join(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


if __name__ == "__main__":
    main()
