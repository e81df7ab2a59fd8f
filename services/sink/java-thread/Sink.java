// Sink, a platform thread for each client and a monitor around standard output: lines never mix,
// and all threads wait in the kernel for the slowest write.

static final int LONGEST = 4096; // bytes of a line with the LF: PIPE_BUF, as the service says
static final int CHUNK = 16 << 10; // bytes that a client can make the server hold

final FileChannel stdout = new FileOutputStream(FileDescriptor.out).getChannel();

void main(String[] args) throws Exception {
  var host = args.length > 1 ? args[1] : "127.0.0.1";
  var server = new ServerSocket();
  try {
    server.bind(new InetSocketAddress(host, Integer.parseInt(args[0])), 4096);
  } catch (IOException e) {
    System.err.println("listening: " + e.getMessage());
    System.exit(1);
  }
  Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
  System.err.println("ready");
  while (true) {
    try {
      var client = server.accept();
      try {
        Thread.ofPlatform().start(() -> serve(client));
      } catch (OutOfMemoryError e) {
        client.close(); // Out of threads: connected clients are still served.
      }
    } catch (IOException e) {
      Thread.sleep(100); // Out of descriptors: connected clients are still served, the next waits.
    }
  }
}

void serve(Socket client) {
  try (client) {
    var in = client.getInputStream();
    var data = new byte[CHUNK];
    int held = 0; // bytes of a line that has not ended
    while (held < LONGEST) {
      int length = in.read(data, held, CHUNK - held);
      if (length < 0) {
        data[held] = '\n';
        write(data, held > 0 ? held + 1 : 0);
        return;
      }
      held += length;
      int ended = ended(data, held);
      write(data, ended);
      held -= ended;
      System.arraycopy(data, ended, data, 0, held);
    }
  } catch (IOException e) {
    // The client broke off: only its own thread ends.
  }
}

// The length of the lines that have ended. Steps of LONGEST stop at a line that is too long.
int ended(byte[] data, int length) {
  int ended = 0;
  for (int last = Math.min(LONGEST, length); last > ended; ) {
    if (data[last - 1] == '\n') {
      ended = last;
      last = Math.min(ended + LONGEST, length);
    } else {
      last--;
    }
  }
  return ended;
}

synchronized void write(byte[] data, int length) {
  try {
    var lines = ByteBuffer.wrap(data, 0, length);
    while (lines.hasRemaining()) {
      if (stdout.write(lines) == 0) Thread.sleep(1); // a standard output that does not block
    }
  } catch (IOException | InterruptedException e) {
    System.err.println("writing: " + e.getMessage());
    Runtime.getRuntime().halt(1);
  }
}
