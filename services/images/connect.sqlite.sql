-- The first statements on every connection to SQLite, in every model: the comparison is fair only
-- if all wait for the disk alike. WAL with NORMAL: commits survive the server's death at any
-- moment. A loss of power may undo the last commits, each completely. With FULL it undoes none, and
-- each commit waits for the disk.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA busy_timeout = 5000;
