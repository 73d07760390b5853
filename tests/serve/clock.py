"""A clock that a test moves."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock whose time changes only by `set` and `advance`."""

    def __init__(self, text: str) -> None:
        """Start at a moment in ISO 8601, such as `2026-11-21T12:00:00`, in UTC."""
        self.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        """The moment that the clock shows."""
        return self.moment

    def set(self, text: str) -> None:
        """Show this moment, forward or backward, in the notation of `__init__`."""
        self.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
