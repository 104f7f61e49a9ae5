"""A web site on this machine that can misbehave."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DROP, HANG = "drop", "hang"  # close half-way; send half, then nothing more


class Site:
    """Pages by path; `troubles` of a path come first, one per request: a status code, DROP or HANG."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.troubles: dict[str, list[int | str]] = {}
        self.requests: list[str] = []
        self.redirects: dict[str, str] = {}
        self.released = threading.Event()
        self.half_sent = threading.Event()
        self.server = _Server(("127.0.0.1", 0), _handler(self))

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}{path}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append(self.path)
            trouble = site.troubles[self.path].pop(0) if site.troubles.get(self.path) else None
            if self.path in site.redirects:
                self.send_response(302)
                self.send_header("Location", site.redirects[self.path])
                self.end_headers()
            elif isinstance(trouble, int) or self.path not in site.pages:
                self.send_error(trouble if isinstance(trouble, int) else 404)
            else:
                self.send_page(site.pages[self.path], trouble)

        def send_page(self, page: bytes, trouble: str | None) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page[: len(page) // 2])
            self.wfile.flush()
            if trouble == HANG:
                site.half_sent.set()
                site.released.wait()
            elif trouble is None:
                self.wfile.write(page[len(page) // 2 :])

        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    return Handler
