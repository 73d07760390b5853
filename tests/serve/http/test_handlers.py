"""The handlers of operations."""

from typing import get_args

from serve.app import guest_handlers
from serve.contract.operation import Kind
from serve.guests.operations import OPERATIONS
from serve.http.handlers import MAKERS


def test_every_kind_has_one_handler_and_every_operation_a_kind() -> None:
    kinds = [*MAKERS, *guest_handlers(None)]

    assert sorted(kinds) == sorted(get_args(Kind))
    assert {one.kind for one in OPERATIONS} == set(kinds)


def test_operations_have_names_and_methods_of_their_own() -> None:
    assert len({one.id for one in OPERATIONS}) == len(OPERATIONS)
    assert len({(one.path, one.method) for one in OPERATIONS}) == len(OPERATIONS)
    # A path has one name in metrics, and a name one path.
    named = {(one.path, one.route) for one in OPERATIONS}
    assert len(named) == len({path for path, _ in named}) == len({route for _, route in named})
