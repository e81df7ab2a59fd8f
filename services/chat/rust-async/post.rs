//! A client's send queue: the owner of the rooms adds lines, and the client's writer takes all that
//! wait.

use crate::disk::{Missed, Safe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::{io, mem};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

/// Bytes that wait for a client at most.
const HELD: usize = 1 << 20;
/// Bytes of a queue's buffer that is kept when it is empty. A guess.
const KEPT: usize = 64 << 10;

pub struct Post {
    pub id: u64,
    /// Wants the time of messages.
    pub time: AtomicBool,
    waiting: Mutex<Waiting>,
    some: Notify,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    stops: Vec<Stop>,
    /// Bytes that the writer has taken.
    writing: usize,
    /// Nothing more comes.
    last: bool,
}

/// A point at which the writer waits until so many changes are on the disk, or writes a part of the
/// log.
struct Stop {
    at: usize,
    safe: u64,
    missed: Option<Missed>,
}

impl Post {
    pub fn new(id: u64) -> Post {
        Post {
            id,
            time: AtomicBool::new(false),
            waiting: Mutex::default(),
            some: Notify::new(),
        }
    }

    pub fn has_time(&self) -> bool {
        self.time.load(Ordering::Relaxed)
    }

    /// Tells whether the queue is within its bound.
    pub fn put(&self, bytes: &[u8], safe: u64, missed: Option<Missed>) -> bool {
        let mut w = self.waiting.lock().unwrap();
        if w.last || w.bytes.len() + w.writing + bytes.len() > HELD {
            return w.last;
        }
        if safe > 0 || missed.is_some() {
            let at = w.bytes.len();
            w.stops.push(Stop { at, safe, missed });
        }
        let was_empty = w.bytes.is_empty();
        w.bytes.extend_from_slice(bytes);
        drop(w);
        if was_empty {
            self.some.notify_one();
        }
        true
    }

    /// The last words, even for a client that holds too much.
    pub fn end(&self, text: &[u8]) {
        let mut w = self.waiting.lock().unwrap();
        w.bytes.extend_from_slice(text);
        w.last = true;
        self.some.notify_one();
    }

    /// Nothing only after the end.
    async fn take(&self, mut bytes: Vec<u8>) -> (Vec<u8>, Vec<Stop>) {
        loop {
            {
                let mut w = self.waiting.lock().unwrap();
                w.writing = 0;
                if !w.bytes.is_empty() || !w.stops.is_empty() || w.last {
                    w.writing = w.bytes.len();
                    mem::swap(&mut w.bytes, &mut bytes);
                    return (bytes, mem::take(&mut w.stops));
                }
            }
            self.some.notified().await;
        }
    }

    /// The writer of a client.
    pub async fn empty(&self, to: &mut OwnedWriteHalf, mut disk: Safe) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if bytes.capacity() > KEPT {
                bytes = Vec::new();
            }
            let stops;
            (bytes, stops) = self.take(bytes).await;
            if bytes.is_empty() && stops.is_empty() {
                return Ok(());
            }
            let mut from = 0;
            for stop in stops {
                if stop.missed.is_none() && disk.has(stop.safe) {
                    continue;
                }
                to.write_all(&bytes[from..stop.at]).await?;
                from = stop.at;
                disk.wait(stop.safe).await?;
                let mut missed = stop.missed;
                while let Some(part) = missed.take() {
                    let lines;
                    (lines, missed) = part.read().await?;
                    to.write_all(&lines).await?;
                }
            }
            to.write_all(&bytes[from..]).await?;
        }
    }
}
