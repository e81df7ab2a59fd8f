// Limits for a client's pauses: in a head, in a body, and during an answer.

use crate::bounds::{ANSWER, REQUEST, STALL};
use crate::fault::{self, Fault};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, Response, header};
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// When a request's head was read.
#[derive(Clone, Copy)]
pub struct Start(pub Instant);

/// A socket that ends when a head is not whole in time, or nothing of an answer is taken for too
/// long; and its server.
pub fn wrap(socket: TcpStream, router: Router) -> (Patient, Service) {
    let busy = Arc::new(AtomicBool::new(false));
    (
        Patient {
            socket,
            busy: busy.clone(),
            head: None,
            stall: None,
        },
        Service { router, busy },
    )
}

pub struct Patient {
    socket: TcpStream,
    busy: Arc<AtomicBool>, // a request is under way: incoming bytes are its body, or wait
    head: Option<Pin<Box<Sleep>>>,
    stall: Option<Pin<Box<Sleep>>>,
}

fn over(alarm: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> bool {
    alarm
        .as_mut()
        .is_some_and(|a| a.as_mut().poll(cx).is_ready())
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        if self.busy.load(Ordering::Relaxed) {
            self.head = None;
        } else if buf.filled().len() > before && self.head.is_none() {
            self.head = Some(Box::pin(sleep_until(Instant::now() + STALL)));
        }
        if read.is_pending() && over(&mut self.head, cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl Patient {
    // Each piece that the client takes restarts the limit.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stall = None;
            return result;
        }
        self.stall
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + ANSWER)));
        if over(&mut self.stall, cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        result
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.written(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// The router, with the common handling of requests and answers.
#[derive(Clone)]
pub struct Service {
    router: Router,
    busy: Arc<AtomicBool>,
}

impl tower_service::Service<Request<hyper::body::Incoming>> for Service {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<hyper::body::Incoming>) -> Self::Future {
        let start = Start(Instant::now());
        self.busy.store(true, Ordering::Relaxed);
        let busy = Busy(self.busy.clone());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(start);
        let mut router = self.router.clone();
        Box::pin(async move {
            let mut response = tower_service::Service::call(&mut router, request).await?;
            response.headers_mut().insert(
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            );
            Ok(response.map(|inner| Answer {
                inner,
                last: start.0 + REQUEST,
                _busy: busy,
            }))
        })
    }
}

struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// An answer's body, which must have passed by a last moment.
pub struct Answer {
    inner: Body,
    last: Instant,
    _busy: Busy,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if Instant::now() > self.last {
            return Poll::Ready(Some(Err(axum::Error::new(fault::SLOW))));
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A request's body that fails if it is too long, or too slow. The reason is kept beside the error,
/// since its reader may wrap that.
pub struct Upload {
    pub inner: Body,
    pub left: u64,
    pub last: Instant,
    pub alarm: Pin<Box<Sleep>>,
    pub why: Arc<OnceLock<Fault>>,
}

impl Upload {
    pub fn new(inner: Body, most: u64, last: Instant) -> Self {
        Upload {
            inner,
            left: most,
            last,
            alarm: Box::pin(sleep_until(last.min(Instant::now() + STALL))),
            why: Arc::default(),
        }
    }

    fn end(&self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let _ = self.why.set(fault); // the first one counts
        Poll::Ready(Some(Err(fault)))
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            ready!(self.alarm.as_mut().poll(cx));
            return self.end(fault::SLOW);
        };
        let Some(frame) = frame else {
            return Poll::Ready(None);
        };
        let Ok(frame) = frame else {
            return self.end(fault::BROKEN);
        };
        let Some(left) = self
            .left
            .checked_sub(frame.data_ref().map_or(0, |d| d.len() as u64))
        else {
            return self.end(fault::LARGE);
        };
        self.left = left;
        let next = self.last.min(Instant::now() + STALL);
        self.alarm.as_mut().reset(next);
        Poll::Ready(Some(Ok(frame)))
    }
}
