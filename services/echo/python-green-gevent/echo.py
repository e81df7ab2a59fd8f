# Echo, a greenlet for each client on gevent: code that reads like blocking calls, on
# a loop that gevent hides, at the price of one core and an interpreter at every read.
import signal
import sys

from gevent import get_hub, signal_handler, socket
from gevent.server import StreamServer

CHUNK = 16 * 1024  # bytes; bounds what a client can make the server hold


def serve(client, _address):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # No read while it writes, so it stops reading from a client that does not read.
    while data := client.recv(CHUNK):
        client.sendall(data)


def main(port, host="127.0.0.1"):
    # Broken connections and a lack of descriptors are no errors: gevent
    # closes the client, or accepts again later.
    get_hub().NOT_ERROR += (OSError,)
    server = StreamServer((host, int(port)), serve, backlog=4096)
    try:
        server.start()
    except OSError as error:
        sys.exit(f"listening: {error}")
    signal_handler(signal.SIGTERM, server.stop)
    print("ready", file=sys.stderr)
    server.serve_forever()


main(*sys.argv[1:])
