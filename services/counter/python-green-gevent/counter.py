# Counter, a greenlet for each client on gevent: greenlets change only when they wait, so the count
# is a plain variable, at the price of one core and an interpreter.
import itertools
import signal
import struct
import sys

from gevent import get_hub, signal_handler, socket
from gevent.server import StreamServer

BATCH = 1024  # requests in one read, a bound on what one write answers

count = 0


def answers(requests):
    global count
    values = list(itertools.accumulate(requests, initial=count))
    count = values[-1]
    return struct.pack(f">{len(requests)}Q", *values[1:])


def serve(client, _address):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # No read while it writes, so it stops reading from a client that does not read.
    while requests := client.recv(BATCH):
        unknown = requests.lstrip(b"\0\1")
        client.sendall(answers(requests[: len(requests) - len(unknown)]))
        if unknown:
            return


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
