// The bounds for all requests together: uploads, and bytes of memory.
package images;

import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.stereotype.Component;

@Component
class Room {
  private static final long MOST_BYTES = 512L << 20;
  private static final int MOST_UPLOADS = 1024;

  private final AtomicLong held = new AtomicLong();
  private final Semaphore uploads = new Semaphore(MOST_UPLOADS);

  // The caller gives the room back by closing the result.
  Held take(long bytes) {
    if (held.addAndGet(bytes) > MOST_BYTES) {
      held.addAndGet(-bytes);
      throw Refusal.later("too much is under way");
    }
    return () -> held.addAndGet(-bytes);
  }

  Held enter() {
    if (!uploads.tryAcquire()) throw Refusal.later("too many uploads are under way");
    return uploads::release;
  }

  interface Held extends AutoCloseable {
    @Override
    void close();
  }
}
