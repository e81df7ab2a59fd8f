//! The link of smoltcp itself: a read for each frame of one MTU into newly allocated memory, and
//! all checksums in software.

use smoltcp::phy::{self, Device, DeviceCapabilities, Medium, TunTapInterface};
use smoltcp::time::{Duration, Instant};
use std::io;
use std::os::fd::AsRawFd;

pub struct Tap(TunTapInterface);

impl Tap {
    /// Attaches to a device that exists.
    pub fn open(name: &str) -> io::Result<Tap> {
        TunTapInterface::new(name, Medium::Ethernet).map(Tap)
    }

    /// Waits for a frame, for no longer than the stack can.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        phy::wait(self.0.as_raw_fd(), limit)
    }
}

impl Device for Tap {
    type RxToken<'a> = <TunTapInterface as Device>::RxToken<'a>;
    type TxToken<'a> = <TunTapInterface as Device>::TxToken<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        self.0.capabilities()
    }

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.0.receive(now)
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        self.0.transmit(now)
    }
}
