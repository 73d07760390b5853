"""The operations of the service."""

from typing import Final

from serve.contract.feature import Feature
from serve.contract.operation import Operation
from serve.features.service import answers, health

FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "checkAlive", "/healthz", "healthz", "check", "Service", health.healthz, answers.Vivant,
            place=340,
        ),
        Operation(
            "checkReady", "/readyz", "readyz", "check", "Service", health.readyz, answers.Pret,
            place=350, refusals=[503],
        ),
        Operation(
            "readMetrics", "/metrics", "metrics", "metrics", "Service", place=360, media=["text/plain"]
        ),
    ),
)  # fmt: skip
