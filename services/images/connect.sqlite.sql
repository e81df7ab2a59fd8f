-- What every connection to SQLite is told first, in every model: the comparison is fair only if all wait for the disk alike.
-- WAL with NORMAL: what is committed survives the server's death at any moment, and the machine's but for the last commits,
-- which a loss of power may take back, whole. With FULL none are, and each commit waits for the disk.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA busy_timeout = 5000;
