// The database: SQLite in a file, or PostgreSQL. All models read the statements for connections and
// tables from the same files.

mod postgres;
mod sqlite;

use crate::fault::{self, Fault};
use crate::picture::Picture;
use postgres::Postgres;
use sqlite::Sqlite;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

const ASK: Duration = Duration::from_secs(10); // for a connection and for its answer

pub struct Entry {
    pub id: i64,
    pub name: String,
    pub kind: String,
    pub bytes: i64,
    pub width: i32,
    pub height: i32,
    pub created_ms: i64,
    pub content: Vec<u8>, // if it was asked for
}

pub struct Thumbnail {
    pub created_ms: i64,
    pub made: Option<(String, Vec<u8>)>, // its type and bytes
}

pub enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Errors of the database, in the form for clients.
fn fault(full: bool) -> Fault {
    if full { fault::FULL } else { fault::GONE }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout_at(Instant::now() + ASK, asked)
        .await
        .unwrap_or(Err(fault::GONE))
}

impl Store {
    pub async fn open(
        data: &Path,
        files: &Path,
        database: Option<&String>,
    ) -> Result<Self, Box<dyn Error>> {
        let read = |name: &str| {
            std::fs::read_to_string(files.join(name)).map_err(|e| format!("{name}: {e}"))
        };
        Ok(match database {
            Some(url) => {
                Store::Postgres(Postgres::open(url, &read("schema.postgresql.sql")?).await?)
            }
            None => Store::Sqlite(Sqlite::open(
                data,
                &read("connect.sqlite.sql")?,
                &read("schema.sqlite.sql")?,
            )?),
        })
    }

    /// Stores an image; with an id of 0 the database assigns one.
    pub async fn add(
        &self,
        id: i64,
        name: String,
        picture: Picture,
        content: Vec<u8>,
        created_ms: i64,
    ) -> Result<Entry, Fault> {
        let entry = Entry {
            id,
            name,
            kind: picture.kind.into(),
            bytes: content.len() as i64,
            width: picture.width,
            height: picture.height,
            created_ms,
            content,
        };
        match self {
            Store::Sqlite(s) => in_time(s.add(entry)).await,
            Store::Postgres(p) => in_time(p.add(entry)).await,
        }
    }

    pub async fn get(&self, id: i64, whole: bool) -> Result<Entry, Fault> {
        let found = match self {
            Store::Sqlite(s) => in_time(s.get(id, whole)).await,
            Store::Postgres(p) => in_time(p.get(id, whole)).await,
        };
        found?.ok_or(fault::ABSENT)
    }

    pub async fn list(&self, before: i64, limit: i64) -> Result<Vec<Entry>, Fault> {
        match self {
            Store::Sqlite(s) => in_time(s.list(before, limit)).await,
            Store::Postgres(p) => in_time(p.list(before, limit)).await,
        }
    }

    pub async fn thumbnail(&self, id: i64) -> Result<Thumbnail, Fault> {
        let found = match self {
            Store::Sqlite(s) => in_time(s.thumbnail(id)).await,
            Store::Postgres(p) => in_time(p.thumbnail(id)).await,
        };
        found?.ok_or(fault::ABSENT)
    }

    /// Stores a thumbnail, unless there is one already or the image has been deleted.
    pub async fn keep(&self, id: i64, kind: &'static str, content: Vec<u8>) -> Result<(), Fault> {
        match self {
            Store::Sqlite(s) => in_time(s.keep(id, kind, content)).await,
            Store::Postgres(p) => in_time(p.keep(id, kind, content)).await,
        }
    }

    pub async fn remove(&self, id: i64) -> Result<(), Fault> {
        let removed = match self {
            Store::Sqlite(s) => in_time(s.remove(id)).await,
            Store::Postgres(p) => in_time(p.remove(id)).await,
        };
        if removed? { Ok(()) } else { Err(fault::ABSENT) }
    }

    /// Runs the smallest query that shows that the database is there.
    pub async fn ask(&self) -> Result<(), Fault> {
        match self {
            Store::Sqlite(s) => in_time(s.ask()).await,
            Store::Postgres(p) => in_time(p.ask()).await,
        }
    }
}
