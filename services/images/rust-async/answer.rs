// The answer with an image: all of it, a part, or 304.

use crate::bounds::Room;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

const PIECE: usize = 64 << 10; // bytes, between two looks at the clock

pub fn tag(id: i64, created_ms: i64, of: &str) -> String {
    format!("\"{id}-{created_ms}{of}\"")
}

pub fn shown(tag: String) -> [(HeaderName, String); 2] {
    [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, "no-cache".into()),
    ]
}

pub fn not_modified(tag: String) -> Response {
    (StatusCode::NOT_MODIFIED, shown(tag)).into_response()
}

pub fn unchanged(asked: &HeaderMap, tag: &str) -> bool {
    let lists = asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|v| v.to_str().ok());
    lists
        .flat_map(|l| l.split(','))
        .map(str::trim)
        .any(|t| t == "*" || t.strip_prefix("W/").unwrap_or(t) == tag)
}

pub type Ranged = (StatusCode, Option<[(HeaderName, String); 1]>, Bytes);

// The requested range. For several ranges, or an invalid one, it is all bytes. Beyond the end, the
// size is the error.
pub fn ranged(asked: &HeaderMap, tag: &str, content: Bytes) -> Result<Ranged, u64> {
    let text = |name| asked.get(name).and_then(|v| v.to_str().ok());
    let size = content.len() as u64;
    let parts = text(header::RANGE).and_then(|r| r.trim().strip_prefix("bytes=")?.split_once('-'));
    let (from, end) = match parts.filter(|_| text(header::IF_RANGE).is_none_or(|t| t == tag)) {
        Some(("", last)) if last.parse::<u64>().is_ok() => {
            (size.saturating_sub(last.parse().unwrap_or(0)), size)
        }
        Some((first, last))
            if first.parse::<u64>().is_ok() && (last.is_empty() || last.parse::<u64>().is_ok()) =>
        {
            let (first, last) = (first.parse().unwrap_or(0), last.parse().unwrap_or(u64::MAX));
            if last < first {
                return Ok((StatusCode::OK, None, content));
            }
            (first, last.saturating_add(1).min(size))
        }
        _ => return Ok((StatusCode::OK, None, content)),
    };
    if from >= size {
        return Err(size);
    }
    let range = format!("bytes {from}-{}/{size}", end - 1);
    Ok((
        StatusCode::PARTIAL_CONTENT,
        Some([(header::CONTENT_RANGE, range)]),
        content.slice(from as usize..end as usize),
    ))
}

/// An image on its way out, piece by piece, which holds its room until it is gone.
pub struct Pieces {
    content: Bytes,
    _room: Room,
}

impl Pieces {
    pub fn new(content: Bytes, room: Room) -> Self {
        Pieces {
            content,
            _room: room,
        }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.content.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.content.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.content.split_to(piece)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.content.len() as u64)
    }
}
