// Handling before every request: the common header, the clock, and the files of the page.
package images;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.tomcat.util.buf.EncodedSolidusHandling;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.servlet.config.annotation.ContentNegotiationConfigurer;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

@Configuration(proxyBeanMethods = false)
class Front implements WebMvcConfigurer {
  private static final String UPLOAD_MS = "20000"; // for each piece

  @Override
  public void configureContentNegotiation(ContentNegotiationConfigurer configurer) {
    configurer.ignoreAcceptHeader(true).defaultContentType(MediaType.APPLICATION_JSON);
  }

  @Bean
  OncePerRequestFilter first() {
    return new OncePerRequestFilter() {
      @Override
      protected void doFilterInternal(
          HttpServletRequest request, HttpServletResponse response, FilterChain chain)
          throws ServletException, IOException {
        request.setAttribute(Watch.class.getName(), new Watch());
        response.setHeader("X-Content-Type-Options", "nosniff");
        chain.doFilter(
            request.getMethod().equals("OPTIONS") ? new Other(request) : request, response);
      }
    };
  }

  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> tomcat() {
    return factory -> {
      factory.setProtocol(Heads.class.getName());
      factory.addConnectorCustomizers(
          connector -> {
            // A path is looked up, never opened: one with %2F or %5C is simply unknown.
            connector.setEncodedSolidusHandling(EncodedSolidusHandling.PASS_THROUGH.getValue());
            connector.setEncodedReverseSolidusHandling(
                EncodedSolidusHandling.PASS_THROUGH.getValue());
            connector.setProperty("disableUploadTimeout", "false"); // so that there is one
            connector.setProperty("connectionUploadTimeout", UPLOAD_MS);
          });
    };
  }
}

// Spring would answer OPTIONS by itself; here it is a method that no path has.
class Other extends HttpServletRequestWrapper {
  Other(HttpServletRequest request) {
    super(request);
  }

  @Override
  public String getMethod() {
    return "OTHER";
  }
}

// Files are read at the start: a request's path is looked up among names, never on the disk.
@RestController
class Pages {
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  private static final Map<String, String> TYPES =
      Map.of(
          "html",
          "text/html;charset=utf-8",
          "css",
          "text/css;charset=utf-8",
          "js",
          "text/javascript;charset=utf-8",
          "svg",
          "image/svg+xml",
          "yaml",
          "application/yaml");

  private final Map<String, ResponseEntity<byte[]>> known = new HashMap<>();

  Pages(@Value("${images.files}") String files) throws IOException {
    var dir = Path.of(files);
    try (var page = Files.list(dir.resolve("page"))) {
      for (var path : page.toList()) add(path);
    }
    add(dir.resolve("openapi.yaml"));
  }

  private void add(Path path) throws IOException {
    var name = path.getFileName().toString();
    var type =
        TYPES.getOrDefault(name.substring(name.lastIndexOf('.') + 1), "application/octet-stream");
    known.put(
        name.equals("index.html") ? "" : name,
        ResponseEntity.ok()
            .header(HttpHeaders.CONTENT_TYPE, type)
            .header(
                HttpHeaders.CONTENT_DISPOSITION,
                "inline") // otherwise Spring makes one up for unknown types
            .header(HttpHeaders.CACHE_CONTROL, "no-cache")
            .header("Content-Security-Policy", POLICY)
            .body(Files.readAllBytes(path)));
  }

  @RequestMapping("/")
  ResponseEntity<byte[]> index(HttpServletRequest request)
      throws HttpRequestMethodNotSupportedException {
    return file("", request);
  }

  @RequestMapping("/{name}")
  ResponseEntity<byte[]> file(@PathVariable String name, HttpServletRequest request)
      throws HttpRequestMethodNotSupportedException {
    var found = known.get(name);
    if (found == null) throw Refusal.absent();
    if (!request.getMethod().equals("GET") && !request.getMethod().equals("HEAD")) {
      throw new HttpRequestMethodNotSupportedException(request.getMethod(), List.of("GET", "HEAD"));
    }
    return found;
  }
}
