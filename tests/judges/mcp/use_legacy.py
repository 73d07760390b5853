"""The tools by the official SDK for Python, 1.x: `use_legacy.py URL KEY` prints what it saw."""

import asyncio
import json
import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        agreed = await session.initialize()
        tools = (await session.list_tools()).tools
        found = await session.call_tool("search_companies", {"pays": ["EE"], "limit": 3})
        wrong = await session.call_tool("search_companies", {"pays": ["EST"]})
        seen = {
            "version": agreed.protocolVersion,
            "tools": [tool.name for tool in tools],
            "found": found.structuredContent,
            "wrong": wrong.content[0].text if wrong.isError else None,
        }
        sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
