// Times a request: its duration so far, and the shares of the database and of the next service.
package images;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

final class Watch {
  private static final long REQUEST_LIMIT_NS = TimeUnit.SECONDS.toNanos(300);

  final long start = System.nanoTime();
  private long databaseNS;
  private long nextNS;
  private boolean chained; // the next service was asked

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

  <T> T next(Supplier<T> ask) {
    chained = true;
    long asked = System.nanoTime();
    try {
      return ask.get();
    } finally {
      nextNS += System.nanoTime() - asked;
    }
  }

  String timing() {
    var next = chained ? String.format(Locale.ROOT, "next;dur=%.3f, ", nextNS / 1e6) : "";
    return String.format(
        Locale.ROOT,
        "db;dur=%.3f, %sall;dur=%.3f",
        databaseNS / 1e6,
        next,
        (System.nanoTime() - start) / 1e6);
  }
}
