"""A command of the pipeline that kills itself when it enters or leaves a function.

python -m tests.pipeline.kill_at MODULE FUNCTION before|after ARGUMENT...
"""

import functools
import importlib
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run a command of `pipeline` that is killed at a function, named by the arguments: module, function, moment.

    The moment is `before` or `after` the call; the further arguments are those of the command.
    """
    module, dotted_name, moment, *arguments = sys.argv[1:]
    *classes, name = dotted_name.split(".")
    holder = functools.reduce(getattr, classes, importlib.import_module(module))
    function = getattr(holder, name)

    def kill_process(*args: Any, **kwargs: Any) -> None:
        """Kill the process in place of the function (`before`), or when the function has returned (`after`)."""
        if moment == "after":
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(holder, name, kill_process)
    command = importlib.import_module("pipeline.__main__")
    sys.exit(command.main(arguments))


if __name__ == "__main__":
    main()
