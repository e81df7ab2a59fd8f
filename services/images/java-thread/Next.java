// The service behind this one in a chain, if there is one. This service stores only images that the
// next has stored, and fetches their bytes from it.
package images;

import static java.nio.charset.StandardCharsets.UTF_8;

import images.Pictures.Picture;
import images.Store.Image;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

@Component
class Next {
  private static final int CONNECTIONS =
      64; // a request waits for a free one; the client keeps them for 30 s
  private static final long LIMIT_NS =
      TimeUnit.SECONDS.toNanos(10); // for all of an answer, waiting for a connection included
  private static final int MOST_SERVICES = 16; // in a chain: more are a ring
  private static final int MOST_SAID = 64 << 10; // bytes of an answer that is no image
  private static final Pattern FORM =
      Pattern.compile("http://(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):([1-9][0-9]{0,4})");

  private final String base;
  private final HttpClient client;
  private final Semaphore free = new Semaphore(CONNECTIONS, true);
  private final JsonMapper json;

  record Given(long id, long created) {}

  record Said(long id, String created) {}

  Next(
      @Value("${images.next}") String base,
      @Value("${spring.threads.virtual.enabled:false}") boolean virtual,
      JsonMapper json) {
    this.base = base;
    this.json = json;
    if (base.isEmpty()) {
      client = null;
      return;
    }
    var builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofNanos(LIMIT_NS));
    if (virtual) builder.executor(Executors.newVirtualThreadPerTaskExecutor());
    client = builder.build();
  }

  // Refuses a word that is not the URL of a service.
  static void check(String base) {
    var parts = FORM.matcher(base);
    if (!parts.matches() || Integer.parseInt(parts.group(1)) > 65_535) {
      throw new IllegalArgumentException(
          "the next service: expected http://HOST:PORT, got " + base);
    }
  }

  boolean isThere() {
    return client != null;
  }

  // Stores an image there, and in all behind, under the id and the time that the last
  // of them gives it.
  Given add(HttpServletRequest request, String name, Picture picture, byte[] content) {
    var out =
        to("/images?name=" + URLEncoder.encode(name, UTF_8))
            .header(HttpHeaders.CONTENT_TYPE, picture.type())
            .POST(BodyPublishers.ofByteArray(content));
    var answer = ask(request, out, MOST_SAID);
    if (answer.statusCode() == HttpStatus.NOT_FOUND.value())
      throw broken(); // it is another service
    try {
      var said = json.readValue(wanted(answer, HttpStatus.CREATED), Said.class);
      if (said == null || said.id() < 1 || said.created() == null) throw broken();
      return new Given(said.id(), Instant.parse(said.created()).toEpochMilli());
    } catch (JacksonException | DateTimeException e) {
      throw broken();
    }
  }

  // Returns the bytes of an image that is known here.
  byte[] fetch(HttpServletRequest request, Image image) {
    var content =
        wanted(
            ask(request, to("/images/" + image.id()), Math.max(image.bytes(), MOST_SAID)),
            HttpStatus.OK);
    if (content.length != image.bytes()) throw broken();
    return content;
  }

  // Deletes an image there, where it may have gone already.
  void remove(HttpServletRequest request, long id) {
    var answer = ask(request, to("/images/" + id).DELETE(), MOST_SAID);
    if (answer.statusCode() != HttpStatus.NOT_FOUND.value()) wanted(answer, HttpStatus.NO_CONTENT);
  }

  // Deletes an image there that could not be stored here. If that fails, too, the image stays
  // there, unknown to any client.
  void forget(HttpServletRequest request, long id) {
    try {
      remove(request, id);
    } catch (Refusal e) {
      // The client is told why it could not be stored.
    }
  }

  private HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create(base + path));
  }

  private HttpResponse<byte[]> ask(HttpServletRequest request, HttpRequest.Builder out, long most) {
    var via = String.join(", ", Collections.list(request.getHeaders("Via")));
    if (!via.isEmpty() && via.split(",", -1).length >= MOST_SERVICES - 1) throw ring();
    out.header("Via", via.isEmpty() ? "1.1 images" : via + ", 1.1 images");
    long last = System.nanoTime() + LIMIT_NS;
    try {
      if (!free.tryAcquire(LIMIT_NS, TimeUnit.NANOSECONDS)) throw late();
      try {
        var answer =
            client.sendAsync(out.build(), BodyHandlers.limiting(BodyHandlers.ofByteArray(), most));
        try {
          return answer.get(last - System.nanoTime(), TimeUnit.NANOSECONDS);
        } finally {
          answer.cancel(true); // unless it is there
        }
      } finally {
        free.release();
      }
    } catch (TimeoutException e) {
      throw late();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof HttpTimeoutException ? late() : broken();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw broken();
    }
  }

  // Temporary faults, and those that the owner of a service behind must fix, are passed on.
  private static byte[] wanted(HttpResponse<byte[]> answer, HttpStatus status) {
    if (answer.statusCode() == status.value()) return answer.body();
    throw switch (HttpStatus.resolve(answer.statusCode())) {
      case NOT_FOUND -> Refusal.absent();
      case SERVICE_UNAVAILABLE ->
          Refusal.later("a service further along the chain has too much under way");
      case GATEWAY_TIMEOUT -> late();
      case INSUFFICIENT_STORAGE ->
          new Refusal(
              HttpStatus.INSUFFICIENT_STORAGE, "a service further along the chain has no room");
      case LOOP_DETECTED -> ring();
      case null, default -> broken();
    };
  }

  private static Refusal broken() {
    return new Refusal(HttpStatus.BAD_GATEWAY, "the next service of the chain cannot be asked");
  }

  private static Refusal late() {
    return new Refusal(
        HttpStatus.GATEWAY_TIMEOUT, "the next service of the chain does not answer in time");
  }

  private static Refusal ring() {
    return new Refusal(
        HttpStatus.LOOP_DETECTED, "the chain has more than 16 services, or is a ring");
  }
}
