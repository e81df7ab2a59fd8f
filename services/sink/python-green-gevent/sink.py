# Sink, a greenlet for each client on gevent: greenlets change only when they wait, and a write to
# the output does not wait in gevent, so lines never mix, but all clients stand still meanwhile.
import os
import signal
import sys

from gevent import get_hub
from gevent.server import StreamServer

LONGEST = 4096  # bytes with the LF: PIPE_BUF, as the service says
CHUNK = 16 * 1024  # bytes; bounds what a client can make the server hold


# The length of the lines that have ended. Steps of LONGEST stop at one too long.
def ended(data):
    length = 0
    while end := data.rfind(b"\n", length, length + LONGEST) + 1:
        length = end
    return length


def write(lines):
    try:
        while lines:
            lines = lines[os.write(sys.stdout.fileno(), lines) :]
    except OSError as error:
        print(f"writing: {error}", file=sys.stderr)
        os._exit(1)


def serve(client, _address):
    held = b""  # a line that has not ended
    while len(held) < LONGEST:
        data = client.recv(CHUNK)
        if not data:
            return write(held and held + b"\n")
        held += data
        length = ended(held)
        write(held[:length])
        held = held[length:]


def main(port, host="127.0.0.1"):
    # Broken connections and a lack of descriptors are no errors: gevent
    # closes the client, or accepts again later.
    get_hub().NOT_ERROR += (OSError,)
    server = StreamServer((host, int(port)), serve, backlog=4096)
    try:
        server.start()
    except OSError as error:
        sys.exit(f"listening: {error}")
    # Not gevent's own, which would wait for a write to end.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print("ready", file=sys.stderr)
    server.serve_forever()


main(*sys.argv[1:])
