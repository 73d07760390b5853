"""The packages of a server: their licences are permissive, and the lock is complete for the oldest Python."""

import re
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT

LOCKED = re.findall(
    r"^([A-Za-z0-9_.-]+)==", (ROOT / "requirements" / "serve.lock").read_text(), re.MULTILINE
)
# Identifiers of SPDX, or the words of an older classifier. MPL-2.0 only concerns changes of its own files.
ALLOWED = re.compile(
    r"(0BSD|Apache|Apache-2\.0|Apache Software License|BSD|BSD License|BSD-[23]-Clause|CC0-1\.0|MIT|MIT License|MIT-0"
    r"|MPL-2\.0|MPL 2\.0|Mozilla Public License 2\.0|OLDAP-2\.8|PSF-2\.0|Python-2\.0"
    r"|Python Software Foundation License|Zlib)"
)


def _licences(name: str) -> list[str]:
    """The licences of an installed distribution: from its expression, else its classifiers, else its old field."""
    fields = metadata.metadata(name)
    classifier_texts = [
        text.rpartition(" :: ")[2]
        for text in fields.get_all("Classifier") or ()
        if text.startswith("License :")
    ]
    expression, field = (fields.get_all(key) or [""] for key in ("License-Expression", "License"))
    statement = expression[0] or " AND ".join(classifier_texts) or field[0]
    return [part for part in re.split(r"\s+(?:AND|OR)\s+|[()]", statement) if part.strip()]


@pytest.mark.parametrize("name", LOCKED)
def test_a_dependency_of_the_server_has_a_known_permissive_licence(name: str) -> None:
    licences = _licences(name)

    assert licences, f"{name} states no licence"
    assert not [licence for licence in licences if not ALLOWED.fullmatch(licence.strip())], licences


def test_the_lock_has_every_package_that_the_oldest_python_needs() -> None:
    """Debian 12 has Python 3.11.2. With `--require-hashes` a missing package ends the installation."""
    oldest = {"python_full_version": "3.11.0", "python_version": "3.11", "extra": ""}
    needed = {
        canonicalize_name(requirement.name)
        for name in LOCKED
        for requirement in map(Requirement, metadata.requires(name) or ())
        if requirement.marker is None or requirement.marker.evaluate(oldest)
    }

    assert needed <= set(map(canonicalize_name, LOCKED))
