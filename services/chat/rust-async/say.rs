//! The path of a message: it is prepared, written to the log with all that come meanwhile, and
//! delivered.

use crate::disk::{stamp, STAMP};
use crate::hall::Hall;
use crate::numeric::ERR_CANNOTSENDTOCHAN;
use crate::post::Post;

/// The tag that a client without server-time does not get.
const TAG: usize = "@time= ".len() + STAMP;

#[derive(Clone, Copy, PartialEq)]
pub enum Verb {
    Privmsg,
    Notice,
    Topic,
    Pong,
}

/// A message to a room or a person, or a PONG that comes after it.
pub struct Saying {
    pub from: u64,
    pub verb: Verb,
    /// The folded name of a room or a person.
    pub to: Vec<u8>,
    pub text: Vec<u8>,
    start: usize,
    end: usize,
    position: i64,
}

impl Hall {
    /// Prepares a message for the log and for its readers.
    pub fn say(&mut self, from: u64, verb: Verb, to: Vec<u8>, called: &[u8], text: &[u8]) {
        let start = self.wire.len();
        let word: &[u8] = match verb {
            Verb::Privmsg => b" PRIVMSG ",
            Verb::Notice => b" NOTICE ",
            _ => b" TOPIC ",
        };
        let stamp = stamp();
        for part in [
            b"@time=",
            stamp.as_bytes(),
            b" ",
            &self.clients[&from].prefix,
            word,
            called,
            b" :",
            text,
        ] {
            self.wire.extend_from_slice(part);
        }
        self.lines
            .extend_from_slice(&self.wire[start + "@time=".len()..]);
        self.lines.push(b'\n');
        self.wire.extend_from_slice(b"\r\n");
        let (end, position) = (self.wire.len(), self.lines.len() as i64);
        let text = if verb == Verb::Topic {
            text.to_vec()
        } else {
            Vec::new()
        };
        self.unsaid.push(Saying {
            from,
            verb,
            to,
            text,
            start,
            end,
            position,
        });
    }

    pub fn pong(&mut self, from: u64, text: Vec<u8>) {
        let (to, start, end, position) = (Vec::new(), 0, 0, 0);
        self.unsaid.push(Saying {
            from,
            verb: Verb::Pong,
            to,
            text,
            start,
            end,
            position,
        });
    }

    /// Writes all new messages to the log, in one piece, and delivers them. If the write fails,
    /// they are not delivered.
    pub fn commit(&mut self) {
        if self.unsaid.is_empty() {
            return;
        }
        let written = if self.lines.is_empty() {
            Ok(())
        } else {
            self.disk.append(&self.lines)
        };
        let start = self.disk.end - self.lines.len() as i64;
        let unsaid = std::mem::take(&mut self.unsaid);
        for saying in &unsaid {
            match &written {
                _ if saying.verb == Verb::Pong => {
                    let client = &self.clients[&saying.from];
                    if !client.post.put(&saying.text, client.said, None) {
                        self.full.push(saying.from);
                    }
                }
                Ok(()) => self.deliver(saying, start + saying.position),
                Err(_) if saying.verb == Verb::Notice => {}
                Err(e) => {
                    let alone = || self.people.get(&saying.to).map(|p| p.name.clone());
                    let called = self
                        .rooms
                        .get(&saying.to)
                        .map(|r| r.name.clone())
                        .or_else(alone);
                    let why = format!(" :The log cannot be written: {e}");
                    self.reply(
                        saying.from,
                        ERR_CANNOTSENDTOCHAN,
                        &[&called.unwrap_or_default(), why.as_bytes()],
                    );
                }
            }
        }
        self.wire.clear();
        self.lines.clear();
        self.unsaid = unsaid;
        self.unsaid.clear();
    }

    fn deliver(&mut self, saying: &Saying, position: i64) {
        let tagged = &self.wire[saying.start..saying.end];
        let text = |post: &Post| {
            if post.has_time() {
                tagged
            } else {
                &tagged[TAG..]
            }
        };
        let said = self.disk.written();
        let from = self
            .clients
            .get_mut(&saying.from)
            .expect("it stays until it has been heard");
        from.said = said;
        if let Some(room) = self.rooms.get_mut(&saying.to) {
            room.last = position;
            if saying.verb == Verb::Topic {
                room.topic = saying.text.clone();
            }
            for post in &room.present {
                if (post.id != saying.from || saying.verb == Verb::Topic)
                    && !post.put(text(post), 0, None)
                {
                    self.full.push(post.id);
                }
            }
        } else if let Some(person) = self.people.get_mut(&saying.to) {
            person.last = position;
            let reader = person.client;
            let from = &self.clients[&saying.from];
            if let Some(reader) = reader.and_then(|id| self.clients.get(&id)) {
                if !reader.post.put(text(&reader.post), 0, None) {
                    self.full.push(reader.post.id);
                }
            }
            if from.echo && !from.post.put(text(&from.post), said, None) {
                self.full.push(saying.from);
            }
            return;
        }
        let from = &self.clients[&saying.from];
        if from.echo && saying.verb != Verb::Topic && !from.post.put(text(&from.post), said, None) {
            self.full.push(saying.from);
        }
    }
}
