// Times a request: how long it has been under way, and how much of that the database had.
package images;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

final class Watch {
  private static final long REQUEST_LIMIT_NS = TimeUnit.SECONDS.toNanos(300);

  final long start = System.nanoTime();
  private long databaseNS;

  // The filter has started it when the request's head was read.
  static Watch of(HttpServletRequest request) {
    return (Watch) request.getAttribute(Watch.class.getName());
  }

  long lastMoment() {
    return start + REQUEST_LIMIT_NS;
  }

  <T> T database(Supplier<T> ask) {
    long asked = System.nanoTime();
    try {
      return ask.get();
    } finally {
      databaseNS += System.nanoTime() - asked;
    }
  }

  String timing() {
    return String.format(Locale.ROOT, "db;dur=%.3f, all;dur=%.3f", databaseNS / 1e6, (System.nanoTime() - start) / 1e6);
  }
}
