// Every error as application/problem+json (RFC 9457): a status, and a sentence for the
// person who asked.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub struct Fault(StatusCode, &'static str);

pub const ABSENT: Fault = Fault(StatusCode::NOT_FOUND, "there is no such image");
pub const PATH: Fault = Fault(StatusCode::NOT_FOUND, "there is nothing at this path");
pub const METHOD: Fault = Fault(
    StatusCode::METHOD_NOT_ALLOWED,
    "this path has no such method",
);
pub const QUERY: Fault = Fault(
    StatusCode::BAD_REQUEST,
    "limit is 1 to 100, and before the id of an image",
);
pub const TYPE: Fault = Fault(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "expected Content-Type image/jpeg, image/png, image/gif, \
     application/octet-stream or multipart/form-data",
);
pub const EMPTY: Fault = Fault(
    StatusCode::BAD_REQUEST,
    "the body is empty: expected the bytes of an image",
);
pub const PARTS: Fault = Fault(
    StatusCode::BAD_REQUEST,
    "expected a whole multipart body with one part \"image\"",
);
pub const BROKEN: Fault = Fault(
    StatusCode::BAD_REQUEST,
    "the body cannot be read to its end",
);
pub const SLOW: Fault = Fault(StatusCode::REQUEST_TIMEOUT, "nothing has come for too long");
pub const LARGE: Fault = Fault(StatusCode::PAYLOAD_TOO_LARGE, "an image has at most 20 MiB");
pub const KIND: Fault = Fault(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "the bytes are no JPEG, PNG or GIF",
);
pub const WHOLE: Fault = Fault(
    StatusCode::UNPROCESSABLE_ENTITY,
    "the image is damaged or not whole",
);
pub const PIXELS: Fault = Fault(
    StatusCode::UNPROCESSABLE_ENTITY,
    "the image has more than 50,000,000 pixels",
);
pub const DECODE: Fault = Fault(
    StatusCode::UNPROCESSABLE_ENTITY,
    "the image cannot be decoded",
);
pub const RANGE: Fault = Fault(
    StatusCode::RANGE_NOT_SATISFIABLE,
    "the range begins beyond the end",
);
pub const ROOM: Fault = Fault(StatusCode::SERVICE_UNAVAILABLE, "too much is under way");
pub const GONE: Fault = Fault(
    StatusCode::SERVICE_UNAVAILABLE,
    "the database cannot be asked",
);
pub const FULL: Fault = Fault(StatusCode::INSUFFICIENT_STORAGE, "the database has no room");
pub const NEXT: Fault = Fault(
    StatusCode::BAD_GATEWAY,
    "the next service of the chain cannot be asked",
);
pub const NEXT_LATE: Fault = Fault(
    StatusCode::GATEWAY_TIMEOUT,
    "the next service of the chain does not answer in time",
);
pub const NEXT_BUSY: Fault = Fault(
    StatusCode::SERVICE_UNAVAILABLE,
    "a service further along the chain has too much under way",
);
pub const NEXT_FULL: Fault = Fault(
    StatusCode::INSUFFICIENT_STORAGE,
    "a service further along the chain has no room",
);
pub const RING: Fault = Fault(
    StatusCode::LOOP_DETECTED,
    "the chain has more than 16 services, or is a ring",
);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }
}

impl std::error::Error for Fault {}

#[derive(serde::Serialize)]
struct Problem {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'static str,
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let Fault(status, detail) = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let mut response = (
            status,
            axum::Json(Problem {
                r#type: "about:blank",
                title,
                status: status.as_u16(),
                detail,
            }),
        )
            .into_response();
        let mut set = |name: HeaderName, value| {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value))
        };
        set(header::CONTENT_TYPE, "application/problem+json");
        if status == StatusCode::SERVICE_UNAVAILABLE {
            set(header::RETRY_AFTER, "1");
        }
        response
    }
}
