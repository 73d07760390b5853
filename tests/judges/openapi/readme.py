"""What README.md shows of the clients, as programs for a server elsewhere."""

import re

from tests import ROOT

_ADDRESS = "http://127.0.0.1:8080"


def block(language: str, address: str) -> str:
    """The one block of that language, asking `address`."""
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(found) == 1, f"README.md has {len(found)} blocks of {language}"
    assert _ADDRESS in found[0]
    return str(found[0]).replace(_ADDRESS, address)
