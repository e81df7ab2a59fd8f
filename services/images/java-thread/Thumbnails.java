// Makes thumbnails, two at once: a decoder may lay out 200 MB for the largest image.
package images;

import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;

@Component
class Thumbnails {
  private static final int SIDE = 160; // pixels, at most
  private static final int MAKERS = 2;
  private static final int WAIT_S = 20;
  private static final long MOST_PIXELS =
      50_000_000; // a GIF's first picture may be larger than its screen

  private final Semaphore makers = new Semaphore(MAKERS, true);

  Thumbnails() {
    ImageIO.setUseCache(false); // of files: all is in memory
  }

  static String type(String image) {
    return image.equals("image/jpeg") ? image : "image/png";
  }

  byte[] make(String type, byte[] content) throws InterruptedException {
    if (!makers.tryAcquire(WAIT_S, TimeUnit.SECONDS))
      throw Refusal.later("too many thumbnails are being made");
    try {
      return encode(shrink(type, content), type(type));
    } catch (IOException
        | RuntimeException e) { // a damaged image may cause any exception of a decoder
      throw new Refusal(HttpStatus.UNPROCESSABLE_CONTENT, "the image cannot be decoded");
    } finally {
      makers.release();
    }
  }

  private static BufferedImage shrink(String type, byte[] content) throws IOException {
    ImageReader reader = ImageIO.getImageReadersByMIMEType(type).next();
    try (var input = ImageIO.createImageInputStream(new ByteArrayInputStream(content))) {
      reader.setInput(input, true, true);
      double width = reader.getWidth(0);
      double height = reader.getHeight(0);
      if (width * height > MOST_PIXELS) throw new IOException("too large");
      double scale = Math.min(1, SIDE / Math.max(width, height));
      int w = Math.max(1, (int) Math.round(width * scale));
      int h = Math.max(1, (int) Math.round(height * scale));
      var how = reader.getDefaultReadParam();
      int step =
          Math.max(1, (int) (Math.min(width / w, height / h) / 2)); // the rest is at least halved
      how.setSourceSubsampling(step, step, 0, 0);
      var from = reader.read(0, how);
      var to =
          new BufferedImage(
              w,
              h,
              type.equals("image/jpeg") ? BufferedImage.TYPE_INT_RGB : BufferedImage.TYPE_INT_ARGB);
      Graphics2D g = to.createGraphics();
      g.setRenderingHint(
          RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
      g.drawImage(from, 0, 0, w, h, null);
      g.dispose();
      return to;
    } finally {
      reader.dispose();
    }
  }

  private static byte[] encode(BufferedImage image, String type) throws IOException {
    var out = new ByteArrayOutputStream();
    if (!ImageIO.write(image, type.substring("image/".length()), out))
      throw new IOException("no encoder");
    return out.toByteArray();
  }
}
