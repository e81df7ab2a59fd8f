-- The same tables as in schema.sqlite.sql. Run once at each start.
CREATE TABLE IF NOT EXISTS image (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    TEXT    NOT NULL,
    type    TEXT    NOT NULL,
    bytes   BIGINT  NOT NULL,
    width   INTEGER NOT NULL,
    height  INTEGER NOT NULL,
    created BIGINT  NOT NULL, -- milliseconds since 1970, UTC
    content BYTEA   NOT NULL
);
CREATE TABLE IF NOT EXISTS thumbnail (
    image   BIGINT PRIMARY KEY REFERENCES image (id) ON DELETE CASCADE,
    type    TEXT  NOT NULL,
    content BYTEA NOT NULL
);
-- Images are compressed already: PostgreSQL need not try again.
ALTER TABLE image ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE thumbnail ALTER COLUMN content SET STORAGE EXTERNAL;
