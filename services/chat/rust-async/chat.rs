//! Chat, tasks on tokio: one that owns the rooms and the log, and one that reads and one that
//! writes for each client. All lines pass through a bounded channel to the owner. It takes all that
//! wait, writes them to the log at once and puts them into send queues that the writers empty. No
//! task waits for the disk: a thread does, for all of them.

mod commands;
mod disk;
mod hall;
mod numeric;
mod post;
mod say;
mod words;

use hall::{Event, Hall};
use post::Post;
use std::net::{IpAddr, SocketAddr};
use std::{env, io, process, sync::Arc, time::Duration};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot};
use tokio::{select, spawn, time::sleep};

/// Bytes of one read: a line with tags, or many without. A guess.
const CHUNK: usize = 8 << 10;
/// Reads that wait for the owner of the rooms, and go into the log at once. A guess.
const WAITING: usize = 64;

#[tokio::main]
async fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().collect();
    let [_, port, host, data] = &args[..] else {
        fail("usage: chat PORT HOST DATA")
    };
    let (events, inbox) = mpsc::channel(WAITING);
    let hall = Hall::new(data, events.clone()).unwrap_or_else(|e| fail(&format!("{data}: {e}")));
    let listener =
        listen(host, port).unwrap_or_else(|e| fail(&format!("listening on {host}:{port}: {e}")));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let disk = hall.safe();
    spawn(accept(listener, events, disk));
    eprintln!("ready");
    let stop = async move {
        select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let _ = spawn(hall.keep(inbox, stop)).await;
    process::exit(0) // waiting tasks and threads are not awaited
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1)
}

fn listen(host: &str, port: &str) -> io::Result<TcpListener> {
    let host: IpAddr = host.parse().map_err(io::Error::other)?;
    let address = SocketAddr::new(host, port.parse().map_err(io::Error::other)?);
    let socket = if host.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

async fn accept(listener: TcpListener, events: mpsc::Sender<Event>, safe: disk::Safe) {
    for id in 0.. {
        let (socket, from) = loop {
            match listener.accept().await {
                Ok(client) => break client,
                // Out of descriptors: connected clients are still served, the next waits.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        let _ = socket.set_nodelay(true); // a failure only makes it slower
        let host = from.ip().to_canonical().to_string();
        let host = if host.starts_with(':') {
            format!("0{host}")
        } else {
            host
        };
        let (read_half, mut write_half) = socket.into_split();
        let post = Arc::new(Post::new(id));
        let (end, may_end) = oneshot::channel();
        let (begin, may_begin) = oneshot::channel::<()>();
        let (to_hall, safe, taken) = (events.clone(), safe.clone(), post.clone());
        let writer = spawn(async move {
            let whole = taken.empty(&mut write_half, safe).await.is_ok();
            let _ = to_hall.send(Event::Written(id, whole)).await;
            let _ = may_end.await; // then the half is dropped, which ends the stream
        });
        let to_hall = events.clone();
        let reader = spawn(async move {
            let _ = may_begin.await;
            let in_order = read(read_half, id, &to_hall).await.is_ok();
            let _ = to_hall.send(Event::Ended(id, in_order)).await;
        });
        let tasks = (reader.abort_handle(), writer.abort_handle());
        let _ = events
            .send(Event::Entered {
                id,
                host,
                post,
                end,
                tasks,
            })
            .await;
        let _ = begin.send(());
    }
}

/// A client's line as words, or the reason why it is refused.
pub enum Line {
    Said(words::Words),
    Long,
    Nul,
}

/// All lines of one read at a time, until the end of the stream.
async fn read(mut half: OwnedReadHalf, id: u64, events: &mpsc::Sender<Event>) -> io::Result<()> {
    let mut data = vec![0; CHUNK];
    // bytes of a line that has not ended; the end of one that was too long
    let (mut held, mut skip) = (0, false);
    loop {
        let length = half.read(&mut data[held..]).await?;
        if length == 0 {
            return Ok(());
        }
        let mut rest = &data[..held + length];
        let mut lines = Vec::new();
        while let Some(end) = rest.iter().position(|&b| b == b'\n') {
            if !skip {
                lines.extend(words::parse(&rest[..end]));
            }
            (rest, skip) = (&rest[end + 1..], false);
        }
        if words::too_long(rest) {
            if !skip {
                lines.extend(words::parse(rest));
            }
            (rest, skip) = (&[], true);
        }
        let end = held + length;
        held = rest.len(); // it is what stands last
        data.copy_within(end - held..end, 0);
        if !lines.is_empty() && events.send(Event::Said(id, lines)).await.is_err() {
            return Ok(());
        }
    }
}
