"""What can be wrong with an account, a key or the store. Each message says what to do about it."""


class QuotaError(Exception):
    """Base of what this package raises about accounts, keys and counters."""


class UnknownError(QuotaError):
    """There is no such account, key or plan."""


class NotAllowedError(QuotaError):
    """The plan of an account, or the state of a key, does not allow this."""


class StoreUnavailable(QuotaError):  # noqa: N818 - a state that passes, not a mistake
    """The store cannot be written, or read, now: nothing was acknowledged, nothing may be served.

    It goes on by itself once the cause is gone.
    """


class WrongStoreError(QuotaError):
    """The file is no quota store, or one that another version of this code wrote."""
