// SQLite blocks: each query runs on a blocking thread, with one of few connections.

use super::{Entry, Thumbnail, fault};
use crate::fault::Fault;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

const READERS: usize = 4; // connections beside the one that writes
const COLUMNS: &str = "SELECT id, name, type, bytes, width, height, created";

pub struct Sqlite {
    write: Lane,
    read: Lane,
}

/// Connections, each used by one query, or idle.
struct Lane {
    idle: Arc<Mutex<Vec<Connection>>>,
    free: Arc<Semaphore>,
}

impl Lane {
    fn open(file: &Path, told: &str, size: usize) -> rusqlite::Result<Self> {
        let mut idle = Vec::new();
        for _ in 0..size {
            let connection = Connection::open(file)?;
            connection.execute_batch(told)?;
            idle.push(connection);
        }
        Ok(Lane {
            idle: Arc::new(Mutex::new(idle)),
            free: Arc::new(Semaphore::new(size)),
        })
    }

    // A query runs to its end, even if the client has gone: only then is its connection idle again.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let turn = self
            .free
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| fault(false))?;
        let idle = self.idle.clone();
        let answer = tokio::task::spawn_blocking(move || {
            let connection = idle
                .lock()
                .unwrap()
                .pop()
                .expect("whose turn it is has a connection");
            let answer = question(&connection);
            idle.lock().unwrap().push(connection);
            drop(turn);
            answer
        });
        let answer = answer.await.map_err(|_| fault(false))?;
        answer.map_err(|e| fault(e.sqlite_error_code() == Some(ErrorCode::DiskFull)))
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let content = if row.as_ref().column_count() > 7 {
        row.get(7)?
    } else {
        Vec::new()
    };
    Ok(Entry {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: row.get(2)?,
        bytes: row.get(3)?,
        width: row.get(4)?,
        height: row.get(5)?,
        created_ms: row.get(6)?,
        content,
    })
}

impl Sqlite {
    pub fn open(data: &Path, told: &str, schema: &str) -> Result<Self, Box<dyn Error>> {
        std::fs::create_dir_all(data).map_err(|e| format!("{}: {e}", data.display()))?;
        let file = data.join("images.db");
        let write = Lane::open(&file, told, 1)?;
        write.idle.lock().unwrap()[0].execute_batch(schema)?;
        Ok(Sqlite {
            write,
            read: Lane::open(&file, told, READERS)?,
        })
    }

    pub async fn add(&self, mut e: Entry) -> Result<Entry, Fault> {
        let sql = "INSERT INTO image (id, name, type, bytes, width, height, created, content) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let question = move |c: &Connection| {
            e.id = c.prepare_cached(sql)?.insert((
                (e.id != 0).then_some(e.id),
                &e.name,
                &e.kind,
                e.bytes,
                e.width,
                e.height,
                e.created_ms,
                &e.content,
            ))?;
            Ok(e)
        };
        self.write.ask(question).await
    }

    pub async fn get(&self, id: i64, whole: bool) -> Result<Option<Entry>, Fault> {
        let content = if whole { ", content" } else { "" };
        let sql = format!("{COLUMNS}{content} FROM image WHERE id = ?");
        self.read
            .ask(move |c| c.prepare_cached(&sql)?.query_row([id], entry).optional())
            .await
    }

    pub async fn list(&self, before: i64, limit: i64) -> Result<Vec<Entry>, Fault> {
        let sql = format!("{COLUMNS} FROM image WHERE id < ? ORDER BY id DESC LIMIT ?");
        self.read
            .ask(move |c| {
                c.prepare_cached(&sql)?
                    .query_map([before, limit], entry)?
                    .collect()
            })
            .await
    }

    pub async fn thumbnail(&self, id: i64) -> Result<Option<Thumbnail>, Fault> {
        let sql = "SELECT created, thumbnail.type, thumbnail.content \
                   FROM image LEFT JOIN thumbnail ON image = id WHERE id = ?";
        let row = |r: &Row<'_>| {
            let kind: Option<String> = r.get(1)?;
            let made = match kind {
                Some(kind) => Some((kind, r.get(2)?)),
                None => None,
            };
            Ok(Thumbnail {
                created_ms: r.get(0)?,
                made,
            })
        };
        self.read
            .ask(move |c| c.prepare_cached(sql)?.query_row([id], row).optional())
            .await
    }

    pub async fn keep(&self, id: i64, kind: &'static str, content: Vec<u8>) -> Result<(), Fault> {
        let sql = "INSERT INTO thumbnail (image, type, content) SELECT id, ?, ? \
                   FROM image WHERE id = ? ON CONFLICT DO NOTHING";
        self.write
            .ask(move |c| {
                c.prepare_cached(sql)?
                    .execute((kind, content, id))
                    .map(drop)
            })
            .await
    }

    pub async fn remove(&self, id: i64) -> Result<bool, Fault> {
        self.write
            .ask(move |c| {
                Ok(c.prepare_cached("DELETE FROM image WHERE id = ?")?
                    .execute([id])?
                    > 0)
            })
            .await
    }

    pub async fn ask(&self) -> Result<(), Fault> {
        self.read
            .ask(|c| c.query_row("SELECT 1", (), |_| Ok(())))
            .await
    }
}
