// Stream, a virtual thread for each client: the same blocking code as with platform threads,
// parked on the heap while it sleeps, at the price of the runtime's timers and scheduler
// before every chunk.

void main(String[] args) throws Exception {
  var host = args.length > 1 ? args[1] : "127.0.0.1";
  var server = ServerSocketChannel.open();
  try {
    server.bind(new InetSocketAddress(host, Integer.parseInt(args[0])), 65535);
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

void accept(ServerSocketChannel server) {
  while (true) {
    try {
      var client = server.accept();
      Thread.ofVirtual().start(() -> serve(client));
    } catch (IOException e) {
      LockSupport.parkNanos(100_000_000); // 100 ms. Out of descriptors: the next client waits.
    }
  }
}

void serve(SocketChannel client) {
  try (client) {
    client.setOption(StandardSocketOptions.TCP_NODELAY, true);
    try {
      var head = Head.read(client.socket());
      if (head == null) return;
      if (head.bare()) Head.leave(client.socket(), head.accepted());
      else stream(client, head);
    } catch (Head.Refused e) {
      Head.leave(client.socket(), Head.refusal(e.status));
    }
  } catch (IOException | InterruptedException e) {
    // The client broke off: only its own thread ends.
  }
}

// Runs until the client goes, or the kernel does not take a chunk: the client has not read for too
// long.
void stream(SocketChannel client, Head head) throws IOException, InterruptedException {
  client.configureBlocking(false);
  var began = System.nanoTime();
  var text =
      head.accepted() + head.code("Goconntest welcomes you! Your Id: /test/" + head.id() + "\n");
  for (long number = 1; take(client, text); number++) {
    Thread.sleep(Duration.ofNanos(began + number * 1_000_000_000 - System.nanoTime()));
    text = head.code("Chunk " + number + " for id /test/" + head.id() + "\n");
  }
}

boolean take(SocketChannel client, String text) throws IOException {
  var bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  client.write(bytes);
  return !bytes.hasRemaining();
}
