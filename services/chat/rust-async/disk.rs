//! The folder: log has the messages, and members a line for each change of a member's position:
//! "ann #tea 1200", "ann #tea -" after PART, and "ann * 1200" for messages to ann alone. A lock on
//! the log makes the folder ours.

use crate::words::{fold, said, LONGEST};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Error, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::sync::{watch, Notify};
use tokio::task::spawn_blocking;

/// Bytes of a time, as 2026-11-22T07:20:11.123Z.
pub const STAMP: usize = 24;
/// Bytes of the log that are read at a time. A guess.
const PIECE: i64 = 64 << 10;
/// Bytes by which the file of members grows before it is written anew. A guess.
const GROWN: usize = 1 << 20;

pub struct Disk {
    pub dir: PathBuf,
    log: Arc<File>,
    /// The position of the log's first byte: a new log goes on counting.
    base: i64,
    /// The position of the next line.
    pub end: i64,
    /// There may be a piece of a line after it.
    torn: bool,
    members: Option<Arc<File>>,
    grown: usize,
    /// Members has to be rewritten.
    pub stale: bool,
    shared: Arc<Shared>,
}

struct Shared {
    /// Changes so far.
    written: AtomicU64,
    files: Mutex<Vec<Arc<File>>>,
    work: Notify,
    done: watch::Sender<Done>,
}

/// The changes that are on the disk, and the range of those that a failure may have lost: after the
/// first, up to the second.
#[derive(Clone, Copy, Default)]
struct Done {
    upto: u64,
    lost: (u64, u64),
}

/// A writer's view of the disk.
#[derive(Clone)]
pub struct Safe {
    shared: Arc<Shared>,
    done: watch::Receiver<Done>,
}

impl Safe {
    pub fn has(&self, n: u64) -> bool {
        let done = *self.done.borrow();
        n <= done.upto && !(n > done.lost.0 && n <= done.lost.1)
    }

    pub async fn wait(&mut self, n: u64) -> io::Result<()> {
        if self.done.borrow().upto < n {
            self.shared.work.notify_one();
            self.done
                .wait_for(|done| done.upto >= n)
                .await
                .map_err(Error::other)?;
        }
        if self.has(n) {
            Ok(())
        } else {
            Err(Error::other("the disk has failed"))
        }
    }
}

/// The thread that waits for the disk, for all waiters at that time.
async fn sync(shared: Arc<Shared>) {
    loop {
        shared.work.notified().await;
        let before = shared.done.borrow().upto;
        let files = shared.files.lock().unwrap().clone();
        let upto = shared.written.load(Ordering::Acquire);
        if upto == before {
            continue;
        }
        let synced = spawn_blocking(move || files.iter().all(|f| f.sync_data().is_ok())).await;
        shared.done.send_modify(|done| {
            done.upto = upto;
            if !synced.unwrap_or(false) {
                // The kernel may have dropped data that it could not write, and does not report it
                // again.
                let first = if done.lost.1 == 0 {
                    before
                } else {
                    done.lost.0
                };
                done.lost = (first, upto);
            }
        });
    }
}

impl Disk {
    pub fn open(dir: &str) -> io::Result<Disk> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let dir = PathBuf::from(dir);
        let (log, size) = open_log(&dir)?;
        let (done, _) = watch::channel(Done::default());
        let (written, files, work) = (AtomicU64::new(0), Mutex::default(), Notify::new());
        let shared = Arc::new(Shared {
            written,
            files,
            work,
            done,
        });
        tokio::spawn(sync(shared.clone()));
        Ok(Disk {
            dir,
            log,
            base: 0,
            end: size,
            torn: false,
            members: None,
            grown: 0,
            stale: true,
            shared,
        })
    }

    pub fn safe(&self) -> Safe {
        Safe {
            shared: self.shared.clone(),
            done: self.shared.done.subscribe(),
        }
    }

    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Has everything on the disk soon.
    pub fn flush(&self) {
        self.shared.work.notify_one();
    }

    fn changed(&self) {
        let files = [Some(self.log.clone()), self.members.clone()];
        *self.shared.files.lock().unwrap() = files.into_iter().flatten().collect();
        self.shared.written.fetch_add(1, Ordering::Release);
    }

    /// Writes whole lines, or nothing at all. It does not wait for the disk, only for the
    /// kernel to copy them.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.find()?;
        let size = (self.end - self.base) as u64;
        if self.torn {
            self.log.set_len(size)?;
            self.torn = false;
        }
        if let Err(e) = (&*self.log).write_all(lines) {
            self.torn = self.log.set_len(size).is_err();
            return Err(e);
        }
        self.end += lines.len() as i64;
        self.shared.written.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Checks that the log is still in the folder, and begins a new one if it is not.
    fn find(&mut self) -> io::Result<()> {
        match fs::metadata(self.dir.join("log")) {
            Ok(there) if there.ino() == self.log.metadata()?.ino() => return Ok(()),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let (log, size) = open_log(&self.dir)?;
        (self.log, self.base, self.torn, self.stale) = (log, self.end - size, false, true);
        self.changed();
        Ok(())
    }

    /// Adds a line to members. The next snapshot repairs a failed write.
    pub fn note(&mut self, who: &[u8], place: &[u8], upto: Option<i64>) {
        let line = self.line(who, place, upto);
        if let (Some(members), false) = (&self.members, self.stale) {
            self.grown += line.len();
            self.stale = (&**members).write_all(&line).is_err() || self.grown > GROWN;
            self.shared.written.fetch_add(1, Ordering::Release);
        }
    }

    fn line(&self, who: &[u8], place: &[u8], upto: Option<i64>) -> Vec<u8> {
        let upto = upto.map_or("-".into(), |upto| (upto - self.base).max(0).to_string());
        [who, b" ", place, b" ", upto.as_bytes(), b"\n"].concat()
    }

    /// Puts a new file of members in the old one's place.
    pub fn snapshot<'a>(
        &mut self,
        all: impl Iterator<Item = (&'a [u8], &'a [u8], i64)>,
    ) -> io::Result<()> {
        let (name, new) = (self.dir.join("members"), self.dir.join("members.new"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        let mut lines = BufWriter::new(&file);
        for (who, place, upto) in all {
            lines.write_all(&self.line(who, place, Some(upto)))?;
        }
        lines.flush()?;
        drop(lines);
        file.sync_data()?;
        fs::rename(new, name)?;
        (self.members, self.stale, self.grown) = (Some(Arc::new(file)), false, 0);
        self.changed();
        Ok(())
    }

    /// The contents of members. A last line without LF was cut off by a crash.
    pub fn read_members(&self, mut each: impl FnMut(&[u8], &[u8], Option<i64>)) -> io::Result<()> {
        let data = match fs::read(self.dir.join("members")) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            read => read?,
        };
        for line in data
            .split_inclusive(|&b| b == b'\n')
            .filter_map(|l| l.strip_suffix(b"\n"))
        {
            let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
            if let [who, place, upto] = words[..] {
                let upto = str::from_utf8(upto).ok().and_then(|n| n.parse().ok());
                // a loss of power may have made the log shorter
                each(who, place, upto.map(|n: i64| n.min(self.end)));
            }
        }
        Ok(())
    }

    /// A part of the log; it stays readable without the folder.
    pub fn missed(&self, from: i64, to: i64, place: Vec<u8>, me: Vec<u8>, time: bool) -> Missed {
        let (from, to) = ((from - self.base).max(0), to - self.base);
        Missed {
            log: self.log.clone(),
            from,
            to,
            place,
            me,
            time,
        }
    }

    /// All lines of the log, each with the position after it.
    pub fn read_log(&self, mut each: impl FnMut(&[u8], i64)) -> io::Result<()> {
        let mut at = 0;
        while at < self.end {
            for line in piece(&self.log, at, self.end)?.split_inclusive(|&b| b == b'\n') {
                at += line.len() as i64;
                each(&line[..line.len() - 1], at);
            }
        }
        Ok(())
    }
}

/// A line that a crash has cut off is removed.
fn open_log(dir: &std::path::Path) -> io::Result<(Arc<File>, i64)> {
    let log = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(dir.join("log"))?;
    log.try_lock()
        .map_err(|_| Error::other("it belongs to another server"))?;
    let size = log.metadata()?.len();
    let mut tail = vec![0; size.min(2 * LONGEST as u64) as usize];
    let start = size - tail.len() as u64;
    log.read_exact_at(&mut tail, start)?;
    let whole = start
        + tail
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at as u64 + 1);
    log.set_len(whole)?;
    Ok((Arc::new(log), whole as i64))
}

/// Whole lines, as many as are in a piece.
fn piece(log: &File, from: i64, to: i64) -> io::Result<Vec<u8>> {
    let mut data = vec![0; (to - from).min(PIECE) as usize];
    log.read_exact_at(&mut data, from as u64)?;
    let whole = data
        .iter()
        .rposition(|&b| b == b'\n')
        .ok_or(ErrorKind::InvalidData)?;
    data.truncate(whole + 1);
    Ok(data)
}

/// Messages of others than me in a room, between two positions of the log.
pub struct Missed {
    log: Arc<File>,
    from: i64,
    to: i64,
    place: Vec<u8>,
    me: Vec<u8>,
    time: bool,
}

impl Missed {
    /// The lines of one piece of the log, and the rest that is to be read.
    pub async fn read(mut self) -> io::Result<(Vec<u8>, Option<Missed>)> {
        if self.from >= self.to {
            return Ok((Vec::new(), None));
        }
        let read = spawn_blocking(move || {
            let data = piece(&self.log, self.from, self.to)?;
            let mut lines = Vec::new();
            for line in data
                .split(|&b| b == b'\n')
                .filter(|line| line.len() > STAMP)
            {
                let (from, verb, to, _) = said(&line[STAMP + 1..]);
                if verb != b"TOPIC" && fold(to) == self.place && fold(from) != self.me {
                    let tag: &[u8] = if self.time { b"@time=" } else { b"" };
                    lines.extend_from_slice(tag);
                    lines.extend_from_slice(if self.time { line } else { &line[STAMP + 1..] });
                    lines.extend_from_slice(b"\r\n");
                }
            }
            self.from += data.len() as i64;
            Ok((lines, Some(self)))
        });
        read.await.map_err(Error::other)?
    }
}

/// The time as 2026-11-22T07:20:11.123Z: the inverse of Hinnant's days_from_civil.
pub fn stamp() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (days, seconds) = (now.as_secs() / 86400 + 719468, now.as_secs() % 86400);
    let (era, day) = (days / 146097, days % 146097);
    let year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        now.subsec_millis()
    )
}
