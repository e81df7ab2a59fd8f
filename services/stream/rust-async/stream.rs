//! Stream, a task for each client on tokio: a state machine of the compiler's, with a timer of its
//! own in the runtime's wheel, and no buffer while it waits. A web framework would keep its
//! buffers for each client, five to ten times as much as all else; for one path and no body the
//! parser alone does.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::{env, process, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::time::{sleep, sleep_until, timeout, Instant};
use tokio::{select, spawn};

/// The longest head that is read; the contract asks for 4 KiB.
const HEAD_BYTES: usize = 8 << 10;
const HEAD_LINES: usize = 100;
const HEAD_TIME: Duration = Duration::from_secs(10);
/// A guess: for a refused client to read why.
const LEAVE_TIME: Duration = Duration::from_secs(2);

/// A request for a stream.
struct Request {
    id: Box<str>,
    /// In chunks: not for HTTP/1.0.
    coded: bool,
    /// HEAD: no body.
    bare: bool,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let port = args.next().expect("usage: stream PORT [HOST]");
    let host = args.next().unwrap_or("127.0.0.1".into());
    raise_open_files();
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
    process::exit(0) // streams are cut off
}

/// Raises the soft limit to the hard one.
fn raise_open_files() {
    let mut files = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls get a valid rlimit, and keep nothing of it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
            files.rlim_cur = files.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &files);
        }
    }
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse::<SocketAddr>().map_err(io::Error::other)?)?;
    socket.listen(i32::MAX as u32) // as long as the kernel allows
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(spawn(answer(client))),
            // Out of descriptors: connected clients are still served, the next waits.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let request = match timeout(HEAD_TIME, read(&mut client)).await {
        Ok(read) => read?,
        Err(_) => Err(408),
    };
    match request {
        Err(status) => leave(client, refusal(status)).await,
        Ok(Request {
            bare: true, coded, ..
        }) => leave(client, head(coded)).await,
        Ok(Request { id, coded, .. }) => stream(client, &id, coded).await,
    }
}

/// A head, or the status that refuses it.
async fn read(client: &mut TcpStream) -> io::Result<Result<Request, u16>> {
    let mut bytes = Vec::with_capacity(512);
    while bytes.len() < HEAD_BYTES {
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(parsed) = parse(&bytes) {
            return Ok(parsed);
        }
    }
    Ok(Err(431))
}

/// None: it is not whole yet.
fn parse(bytes: &[u8]) -> Option<Result<Request, u16>> {
    let mut fields = [httparse::EMPTY_HEADER; HEAD_LINES];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Err(431)),
        Err(httparse::Error::Version) => return Some(Err(505)),
        Err(_) => return Some(Err(400)),
    }
    let coded = request.version == Some(1);
    let hosts = request
        .headers
        .iter()
        .filter(|f| f.name.eq_ignore_ascii_case("host"))
        .count();
    if hosts > 1 || coded && hosts == 0 {
        return Some(Err(400));
    }
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _query)| path);
    let letter = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    let Some(id) = path
        .strip_prefix("/test/")
        .filter(|id| (1..=64).contains(&id.len()) && id.bytes().all(letter))
    else {
        return Some(Err(404));
    };
    Some(match request.method {
        Some(method @ ("GET" | "HEAD")) => Ok(Request {
            id: id.into(),
            coded,
            bare: method == "HEAD",
        }),
        _ => Err(405),
    })
}

/// Runs until the client goes, or the kernel does not take a chunk: the client has not read for too
/// long.
async fn stream(client: TcpStream, id: &str, coded: bool) -> io::Result<()> {
    let mut said = head(coded);
    code(
        &mut said,
        coded,
        format_args!("Goconntest welcomes you! Your Id: /test/{id}\n"),
    );
    let began = Instant::now();
    for number in 1.. {
        if client.try_write(&said)? < said.len() {
            break;
        }
        drop(said);
        sleep_until(began + Duration::from_secs(number)).await;
        said = Vec::new();
        code(
            &mut said,
            coded,
            format_args!("Chunk {number} for id /test/{id}\n"),
        );
    }
    Ok(())
}

fn head(coded: bool) -> Vec<u8> {
    let coding = if coded {
        "Transfer-Encoding: chunked"
    } else {
        "Connection: close"
    };
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n{coding}\r\n\r\n").into()
}

/// Appends a text as it goes out: as a chunk of the coding, or as itself.
fn code(to: &mut Vec<u8>, coded: bool, text: std::fmt::Arguments) {
    let text = text.to_string();
    let _ = if coded {
        write!(to, "{:x}\r\n{text}\r\n", text.len())
    } else {
        write!(to, "{text}")
    }; // a Vec takes all
}

fn refusal(status: u16) -> Vec<u8> {
    let (why, more) = match status {
        404 => ("Not Found", ""),
        405 => ("Method Not Allowed", "Allow: GET, HEAD\r\n"),
        408 => ("Request Timeout", ""),
        431 => ("Request Header Fields Too Large", ""),
        505 => ("HTTP Version Not Supported", ""),
        _ => ("Bad Request", ""),
    };
    let length = why.len() + 1;
    format!(
        "HTTP/1.1 {status} {why}\r\n{more}Content-Type: text/plain\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    )
    .into()
}

/// Bytes after the last words are read for a while: closing with unread bytes would be a reset,
/// which may overtake them.
async fn leave(mut client: TcpStream, words: Vec<u8>) -> io::Result<()> {
    let rest = async {
        client.write_all(&words).await?;
        client.shutdown().await?;
        tokio::io::copy(&mut client, &mut tokio::io::sink()).await
    };
    timeout(LEAVE_TIME, rest).await??;
    Ok(())
}
