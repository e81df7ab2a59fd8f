// Tomcat's limit for a head restarts with every piece of it, so a slow client could take for ever.
// This protocol ends a connection whose head is not whole in time.
package images;

import java.util.concurrent.TimeUnit;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;

public class Heads extends Http11NioProtocol {
  private static final long HEAD_LIMIT_NS = TimeUnit.SECONDS.toNanos(20);

  @Override
  public void start() throws Exception {
    super.start();
    Thread.ofPlatform().daemon().name("heads").start(this::watch);
  }

  private void watch() {
    try {
      while (true) {
        Thread.sleep(1_000);
        for (var connection : getEndpoint().getConnections()) {
          // A connection has a processor between two reads only if it waits for the rest of a head.
          if (connection.getCurrentProcessor() instanceof Processor waiting
              && waiting.getRequest() != null) {
            long start = waiting.getRequest().getStartTimeNanos();
            if (start >= 0 && System.nanoTime() - start > HEAD_LIMIT_NS) connection.close();
          }
        }
      }
    } catch (InterruptedException e) {
      // The server ends.
    }
  }
}
