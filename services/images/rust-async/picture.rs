// Reads an image's type and size from its bytes. No pixel is decoded, and every length is checked.

use crate::fault::{self, Fault};

const MOST_PIXELS: u64 = 50_000_000; // a bomb is small until it is decoded

pub struct Picture {
    pub kind: &'static str,
    pub width: i32,
    pub height: i32,
}

pub fn look(b: &[u8]) -> Result<Picture, Fault> {
    let (kind, size) = if b.starts_with(b"\xff\xd8\xff") {
        ("image/jpeg", jpeg(b))
    } else if b.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("image/png", png(b))
    } else if b.starts_with(b"GIF87a") || b.starts_with(b"GIF89a") {
        ("image/gif", gif(b))
    } else {
        return Err(fault::KIND);
    };
    let (width, height) = size.ok_or(fault::WHOLE)?;
    if width == 0 || height == 0 || width > i32::MAX as u32 || height > i32::MAX as u32 {
        return Err(fault::WHOLE);
    }
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(fault::PIXELS);
    }
    Ok(Picture {
        kind,
        width: width as i32,
        height: height as i32,
    })
}

fn be16(b: &[u8]) -> u32 {
    u32::from(u16::from_be_bytes([b[0], b[1]]))
}

fn be32(b: &[u8]) -> u32 {
    u32::from_be_bytes([b[0], b[1], b[2], b[3]])
}

fn gif(b: &[u8]) -> Option<(u32, u32)> {
    let le16 = |at: usize| u32::from(u16::from_le_bytes([b[at], b[at + 1]]));
    (b.len() > 10 && b.ends_with(b"\x3b")).then(|| (le16(6), le16(8)))
}

// Chunks, each a length, a name, its content and a checksum, to IEND.
fn png(b: &[u8]) -> Option<(u32, u32)> {
    const SIGNATURE: usize = 8;
    const AROUND: usize = 12;
    if b.len() < SIGNATURE + AROUND + 13 || &b[8..16] != b"\x00\x00\x00\x0dIHDR" {
        return None;
    }
    let mut rest = &b[SIGNATURE..];
    while rest.len() >= AROUND {
        let length = be32(rest) as usize;
        if length > rest.len() - AROUND {
            return None;
        }
        if &rest[4..8] == b"IEND" {
            return Some((be32(&b[16..]), be32(&b[20..])));
        }
        rest = &rest[AROUND + length..];
    }
    None
}

// Segments, each a marker and a length that counts itself, to the first frame header. Behind it the
// image's end must come; before it a preview may have one of its own.
fn jpeg(b: &[u8]) -> Option<(u32, u32)> {
    let mut rest = &b[2..];
    while let [0xff, marker, high, low, ..] = *rest {
        match marker {
            0xff => rest = &rest[1..],               // a filler
            0x01 | 0xd0..=0xd7 => rest = &rest[2..], // alone, without a length
            0xd8..=0xda => return None,
            _ => {
                let length = 2 + usize::from(u16::from_be_bytes([high, low]));
                if length < 4 || length > rest.len() {
                    return None;
                }
                if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
                    let whole = length >= 9 && rest[length..].windows(2).any(|w| w == b"\xff\xd9");
                    return whole.then(|| (be16(&rest[7..]), be16(&rest[5..])));
                }
                rest = &rest[length..];
            }
        }
    }
    None
}
