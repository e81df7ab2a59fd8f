// Counter, a platform thread for each client and one atomic word for all: no lock and no owner,
// at the price of a kernel thread for every client and a cache line that moves between the cores.

static final int BATCH = 1024; // requests in one read, a bound on what one write answers

final AtomicLong count = new AtomicLong();

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
    client.setTcpNoDelay(true);
    var in = client.getInputStream();
    var out = client.getOutputStream();
    var requests = new byte[BATCH];
    var replies = ByteBuffer.allocate(8 * BATCH);
    int length;
    while ((length = in.read(requests)) > 0) {
      replies.clear();
      int known = 0;
      for (; known < length && (requests[known] & ~1) == 0; known++) {
        replies.putLong(requests[known] == 0 ? count.get() : count.incrementAndGet());
      }
      out.write(replies.array(), 0, replies.position());
      if (known < length) return;
    }
  } catch (IOException e) {
    // The client broke off: only its own thread ends.
  }
}
