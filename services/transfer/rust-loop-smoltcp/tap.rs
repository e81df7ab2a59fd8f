//! A link to a tap device of Linux that hands over and takes TCP segments of up to 64 KiB with
//! their checksums left out (IFF_VNET_HDR). smoltcp's own moves a frame of one MTU with each call,
//! and allocates for it.

use smoltcp::phy::{self, Checksum, Device, DeviceCapabilities, Medium, PacketMeta};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet, TcpPacket};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// In bytes: the header before each frame (struct virtio_net_hdr, linux/virtio_net.h).
const VIRTIO: usize = 10;
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;

/// Offloads (linux/if_tun.h).
const TUN_F_CSUM: libc::c_uint = 1;
const TUN_F_TSO4: libc::c_uint = 2;

/// In bytes: Ethernet's header and the largest packet of IPv4.
const FRAME: usize = 14 + 65535;

pub struct Tap {
    file: File,
    mtu: usize,
    receive: Box<[u8; VIRTIO + FRAME]>,
    send: Box<[u8; VIRTIO + FRAME]>,
}

impl Tap {
    /// Attaches to a device that exists.
    pub fn open(name: &str) -> io::Result<Tap> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        let name = CString::new(name)?;
        let mut device: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.as_bytes().len() >= device.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in device.ifr_name.iter_mut().zip(name.as_bytes()) {
            *to = *from as libc::c_char;
        }
        let mtu = unsafe {
            let any = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
            let failed = libc::ioctl(any, libc::SIOCGIFMTU, &mut device) == -1;
            let error = io::Error::last_os_error();
            libc::close(any);
            if failed {
                return Err(error);
            }
            device.ifr_ifru.ifru_mtu as usize
        };
        device.ifr_ifru.ifru_flags =
            (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        let tap = file.as_raw_fd();
        if unsafe {
            libc::ioctl(tap, libc::TUNSETIFF, &device) == -1
                || libc::ioctl(tap, libc::TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) == -1
        } {
            return Err(io::Error::last_os_error());
        }
        Ok(Tap {
            file,
            mtu,
            receive: Box::new([0; VIRTIO + FRAME]),
            send: Box::new([0; VIRTIO + FRAME]),
        })
    }

    /// Waits for a frame, for no longer than the stack can.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        let mut tap = libc::pollfd {
            fd: self.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let limit_ms = match limit {
            None => -1,
            Some(d) => d
                .total_micros()
                .div_ceil(1000)
                .try_into()
                .unwrap_or(libc::c_int::MAX),
        };
        if limit_ms == 0 || unsafe { libc::poll(&mut tap, 1, limit_ms) } != -1 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}

impl Device for Tap {
    type RxToken<'a> = RxToken<'a>;
    type TxToken<'a> = TxToken<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut able = DeviceCapabilities::default();
        able.medium = Medium::Ethernet;
        able.max_transmission_unit = 14 + self.mtu;
        able.checksum.tcp = Checksum::None; // the kernel has made the frame, or checked it
        able.segmentation.tcpv4 = NonZeroUsize::new(FRAME);
        able
    }

    fn receive(&mut self, _: Instant) -> Option<(RxToken<'_>, TxToken<'_>)> {
        match self.file.read(&mut self.receive[..]) {
            Ok(n) if n > VIRTIO => Some((
                RxToken(&self.receive[VIRTIO..n]),
                TxToken {
                    file: &self.file,
                    frame: &mut self.send,
                    size: 0,
                },
            )),
            Ok(_) => None,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => None,
            Err(e) => panic!("reading: {e}"), // the device is gone
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<TxToken<'_>> {
        Some(TxToken {
            file: &self.file,
            frame: &mut self.send,
            size: 0,
        })
    }
}

pub struct RxToken<'a>(&'a [u8]);

impl phy::RxToken for RxToken<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

pub struct TxToken<'a> {
    file: &'a File,
    frame: &'a mut [u8; VIRTIO + FRAME],
    /// In bytes, of the segments that the device is to cut; 0 if none.
    size: u16,
}

impl phy::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, len: usize, f: F) -> R {
        let frame = &mut self.frame[..VIRTIO + len];
        let result = f(&mut frame[VIRTIO..]);
        let (virtio, packet) = frame.split_at_mut(VIRTIO);
        virtio.fill(0);
        offload(virtio, packet, self.size);
        // A device whose queue is full loses the frame, as any link may.
        let _ = self.file.write(frame);
        result
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.size = meta.segmentation_offload_size.map_or(0, |n| n.get());
    }
}

/// Sets the offloads of a TCP segment in the header: its checksum, and the size of its pieces.
fn offload(virtio: &mut [u8], frame: &mut [u8], size: u16) {
    let mut frame = EthernetFrame::new_unchecked(frame);
    if frame.ethertype() != EthernetProtocol::Ipv4 {
        return;
    }
    let packet = Ipv4Packet::new_unchecked(frame.payload_mut());
    if packet.next_header() != IpProtocol::Tcp {
        return;
    }
    let (from, to, start) = (
        packet.src_addr(),
        packet.dst_addr(),
        packet.header_len() as usize,
    );
    let segment = &mut packet.into_inner()[start..];
    let sum = pseudo(&from.octets(), &to.octets(), segment.len());
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    let headers = 14 + start + TcpPacket::new_unchecked(&*segment).header_len() as usize;
    virtio[0] = NEEDS_CSUM;
    if size > 0 {
        virtio[1] = GSO_TCPV4;
    }
    virtio[2..4].copy_from_slice(&(headers as u16).to_ne_bytes());
    virtio[4..6].copy_from_slice(&size.to_ne_bytes());
    virtio[6..8].copy_from_slice(&(14 + start as u16).to_ne_bytes());
    virtio[8..10].copy_from_slice(&16u16.to_ne_bytes());
}

/// The sum of TCP's pseudo-header (RFC 9293, 3.1), which the kernel goes on from.
fn pseudo(from: &[u8; 4], to: &[u8; 4], len: usize) -> u16 {
    let words = from
        .chunks(2)
        .chain(to.chunks(2))
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>() + 6 + len as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum + (sum >> 16)) as u16
}
