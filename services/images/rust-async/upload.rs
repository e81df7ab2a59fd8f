// Reads uploads, in either form. Memory for a body is allocated as it arrives, never by its length.

use crate::bounds::{AROUND, Bounds, IMAGE, REQUEST, Room};
use crate::fault::{self, Fault};
use crate::name;
use crate::patience::{Start, Upload};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header;
use http_body::Body as _;
use std::pin::Pin;

const FIRST: usize = 64 << 10; // bytes, for the first of them; then twice as much each time

pub struct Received {
    pub name: String,
    pub content: Vec<u8>,
    pub room: Room,
}

pub async fn receive(request: Request, bounds: &Bounds, start: Start) -> Result<Received, Fault> {
    let (head, body) = request.into_parts();
    let text = |name| {
        head.headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
    };
    let kind = text(header::CONTENT_TYPE)
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let form = kind == "multipart/form-data";
    if !form
        && ![
            "image/jpeg",
            "image/png",
            "image/gif",
            "application/octet-stream",
        ]
        .contains(&kind.as_str())
    {
        return Err(fault::TYPE);
    }
    let most = IMAGE + if form { AROUND } else { 0 };
    let length = text(header::CONTENT_LENGTH).parse::<usize>().ok();
    if length.is_some_and(|n| n > most) {
        return Err(fault::LARGE);
    }
    let query = name::parameter(head.uri.query().unwrap_or_default(), "name").unwrap_or_default();
    let mut received = Received {
        name: query,
        content: Vec::new(),
        room: bounds.room(),
    };
    let mut body = Upload::new(body, most as u64, start.0 + REQUEST);
    if !form {
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
        {
            if let Ok(data) = frame?.into_data() {
                received.add(&data, length)?;
            }
        }
        return received.whole();
    }
    let why = body.why.clone();
    let parts = Multipart::from_request(Request::from_parts(head, Body::new(body)), &())
        .await
        .map_err(|_| fault::PARTS)?;
    // The parser also reports a broken form if the body was too long or too slow.
    received
        .read_part(parts)
        .await
        .map_err(|e| why.get().copied().unwrap_or(e))
}

impl Received {
    async fn read_part(mut self, mut parts: Multipart) -> Result<Self, Fault> {
        let mut found = false;
        while let Some(mut field) = parts.next_field().await.map_err(|_| fault::PARTS)? {
            let image = field.name() == Some("image");
            if image && found {
                return Err(fault::PARTS);
            }
            if image {
                found = true;
                self.name = field.file_name().unwrap_or_default().into();
            }
            while let Some(data) = field.chunk().await.map_err(|_| fault::PARTS)? {
                if image {
                    self.add(&data, None)?;
                }
            }
        }
        if !found {
            Err(fault::PARTS)
        } else {
            self.whole()
        }
    }

    fn add(&mut self, data: &Bytes, length: Option<usize>) -> Result<(), Fault> {
        let needed = self.content.len() + data.len();
        if needed > IMAGE {
            return Err(fault::LARGE);
        }
        if needed > self.content.capacity() {
            let wanted = (2 * self.content.capacity())
                .max(FIRST)
                .min(length.unwrap_or(usize::MAX))
                .max(needed);
            self.room.take(wanted - self.content.capacity())?;
            self.content.reserve_exact(wanted - self.content.len());
        }
        self.content.extend_from_slice(data);
        Ok(())
    }

    fn whole(self) -> Result<Self, Fault> {
        if self.content.is_empty() {
            Err(fault::EMPTY)
        } else {
            Ok(self)
        }
    }
}
