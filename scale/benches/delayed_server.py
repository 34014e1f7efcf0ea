"""Serves a folder by HTTP like a distant object store: each answer starts a number of milliseconds after its request
arrives. Requests do not wait for each other.

    python3 scale/benches/delayed_server.py FOLDER MILLISECONDS

The server prints its port. `GET /-/sent` returns, without a delay, the number of answers and the number of body bytes
that were sent since the previous `GET /-/sent`. Files are kept in memory, so each file is read from the disk only once.
"""

import asyncio
import json
import re
import socket
import sys
from pathlib import Path
from urllib.parse import unquote

RANGE = re.compile(rb"\r\nrange: *bytes=(\d*)-(\d*)", re.IGNORECASE)


class Server:
    def __init__(self, folder, delay):
        self.folder, self.delay = folder, delay
        self.contents, self.answer_count, self.sent_bytes = {}, 0, 0

    def file_bytes(self, path):
        if path not in self.contents:
            file = self.folder / path.lstrip("/")
            # A missing file can be added later, so it is not remembered.
            if not file.is_file():
                return None
            self.contents[path] = memoryview(file.read_bytes())
        return self.contents[path]

    def answer(self, head):
        """Returns the status line and the headers of the answer to a request, and its body."""
        method, target = head.split(b" ", 2)[:2]
        whole = self.file_bytes(unquote(target.decode()))
        if whole is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b""
        status, content_range, body = b"200 OK", b"", whole
        if match := RANGE.search(head):
            first, last = match.groups()
            begin = int(first) if first else max(len(whole) - int(last), 0)
            end = min(int(last) + 1, len(whole)) if first and last else len(whole)
            if begin >= end:
                return b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n", b""
            status, body = b"206 Partial Content", whole[begin:end]
            content_range = b"Content-Range: bytes %d-%d/%d\r\n" % (begin, end - 1, len(whole))
        lines = b'HTTP/1.1 %s\r\nContent-Length: %d\r\nETag: "1"\r\nAccept-Ranges: bytes\r\n%s\r\n'
        return lines % (status, len(body), content_range), body if method == b"GET" else b""


class Connection(asyncio.Protocol):
    def __init__(self, server):
        self.server, self.request = server, b""

    def connection_made(self, transport):
        self.transport = transport
        # Requests a send buffer that holds a whole chunk. Chunks have up to 1 MiB.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 << 20)

    def data_received(self, data):
        self.request += data
        while b"\r\n\r\n" in self.request:
            head, self.request = self.request.split(b"\r\n\r\n", 1)
            if head.startswith(b"GET /-/sent "):
                body = json.dumps({"requests": self.server.answer_count, "bytes": self.server.sent_bytes}).encode()
                self.server.answer_count = self.server.sent_bytes = 0
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                continue
            asyncio.get_running_loop().call_later(self.server.delay, self.answer, head)

    def answer(self, head):
        if self.transport.is_closing():
            return
        lines, body = self.server.answer(head)
        self.server.answer_count += 1
        self.server.sent_bytes += len(body)
        self.transport.write(lines)
        if body:
            self.transport.write(body)


async def main():
    server = Server(Path(sys.argv[1]), float(sys.argv[2]) / 1000)
    listening = await asyncio.get_running_loop().create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
