// A refusal of a request: a status, and a sentence for people.
package images;

import org.springframework.http.HttpStatus;
import org.springframework.web.server.ResponseStatusException;

final class Refusal extends ResponseStatusException {
  Refusal(HttpStatus status, String detail) {
    super(status, detail);
  }

  static Refusal absent() {
    return new Refusal(HttpStatus.NOT_FOUND, "there is no such image");
  }

  static Refusal later(String detail) {
    return new Refusal(HttpStatus.SERVICE_UNAVAILABLE, detail);
  }

  // An exception that is an answer needs no stack trace.
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
