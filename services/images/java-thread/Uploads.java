// Reads uploads, in either form. A body is taken as it comes, with patience for each piece and a
// last moment for all of it; nothing is spooled.
package images;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.net.URLDecoder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Set;
import org.apache.tomcat.util.http.fileupload.FileItemStream;
import org.apache.tomcat.util.http.fileupload.FileUpload;
import org.apache.tomcat.util.http.fileupload.FileUploadException;
import org.apache.tomcat.util.http.fileupload.servlet.ServletRequestContext;
import org.springframework.http.HttpStatus;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;

final class Uploads {
  private static final int MOST_BYTES = 20 << 20; // of an image
  private static final int MOST_AROUND = 64 << 10; // of a multipart body beside the image
  private static final int FIRST_ROOM =
      64 << 10; // for the first byte; then twice as much each time
  private static final int MOST_PARTS = 1000;
  private static final Set<String> RAW =
      Set.of("image/jpeg", "image/png", "image/gif", "application/octet-stream");

  private Uploads() {}

  // An Upload holds its room until it is closed.
  static final class Upload implements AutoCloseable {
    String name;
    byte[] content = new byte[0];
    int length;
    private final Room room;
    private final Deque<Room.Held> held = new ArrayDeque<>();

    private Upload(Room room) {
      this.room = room;
    }

    private void read(InputStream from, long expected) throws IOException {
      while (true) {
        if (length == content.length) {
          int more = Math.max(FIRST_ROOM, length);
          if (expected >= length)
            more = (int) Math.min(more, expected + 1 - length); // one more, to see the end
          held.push(room.take(more));
          content = Arrays.copyOf(content, length + more);
        }
        int n = from.read(content, length, content.length - length);
        if (n < 0) break;
        length += n;
        if (length > MOST_BYTES) throw large();
      }
      if (length == 0) throw bad("the body is empty: expected the bytes of an image");
    }

    byte[] whole() {
      return content.length == length ? content : Arrays.copyOf(content, length);
    }

    @Override
    public void close() {
      content = null;
      held.forEach(Room.Held::close);
    }
  }

  static Upload receive(HttpServletRequest request, Room room, long lastMoment) throws IOException {
    var type = type(request);
    boolean multipart = type.equals("multipart/form-data");
    if (!multipart && !RAW.contains(type)) {
      throw new Refusal(
          HttpStatus.UNSUPPORTED_MEDIA_TYPE,
          "expected image/jpeg, image/png, image/gif, application/octet-stream or"
              + " multipart/form-data");
    }
    long length = request.getContentLengthLong();
    long most = MOST_BYTES + (multipart ? MOST_AROUND : 0);
    if (length > most) throw large();
    var upload = new Upload(room);
    try {
      var body = new Body(request.getInputStream(), most, lastMoment);
      if (multipart) {
        parts(request, body, upload);
      } else {
        upload.name = name(request.getQueryString());
        upload.read(body, length);
      }
      return upload;
    } catch (Throwable e) {
      upload.close();
      if (e instanceof IOException || e instanceof FileUploadException) throw why(e);
      throw e;
    }
  }

  private static void parts(HttpServletRequest request, Body body, Upload upload)
      throws IOException {
    var parser = new FileUpload();
    parser.setHeaderEncoding("UTF-8");
    var items =
        parser.getItemIterator(
            new ServletRequestContext(request) {
              @Override
              public InputStream getInputStream() {
                return body;
              }
            });
    for (int i = 0; items.hasNext(); i++) {
      FileItemStream item = items.next();
      if (i == MOST_PARTS) throw bad("there are too many parts");
      if (!"image".equals(item.getFieldName())) continue; // the next step skips it
      if (upload.name != null) throw onePart();
      upload.name = item.getName() == null ? "" : item.getName();
      upload.read(item.openStream(), -1);
    }
    if (upload.name == null) throw onePart();
    while (body.read(new byte[4096]) >= 0)
      ; // bytes after the last boundary are ignored
  }

  private static String type(HttpServletRequest request) {
    try {
      var type = MediaType.parseMediaType(request.getContentType());
      return type.getType() + "/" + type.getSubtype();
    } catch (InvalidMediaTypeException e) {
      return "";
    }
  }

  private static String name(String query) {
    for (var pair : (query == null ? "" : query).split("&")) {
      if (!pair.startsWith("name=")) continue;
      try {
        return URLDecoder.decode(pair.substring("name=".length()), UTF_8);
      } catch (IllegalArgumentException e) {
        throw bad("the name has a percent sign that begins nothing");
      }
    }
    return "";
  }

  // Finds the cause in an exception that the parser has wrapped.
  private static RuntimeException why(Throwable e) {
    for (; e != null; e = e.getCause()) {
      if (e instanceof SocketTimeoutException)
        return new Refusal(HttpStatus.REQUEST_TIMEOUT, "nothing has come for too long");
      if (e instanceof Large) return large();
    }
    return bad("the body cannot be read to its end");
  }

  private static Refusal bad(String detail) {
    return new Refusal(HttpStatus.BAD_REQUEST, detail);
  }

  private static Refusal onePart() {
    return bad("expected a multipart body with one part \"image\"");
  }

  private static Refusal large() {
    return new Refusal(HttpStatus.CONTENT_TOO_LARGE, "an image has at most 20 MiB");
  }

  private static final class Large extends IOException {}

  // A Body ends with an exception if it is too long, or takes too long. Tomcat ends the silence
  // between two pieces.
  private static final class Body extends InputStream {
    private final InputStream from;
    private final long lastMoment;
    private long left;

    Body(InputStream from, long most, long lastMoment) {
      this.from = from;
      this.left = most;
      this.lastMoment = lastMoment;
    }

    @Override
    public int read() throws IOException {
      var one = new byte[1];
      return read(one) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] b, int off, int len) throws IOException {
      int n = from.read(b, off, len);
      if (n > 0 && (left -= n) < 0) throw new Large();
      if (System.nanoTime() - lastMoment > 0) throw new SocketTimeoutException();
      return n;
    }
  }
}
