"""Fetch the viewer of /docs again, in the version of serve/surfaces/docs/viewer; run `.ci/judges install` first.

npm verifies the digest of the package. SHA256SUMS lists the digests for readers of the repository, and a test compares
them with the files.
"""

import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

from serve.surfaces.docs.viewer import VENDORED, VERSION
from tests import ROOT

_NPM: Final = ROOT / "tests" / "judges" / "npm.py"


def main() -> None:
    """Replace the files of the viewer and their list of digests."""
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
    (VENDORED / "SHA256SUMS").write_text(digest_lines())


def digest_lines() -> str:
    """The content of SHA256SUMS, in the format of `sha256sum`."""
    own_files = ("README.md", "SHA256SUMS")
    files = sorted(file for file in VENDORED.iterdir() if file.name not in own_files)
    return "".join(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


if __name__ == "__main__":
    main()
