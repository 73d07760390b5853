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


def test_openapi_spec_validator_reports_nothing() -> None:
    assert not list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors())


def test_redocly_reports_nothing(node: Path, description: Path) -> None:
    """Recommendations count as errors"""
    cli = MODULES / "@redocly" / "cli" / "bin" / "cli.js"

    output = _run(node, cli, "lint", "--config", HERE / "redocly.yaml", description)

    assert "Your API description is valid" in output


def test_spectral_reports_nothing(node: Path, description: Path) -> None:
    """Hints count as errors"""
    cli = MODULES / "@stoplight" / "spectral-cli" / "dist" / "index.js"

    output = _run(
        node, cli, "lint", "-r", HERE / "spectral.yaml", "--fail-severity", "hint", description
    )

    assert "No results with a severity of 'hint' or higher found!" in output


def _run(*command: str | Path) -> str:
    """Run a program, which must succeed and contacts no other server; return its output."""
    offline = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(
        command, cwd=HERE, env=offline, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
