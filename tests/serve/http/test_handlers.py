"""The handlers of operations."""

from typing import get_args

from serve.app import PRODUCT
from serve.contract.feature import Kind
from serve.http.handlers import HANDLERS


def test_every_kind_has_one_handler_and_every_operation_a_kind() -> None:
    assert sorted(HANDLERS) == sorted(get_args(Kind))
    assert {one.kind for one in PRODUCT.operations} == set(HANDLERS)


def test_operations_have_names_and_methods_of_their_own() -> None:
    assert len({one.id for one in PRODUCT.operations}) == len(PRODUCT.operations)
    assert len({(one.path, one.method) for one in PRODUCT.operations}) == len(PRODUCT.operations)
    # A path has one name in metrics, and a name one path.
    named = {(one.path, one.route) for one in PRODUCT.operations}
    assert len(named) == len({path for path, _ in named}) == len({route for _, route in named})
