// Echo, a platform thread for each client: the plainest blocking code, scheduled and preempted by
// the kernel, at the price of a kernel thread and its stack for every client that waits.

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

// A thread does not read while it writes, so it stops reading from a client that does not read.
void serve(Socket client) {
  try (client) {
    client.setTcpNoDelay(true);
    client.getInputStream().transferTo(client.getOutputStream());
  } catch (IOException e) {
    // The client broke off: only its own thread ends.
  }
}
