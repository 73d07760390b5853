"""The errors of the batch job; each message names the value and the remedy."""


class BuildError(Exception):
    """Base class: an input, a table or a result that a command refuses."""


class SeedError(BuildError):
    """A reference table of `seeds/` that is missing or breaks a rule of the build."""


class FetchError(BuildError):
    """A source that cannot be fetched, or a file that is refused; the file of before stays."""
