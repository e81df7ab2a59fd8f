import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/// A request for a stream, and the reading and refusing of requests: the JDK's own HTTP server
/// keeps threads and buffers for each client, so the head is read here, strictly by RFC 9112. Both
/// Java servers use it.
record Head(String id, boolean coded, boolean bare) {
  static final int BYTES = 8192; // the longest that is read; the contract asks for 4 KiB
  static final long MILLIS = 10_000; // for it to come, by the contract
  static final int LEAVE_MILLIS = 2_000; // a guess: for a refused client to read why

  private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
  private static final Pattern LINE =
      Pattern.compile("(" + TOKEN + ") ([!-~]+) HTTP/([0-9]\\.[0-9])");
  private static final Pattern FIELD = Pattern.compile("(" + TOKEN + "):[\\t -~\\x80-\\xff]*");
  private static final Pattern TARGET = Pattern.compile("/test/([A-Za-z0-9_-]{1,64})(\\?.*)?");

  static final class Refused extends Exception {
    final int status;

    Refused(int status) {
      super(null, null, false, false);
      this.status = status;
    }
  }

  /// Reads a head, or returns null if the client goes before its end.
  static Head read(Socket client) throws IOException, Refused {
    var bytes = new byte[BYTES];
    var end = System.nanoTime() + MILLIS * 1_000_000;
    for (int length = 0, seen = 0; length < BYTES; seen = length) {
      var left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) throw new Refused(408);
      client.setSoTimeout((int) left);
      try {
        var n = client.getInputStream().read(bytes, length, BYTES - length);
        if (n < 0) return null;
        length += n;
      } catch (SocketTimeoutException e) {
        throw new Refused(408);
      }
      for (int i = seen; i < length; i++) {
        if (bytes[i] == '\n'
            && (i < 1
                || bytes[i - 1] == '\n'
                || bytes[i - 1] == '\r' && (i < 2 || bytes[i - 2] == '\n')))
          return parse(new String(bytes, 0, i + 1, StandardCharsets.ISO_8859_1));
      }
    }
    throw new Refused(431);
  }

  static Head parse(String head) throws Refused {
    var lines = head.split("\r?\n");
    var line = LINE.matcher(lines.length > 0 ? lines[0] : "");
    if (!line.matches()) throw new Refused(400);
    var version = line.group(3);
    if (!version.equals("1.0") && !version.equals("1.1")) throw new Refused(505);
    var hosts = 0;
    for (int i = 1; i < lines.length; i++) {
      var field = FIELD.matcher(lines[i]);
      if (!field.matches()) throw new Refused(400);
      if (field.group(1).equalsIgnoreCase("Host")) hosts++;
    }
    var coded = version.equals("1.1");
    if (hosts > 1 || coded && hosts == 0) throw new Refused(400);
    var target = TARGET.matcher(line.group(2));
    if (!target.matches()) throw new Refused(404);
    var bare = line.group(1).equals("HEAD");
    if (!bare && !line.group(1).equals("GET")) throw new Refused(405);
    return new Head(target.group(1), coded, bare);
  }

  static String refusal(int status) {
    var why =
        switch (status) {
          case 404 -> "Not Found";
          case 405 -> "Method Not Allowed\r\nAllow: GET, HEAD";
          case 408 -> "Request Timeout";
          case 431 -> "Request Header Fields Too Large";
          case 505 -> "HTTP Version Not Supported";
          default -> "Bad Request";
        };
    return "HTTP/1.1 " + status + " " + why + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  }

  String accepted() {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
        + (coded ? "Transfer-Encoding: chunked\r\n" : "")
        + (coded && !bare ? "\r\n" : "Connection: close\r\n\r\n");
  }

  /// The text as it goes out: a chunk of the coding, or itself.
  String code(String text) {
    return coded ? Integer.toHexString(text.length()) + "\r\n" + text + "\r\n" : text;
  }

  /// Sends the last words and reads on for a while: closing with unread bytes would be a reset,
  /// which may overtake them.
  static void leave(Socket client, String words) throws IOException {
    client.getOutputStream().write(words.getBytes(StandardCharsets.ISO_8859_1));
    client.shutdownOutput();
    var end = System.nanoTime() + LEAVE_MILLIS * 1_000_000L;
    var rest = new byte[1024];
    for (long left = LEAVE_MILLIS; left > 0; left = (end - System.nanoTime()) / 1_000_000) {
      client.setSoTimeout((int) left);
      if (client.getInputStream().read(rest) < 0) return;
    }
  }
}
