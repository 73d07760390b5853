"""The client programs of README.md, with the address of another server."""

import re

from tests import ROOT

_ADDRESS = "http://127.0.0.1:8080"


def block(language: str, address: str) -> str:
    """The only block in that language, with `address` as its server."""
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(found) == 1, f"README.md has {len(found)} blocks of {language}"
    assert _ADDRESS in found[0]
    return str(found[0]).replace(_ADDRESS, address)
