"""A command of the pipeline that kills itself where it enters or leaves a function.

python -m tests.pipeline.nightly.kill_at MODULE FUNCTION before|after ARGUMENT...
"""

import functools
import importlib
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Replace the function of the module, and run the command."""
    module, path, when, *arguments = sys.argv[1:]
    *owner, name = path.split(".")
    where = functools.reduce(getattr, owner, importlib.import_module(module))
    function = getattr(where, name)

    def deadly(*args: Any, **kwargs: Any) -> None:
        if when == "after":
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(where, name, deadly)
    command = importlib.import_module("pipeline.__main__")
    sys.exit(command.main(arguments))


if __name__ == "__main__":
    main()
