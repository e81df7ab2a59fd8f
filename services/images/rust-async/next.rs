// The service behind this one in a chain. This service stores only images that the next has stored,
// and fetches their bytes from it.

use crate::fault::{self, Fault};
use crate::name;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const CONNECTIONS: usize = 64; // to the next service; a request waits for a free one
// for all of its answer, waiting for a connection included
const LIMIT: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(30); // that a connection to it is kept unused
const MOST_SERVICES: usize = 16; // in a chain: more are a ring
const MOST_SAID: usize = 64 << 10; // bytes of an answer that is no image

pub struct Next {
    base: String,
    client: Client<HttpConnector, Full<Bytes>>,
    free: Semaphore,
}

#[derive(Deserialize)]
struct Said {
    id: i64,
    created: String,
}

// http://HOST:PORT, and nothing more.
fn well_formed(word: &str) -> bool {
    let host = |h: &str| {
        let of = |extra: &str, h: &str| {
            !h.is_empty()
                && h.chars()
                    .all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
        };
        match h.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(h) => of(":.", h),
            None => of("-.", h),
        }
    };
    let port = |p: &str| !p.starts_with(['0', '+']) && p.parse::<u16>().is_ok();
    word.strip_prefix("http://")
        .and_then(|rest| rest.rsplit_once(':'))
        .is_some_and(|(h, p)| host(h) && port(p))
}

/// The Via field for the next service.
pub fn via(headers: &HeaderMap) -> Result<String, Fault> {
    let all = headers.get_all(header::VIA).iter();
    let mut via: Vec<&str> = all
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .collect();
    if via.len() >= MOST_SERVICES - 1 {
        return Err(fault::RING);
    }
    via.push("1.1 images");
    Ok(via.join(","))
}

// Temporary faults, and those that the owner of a service behind must fix, are passed on.
fn told(status: StatusCode) -> Fault {
    match status {
        StatusCode::NOT_FOUND => fault::ABSENT,
        StatusCode::SERVICE_UNAVAILABLE => fault::NEXT_BUSY,
        StatusCode::GATEWAY_TIMEOUT => fault::NEXT_LATE,
        StatusCode::INSUFFICIENT_STORAGE => fault::NEXT_FULL,
        StatusCode::LOOP_DETECTED => fault::RING,
        _ => fault::NEXT,
    }
}

impl Next {
    pub fn new(word: &str) -> Result<Self, String> {
        if !well_formed(word) {
            return Err(format!(
                "the next service: expected http://HOST:PORT, got {word}"
            ));
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Ok(Next {
            base: word.into(),
            client: Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(CONNECTIONS)
                .build(connector),
            free: Semaphore::new(CONNECTIONS),
        })
    }

    /// Stores an image there, and in all behind, and gives the id and the time that the last of
    /// them gives it.
    pub async fn add(
        &self,
        via: &str,
        name: &str,
        kind: &str,
        content: Bytes,
    ) -> Result<(i64, i64), Fault> {
        let path = format!("/images?name={}", name::escaped(name));
        let (status, body) = self
            .ask(via, Method::POST, &path, kind, content, MOST_SAID)
            .await?;
        match status {
            StatusCode::CREATED => {}
            StatusCode::NOT_FOUND => return Err(fault::NEXT), // it is another service
            other => return Err(told(other)),
        }
        let said: Said = serde_json::from_slice(&body).map_err(|_| fault::NEXT)?;
        let created_ms = name::moment(&said.created).ok_or(fault::NEXT)?;
        if said.id < 1 {
            return Err(fault::NEXT);
        }
        Ok((said.id, created_ms))
    }

    /// Gives the bytes of an image that is known here.
    pub async fn fetch(&self, via: &str, id: i64, bytes: i64) -> Result<Bytes, Fault> {
        let most = MOST_SAID.max(bytes as usize);
        let (status, body) = self
            .ask(via, Method::GET, &path(id), "", Bytes::new(), most)
            .await?;
        match status {
            StatusCode::OK if body.len() as i64 == bytes => Ok(body),
            StatusCode::OK => Err(fault::NEXT),
            other => Err(told(other)),
        }
    }

    /// Deletes an image there, where it may have gone already.
    pub async fn remove(&self, via: &str, id: i64) -> Result<(), Fault> {
        let (status, _) = self
            .ask(via, Method::DELETE, &path(id), "", Bytes::new(), MOST_SAID)
            .await?;
        match status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            other => Err(told(other)),
        }
    }

    async fn ask(
        &self,
        via: &str,
        method: Method,
        path: &str,
        kind: &str,
        content: Bytes,
        most: usize,
    ) -> Result<(StatusCode, Bytes), Fault> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::VIA, via);
        if !kind.is_empty() {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let request = request.body(Full::new(content)).map_err(|_| fault::NEXT)?;
        let answered = async {
            let _turn = self.free.acquire().await.map_err(|_| fault::NEXT)?;
            let answer = self
                .client
                .request(request)
                .await
                .map_err(|_| fault::NEXT)?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), most).collect().await;
            Ok((status, body.map_err(|_| fault::NEXT)?.to_bytes()))
        };
        timeout(LIMIT, answered)
            .await
            .unwrap_or(Err(fault::NEXT_LATE))
    }
}

fn path(id: i64) -> String {
    format!("/images/{id}")
}
