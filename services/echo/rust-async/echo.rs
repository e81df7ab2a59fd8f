//! Echo, a task for each client on tokio: state machines that the compiler makes from
//! blocking-looking code, as small as their variables and without a stack, at the price of a second
//! kind of function and of tasks that must not block.

use std::{env, io, process, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::{select, spawn, time::sleep};

/// In bytes; bounds what a client can make the server hold.
const CHUNK: usize = 16 << 10;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let port = args.next().expect("usage: echo PORT [HOST]");
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

/// A task does not read while it writes, so it stops reading from a client that does not read.
async fn serve(mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut data = vec![0; CHUNK];
    loop {
        let length = client.read(&mut data).await?;
        if length == 0 {
            return Ok(());
        }
        client.write_all(&data[..length]).await?;
    }
}
