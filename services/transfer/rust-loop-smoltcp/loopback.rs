//! Transfers over smoltcp's loopback: clients and server are sockets of one interface, in one loop.

use crate::{host, ingress, socket, Kind, Service, BULK};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Loopback, Medium};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, Ipv4Address, Ipv4Cidr};
use std::{io, time};

/// The number of connections of a client in a round: as many as the paper's pings.
const TURNS: usize = 50;

const HOME: Ipv4Address = Ipv4Address::LOCALHOST;
const PORT: u16 = 9;

struct Client {
    socket: SocketHandle,
    /// The rest of this round.
    turns: usize,
    /// The rest of this turn; none if it has not begun.
    bytes: Option<usize>,
}

/// Lets all clients at once transfer bytes, and prints a line for each round of it.
pub fn run(clients: usize, bytes: usize, rounds: usize) -> io::Result<()> {
    let mut link = Loopback::new(Medium::Ip);
    let mut host = host(&mut link, HardwareAddress::Ip, Ipv4Cidr::new(HOME, 8));
    let mut sockets = SocketSet::new(vec![]);
    let mut server = [Service::new(&mut sockets, PORT, Kind::Discard)];
    let mut ports = (1024..=65535).cycle();
    let mut crowd: Vec<Client> = (0..clients)
        .map(|_| Client {
            socket: sockets.add(socket(1024, bytes.min(BULK))),
            turns: 0,
            bytes: None,
        })
        .collect();
    for _ in 0..rounds {
        server[0].received = 0;
        crowd.iter_mut().for_each(|c| c.turns = TURNS);
        let start = time::Instant::now();
        while crowd.iter().any(|c| c.turns > 0) || !server[0].is_idle() {
            let now = Instant::now();
            ingress(&mut host, &mut link, &mut sockets, &mut server, now);
            server[0].serve(&mut sockets);
            for client in crowd.iter_mut().filter(|c| c.turns > 0) {
                client.step(&mut host, &mut sockets, &mut ports, bytes)?;
            }
            host.poll_egress(now, &mut link, &mut sockets);
        }
        println!(
            "{} {:.9}",
            server[0].received,
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

impl Client {
    /// Goes on as far as is possible without waiting.
    fn step(
        &mut self,
        host: &mut Interface,
        sockets: &mut SocketSet,
        ports: &mut impl Iterator<Item = u16>,
        bytes: usize,
    ) -> io::Result<()> {
        let socket = sockets.get_mut::<Socket>(self.socket);
        let Some(left) = &mut self.bytes else {
            // The last turn's socket may be in TIME-WAIT for late segments, which do not exist
            // here.
            socket.abort();
            let to = (IpAddress::Ipv4(HOME), PORT);
            socket
                .connect(host.context(), to, ports.next().expect("a cycle"))
                .map_err(io::Error::other)?;
            self.bytes = Some(bytes);
            return Ok(());
        };
        match socket.state() {
            State::Established => {
                while *left > 0 && socket.can_send() {
                    let sent = socket.send(|b| {
                        let n = b.len().min(*left);
                        b[..n].fill(0);
                        (n, n)
                    });
                    *left -= sent.map_err(io::Error::other)?;
                }
                if *left == 0 {
                    socket.close();
                }
            }
            State::TimeWait => {
                self.turns -= 1;
                self.bytes = None;
            }
            State::Closed => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            _ => {}
        }
        Ok(())
    }
}
