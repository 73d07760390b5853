"""One JSON-RPC 2.0 message as MCP has them: a request with an id, or a notification without."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from serve import strict
from serve.mcp import faults

Id = str | int

_INT64: Final = 2**63


class Message(NamedTuple):
    """`id` is None for a notification; `params` are empty where there are none."""

    method: str
    id: Id | None
    params: Mapping[str, Any]

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the params, empty where there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def document(raw: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        RpcError: -32700.
    """
    try:
        return strict.loads(raw, strict.once)
    except ValueError as error:
        raise faults.not_json(str(error)) from error


def legible_id(value: Any) -> Id | None:
    """The id of what may not be a request; an error that has one repeats it."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found
    return found if type(found) is int and abs(found) < _INT64 else None


def message(value: Any) -> Message:
    """The message that a JSON value is.

    Raises:
        RpcError: -32600: a batch, a response, or not a message at all.
    """
    if isinstance(value, list):
        raise faults.invalid_request("it is a batch; send one message a request")
    if not isinstance(value, dict):
        raise faults.invalid_request("it is not an object")
    if value.get("jsonrpc") != "2.0":
        raise faults.invalid_request('it lacks "jsonrpc": "2.0"')
    method = value.get("method")
    if not isinstance(method, str):
        raise faults.invalid_request("`method` is not a text; a response is to no request of ours")
    if "id" in value and legible_id(value) is None:
        raise faults.invalid_request("`id` is neither a text nor a whole number")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise faults.invalid_request("`params` is not an object")
    return Message(method, legible_id(value), params)
