"""Builds the compiled modules of `shards/kernel/`; everything else stands in pyproject.toml."""

import os
import shutil
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNEL = (
    "find", "row_sets", "rows", "generate", "head", "phrases", "names", "conditions", "merge",
    "search",
)  # fmt: skip
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "embedsignature": False,
}

# The compiler of the machine, or the one that the build requires (pyproject.toml).
if "CC" not in os.environ and not shutil.which("cc"):
    os.environ["CC"] = f"{sys.executable} -m ziglang cc"
    os.environ["LDSHARED"] = f"{os.environ['CC']} -shared"

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"shards.kernel.{name}", [f"shards/kernel/{name}.py"], extra_compile_args=["-O3", "-g0"]
            )
            for name in KERNEL
        ],
        compiler_directives=DIRECTIVES,
        build_dir="build/cython",
    ),
)
