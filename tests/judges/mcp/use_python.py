"""`use_python.py URL KEY [MODE]`: use the tools with the official SDK for Python.

The output is the results as JSON. The environment has version 1.x of the SDK, or 2.x, which has modes.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def modern(url: str, headers: dict[str, str], mode: str) -> AsyncIterator[tuple[Any, str]]:
    """A client of SDK 2.x, and the version of the protocol that it uses."""
    import httpx2

    async with (
        httpx2.AsyncClient(headers=headers) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client, client.protocol_version


@asynccontextmanager
async def legacy(url: str, headers: dict[str, str]) -> AsyncIterator[tuple[Any, str]]:
    """A client of SDK 1.x, and the version of the protocol that it uses."""
    import httpx

    async with (
        httpx.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _),
        mcp.ClientSession(reading, writing) as session,
    ):
        yield session, (await session.initialize()).protocolVersion


async def main(url: str, key: str, *mode: str) -> None:
    """List the tools, search, and search with a wrong value; print the results as JSON, which the test compares.

    With a `mode` the client speaks the modern protocol, else the legacy one.
    """
    connect = modern if mode else legacy
    async with connect(url, {"Authorization": f"Bearer {key}"}, *mode) as (client, version):
        tools = await client.list_tools()
        result = await client.call_tool("search_companies", {"pays": ["EE"], "limit": 3})
        wrong = await client.call_tool("search_companies", {"pays": ["EST"]})
    refused = wrong.model_dump(by_alias=True)
    results = {
        "version": version,
        "tools": [tool.name for tool in tools.tools],
        "result": result.model_dump(by_alias=True)["structuredContent"],
        "wrong": refused["content"][0]["text"] if refused["isError"] else None,
    }
    sys.stdout.write(json.dumps(results))


asyncio.run(main(*sys.argv[1:]))
