//! Counter, a task for each client on tokio and one atomic word for all: no lock and no owner,
//! at the price of tasks that must not block and a cache line that moves between the cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, io, process, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::{select, spawn, time::sleep};

/// In requests; bounds what one read takes and one write answers.
const BATCH: usize = 1024;

static COUNT: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let port = args.next().expect("usage: counter PORT [HOST]");
    let host = args.next().unwrap_or("127.0.0.1".into());
    let listener = listen(&format!("{host}:{port}")).unwrap_or_else(|e| {
        eprintln!("listening: {e}");
        process::exit(1)
    });
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    eprintln!("ready");
    select! {
        _ = accept(listener) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse().map_err(io::Error::other)?)?;
    socket.listen(4096)
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(spawn(serve(client))),
            // Out of descriptors: connected clients are still served, the next waits.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut requests = vec![0; BATCH];
    let mut replies = Vec::with_capacity(8 * BATCH);
    loop {
        let length = client.read(&mut requests).await?;
        replies.clear();
        for request in &requests[..length] {
            let count = match request {
                0 => COUNT.load(Ordering::SeqCst),
                1 => COUNT.fetch_add(1, Ordering::SeqCst) + 1,
                _ => return client.write_all(&replies).await,
            };
            replies.extend_from_slice(&count.to_be_bytes());
        }
        if length == 0 {
            return Ok(());
        }
        client.write_all(&replies).await?;
    }
}
