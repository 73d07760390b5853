"""The errors of this package. Each message names the value and says what to do about it."""


class ShardError(Exception):
    """The base of all errors of this package."""


class OutOfOrderError(ShardError):
    """The input of a writer is not in ascending order, or is inconsistent."""


class WrongFormatError(ShardError):
    """A file is no shard (or no manifest, no file of changes), or has another format version."""


class CorruptError(ShardError):
    """A file differs from its manifest, or breaks an invariant of FORMAT.md."""


class MissingCountryError(ShardError):
    """The shard of a country is left out, because it is damaged on this host."""

    def __init__(self, iso2: str) -> None:
        super().__init__(f"the companies of {iso2} cannot be read; build or fetch them again")
        self.iso2 = iso2


class GenerationError(ShardError):
    """A generation does not exist, or cannot be published."""
