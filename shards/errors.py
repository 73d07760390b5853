"""The errors of this package. Each message names the value and says what to do about it."""


class ShardError(Exception):
    """The base of all errors of this package."""


class OutOfOrderError(ShardError):
    """The input of a writer is not in ascending order, or is inconsistent."""


class WrongFormatError(ShardError):
    """A file is no shard (or no manifest, no file of changes), or has another format version."""


class CorruptError(ShardError):
    """A file differs from its manifest, or breaks an invariant of FORMAT.md."""


class GenerationError(ShardError):
    """A generation does not exist, or cannot be published."""
