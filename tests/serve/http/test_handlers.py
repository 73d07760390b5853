"""The table of handlers."""

from serve.api.routes import ROUTES
from serve.http.handlers import HANDLERS


def test_every_route_has_a_handler_and_every_handler_a_route() -> None:
    assert sorted(HANDLERS) == sorted({route.name for route in ROUTES})
