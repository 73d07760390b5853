"""What can be wrong with a shard or a generation. Each message says what to do about it."""


class ShardError(Exception):
    """Base of all errors raised by this package."""


class OutOfOrderError(ShardError):
    """The writer was given a company that does not come after the last one."""


class WrongFormatError(ShardError):
    """The file is no shard, or was written by another version of the format."""


class CorruptError(ShardError):
    """A file is not the one that its manifest describes, or breaks an invariant of FORMAT.md."""


class GenerationError(ShardError):
    """There is no such generation, or it cannot be published."""
