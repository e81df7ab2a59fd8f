// Reads an image's type and size from its bytes. No pixel is decoded, and every length is checked.
package images;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.springframework.http.HttpStatus;

final class Pictures {
  private static final int MOST_PIXELS = 50_000_000; // a bomb is small until it is decoded

  private Pictures() {}

  record Picture(String type, int width, int height) {}

  static Picture look(byte[] content, int length) {
    var b = ByteBuffer.wrap(content, 0, length).slice();
    Picture p;
    if (begins(b, "\u00ff\u00d8\u00ff")) {
      p = jpeg(b);
    } else if (begins(b, "\u0089PNG\r\n\u001a\n")) {
      p = png(b);
    } else if (begins(b, "GIF87a") || begins(b, "GIF89a")) {
      p = gif(b);
    } else {
      throw new Refusal(HttpStatus.UNSUPPORTED_MEDIA_TYPE, "the bytes are no JPEG, PNG or GIF");
    }
    if (p == null || p.width <= 0 || p.height <= 0) {
      throw new Refusal(HttpStatus.UNPROCESSABLE_CONTENT, "the image is damaged or not whole");
    }
    if ((long) p.width * p.height > MOST_PIXELS) {
      throw new Refusal(
          HttpStatus.UNPROCESSABLE_CONTENT,
          p.width + " x " + p.height + " pixels are more than 50,000,000");
    }
    return p;
  }

  private static boolean begins(ByteBuffer b, String with) {
    return b.remaining() >= with.length()
        && b.slice(0, with.length()).equals(ByteBuffer.wrap(with.getBytes(ISO_8859_1)));
  }

  private static Picture gif(ByteBuffer b) {
    if (b.remaining() <= 10 || b.get(b.remaining() - 1) != 0x3b) return null;
    b.order(ByteOrder.LITTLE_ENDIAN);
    return new Picture("image/gif", b.getChar(6), b.getChar(8));
  }

  // Chunks, each a length, a name, its content and a checksum, to IEND.
  private static Picture png(ByteBuffer b) {
    final int signature = 8, around = 12, ihdr = 0x49484452, iend = 0x49454e44;
    if (b.remaining() < signature + around + 13 || b.getInt(8) != 13 || b.getInt(12) != ihdr)
      return null;
    for (long at = signature;
        at + around <= b.remaining();
        at += around + Integer.toUnsignedLong(b.getInt((int) at))) {
      long end = at + around + Integer.toUnsignedLong(b.getInt((int) at));
      if (end > b.remaining()) return null;
      if (b.getInt((int) at + 4) == iend)
        return new Picture("image/png", b.getInt(16), b.getInt(20));
    }
    return null;
  }

  // Segments, each a marker and a length that counts itself, to the first frame header. Behind it
  // the image's end must come; before it a preview may have one of its own.
  private static Picture jpeg(ByteBuffer b) {
    for (int at = 2; at + 4 <= b.remaining(); ) {
      int marker = b.get(at + 1) & 0xff;
      if ((b.get(at) & 0xff) != 0xff) return null;
      if (marker == 0xff) { // a filler
        at++;
        continue;
      }
      if (marker == 0x01 || marker >= 0xd0 && marker <= 0xd7) { // alone, without a length
        at += 2;
        continue;
      }
      int length = 2 + b.getChar(at + 2);
      if (marker >= 0xd8 && marker <= 0xda || length < 4 || length > b.remaining() - at)
        return null;
      if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
        if (length < 9 || !ends(b, at + length)) return null;
        return new Picture("image/jpeg", b.getChar(at + 7), b.getChar(at + 5));
      }
      at += length;
    }
    return null;
  }

  private static boolean ends(ByteBuffer b, int from) {
    for (int i = from; i + 1 < b.remaining(); i++) {
      if (b.getShort(i) == (short) 0xffd9) return true;
    }
    return false;
  }
}
