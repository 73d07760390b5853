"""The table of handlers."""

from serve.api.routes import ROUTES
from serve.app import guest_handlers
from serve.http.handlers import HANDLERS


def test_every_route_has_one_handler_and_every_handler_a_route() -> None:
    handlers = [*HANDLERS, *guest_handlers(None)]

    assert sorted(handlers) == sorted({route.name for route in ROUTES})
