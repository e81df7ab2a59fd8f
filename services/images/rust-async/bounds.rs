// The bounds for all requests together: uploads, and bytes of memory.

use crate::fault::{self, Fault};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub const IMAGE: usize = 20 << 20; // bytes
pub const AROUND: usize = 64 << 10; // of a multipart body beside the image
pub const STALL: Duration = Duration::from_secs(20); // for a head, and each piece of an upload
// For each piece of an answer: the kernel takes the next when a third of 4 MiB is gone.
pub const ANSWER: Duration = Duration::from_secs(60);
pub const REQUEST: Duration = Duration::from_secs(300);
const UPLOADS: usize = 1024;
const HELD: usize = 512 << 20; // bytes

pub struct Bounds {
    held: Arc<AtomicUsize>,
    uploads: Arc<Semaphore>,
}

impl Bounds {
    pub fn new() -> Self {
        Bounds {
            held: Arc::default(),
            uploads: Arc::new(Semaphore::new(UPLOADS)),
        }
    }

    pub fn upload(&self) -> Result<OwnedSemaphorePermit, Fault> {
        self.uploads
            .clone()
            .try_acquire_owned()
            .map_err(|_| fault::ROOM)
    }

    pub fn room(&self) -> Room {
        Room {
            all: self.held.clone(),
            mine: 0,
        }
    }
}

/// The memory of one request, until it is dropped.
pub struct Room {
    all: Arc<AtomicUsize>,
    mine: usize,
}

impl Room {
    pub fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        self.mine += bytes; // given back with the rest when there is no room
        if self.all.fetch_add(bytes, Ordering::Relaxed) + bytes > HELD {
            return Err(fault::ROOM);
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.mine, Ordering::Relaxed);
    }
}
