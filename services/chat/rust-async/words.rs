//! Lines as words, and valid names.

use crate::Line;
use bytes::Bytes;

/// Bytes of a line with its end: RFC 1459.
pub const LONGEST: usize = 512;
/// Bytes of the tags before it: IRCv3.
const TAGS: usize = 4096;

pub struct Words {
    pub verb: Vec<u8>,
    pub words: Vec<Bytes>,
}

/// None is an empty line.
pub fn parse(line: &[u8]) -> Option<Line> {
    if line.contains(&0) {
        return Some(Line::Nul);
    }
    if too_long(line) {
        return Some(Line::Long);
    }
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    let spaced: Vec<u8>;
    if line.contains(&b'\r') {
        // Some clients would take one for the end of a line.
        spaced = line
            .iter()
            .map(|&b| if b == b'\r' { b' ' } else { b })
            .collect();
        line = &spaced;
    }
    if line.starts_with(b"@") {
        line = split(line).1;
    }
    line = line.trim_start_spaces();
    if line.starts_with(b":") {
        line = split(line).1.trim_start_spaces(); // a client's prefix is ignored
    }
    let (verb, rest) = split(line);
    let all = Bytes::copy_from_slice(rest);
    let mut rest = &all[..];
    let mut words = Vec::new();
    loop {
        rest = rest.trim_start_spaces();
        if let Some(text) = rest.strip_prefix(b":") {
            words.push(all.slice_ref(text));
            break;
        }
        if rest.is_empty() {
            break;
        }
        let (word, after) = split(rest);
        words.push(all.slice_ref(word));
        rest = after;
    }
    (!verb.is_empty()).then(|| {
        Line::Said(Words {
            verb: verb.to_ascii_uppercase(),
            words,
        })
    })
}

/// Whether a line without its LF is too long, with it.
pub fn too_long(line: &[u8]) -> bool {
    let text = if line.starts_with(b"@") {
        split(line).1
    } else {
        line
    };
    text.len() >= LONGEST || line.len() - text.len() > TAGS
}

/// The text before the first blank, and after it.
pub fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&b| b == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

trait TrimSpaces {
    fn trim_start_spaces(&self) -> &Self;
}

impl TrimSpaces for [u8] {
    fn trim_start_spaces(&self) -> &[u8] {
        &self[self.iter().take_while(|&&b| b == b' ').count()..]
    }
}

/// Of the log's line, without its time: sender, verb, target and text.
pub fn said(line: &[u8]) -> (&[u8], &[u8], &[u8], &[u8]) {
    let (source, rest) = split(line);
    let (verb, rest) = split(rest);
    let (to, text) = split(rest);
    let from = source
        .strip_prefix(b":")
        .unwrap_or(source)
        .split(|&b| b == b'!')
        .next();
    (
        from.unwrap_or_default(),
        verb,
        to,
        text.strip_prefix(b":").unwrap_or(text),
    )
}

/// A line with its end, cut to its maximum.
pub fn line(parts: &[&[u8]]) -> Vec<u8> {
    let mut line = parts.concat();
    line.truncate(LONGEST - 2);
    line.extend_from_slice(b"\r\n");
    line
}

/// Names are compared without case.
pub fn fold(name: &[u8]) -> Vec<u8> {
    name.to_ascii_lowercase()
}

pub fn is_nick(name: &[u8]) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b"[]\\^_{|}`".contains(&b);
    name.len() <= 30
        && letter(name[0])
        && name
            .iter()
            .all(|&b| letter(b) || b == b'-' || b.is_ascii_digit())
}

pub fn is_room(name: &[u8]) -> bool {
    (2..=50).contains(&name.len())
        && name[0] == b'#'
        && name
            .iter()
            .all(|&b| b > b' ' && b != 0x7f && b != b',' && b != b':')
}
