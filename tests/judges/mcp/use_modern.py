"""The tools by the official SDK for Python, 2.x: `use_modern.py URL KEY MODE` says what it saw."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = (await client.list_tools()).tools
        found = await client.call_tool("search_companies", {"pays": ["EE"], "limit": 3})
        wrong = await client.call_tool("search_companies", {"pays": ["EST"]})
        seen = {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools],
            "found": found.structured_content,
            "wrong": wrong.content[0].text if wrong.is_error else None,
        }
        sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
