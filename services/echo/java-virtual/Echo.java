// Echo, a virtual thread for each client: the same blocking code as with platform threads, parked
// on the heap while it waits, at the price of the runtime's scheduler and poller between the kernel
// and every read.

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

// A thread does not read while it writes, so it stops reading from a client that does not read.
void serve(Socket client) {
  try (client) {
    client.setTcpNoDelay(true);
    client.getInputStream().transferTo(client.getOutputStream());
  } catch (IOException e) {
    // The client broke off: only its own thread ends.
  }
}
