"""The command `python -m serve`: `process/command.py`, which the processes that this one spawns do not import."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command until a signal stops it; returns the exit code."""
    from serve.process import command  # here, because each spawned process imports this module

    return command.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
