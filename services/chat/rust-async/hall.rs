//! The owner of the rooms and the log: members, their positions, and the order of messages.

use crate::disk::{Disk, Safe, STAMP};
use crate::post::Post;
use crate::say::Saying;
use crate::words::{fold, line, said};
use crate::Line;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{interval, sleep, MissedTickBehavior};
use tokio::{pin, select, spawn};

/// For a client that has left to read its remaining lines. A guess.
const LINGER: Duration = Duration::from_secs(5);
/// For a client that was sent everything to close. A guess.
const CLOSE: Duration = Duration::from_secs(1);
/// For all clients, when the server ends. A guess.
const LEAVING: Duration = Duration::from_millis(1000);
const TICK: Duration = Duration::from_secs(1);
const REGISTER: Duration = Duration::from_secs(30);
const SPEAK: Duration = Duration::from_secs(90);
const ANSWER: Duration = Duration::from_secs(30);

/// Messages of readers and writers to the owner.
pub enum Event {
    Entered {
        id: u64,
        host: String,
        post: Arc<Post>,
        end: oneshot::Sender<()>,
        tasks: (AbortHandle, AbortHandle),
    },
    Said(u64, Vec<Line>),
    /// The client's stream has ended, in order or not.
    Ended(u64, bool),
    /// The box is empty after the last words, or cannot be emptied.
    Written(u64, bool),
    /// It took too long.
    Late(u64),
}

pub struct Client {
    pub post: Arc<Post>,
    end: Option<oneshot::Sender<()>>,
    tasks: (AbortHandle, AbortHandle),
    pub host: String,
    pub nick: Vec<u8>,
    pub user: Option<Vec<u8>>,
    pub real: Vec<u8>,
    pub password: Option<Vec<u8>>,
    pub prefix: Vec<u8>,
    /// The folded nick, once it has registered.
    pub person: Option<Vec<u8>>,
    pub asking: bool,
    pub echo: bool,
    pub rooms: Vec<Vec<u8>>,
    opened: Instant,
    pub heard: Instant,
    pinged: Instant,
    /// The disk's count of changes after its last message.
    pub said: u64,
    /// Was sent messages without a PING after them.
    pub owes: bool,
    /// The position in the log that the last PING named.
    pub asked: i64,
    pub left: bool,
    /// All before this position was put into its box when it left; it has received that if it
    /// ends in order.
    upto: i64,
    in_order: bool,
    /// The server ends: the client has received all if it ends its side, too.
    ask: bool,
    ended: bool,
    written: bool,
}

/// A nick that was here. The last message to it alone ends at last; messages before upto were
/// received.
#[derive(Default)]
pub struct Person {
    pub name: Vec<u8>,
    pub client: Option<u64>,
    pub last: i64,
    pub upto: i64,
}

#[derive(Default)]
pub struct Room {
    pub name: Vec<u8>,
    pub topic: Vec<u8>,
    pub last: i64,
    pub present: Vec<Arc<Post>>,
    /// By folded nick: the position up to which each has received.
    pub members: HashMap<Vec<u8>, i64>,
}

pub struct Hall {
    events: mpsc::Sender<Event>,
    pub disk: Disk,
    pub clients: HashMap<u64, Client>,
    pub nicks: HashMap<Vec<u8>, u64>,
    pub people: HashMap<Vec<u8>, Person>,
    pub rooms: HashMap<Vec<u8>, Room>,
    pub now: Instant,
    ending: bool,
    /// Clients with too much in their queue.
    pub full: Vec<u64>,
    /// Messages that are not in the log yet, with their lines for clients and for the log.
    pub unsaid: Vec<Saying>,
    pub wire: Vec<u8>,
    pub lines: Vec<u8>,
}

impl Hall {
    pub fn new(data: &str, events: mpsc::Sender<Event>) -> io::Result<Hall> {
        let disk = Disk::open(data)?;
        let mut people: HashMap<Vec<u8>, Person> = HashMap::new();
        let mut rooms: HashMap<Vec<u8>, Room> = HashMap::new();
        disk.read_members(|who, place, upto| {
            if place == b"*" {
                let person = people.entry(fold(who)).or_default();
                (person.name, person.upto) = (who.to_vec(), upto.unwrap_or(0));
                return;
            }
            let room = rooms.entry(fold(place)).or_insert_with(|| Room {
                name: place.to_vec(),
                ..Room::default()
            });
            match upto {
                Some(upto) => room.members.insert(fold(who), upto),
                None => room.members.remove(&fold(who)),
            };
        })?;
        disk.read_log(|text, position| {
            let (_, verb, to, text) = said(text.get(STAMP + 1..).unwrap_or_default());
            if let Some(person) = people.get_mut(&fold(to)) {
                person.last = position;
            } else if verb == b"TOPIC" {
                let room = rooms.entry(fold(to)).or_insert_with(|| Room {
                    name: to.to_vec(),
                    ..Room::default()
                });
                (room.topic, room.last) = (text.to_vec(), position);
            } else if let Some(room) = rooms.get_mut(&fold(to)) {
                room.last = position;
            }
        })?;
        rooms.retain(|_, room| !room.members.is_empty() || !room.topic.is_empty());
        let (clients, nicks, now) = (HashMap::new(), HashMap::new(), Instant::now());
        let (full, unsaid, wire, lines) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut hall = Hall {
            events,
            disk,
            clients,
            nicks,
            people,
            rooms,
            now,
            ending: false,
            full,
            unsaid,
            wire,
            lines,
        };
        hall.snapshot()?;
        Ok(hall)
    }

    pub fn safe(&self) -> Safe {
        self.disk.safe()
    }

    fn snapshot(&mut self) -> io::Result<()> {
        let people = &self.people;
        let alone = people.values().map(|p| (&p.name[..], &b"*"[..], p.upto));
        let members = self.rooms.values().flat_map(|room| {
            let name = |key| people.get(key).map_or(key, |p: &Person| &p.name);
            room.members
                .iter()
                .map(move |(key, &upto)| (&name(key)[..], &room.name[..], upto))
        });
        self.disk.snapshot(alone.chain(members))
    }

    /// Owns the state until it is told to stop, and the clients have gone or their time is over.
    pub async fn keep(mut self, mut inbox: mpsc::Receiver<Event>, stop: impl Future<Output = ()>) {
        pin!(stop);
        let mut second = interval(TICK);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = sleep(Duration::MAX);
        pin!(over);
        while !self.ending || !self.clients.is_empty() {
            select! {
                Some(event) = inbox.recv() => {
                    self.now = Instant::now();
                    self.handle(event);
                    // All that waits goes into the log at once.
                    for _ in 0..inbox.len() {
                        if let Ok(event) = inbox.try_recv() {
                            self.handle(event);
                        }
                    }
                }
                due = second.tick() => if due.elapsed() < TICK {
                    self.tick(); // after a stop, what clients said meanwhile is read first
                },
                _ = &mut stop, if !self.ending => {
                    self.ending = true;
                    over.as_mut().reset(tokio::time::Instant::now() + LEAVING);
                    for id in self.clients.keys().copied().collect::<Vec<_>>() {
                        let client = self.client(id);
                        client.ask = !client.left;
                        self.leave(id, b"the server ends", true);
                    }
                }
                _ = &mut over => return,
            }
            self.commit();
            while let Some(id) = self.full.pop() {
                self.leave(id, b"you do not read", false); // its QUIT may be too much for others
            }
        }
    }

    pub fn client(&mut self, id: u64) -> &mut Client {
        self.clients.get_mut(&id).expect("a client that is here")
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Entered {
                id,
                host,
                post,
                end,
                tasks,
            } => {
                let (opened, heard, pinged) = (self.now, self.now, self.now);
                let (nick, real, prefix, rooms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                let client = Client {
                    post,
                    end: Some(end),
                    tasks,
                    host,
                    nick,
                    user: None,
                    real,
                    password: None,
                    prefix,
                    person: None,
                    asking: false,
                    echo: false,
                    rooms,
                    opened,
                    heard,
                    pinged,
                    said: 0,
                    owes: false,
                    asked: 0,
                    left: false,
                    upto: 0,
                    in_order: false,
                    ask: false,
                    ended: false,
                    written: false,
                };
                self.clients.insert(id, client);
                if self.ending {
                    self.leave(id, b"the server ends", false);
                }
            }
            Event::Said(id, lines) if self.clients.contains_key(&id) => {
                self.client(id).heard = self.now;
                for line in lines {
                    if self.client(id).left {
                        break;
                    }
                    self.obey(id, line);
                }
            }
            Event::Ended(id, in_order) if self.clients.contains_key(&id) => {
                self.commit();
                self.leave(id, b"the end", in_order);
                let client = self.client(id);
                client.ended = true;
                client.in_order &= in_order;
                if !in_order {
                    client.tasks.1.abort();
                    client.written = true;
                }
                self.forget_if_done(id);
            }
            Event::Written(id, whole) if self.clients.contains_key(&id) => {
                self.commit();
                self.leave(id, b"the connection has failed", false);
                let client = self.client(id);
                client.written = true;
                client.in_order &= whole;
                self.forget_if_done(id);
            }
            Event::Late(id) if self.clients.get(&id).is_some_and(|c| !c.written) => {
                let client = self.client(id);
                client.tasks.1.abort();
                (client.written, client.in_order) = (true, false);
                self.forget_if_done(id);
            }
            _ => {} // messages after a client's end
        }
    }

    /// Another may have the nick before the client sees the end.
    fn forget_if_done(&mut self, id: u64) {
        let client = self.client(id);
        if !client.written {
            return;
        }
        if client.in_order && client.ask && !client.ended {
            client.end = None; // its answer shows that it has everything
            return;
        }
        if client.in_order {
            let upto = client.upto;
            self.received(id, upto);
        }
        let client = self.clients.remove(&id).expect("it was here");
        if let Some(person) = client.person.and_then(|key| self.people.get_mut(&key)) {
            person.client = None;
        }
        let key = fold(&client.nick);
        if self.nicks.get(&key) == Some(&id) {
            self.nicks.remove(&key);
        }
        drop(client.end);
        spawn(async move {
            sleep(CLOSE).await;
            client.tasks.0.abort();
        });
    }

    /// A client leaves all rooms. It still gets the contents of its queue.
    pub fn leave(&mut self, id: u64, why: &[u8], in_order: bool) {
        let upto = self.disk.end;
        let Some(client) = self.clients.get_mut(&id).filter(|c| !c.left) else {
            return;
        };
        (client.left, client.in_order, client.upto) = (true, in_order, upto);
        for key in &client.rooms {
            if let Some(room) = self.rooms.get_mut(key) {
                room.present.retain(|post| post.id != id);
            }
        }
        client.post.end(&line(&[b"ERROR :Closing link: ", why]));
        if client.person.is_some() {
            let text = line(&[&client.prefix, b" QUIT :", why]);
            self.tell_neighbours(id, &text);
        }
        let events = self.events.clone();
        spawn(async move {
            sleep(LINGER).await;
            let _ = events.send(Event::Late(id)).await;
        });
    }

    /// Records that everything before a position in the log was received, with a line if there was
    /// something.
    pub fn received(&mut self, id: u64, upto: i64) {
        let client = &self.clients[&id];
        let Some(key) = &client.person else { return };
        let Some(person) = self.people.get_mut(key) else {
            return;
        };
        if person.upto < upto {
            if person.last > person.upto {
                self.disk.note(&person.name, b"*", Some(upto));
            }
            person.upto = upto;
        }
        for name in &client.rooms {
            let Some(room) = self.rooms.get_mut(name) else {
                continue;
            };
            if let Some(before) = room.members.get_mut(key).filter(|before| **before < upto) {
                if room.last > *before {
                    self.disk.note(&person.name, &room.name, Some(upto));
                }
                *before = upto;
            }
        }
    }

    /// Asks clients that were sent something whether they have it, and disconnects silent ones.
    fn tick(&mut self) {
        self.now = Instant::now();
        for id in self.clients.keys().copied().collect::<Vec<_>>() {
            let end = self.disk.end;
            let client = &self.clients[&id];
            let silent = self.now - client.heard;
            if client.left {
            } else if client.person.is_none() && self.now - client.opened > REGISTER {
                self.leave(id, b"you did not register", false);
            } else if silent > SPEAK + ANSWER {
                self.leave(id, b"you did not answer", false);
            } else if client.owes
                || self.was_sent(client)
                || silent > SPEAK && client.pinged < client.heard
            {
                self.put(id, &line(&[b"PING :", end.to_string().as_bytes()]));
                let now = self.now;
                let client = self.client(id);
                (client.owes, client.asked, client.pinged) = (false, end, now);
            }
        }
        if self.disk.stale {
            let _ = self.snapshot(); // the next tick tries again
        }
        self.disk.flush();
    }

    fn was_sent(&self, client: &Client) -> bool {
        let alone = client.person.as_ref().and_then(|key| self.people.get(key));
        alone.is_some_and(|p| p.last > client.asked)
            || client
                .rooms
                .iter()
                .any(|key| self.rooms.get(key).is_some_and(|r| r.last > client.asked))
    }

    pub fn put(&mut self, id: u64, text: &[u8]) {
        if !self.clients[&id].post.put(text, 0, None) {
            self.full.push(id);
        }
    }

    pub fn tell(&mut self, room: &[u8], text: &[u8]) {
        for post in &self.rooms[room].present {
            if !post.put(text, 0, None) {
                self.full.push(post.id);
            }
        }
    }

    /// Tells all who share a room with a client, once each.
    pub fn tell_neighbours(&mut self, id: u64, text: &[u8]) {
        let mut told = std::collections::HashSet::from([id]);
        for key in &self.clients[&id].rooms {
            for post in self.rooms.get(key).map_or(&[][..], |room| &room.present) {
                if told.insert(post.id) && !post.put(text, 0, None) {
                    self.full.push(post.id);
                }
            }
        }
    }
}
