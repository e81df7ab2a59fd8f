// Images on Spring Boot: a thread for each request, plain blocking code, the database through JDBC.
// The command line selects the kind of thread: the model java-virtual uses the same classes.
package images;

import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;

@SpringBootApplication(exclude = DataSourceAutoConfiguration.class, proxyBeanMethods = false)
public class Images {
  private static final long END_MS = 1_700; // of the 2 s in which all must have ended

  public static void main(String[] args) {
    try {
      if (args.length < 4) throw expected();
      var next = "";
      var database = "";
      for (var word : List.of(args).subList(4, args.length)) {
        if (word.equals("-")) continue;
        if (next.isEmpty() && word.startsWith("http")) {
          next = word;
        } else if (database.isEmpty()) {
          database = word;
        } else {
          throw expected();
        }
      }
      if (!next.isEmpty()) Next.check(next);
      var app = new SpringApplication(Images.class);
      app.setDefaultProperties(
          Map.of(
              "server.port",
              args[0],
              "server.address",
              args[1],
              "images.data",
              args[2],
              "images.files",
              args[3],
              "images.next",
              next,
              "images.database",
              database));
      app.setRegisterShutdownHook(false);
      app.addInitializers(Images::endInOrder);
      app.run();
      System.err.println("ready");
    } catch (Exception e) {
      Throwable cause = e;
      while (cause.getCause() != null) cause = cause.getCause();
      System.err.println(
          ("images: " + cause.getClass().getSimpleName() + ": " + cause.getMessage())
              .replaceAll("\\s+", " "));
      Runtime.getRuntime().halt(1);
    }
  }

  private static IllegalArgumentException expected() {
    return new IllegalArgumentException("expected PORT HOST DATA FILES [NEXT] [DATABASE]");
  }

  // Spring's own hook would leave the status to the signal (143), and wait 5 s for threads that
  // wait for a client.
  private static void endInOrder(ConfigurableApplicationContext context) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  Thread.ofPlatform()
                      .daemon()
                      .start(
                          () -> {
                            try {
                              Thread.sleep(END_MS);
                            } catch (InterruptedException e) {
                              // Interrupted: the server ends now.
                            }
                            Runtime.getRuntime().halt(0);
                          });
                  context.close();
                  Runtime.getRuntime().halt(0);
                }));
  }
}
