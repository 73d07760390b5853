"""The errors of the package have one base."""

import importlib
import inspect
import pkgutil

import quota
from quota.errors import QuotaError


def test_every_error_of_the_package_is_a_quota_error() -> None:
    names = [module.name for module in pkgutil.walk_packages(quota.__path__, "quota.")]
    errors = {
        value
        for name in names
        if not name.endswith("__main__")
        for _, value in inspect.getmembers(importlib.import_module(name), inspect.isclass)
        if issubclass(value, Exception) and value.__module__.startswith("quota.")
    }
    assert len(errors) > 4  # fewer would mean that modules were not searched
    assert [error for error in errors if not issubclass(error, QuotaError)] == []
