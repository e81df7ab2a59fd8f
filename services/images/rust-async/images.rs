// Images on axum: a task for each connection and request, which waits for nothing but sockets.
// SQLite and the decoders block, so they run on threads of their own.

mod answer;
mod bounds;
mod fault;
mod name;
mod next;
mod patience;
mod picture;
mod store;
mod thumbnail;
mod upload;
mod web;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

const EXPECTED: &str = "expected PORT HOST DATA FILES [NEXT] [DATABASE]";
const END: Duration = Duration::from_secs(1); // for requests under way after SIGTERM

#[tokio::main]
async fn main() {
    if let Err(e) = run(std::env::args().skip(1).collect()).await {
        let text = e.to_string();
        eprintln!(
            "images: {}",
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        );
        std::process::exit(1);
    }
    std::process::exit(0); // threads with queries of clients that have gone are not waited for
}

async fn run(args: Vec<String>) -> Result<(), Box<dyn Error>> {
    let [port, host, data, files, others @ ..] = &args[..] else {
        return Err(EXPECTED.into());
    };
    let others = others.iter().filter(|word| *word != "-");
    let (behind, database): (Vec<_>, Vec<_>) = others.partition(|word| word.starts_with("http"));
    if behind.len() > 1 || database.len() > 1 {
        return Err(EXPECTED.into());
    }
    let next = behind
        .first()
        .map(|word| next::Next::new(word))
        .transpose()?;
    if next.is_some() && !database.is_empty() {
        return Err(
            "a service with a next one keeps its images in SQLite: expected no DATABASE".into(),
        );
    }
    let mut term = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((host.as_str(), port.parse()?)).await?;
    let store =
        store::Store::open(Path::new(data), Path::new(files), database.first().copied()).await?;
    let router = web::router(store, next, Path::new(files))?;
    eprintln!("ready");

    let graceful = GracefulShutdown::new();
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(_) => { // out of descriptors: the next client waits
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            _ = term.recv() => break,
        };
        let _ = socket.set_nodelay(true); // a failure only makes it slower
        let (socket, service) = patience::wrap(socket, router.clone());
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(None) // it would include the time between requests
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
        let watched = graceful.watch(connection);
        tokio::spawn(async move { watched.await.ok() }); // a client's broken connection is no error
    }
    drop(listener);
    let _ = tokio::time::timeout(END, graceful.shutdown()).await; // unfinished requests are cut off
    Ok(())
}
