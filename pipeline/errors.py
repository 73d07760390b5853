"""What stops a build. Each message names the value and says what to do about it."""


class BuildError(Exception):
    """Base of what a build refuses: its input, its tables, or what it found on the way."""


class SeedError(BuildError):
    """A reference table of `seeds/` is missing, or does not say what the build relies on."""
