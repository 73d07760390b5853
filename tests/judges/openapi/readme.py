"""The client programs of README.md, with another server address."""

import re

from tests import ROOT

_ADDRESS = "http://127.0.0.1:8080"


def code_block(language: str, address: str) -> str:
    """The only block of README.md in a language, with `address` as its server."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 1, f"README.md has {len(blocks)} blocks of {language}"
    assert _ADDRESS in blocks[0]
    return str(blocks[0]).replace(_ADDRESS, address)
