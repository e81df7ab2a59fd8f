-- Run once at each start. An id is never used again, so it names its bytes for ever. The content
-- stands last, where lists do not read it.
CREATE TABLE IF NOT EXISTS image (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT    NOT NULL,
    type    TEXT    NOT NULL,
    bytes   INTEGER NOT NULL,
    width   INTEGER NOT NULL,
    height  INTEGER NOT NULL,
    created INTEGER NOT NULL, -- milliseconds since 1970, UTC
    content BLOB    NOT NULL
);
-- Made at the first request, and deleted with its image.
CREATE TABLE IF NOT EXISTS thumbnail (
    image   INTEGER PRIMARY KEY REFERENCES image (id) ON DELETE CASCADE,
    type    TEXT NOT NULL,
    content BLOB NOT NULL
);
