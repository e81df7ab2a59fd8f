// Writes bytes, or a range of them, to clients that may be slow.
package images;

import images.Store.Image;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.regex.Pattern;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;

final class Answers {
  private static final int PIECE = 64 << 10; // bytes, between two looks at the clock
  private static final Pattern RANGE = Pattern.compile("bytes=([0-9]{0,18})-([0-9]{0,18})");

  private Answers() {}

  static String tag(Image image) {
    return "\"" + image.id() + "-" + image.created() + "\"";
  }

  // Answers a client that already has the image of the tag.
  static boolean unchanged(HttpServletRequest request, HttpServletResponse response, String tag) {
    var list = request.getHeaders(HttpHeaders.IF_NONE_MATCH);
    while (list.hasMoreElements()) {
      for (var one : list.nextElement().split(",")) {
        if (!one.strip().equals("*") && !one.strip().replaceFirst("^W/", "").equals(tag)) continue;
        response.setStatus(HttpStatus.NOT_MODIFIED.value());
        response.setHeader(HttpHeaders.ETAG, tag);
        response.setHeader(HttpHeaders.CACHE_CONTROL, "no-cache");
        return true;
      }
    }
    return false;
  }

  // Answers with the requested range. For several ranges, or an invalid one, the answer is 200 with
  // all bytes.
  static void write(
      HttpServletRequest request, HttpServletResponse response, Image image, Watch watch)
      throws IOException {
    var content = image.content();
    response.setHeader(HttpHeaders.ACCEPT_RANGES, "bytes");
    var asked = request.getHeader(HttpHeaders.RANGE);
    var on = request.getHeader(HttpHeaders.IF_RANGE);
    var range =
        RANGE.matcher(asked == null || on != null && !on.equals(tag(image)) ? "" : asked.strip());
    int from = 0;
    int end = content.length;
    if (range.matches() && range.end() > "bytes=-".length()) {
      if (range.group(1).isEmpty()) {
        from = (int) Math.max(0, content.length - Long.parseLong(range.group(2)));
      } else {
        long first = Long.parseLong(range.group(1));
        long last = range.group(2).isEmpty() ? Long.MAX_VALUE : Long.parseLong(range.group(2));
        if (first <= last) {
          from = (int) Math.min(first, content.length);
          end = (int) Math.min(last, content.length - 1L) + 1;
        }
      }
      if (from >= content.length) {
        response.setHeader(HttpHeaders.CONTENT_RANGE, "bytes */" + content.length);
        throw new Refusal(
            HttpStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "the image has " + content.length + " bytes");
      }
      response.setStatus(HttpStatus.PARTIAL_CONTENT.value());
      response.setHeader(
          HttpHeaders.CONTENT_RANGE, "bytes " + from + "-" + (end - 1) + "/" + content.length);
    }
    response.setHeader("Server-Timing", watch.timing());
    if (request.getMethod().equals(HttpMethod.HEAD.name())) {
      response.setContentLength(end - from);
      return;
    }
    writeAll(response, content, from, end, watch);
  }

  // Tomcat bounds each pause of the client; this bounds the whole answer.
  static void writeAll(HttpServletResponse response, byte[] content, int from, int end, Watch watch)
      throws IOException {
    response.setContentLength(end - from);
    var out = response.getOutputStream();
    for (int at = from; at < end; at += PIECE) {
      if (System.nanoTime() - watch.lastMoment() > 0)
        throw new IOException("the answer took too long");
      out.write(content, at, Math.min(PIECE, end - at));
    }
  }
}
