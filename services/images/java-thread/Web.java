// The requests of the service, one method each.
package images;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import images.Pictures.Picture;
import images.Store.Image;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Web {
  private static final String ID = "/images/{id:[1-9][0-9]{0,14}}";
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  private final Store store;
  private final Room room;
  private final Thumbnails thumbnails;
  private final Next next;

  Web(Store store, Room room, Thumbnails thumbnails, Next next) {
    this.store = store;
    this.room = room;
    this.thumbnails = thumbnails;
    this.next = next;
  }

  @JsonPropertyOrder({
    "id",
    "name",
    "type",
    "bytes",
    "width",
    "height",
    "created",
    "url",
    "thumbnail"
  })
  record Info(
      long id,
      String name,
      String type,
      long bytes,
      int width,
      int height,
      String created,
      String url,
      String thumbnail) {
    static Info of(Image i) {
      var url = "/images/" + i.id();
      return new Info(
          i.id(),
          i.name(),
          i.picture().type(),
          i.bytes(),
          i.picture().width(),
          i.picture().height(),
          TIME.format(Instant.ofEpochMilli(i.created())),
          url,
          url + "/thumbnail");
    }
  }

  record Page(List<Info> images, String next) {}

  @PostMapping("/images")
  @ResponseStatus(HttpStatus.CREATED)
  Info upload(HttpServletRequest request, HttpServletResponse response) throws IOException {
    var watch = Watch.of(request);
    try (var here = room.enter();
        var upload = Uploads.receive(request, room, watch.lastMoment())) {
      var picture = Pictures.look(upload.content, upload.length);
      var name = Names.clean(upload.name);
      var content = upload.whole();
      var given =
          next.isThere() // first, so that the services behind have every image of this one
              ? watch.next(() -> next.add(request, name, picture, content))
              : new Next.Given(0, System.currentTimeMillis());
      var info =
          Info.of(
              new Image(
                  keep(given, name, picture, content, request),
                  name,
                  picture,
                  upload.length,
                  given.created(),
                  null));
      response.setHeader(HttpHeaders.LOCATION, info.url());
      response.setHeader("Server-Timing", watch.timing());
      return info;
    }
  }

  // Stores an image. If that fails, it is deleted in the next service.
  private long keep(
      Next.Given given, String name, Picture picture, byte[] content, HttpServletRequest request) {
    try {
      return Watch.of(request)
          .database(() -> store.add(given.id(), name, picture, content, given.created()));
    } catch (DataAccessException e) {
      if (next.isThere()) next.forget(request, given.id());
      throw e;
    }
  }

  @GetMapping("/images")
  Page list(@RequestParam Optional<String> limit, @RequestParam Optional<String> before) {
    return list(limit.orElse("20"), before.orElse("999999999999999"));
  }

  private Page list(String limit, String before) {
    if (!limit.matches("[1-9][0-9]?|100") || !before.matches("[1-9][0-9]{0,14}")) {
      throw new Refusal(HttpStatus.BAD_REQUEST, "limit is 1 to 100, and before the id of an image");
    }
    int most = Integer.parseInt(limit);
    var found =
        store.list(Long.parseLong(before), most + 1); // one more, to see whether more follow
    var shown = found.stream().limit(most).map(Info::of).toList();
    return new Page(
        shown,
        found.size() <= most ? null : "/images?limit=" + most + "&before=" + shown.getLast().id());
  }

  @GetMapping(ID)
  void fetch(@PathVariable long id, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var watch = Watch.of(request);
    if (next.isThere() || request.getHeader(HttpHeaders.IF_NONE_MATCH) != null) {
      var known = watch.database(() -> store.get(id)).orElseThrow(Refusal::absent);
      if (Answers.unchanged(request, response, Answers.tag(known))) return;
      if (next.isThere()) {
        try (var held = room.take(known.bytes())) {
          show(known.with(watch.next(() -> next.fetch(request, known))), request, response);
        }
        return;
      }
    }
    var image = watch.database(() -> store.getWhole(id)).orElseThrow(Refusal::absent);
    try (var held = room.take(image.bytes())) {
      show(image, request, response);
    }
  }

  private static void show(Image image, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    response.setHeader(HttpHeaders.ETAG, Answers.tag(image));
    response.setHeader(HttpHeaders.CACHE_CONTROL, "no-cache");
    response.setContentType(image.picture().type());
    response.setHeader(HttpHeaders.CONTENT_DISPOSITION, Names.disposition(image.name()));
    Answers.write(request, response, image, Watch.of(request));
  }

  @GetMapping(ID + "/thumbnail")
  void thumbnail(@PathVariable long id, HttpServletRequest request, HttpServletResponse response)
      throws IOException, InterruptedException {
    var watch = Watch.of(request);
    var kept = store.thumbnail(id).orElseThrow(Refusal::absent);
    var tag = "\"" + id + "-" + kept.created() + "-t\"";
    if (Answers.unchanged(request, response, tag)) return;
    var type = kept.type();
    var content = kept.content();
    if (content == null) {
      var image = store.getWhole(id).orElseThrow(Refusal::absent);
      try (var held = room.take(image.bytes())) {
        type = Thumbnails.type(image.picture().type());
        content = thumbnails.make(image.picture().type(), image.content());
      }
      try {
        store.keep(id, type, content);
      } catch (DataAccessException e) {
        // A thumbnail that cannot be stored is still shown.
      }
    }
    response.setHeader(HttpHeaders.ETAG, tag);
    response.setHeader(HttpHeaders.CACHE_CONTROL, "no-cache");
    response.setContentType(type);
    Answers.writeAll(response, content, 0, content.length, watch);
  }

  @DeleteMapping(ID)
  ResponseEntity<Void> remove(@PathVariable long id, HttpServletRequest request) {
    if (next.isThere())
      next.remove(request, id); // first: if it cannot be reached, nothing has changed
    if (!store.remove(id)) throw Refusal.absent();
    return ResponseEntity.noContent().build();
  }

  @GetMapping("/healthz")
  Map<String, String> health() {
    store.ask();
    return Map.of("status", "ok");
  }

  // Other methods: 405.
  @RequestMapping("/images")
  void images(HttpServletRequest request) throws HttpRequestMethodNotSupportedException {
    throw new HttpRequestMethodNotSupportedException(
        request.getMethod(), List.of("GET", "HEAD", "POST"));
  }

  @RequestMapping(ID)
  void image(HttpServletRequest request) throws HttpRequestMethodNotSupportedException {
    throw new HttpRequestMethodNotSupportedException(
        request.getMethod(), List.of("GET", "HEAD", "DELETE"));
  }

  @RequestMapping({ID + "/thumbnail", "/healthz"})
  void readOnly(HttpServletRequest request) throws HttpRequestMethodNotSupportedException {
    throw new HttpRequestMethodNotSupportedException(request.getMethod(), List.of("GET", "HEAD"));
  }
}
