"""Licences and versions of what a server installs: permissive, and there for the oldest Python."""

import re
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT

LOCKED = re.findall(
    r"^([A-Za-z0-9_.-]+)==", (ROOT / "requirements" / "serve.lock").read_text(), re.MULTILINE
)
# Identifiers of SPDX, or the words of an older classifier. MPL-2.0 is about changes of its own files.
ALLOWED = re.compile(
    r"(0BSD|Apache|Apache-2\.0|Apache Software License|BSD|BSD License|BSD-[23]-Clause|CC0-1\.0|MIT|MIT License|MIT-0"
    r"|MPL-2\.0|MPL 2\.0|Mozilla Public License 2\.0|OLDAP-2\.8|PSF-2\.0|Python-2\.0"
    r"|Python Software Foundation License|Zlib)"
)


def _licences(name: str) -> list[str]:
    """The licences of an installed distribution: of its expression, else of its classifiers or its old field."""
    found = metadata.metadata(name)
    classified = [
        text.rpartition(" :: ")[2]
        for text in found.get_all("Classifier") or ()
        if text.startswith("License :")
    ]
    expression, field = (found.get_all(key) or [""] for key in ("License-Expression", "License"))
    stated = expression[0] or " AND ".join(classified) or field[0]
    return [part for part in re.split(r"\s+(?:AND|OR)\s+|[()]", stated) if part.strip()]


@pytest.mark.parametrize("name", LOCKED)
def test_a_dependency_of_the_server_has_a_known_permissive_licence(name: str) -> None:
    licences = _licences(name)

    assert licences, f"{name} states no licence"
    assert not [one for one in licences if not ALLOWED.fullmatch(one.strip())], licences


def test_the_lock_has_what_the_oldest_python_needs() -> None:
    """Python 3.11.2 is that of Debian 12. With `--require-hashes` a package that is missing ends the installation."""
    oldest = {"python_full_version": "3.11.0", "python_version": "3.11", "extra": ""}
    needed = {
        canonicalize_name(one.name)
        for name in LOCKED
        for one in map(Requirement, metadata.requires(name) or ())
        if one.marker is None or one.marker.evaluate(oldest)
    }

    assert needed <= set(map(canonicalize_name, LOCKED))
