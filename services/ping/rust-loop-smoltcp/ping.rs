//! Ping, answered by smoltcp on its own link to a tap: one loop, which allocates all its memory
//! before it starts. A frame is answered in place; nothing is queued, and only the loop is woken.

use smoltcp::iface::{Config, Interface, PollIngressSingleResult, SocketSet};
use smoltcp::phy::{wait, Medium, TunTapInterface};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, Ipv4Address, Ipv4Cidr};
use std::os::fd::AsRawFd;
use std::{env, io, process};

/// Locally administered.
const HARDWARE: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, device, address, peer] = &args[..] else {
        usage();
    };
    let (Ok(address), Ok(peer)) = (address.parse(), peer.parse()) else {
        usage();
    };
    unsafe {
        libc::signal(libc::SIGTERM, stop as *const () as libc::sighandler_t);
        libc::signal(libc::SIGINT, stop as *const () as libc::sighandler_t);
    }
    if let Err(e) = serve(device, address, peer) {
        eprintln!("{device}: {e}");
        process::exit(1);
    }
}

extern "C" fn stop(_: libc::c_int) {
    unsafe { libc::_exit(0) }
}

fn serve(device: &str, address: Ipv4Cidr, peer: Ipv4Address) -> io::Result<()> {
    let mut tap = TunTapInterface::new(device, Medium::Ethernet)?;
    let mut host = Interface::new(Config::new(HARDWARE.into()), &mut tap, Instant::now());
    host.update_ip_addrs(|list| list.push(IpCidr::Ipv4(address)).expect("room for one"));
    host.routes_mut()
        .add_default_ipv4_route(peer)
        .expect("room for one");
    let mut sockets = SocketSet::new([]);
    eprintln!("ready");
    loop {
        let now = Instant::now();
        host.poll_maintenance(now);
        // An answer in fragments leaves, one of them with each call, before the next frame is read:
        // there is one buffer.
        while host.poll_ingress_single(now, &mut tap, &mut sockets) != PollIngressSingleResult::None
        {
            while host.poll_at(now, &sockets).is_some_and(|at| at <= now) {
                host.poll_egress(now, &mut tap, &mut sockets);
            }
        }
        wait(tap.as_raw_fd(), host.poll_delay(now, &sockets))?;
    }
}

fn usage() -> ! {
    eprintln!("usage: ping DEVICE ADDRESS/LEN PEER");
    process::exit(2);
}
