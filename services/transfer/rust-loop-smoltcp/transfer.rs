//! Transfers over smoltcp: a host of its own on a tap, or nothing but its loopback. One loop reads
//! frames, serves the connections, and sends segments. smoltcp has no listener, only sockets that
//! listen: a connection uses one up, so the next is put there at once.

mod loopback;
#[cfg_attr(feature = "tuntap", path = "tuntap.rs")]
mod tap;

use smoltcp::iface::{Config, Interface, PollIngressSingleResult, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address, Ipv4Cidr};
use std::{env, io, process};
use tap::Tap;

/// Locally administered.
const HARDWARE: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

/// In bytes: a socket's buffer in the direction that it serves.
const BULK: usize = 512 << 10;

/// In frames: as many are read before their senders are answered.
const BATCH: usize = 64;

/// Sockets that are closed are kept for the next, up to this number: their memory has been
/// touched already.
const SPARE: usize = 128;

/// For a client that has vanished while it owed an acknowledgement. A guess.
const PATIENCE: Duration = Duration::from_secs(60);

/// In bytes: the largest piece that is handed to a socket at once.
const PIECE: usize = 64 << 10;

/// The byte at i is i mod 251: a piece of it may start at any of the first 251.
static PATTERN: [u8; 251 + PIECE] = {
    let mut bytes = [0; 251 + PIECE];
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = (i % 251) as u8;
        i += 1;
    }
    bytes
};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [device, address, peer, port] = &args[..] else {
        usage();
    };
    let done = if device == "--loopback" {
        let numbers = [address, peer, port].map(|n| n.parse().ok().filter(|n| *n > 0));
        let [Some(clients), Some(bytes), Some(rounds)] = numbers else {
            usage();
        };
        loopback::run(clients, bytes, rounds)
    } else {
        let (Ok(address), Ok(peer), Ok(port @ 1..=65534)) =
            (address.parse(), peer.parse(), port.parse())
        else {
            usage();
        };
        unsafe {
            libc::signal(libc::SIGTERM, stop as *const () as libc::sighandler_t);
            libc::signal(libc::SIGINT, stop as *const () as libc::sighandler_t);
        }
        serve(device, address, peer, port)
    };
    if let Err(e) = done {
        eprintln!("{device}: {e}");
        process::exit(1);
    }
}

extern "C" fn stop(_: libc::c_int) {
    unsafe { libc::_exit(0) }
}

fn usage() -> ! {
    eprintln!(
        "usage: transfer DEVICE ADDRESS/LEN PEER PORT | transfer --loopback CLIENTS BYTES ROUNDS"
    );
    process::exit(2);
}

fn serve(device: &str, address: Ipv4Cidr, peer: Ipv4Address, port: u16) -> io::Result<()> {
    let mut tap = Tap::open(device)?;
    let mut host = host(&mut tap, HARDWARE.into(), address);
    host.routes_mut()
        .add_default_ipv4_route(peer)
        .expect("room for one");
    let mut sockets = SocketSet::new(vec![]);
    let mut services = [
        Service::new(&mut sockets, port, Kind::Discard),
        Service::new(&mut sockets, port + 1, Kind::Generate),
    ];
    eprintln!("ready");
    loop {
        let now = Instant::now();
        let whole = ingress(&mut host, &mut tap, &mut sockets, &mut services, now);
        for service in &mut services {
            service.serve(&mut sockets);
        }
        host.poll_egress(now, &mut tap, &mut sockets);
        if whole {
            tap.wait(host.poll_delay(now, &sockets))?;
        }
    }
}

/// A stack with one link and one address.
pub fn host(link: &mut impl Device, hardware: HardwareAddress, address: Ipv4Cidr) -> Interface {
    let mut config = Config::new(hardware);
    config.random_seed = Instant::now().total_micros() as u64;
    let mut host = Interface::new(config, link, Instant::now());
    host.update_ip_addrs(|list| list.push(IpCidr::Ipv4(address)).expect("room for one"));
    host
}

/// Reads a batch of frames; true if it was all that had come. After each a service listens again
/// that was connected to.
pub fn ingress(
    host: &mut Interface,
    link: &mut impl Device,
    sockets: &mut SocketSet<'static>,
    services: &mut [Service],
    now: Instant,
) -> bool {
    host.poll_maintenance(now);
    for _ in 0..BATCH {
        if host.poll_ingress_single(now, link, sockets) == PollIngressSingleResult::None {
            return true;
        }
        for service in &mut *services {
            service.listen(sockets);
        }
    }
    false
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Discard,  // RFC 863
    Generate, // RFC 864
}

struct Client {
    socket: SocketHandle,
    /// How many bytes have been handed to the socket, modulo 251.
    sent: usize,
}

pub struct Service {
    kind: Kind,
    port: u16,
    listener: SocketHandle,
    clients: Vec<Client>,
    spare: Vec<Socket<'static>>,
    /// Bytes, from all clients there were.
    pub received: usize,
}

impl Service {
    pub fn new(sockets: &mut SocketSet<'static>, port: u16, kind: Kind) -> Service {
        Service {
            kind,
            port,
            listener: sockets.add(listener(Service::socket(kind), port)),
            clients: vec![],
            spare: vec![],
            received: 0,
        }
    }

    /// No client is being served.
    pub fn is_idle(&self) -> bool {
        self.clients.is_empty()
    }

    fn socket(kind: Kind) -> Socket<'static> {
        let (receive, send) = match kind {
            Kind::Discard => (BULK, 2048), // nothing is sent
            Kind::Generate => (2048, BULK),
        };
        let mut socket = socket(receive, send);
        socket.set_timeout(Some(PATIENCE));
        socket
    }

    /// Replaces a socket that a client has connected to.
    fn listen(&mut self, sockets: &mut SocketSet<'static>) {
        if sockets.get::<Socket>(self.listener).is_listening() {
            return;
        }
        let next = self
            .spare
            .pop()
            .unwrap_or_else(|| Service::socket(self.kind));
        let socket = std::mem::replace(&mut self.listener, sockets.add(listener(next, self.port)));
        self.clients.push(Client { socket, sent: 0 });
    }

    /// Reads and writes as much as possible for every client, and removes those that have gone.
    pub fn serve(&mut self, sockets: &mut SocketSet<'static>) {
        let mut i = 0;
        while let Some(client) = self.clients.get_mut(i) {
            let socket = sockets.get_mut::<Socket>(client.socket);
            while socket.can_recv() {
                self.received += socket.recv(|b| (b.len(), b.len())).expect("it can receive");
            }
            while self.kind == Kind::Generate && socket.can_send() {
                let n = socket.send(|b| {
                    let n = b.len().min(PIECE);
                    b[..n].copy_from_slice(&PATTERN[client.sent..][..n]);
                    (n, n)
                });
                client.sent = (client.sent + n.expect("it can send")) % 251;
            }
            match socket.state() {
                State::CloseWait => socket.close(),
                // Closed, or reset: at once, or before it was open, when it listens again.
                State::Closed | State::Listen => {
                    let smoltcp::socket::Socket::Tcp(socket) = sockets.remove(client.socket);
                    self.clients.swap_remove(i);
                    if self.spare.len() < SPARE {
                        self.spare.push(socket);
                    }
                    continue; // with the one that was last
                }
                _ => {}
            }
            i += 1;
        }
    }
}

/// A socket with buffers of so many bytes, that neither waits for more to send nor to acknowledge.
pub fn socket(receive: usize, send: usize) -> Socket<'static> {
    let mut socket = Socket::new(
        SocketBuffer::new(vec![0; receive]),
        SocketBuffer::new(vec![0; send]),
    );
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(None);
    socket
}

fn listener(mut socket: Socket<'static>, port: u16) -> Socket<'static> {
    socket.abort(); // one that listens already would stay as it is
    socket
        .listen(port)
        .expect("a port, and a socket that is closed");
    socket
}
