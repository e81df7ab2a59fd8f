// The requests of the service, one function each.

use crate::answer::{Pieces, not_modified, ranged, shown, tag, unchanged};
use crate::bounds::Bounds;
use crate::fault::{self, Fault};
use crate::next::{self, Next};
use crate::patience::Start;
use crate::store::{Entry, Store};
use crate::thumbnail::Makers;
use crate::{name, picture, upload};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
const TIMING: HeaderName = HeaderName::from_static("server-timing");
const MOST_ID: i64 = 999_999_999_999_999;

struct Service {
    store: Store,
    next: Option<Next>,
    bounds: Bounds,
    makers: Makers,
    files: HashMap<String, (&'static str, Bytes)>,
}

type Shared = State<Arc<Service>>;

pub fn router(store: Store, next: Option<Next>, dir: &std::path::Path) -> std::io::Result<Router> {
    let mut files = HashMap::new();
    for entry in std::fs::read_dir(dir.join("page"))? {
        add(&mut files, &entry?.path())?;
    }
    add(&mut files, &dir.join("openapi.yaml"))?;
    let service = Service {
        store,
        next,
        bounds: Bounds::new(),
        makers: Makers::new(),
        files,
    };
    Ok(Router::new()
        .route("/images", get(list).post(store_one))
        .route("/images/{id}", get(fetch).delete(remove))
        .route("/images/{id}/thumbnail", get(thumbnail))
        .route("/healthz", get(health))
        .method_not_allowed_fallback(async || fault::METHOD)
        .fallback(file)
        .layer(DefaultBodyLimit::disable()) // upload.rs has limits of its own
        .with_state(Arc::new(service)))
}

// Files are read at the start: a request's path is looked up among names, never on the disk.
fn add(
    files: &mut HashMap<String, (&'static str, Bytes)>,
    path: &std::path::Path,
) -> std::io::Result<()> {
    let kind = match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("yaml") => "application/yaml",
        _ => "application/octet-stream",
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let content = std::fs::read(path)?.into();
    files.insert(
        format!("/{}", if name == "index.html" { "" } else { &name }),
        (kind, content),
    );
    Ok(())
}

async fn file(State(s): Shared, method: Method, uri: Uri) -> Response {
    let Some((kind, content)) = s.files.get(uri.path()) else {
        return fault::PATH.into_response();
    };
    if method != Method::GET && method != Method::HEAD {
        return ([(header::ALLOW, "GET,HEAD")], fault::METHOD).into_response();
    }
    let head = [
        (header::CONTENT_TYPE, *kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (head, content.clone()).into_response()
}

#[derive(Serialize)]
struct Info {
    id: i64,
    name: String,
    r#type: String,
    bytes: i64,
    width: i32,
    height: i32,
    created: String,
    url: String,
    thumbnail: String,
}

impl From<Entry> for Info {
    fn from(e: Entry) -> Self {
        let url = format!("/images/{}", e.id);
        let thumbnail = format!("{url}/thumbnail");
        let created = name::time(e.created_ms);
        Info {
            id: e.id,
            name: e.name,
            r#type: e.kind,
            bytes: e.bytes,
            width: e.width,
            height: e.height,
            created,
            url,
            thumbnail,
        }
    }
}

#[derive(Serialize)]
struct Page {
    images: Vec<Info>,
    next: Option<String>,
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

// A number from 1 to most in decimal digits, without a zero before them.
fn number(text: &str, most: i64) -> Option<i64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|n| digits && *n <= most)
}

fn id(path: &str) -> Result<i64, Fault> {
    number(path, MOST_ID).ok_or(fault::ABSENT)
}

// The parts of a request's time; next is None if there is no next service.
fn timing(start: Start, database: Duration, next: Option<Duration>) -> String {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let next = next.map_or(String::new(), |d| format!("next;dur={:.3}, ", ms(d)));
    format!(
        "db;dur={:.3}, {next}all;dur={:.3}",
        ms(database),
        ms(start.0.elapsed())
    )
}

async fn store_one(
    State(s): Shared,
    Extension(start): Extension<Start>,
    request: Request,
) -> Result<Response, Fault> {
    let _one = s.bounds.upload()?;

    let headers = s.next.is_some().then(|| request.headers().clone());
    let received = upload::receive(request, &s.bounds, start).await?;
    let picture = picture::look(&received.content)?;
    let created_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis() as i64;
    let name = name::clean(&received.name);
    let asked = Instant::now();
    let (entry, next) = match headers {
        None => {
            let added = s.store.add(0, name, picture, received.content, created_ms);
            (added.await?, None)
        }
        // Runs to its end, even if the client goes: an image must not stay in some services only.
        Some(headers) => {
            let added = add_behind(s.clone(), headers, name, picture, received.content);
            let (entry, next) = tokio::spawn(added).await.map_err(|_| fault::NEXT)??;
            (entry, Some(next))
        }
    };
    let database = asked.elapsed() - next.unwrap_or_default();
    let info = Info::from(entry);
    let head = [
        (header::LOCATION, info.url.clone()),
        (TIMING, timing(start, database, next)),
    ];
    Ok((StatusCode::CREATED, head, Json(info)).into_response())
}

// Stores an image in the next service first, so that the services behind have every image of this
// one. Returns the time that this took.
async fn add_behind(
    s: Arc<Service>,
    headers: HeaderMap,
    name: String,
    picture: picture::Picture,
    content: Vec<u8>,
) -> Result<(Entry, Duration), Fault> {
    let next = s.next.as_ref().ok_or(fault::NEXT)?;
    let via = next::via(&headers)?;
    let asked = Instant::now();
    let content = Bytes::from(content);
    let (id, created_ms) = next.add(&via, &name, picture.kind, content.clone()).await?;
    let took = asked.elapsed();
    let added = s
        .store
        .add(id, name, picture, content.into(), created_ms)
        .await;
    if added.is_err() {
        next.remove(&via, id).await.ok(); // otherwise it stays there, unknown to any client
    }
    Ok((added?, took))
}

async fn list(State(s): Shared, uri: Uri) -> Result<Json<Page>, Fault> {
    let parameter = |name, usual, most| match name::parameter(uri.query().unwrap_or_default(), name)
    {
        Some(text) => number(&text, most).ok_or(fault::QUERY),
        None => Ok(usual),
    };
    let limit = parameter("limit", 20, 100)?;
    let before = parameter("before", MOST_ID, MOST_ID)?;
    let mut found = s.store.list(before, limit + 1).await?; // one more, to see whether more follow
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found
        .last()
        .filter(|_| more)
        .map(|e| format!("/images?limit={limit}&before={}", e.id));
    Ok(Json(Page {
        images: found.into_iter().map(Info::from).collect(),
        next,
    }))
}

async fn fetch(
    State(s): Shared,
    Extension(start): Extension<Start>,
    Path(path): Path<String>,
    asked: HeaderMap,
) -> Result<Response, Fault> {
    let id = id(&path)?;
    let began = Instant::now();
    let mut known = None;
    if s.next.is_some() || asked.contains_key(header::IF_NONE_MATCH) {
        let e = s.store.get(id, false).await?;
        let tag = tag(id, e.created_ms, "");
        if unchanged(&asked, &tag) {
            return Ok(not_modified(tag));
        }
        known = Some(e);
    }
    let mut room = s.bounds.room();
    let (e, content, database, next) = match (&s.next, known) {
        (Some(next), Some(e)) => {
            let database = began.elapsed();
            room.take(e.bytes as usize)?;
            let content = next.fetch(&next::via(&asked)?, id, e.bytes).await?;
            (e, content, database, Some(began.elapsed() - database))
        }
        _ => {
            let mut e = s.store.get(id, true).await?;
            room.take(e.content.len())?;
            let content = std::mem::take(&mut e.content).into();
            (e, content, began.elapsed(), None)
        }
    };
    let tag = tag(id, e.created_ms, "");
    let (status, range, content) = match ranged(&asked, &tag, content) {
        Ok(part) => part,
        Err(size) => {
            return Ok((
                [(header::CONTENT_RANGE, format!("bytes */{size}"))],
                fault::RANGE,
            )
                .into_response());
        }
    };
    let head = [
        (header::CONTENT_TYPE, e.kind),
        (header::CONTENT_LENGTH, content.len().to_string()),
        (header::CONTENT_DISPOSITION, name::disposition(&e.name)),
        (header::ACCEPT_RANGES, "bytes".into()),
        (TIMING, timing(start, database, next)),
    ];
    Ok((
        status,
        head,
        range,
        shown(tag),
        Body::new(Pieces::new(content, room)),
    )
        .into_response())
}

async fn thumbnail(
    State(s): Shared,
    Path(path): Path<String>,
    asked: HeaderMap,
) -> Result<Response, Fault> {
    let id = id(&path)?;
    let found = s.store.thumbnail(id).await?;
    let tag = tag(id, found.created_ms, "-t");
    if unchanged(&asked, &tag) {
        return Ok(not_modified(tag));
    }
    let (kind, content) = match found.made {
        Some((kind, content)) => (kind, content),
        None => {
            let e = s.store.get(id, true).await?;
            let mut room = s.bounds.room();
            room.take(e.content.len())?;
            let (kind, content) = s.makers.make(e.kind, e.content).await?;
            // A thumbnail that cannot be kept is shown all the same.
            s.store.keep(id, kind, content.clone()).await.ok();
            (kind.into(), content)
        }
    };
    Ok(([(header::CONTENT_TYPE, kind)], shown(tag), content).into_response())
}

async fn remove(
    State(s): Shared,
    Path(path): Path<String>,
    asked: HeaderMap,
) -> Result<StatusCode, Fault> {
    let id = id(&path)?;
    if let Some(next) = &s.next {
        // The next service is asked first: if it does not answer, all is as it was.
        next.remove(&next::via(&asked)?, id).await?;
    }
    s.store.remove(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn health(State(s): Shared) -> Result<Json<Health>, Fault> {
    s.store.ask().await?;
    Ok(Json(Health { status: "ok" }))
}
