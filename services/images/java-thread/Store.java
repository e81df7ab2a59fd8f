// The database: SQLite in a file, or PostgreSQL. All models read the statements for connections and
// tables from the same files.
package images;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import images.Pictures.Picture;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import javax.sql.DataSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.Resource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.datasource.init.ScriptUtils;
import org.springframework.stereotype.Component;

@Component
class Store implements DisposableBean {
  private static final int READERS = 4; // connections to SQLite beside the one that writes
  private static final int CONNECTIONS = 16; // to PostgreSQL
  private static final int ASK_S = 10; // for a connection, and for its answer
  private static final String COLUMNS = "SELECT id, name, type, bytes, width, height, created";

  private final HikariDataSource reading;
  private final HikariDataSource writing;
  private final JdbcClient read;
  private final JdbcClient write;

  record Image(
      long id,
      String name,
      Picture picture,
      long bytes,
      long created,
      byte[] content) { // null if it was not asked for
    Image with(byte[] content) {
      return new Image(id, name, picture, bytes, created, content);
    }
  }

  record Thumbnail(
      long created, String type, byte[] content) {} // type and content are null: not made yet

  Store(
      @Value("${images.data}") String folder,
      @Value("${images.files}") String shared,
      @Value("${images.database}") String database,
      Next next)
      throws IOException {
    if (next.isThere() && !database.isEmpty()) {
      throw new IllegalArgumentException(
          "a service with a next one keeps its images in SQLite: expected no DATABASE");
    }
    var data =
        Path.of(folder); // Spring's own conversion would look for a resource of that name first
    var files = Path.of(shared);
    String schema;
    if (database.isEmpty()) {
      Files.createDirectories(data);
      var sqlite = new DriverManagerDataSource("jdbc:sqlite:" + data.resolve("images.db"));
      var told = new Told(sqlite, new FileSystemResource(files.resolve("connect.sqlite.sql")));
      writing = pool("writing", told, 1);
      reading = pool("reading", told, READERS);
      schema = "schema.sqlite.sql";
    } else {
      writing = reading = pool("postgresql", postgres(URI.create(database)), CONNECTIONS);
      schema = "schema.postgresql.sql";
    }
    new ResourceDatabasePopulator(new FileSystemResource(files.resolve(schema))).execute(writing);
    read = JdbcClient.create(reading);
    write = JdbcClient.create(writing);
  }

  private static HikariDataSource pool(String name, DataSource source, int size) {
    var config = new HikariConfig();
    config.setPoolName(name);
    config.setDataSource(source);
    config.setMaximumPoolSize(size);
    config.setConnectionTimeout(ASK_S * 1000);
    return new Pool(config);
  }

  // If the pool has no connection, this asks the database itself, and learns at once that it is not
  // there. The pool would try for 10 s.
  private static final class Pool extends HikariDataSource {
    Pool(HikariConfig config) {
      super(config);
    }

    @Override
    public Connection getConnection() throws SQLException {
      if (getHikariPoolMXBean().getTotalConnections() == 0) getDataSource().getConnection().close();
      return super.getConnection();
    }
  }

  private static DataSource postgres(URI url) {
    var user = url.getRawUserInfo() == null ? new String[0] : url.getUserInfo().split(":", 2);
    var properties = new Properties();
    if (user.length > 0) properties.setProperty("user", user[0]);
    if (user.length > 1) properties.setProperty("password", user[1]);
    properties.setProperty("connectTimeout", "" + ASK_S);
    properties.setProperty("socketTimeout", "" + ASK_S);
    return new DriverManagerDataSource(
        "jdbc:postgresql://" + url.getAuthority().replaceFirst(".*@", "") + url.getPath(),
        properties);
  }

  // Told opens connections that have run a script.
  private static final class Told extends DelegatingDataSource {
    private final Resource script;

    Told(DataSource source, Resource script) {
      super(source);
      this.script = script;
    }

    @Override
    public Connection getConnection() throws SQLException {
      var connection = super.getConnection();
      try {
        ScriptUtils.executeSqlScript(connection, script);
        return connection;
      } catch (RuntimeException e) {
        connection.close();
        throw new SQLException(e);
      }
    }
  }

  private static Image image(ResultSet row, int number) throws SQLException {
    return new Image(
        row.getLong(1),
        row.getString(2),
        new Picture(row.getString(3), row.getInt(5), row.getInt(6)),
        row.getLong(4),
        row.getLong(7),
        null);
  }

  // With an id of 0 the database assigns one.
  long add(long id, String name, Picture picture, byte[] content, long created) {
    var sql =
        "INSERT INTO image (name, type, bytes, width, height, created, content) VALUES (?, ?, ?, ?,"
            + " ?, ?, ?) RETURNING id";
    var values =
        new ArrayList<Object>(
            List.of(
                name,
                picture.type(),
                (long) content.length,
                picture.width(),
                picture.height(),
                created,
                content));
    if (id != 0) {
      sql =
          "INSERT INTO image (name, type, bytes, width, height, created, content, id) VALUES (?, ?,"
              + " ?, ?, ?, ?, ?, ?) RETURNING id";
      values.add(id);
    }
    return write.sql(sql).params(values).query(Long.class).single();
  }

  List<Image> list(long before, int limit) {
    return read.sql(COLUMNS + " FROM image WHERE id < ? ORDER BY id DESC LIMIT ?")
        .params(before, limit)
        .query(Store::image)
        .list();
  }

  Optional<Image> get(long id) {
    return read.sql(COLUMNS + " FROM image WHERE id = ?").param(id).query(Store::image).optional();
  }

  Optional<Image> getWhole(long id) {
    return read.sql(COLUMNS + ", content FROM image WHERE id = ?")
        .param(id)
        .query(
            (row, number) -> {
              return image(row, number).with(row.getBytes(8));
            })
        .optional();
  }

  Optional<Thumbnail> thumbnail(long id) {
    return read.sql(
            "SELECT created, thumbnail.type, thumbnail.content FROM image LEFT JOIN thumbnail ON"
                + " image = id WHERE id = ?")
        .param(id)
        .query((row, number) -> new Thumbnail(row.getLong(1), row.getString(2), row.getBytes(3)))
        .optional();
  }

  // Another request may have stored it, and the image may have been deleted meanwhile.
  void keep(long id, String type, byte[] content) {
    write
        .sql(
            "INSERT INTO thumbnail (image, type, content) SELECT id, ?, ? FROM image WHERE id = ?"
                + " ON CONFLICT DO NOTHING")
        .params(type, content, id)
        .update();
  }

  boolean remove(long id) {
    return write.sql("DELETE FROM image WHERE id = ?").param(id).update() > 0;
  }

  void ask() {
    read.sql("SELECT 1").query(Integer.class).single();
  }

  @Override
  public void destroy() {
    reading.close();
    writing.close();
  }
}
