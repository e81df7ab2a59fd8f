// Stream, a platform thread for each client: the plainest blocking code, woken by the kernel for
// each chunk, at the price of a kernel thread and its stack for every client.

void main(String[] args) throws Exception {
  var host = args.length > 1 ? args[1] : "127.0.0.1";
  var server = ServerSocketChannel.open();
  try {
    server.bind(new InetSocketAddress(host, Integer.parseInt(args[0])), 65535);
  } catch (IOException e) {
    System.err.println("listening: " + e.getMessage());
    System.exit(1);
  }
  manyFutexes();
  var acceptor = Thread.ofPlatform().start(() -> accept(server));
  Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
  System.err.println("ready");
  acceptor.join();
}

// Each wake-up searches all sleepers in the same slot of the kernel's futex hash table. Linux 6.16
// and later give a process a table of its own, of 16 slots on a small machine
// (PR_FUTEX_HASH(2const)): with ten thousand sleepers this costs most of a core. So ask for a slot
// for each, 64 bytes. Older kernels refuse, and have a larger table for all processes.
void manyFutexes() throws Exception {
  final int futexHash = 78; // PR_FUTEX_HASH of linux/prctl.h
  final long setSlots = 1;
  final long slots = 16_384;
  var linker = Linker.nativeLinker();
  var prctl = linker.defaultLookup().find("prctl");
  if (prctl.isEmpty()) return;
  var type =
      FunctionDescriptor.of(
          ValueLayout.JAVA_INT,
          ValueLayout.JAVA_INT,
          ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_LONG);
  try {
    var _ =
        (int)
            linker
                .downcallHandle(prctl.get(), type, Linker.Option.firstVariadicArg(1))
                .invokeExact(futexHash, setSlots, slots, 0L);
  } catch (Throwable e) {
    throw new LinkageError("prctl", e);
  }
}

void accept(ServerSocketChannel server) {
  while (true) {
    try {
      var client = server.accept();
      try {
        Thread.ofPlatform().start(() -> serve(client));
      } catch (OutOfMemoryError e) {
        client.close(); // Out of threads: connected clients are still served.
      }
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
