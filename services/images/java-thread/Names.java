// Names are data, never paths.
package images;

import static java.nio.charset.StandardCharsets.UTF_8;

final class Names {
  private static final int MOST = 200; // characters

  private Names() {}

  static String clean(String name) {
    name = name.substring(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
    int[] kept =
        name.codePoints()
            .map(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE ? 0xfffd : c)
            .filter(c -> !Character.isISOControl(c))
            .toArray();
    name = new String(kept, 0, kept.length).strip();
    if (name.codePointCount(0, name.length()) > MOST) {
      name = name.substring(0, name.offsetByCodePoints(0, MOST)).strip();
    }
    return name.isEmpty() || name.equals(".") || name.equals("..") ? "image" : name;
  }

  // Content-Disposition has one form for old clients, and one for all characters.
  static String disposition(String name) {
    var plain = new StringBuilder();
    name.codePoints().forEach(c -> plain.append(word(c) || c == ' ' ? (char) c : '_'));
    var all = new StringBuilder();
    for (byte b : name.getBytes(UTF_8)) {
      if (word(b) || b == '~') {
        all.append((char) b);
      } else {
        all.append(String.format("%%%02X", b));
      }
    }
    return "inline; filename=\"" + plain + "\"; filename*=UTF-8''" + all;
  }

  private static boolean word(int c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || c == '.'
        || c == '-'
        || c == '_';
  }
}
