"""A clock that a test sets."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Stands still until it is moved."""

    def __init__(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def set(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
