// Counter, a virtual thread for each client and one atomic word for all: threads that cost little
// to wait, at the price of the runtime's scheduler between the kernel and every read.

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
  // The poller is made when a virtual thread first waits: now, while there are descriptors for it.
  var acceptor = Thread.ofVirtual().start(() -> accept(server));
  while (acceptor.getState() != Thread.State.WAITING) Thread.sleep(1);
  Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
  System.err.println("ready");
  acceptor.join();
}

void accept(ServerSocket server) {
  while (true) {
    try {
      var client = server.accept();
      Thread.ofVirtual().start(() -> serve(client));
    } catch (IOException e) {
      LockSupport.parkNanos(100_000_000); // 100 ms. Out of descriptors: the next client waits.
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
