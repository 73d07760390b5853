"""`use_python.py URL KEY [MODE]`: the tools, used by the official SDK for Python.

The output is the answers as JSON. The SDK is that of the environment: 1.x, or 2.x with its modes.
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
    import httpx2

    async with (
        httpx2.AsyncClient(headers=headers) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client, client.protocol_version


@asynccontextmanager
async def legacy(url: str, headers: dict[str, str]) -> AsyncIterator[tuple[Any, str]]:
    import httpx

    async with (
        httpx.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _),
        mcp.ClientSession(reading, writing) as session,
    ):
        yield session, (await session.initialize()).protocolVersion


async def main(url: str, key: str, *mode: str) -> None:
    use = modern if mode else legacy
    async with use(url, {"Authorization": f"Bearer {key}"}, *mode) as (client, version):
        tools = await client.list_tools()
        found = await client.call_tool("search_companies", {"pays": ["EE"], "limit": 3})
        wrong = await client.call_tool("search_companies", {"pays": ["EST"]})
    refused = wrong.model_dump(by_alias=True)
    seen = {
        "version": version,
        "tools": [tool.name for tool in tools.tools],
        "found": found.model_dump(by_alias=True)["structuredContent"],
        "wrong": refused["content"][0]["text"] if refused["isError"] else None,
    }
    sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
