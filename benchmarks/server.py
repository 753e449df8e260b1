"""A chat endpoint on loopback that answers after a fixed time: ``python -m benchmarks.server 0.2`` prints its address."""

from __future__ import annotations

import asyncio
import json
import sys

ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "test",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "science art food history travel"},
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}  # fmt: skip


async def serve(latency: float) -> None:
    """Answer every request alike, ``latency`` seconds after it is there."""
    body = json.dumps(ANSWER).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                if length:
                    await reader.readexactly(int(length))
                await asyncio.sleep(latency if head.startswith(b"post") else 0)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
