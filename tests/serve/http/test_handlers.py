"""The handlers of operations."""

from typing import get_args

from serve.app import PRODUCT
from serve.contract.feature import OperationKind
from serve.http.handlers import HANDLERS


def test_every_kind_has_one_handler_and_every_operation_a_kind() -> None:
    assert sorted(HANDLERS) == sorted(get_args(OperationKind))
    assert {operation.kind for operation in PRODUCT.operations} == set(HANDLERS)


def test_each_operation_has_its_own_name_and_its_own_path_and_method() -> None:
    assert len({operation.id for operation in PRODUCT.operations}) == len(PRODUCT.operations)
    assert len({(operation.path, operation.method) for operation in PRODUCT.operations}) == len(
        PRODUCT.operations
    )
    # In metrics, a path has one name, and a name one path.
    names = {(operation.path, operation.route) for operation in PRODUCT.operations}
    assert len(names) == len({path for path, _ in names}) == len({route for _, route in names})
