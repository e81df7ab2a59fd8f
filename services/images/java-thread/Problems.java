// Every error as application/problem+json (RFC 9457), with a detail that tells no inner names.
package images;

import jakarta.servlet.http.HttpServletResponse;
import java.net.URI;
import java.sql.SQLException;
import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.ServletWebRequest;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;
import tools.jackson.databind.json.JsonMapper;

@RestControllerAdvice
class Problems extends ResponseEntityExceptionHandler {
  private static final String POSTGRES_FULL = "53100";

  private final JsonMapper json;

  Problems(JsonMapper json) {
    this.json = json;
  }

  @ExceptionHandler
  ResponseEntity<Object> database(DataAccessException e, WebRequest request) {
    return handleExceptionInternal(
        e,
        null,
        new HttpHeaders(),
        full(e) ? HttpStatus.INSUFFICIENT_STORAGE : HttpStatus.SERVICE_UNAVAILABLE,
        request);
  }

  private static boolean full(Throwable e) {
    for (; e != null; e = e.getCause()) {
      if (e instanceof SQLiteException lite)
        return lite.getResultCode() == SQLiteErrorCode.SQLITE_FULL;
      if (e instanceof SQLException other && POSTGRES_FULL.equals(other.getSQLState())) return true;
    }
    return false;
  }

  // Spring's own errors come here, too.
  @Override
  protected ResponseEntity<Object> handleExceptionInternal(
      Exception e, Object body, HttpHeaders headers, HttpStatusCode code, WebRequest request) {
    HttpServletResponse response = ((ServletWebRequest) request).getResponse();
    if (response.isCommitted())
      return null; // the client has half an answer, and sees that it is cut
    var status = HttpStatus.valueOf(code.value());
    var problem = ProblemDetail.forStatusAndDetail(status, detail(e, status));
    problem.setType(URI.create("about:blank"));
    problem.setTitle(status.getReasonPhrase());
    var all = new HttpHeaders();
    all.putAll(headers);
    all.setContentType(MediaType.APPLICATION_PROBLEM_JSON);
    if (status == HttpStatus.SERVICE_UNAVAILABLE) all.set(HttpHeaders.RETRY_AFTER, "1");
    return new ResponseEntity<>(
        json.writeValueAsBytes(problem), all, status); // of a length that is known
  }

  private static String detail(Exception e, HttpStatus status) {
    if (e instanceof Refusal refusal) return refusal.getReason();
    return switch (status) {
      case NOT_FOUND -> "there is nothing at this path";
      case METHOD_NOT_ALLOWED -> "this path has no such method";
      case SERVICE_UNAVAILABLE -> "the database cannot be asked";
      case INSUFFICIENT_STORAGE -> "the database has no room";
      default -> "the request cannot be read";
    };
  }
}
