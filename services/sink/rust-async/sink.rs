//! Sink, a task for each client on tokio and a thread that owns standard output, since a file
//! cannot be awaited: lines cannot mix and no task ever blocks, at the price of two hand-overs
//! between threads for each batch.

use std::io::{ErrorKind, Write};
use std::{env, fs::File, io, os::fd::AsFd, process, thread, time::Duration};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot};
use tokio::{select, spawn, time::sleep};

/// Bytes of a line with the LF: PIPE_BUF, as the service says.
const LONGEST: usize = 4096;
/// In bytes; bounds what a client can make the server hold.
const CHUNK: usize = 16 << 10;
/// In batches. A sender waits while the owner's mailbox is full. A guess.
const MAILBOX: usize = 64;

/// Whole lines, and the sender to notify when they are written.
type Batch = (Vec<u8>, oneshot::Sender<()>);

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let port = args.next().expect("usage: sink PORT [HOST]");
    let host = args.next().unwrap_or("127.0.0.1".into());
    let listener = listen(&format!("{host}:{port}")).unwrap_or_else(|e| {
        eprintln!("listening: {e}");
        process::exit(1)
    });
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (stdout, batches) = mpsc::channel(MAILBOX);
    thread::spawn(|| own(output, batches));
    eprintln!("ready");
    select! {
        _ = accept(listener, stdout) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    process::exit(0) // the owner may wait for a reader that does not come
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse().map_err(io::Error::other)?)?;
    socket.listen(4096)
}

async fn accept(listener: TcpListener, stdout: mpsc::Sender<Batch>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(spawn(serve(client, stdout.clone()))),
            // Out of descriptors: connected clients are still served, the next waits.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(mut client: TcpStream, stdout: mpsc::Sender<Batch>) -> io::Result<()> {
    let mut data = vec![0; CHUNK];
    let mut held = 0; // bytes of a line that has not ended
    while held < LONGEST {
        let length = client.read(&mut data[held..]).await?;
        held += length;
        if length == 0 && held > 0 {
            data[held] = b'\n';
            held += 1;
        }
        let ended = ended(&data[..held]);
        if ended > 0 {
            let (written, wait) = oneshot::channel();
            let batch = (data[..ended].to_vec(), written);
            stdout.send(batch).await.map_err(io::Error::other)?;
            wait.await.map_err(io::Error::other)?;
        }
        if length == 0 {
            break;
        }
        data.copy_within(ended..held, 0);
        held -= ended;
    }
    Ok(())
}

/// The length of the lines that have ended. Steps of LONGEST stop at a line that is too long.
fn ended(data: &[u8]) -> usize {
    let mut ended = 0;
    loop {
        let step = &data[ended..data.len().min(ended + LONGEST)];
        match step.iter().rposition(|&byte| byte == b'\n') {
            Some(last) => ended += last + 1,
            None => return ended,
        }
    }
}

fn own(mut output: File, mut batches: mpsc::Receiver<Batch>) {
    while let Some((lines, written)) = batches.blocking_recv() {
        let mut rest = &lines[..];
        while !rest.is_empty() {
            match output.write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(e) => {
                    eprintln!("writing: {e}");
                    process::exit(1);
                }
            }
        }
        let _ = written.send(()); // an error means that the client has gone
    }
}
