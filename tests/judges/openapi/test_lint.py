"""Validators of OpenAPI documents: openapi-spec-validator, redocly, spectral."""

import os
import subprocess
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.serve.conformance import DOCUMENT

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"

pytestmark = pytest.mark.judge


def test_openapi_spec_validator_has_nothing_to_say() -> None:
    assert not list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors())


def test_redocly_has_nothing_to_say(node: Path, description: Path) -> None:
    """Its recommendations count as errors."""
    cli = MODULES / "@redocly" / "cli" / "bin" / "cli.js"

    said = _run(node, cli, "lint", "--config", HERE / "redocly.yaml", description)

    assert "Your API description is valid" in said


def test_spectral_has_nothing_to_say(node: Path, description: Path) -> None:
    """Hints count as errors too."""
    cli = MODULES / "@stoplight" / "spectral-cli" / "dist" / "index.js"

    said = _run(
        node, cli, "lint", "-r", HERE / "spectral.yaml", "--fail-severity", "hint", description
    )

    assert "No results with a severity of 'hint' or higher found!" in said


def _run(*command: str | Path) -> str:
    offline = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(
        command, cwd=HERE, env=offline, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
