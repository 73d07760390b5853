"""The errors of accounts, keys and stores. Each message says what to do about it."""


class QuotaError(Exception):
    """Base of the errors that this package raises."""


class UnknownError(QuotaError):
    """The named account, key or plan does not exist."""


class NotAllowedError(QuotaError):
    """The plan of an account, or the state of a key, does not allow the operation."""


class StoreUnavailable(QuotaError):  # noqa: N818 - a temporary state, not a mistake
    """The store cannot be read or written now; nothing was acknowledged, and nothing may be served.

    The store recovers by itself once the cause is gone.
    """


class WrongStoreError(QuotaError):
    """The file is no quota store, or another version of this code wrote it."""
