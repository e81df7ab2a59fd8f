// PostgreSQL needs no thread: a query is a message, and the answer wakes the task.

use super::{ASK, Entry, Thumbnail, fault};
use crate::fault::Fault;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use std::error::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};

const CONNECTIONS: usize = 16;
const COLUMNS: &str = "SELECT id, name, type, bytes, width, height, created";

pub struct Postgres(Pool);

/// A connection whose query was given up is closed, not reused.
struct Asking(Option<Object>);

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(Object::take(connection));
        }
    }
}

fn entry(row: &Row) -> Entry {
    Entry {
        id: row.get(0),
        name: row.get(1),
        kind: row.get(2),
        bytes: row.get(3),
        width: row.get(4),
        height: row.get(5),
        created_ms: row.get(6),
        content: if row.len() > 7 {
            row.get(7)
        } else {
            Vec::new()
        },
    }
}

impl Postgres {
    pub async fn open(url: &str, schema: &str) -> Result<Self, Box<dyn Error>> {
        let mut config: Config = url.parse()?;
        config.connect_timeout(ASK);
        let manager = Manager::from_config(
            config,
            NoTls,
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .wait_timeout(Some(ASK))
            .create_timeout(Some(ASK))
            .runtime(Runtime::Tokio1)
            .build()?;
        let connection = pool
            .get()
            .await
            .map_err(|e| format!("opening the database: {e}"))?;
        connection
            .batch_execute(schema)
            .await
            .map_err(|e| format!("opening the database: {e}"))?;
        Ok(Postgres(pool))
    }

    async fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        let mut asking = Asking(Some(self.0.get().await.map_err(|_| fault(false))?));
        let rows = asked(&asking, sql, values).await;
        drop(asking.0.take()); // answered: the pool may have it again
        rows.map_err(|e| fault(e.code() == Some(&SqlState::DISK_FULL)))
    }

    pub async fn add(&self, mut e: Entry) -> Result<Entry, Fault> {
        let sql = "INSERT INTO image (name, type, bytes, width, height, created, content) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
        let rows = self
            .rows(
                sql,
                &[
                    &e.name,
                    &e.kind,
                    &e.bytes,
                    &e.width,
                    &e.height,
                    &e.created_ms,
                    &e.content,
                ],
            )
            .await?;
        e.id = rows.first().ok_or(fault(false))?.get(0);
        Ok(e)
    }

    pub async fn get(&self, id: i64, whole: bool) -> Result<Option<Entry>, Fault> {
        let content = if whole { ", content" } else { "" };
        Ok(self
            .rows(
                &format!("{COLUMNS}{content} FROM image WHERE id = $1"),
                &[&id],
            )
            .await?
            .first()
            .map(entry))
    }

    pub async fn list(&self, before: i64, limit: i64) -> Result<Vec<Entry>, Fault> {
        let sql = format!("{COLUMNS} FROM image WHERE id < $1 ORDER BY id DESC LIMIT $2");
        Ok(self
            .rows(&sql, &[&before, &limit])
            .await?
            .iter()
            .map(entry)
            .collect())
    }

    pub async fn thumbnail(&self, id: i64) -> Result<Option<Thumbnail>, Fault> {
        let sql = "SELECT created, thumbnail.type, thumbnail.content \
                   FROM image LEFT JOIN thumbnail ON image = id WHERE id = $1";
        let row = |r: &Row| Thumbnail {
            created_ms: r.get(0),
            made: r.get::<_, Option<String>>(1).map(|kind| (kind, r.get(2))),
        };
        Ok(self.rows(sql, &[&id]).await?.first().map(row))
    }

    pub async fn keep(&self, id: i64, kind: &'static str, content: Vec<u8>) -> Result<(), Fault> {
        let sql = "INSERT INTO thumbnail (image, type, content) SELECT id, $1::text, $2::bytea \
                   FROM image WHERE id = $3 ON CONFLICT DO NOTHING";
        self.rows(sql, &[&kind, &content, &id]).await.map(drop)
    }

    pub async fn remove(&self, id: i64) -> Result<bool, Fault> {
        Ok(!self
            .rows("DELETE FROM image WHERE id = $1 RETURNING id", &[&id])
            .await?
            .is_empty())
    }

    pub async fn ask(&self) -> Result<(), Fault> {
        self.rows("SELECT 1", &[]).await.map(drop)
    }
}

async fn asked(
    asking: &Asking,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let connection = asking
        .0
        .as_ref()
        .expect("it is there until it has answered");
    let statement = connection.prepare_cached(sql).await?;
    connection.query(&statement, values).await
}
