"""The protocol: JSON-RPC messages, the revisions of MCP, and the origins that a browser may call from.

Nothing here imports a tool. `messages` reads and writes a message, `versions` checks what its revision asks for.
`origins` guards against DNS rebinding.
"""
