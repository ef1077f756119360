"""Serve the built book on this machine only (`make serve` calls this).

    python tools/book_serve.py [--port 8000]
"""

import argparse
import functools
import http.server
import sys
from pathlib import Path

HTML = Path(__file__).resolve().parent.parent / "_build" / "html"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not report every request."""

    def log_message(self, *_):
        pass


def server(folder, port=0):
    """A server for a folder on 127.0.0.1; port 0 takes any free one."""
    handler = functools.partial(Quiet, directory=str(folder))
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)


def main():
    parser = argparse.ArgumentParser(description="Serve the built book on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    if not (HTML / "index.html").is_file():
        sys.exit("There is no built book; run `make book` first.")
    try:
        running = server(HTML, port)
    except OSError as error:
        sys.exit(f"Port {port} cannot be used ({error.strerror}); try: make serve PORT={port + 1}")
    print(f"The book is at http://127.0.0.1:{port}/ (Ctrl+C ends it)", flush=True)
    try:
        running.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
