//! The commands of clients, and their effects.

use crate::hall::{Hall, Person, Room};
use crate::numeric::*;
use crate::say::Verb;
use crate::words::{fold, is_nick, is_room, line, Words, LONGEST};
use crate::Line;
use bytes::Bytes;
use std::fs;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;

const ROOMS: usize = 100;
const USER: usize = 10;
const TOPIC: usize = 300;

impl Hall {
    pub fn obey(&mut self, id: u64, said: Line) {
        let Words { verb, words } = match said {
            Line::Said(words) => words,
            Line::Long => return self.reply(id, ERR_INPUTTOOLONG, &[b":Input line was too long"]),
            Line::Nul => {
                self.commit();
                return self.leave(id, b"NUL in a line", false);
            }
        };
        let verb = &verb[..];
        if !matches!(verb, b"PRIVMSG" | b"NOTICE" | b"PING") {
            self.commit(); // these wait for others, to be written with them
        }
        let early = matches!(
            verb,
            b"CAP" | b"PASS" | b"NICK" | b"USER" | b"PING" | b"PONG" | b"QUIT"
        );
        let needs = match verb {
            b"CAP" | b"PASS" | b"JOIN" | b"PART" | b"TOPIC" | b"WHO" => 1,
            b"USER" => 4,
            _ => 0,
        };
        if !early && self.clients[&id].person.is_none() {
            return self.reply(id, ERR_NOTREGISTERED, &[b":You have not registered"]);
        }
        if words.len() < needs {
            return self.reply(id, ERR_NEEDMOREPARAMS, &[verb, b" :Not enough parameters"]);
        }
        match verb {
            b"CAP" => self.cap(id, &words),
            b"PASS" => self.pass(id, &words),
            b"NICK" => self.nick(id, &words),
            b"USER" => self.user(id, &words),
            b"PING" if words.is_empty() => self.reply(id, ERR_NOORIGIN, &[b":No origin specified"]),
            b"PING" => self.pong(id, line(&[b":chat PONG chat :", &words[0]])),
            b"PONG" => self.ponged(id, &words),
            b"QUIT" => self.leave(id, words.first().map_or(b"", |why| why), true),
            b"JOIN" => words[0]
                .split(|&b| b == b',')
                .for_each(|name| self.join(id, name)),
            b"PART" => words[0]
                .split(|&b| b == b',')
                .for_each(|name| self.part(id, name, words.get(1))),
            b"PRIVMSG" => self.message(id, Verb::Privmsg, &words),
            b"NOTICE" => self.message(id, Verb::Notice, &words),
            b"TOPIC" => self.topic(id, &words),
            b"NAMES" if words.is_empty() => self.reply(id, RPL_ENDOFNAMES, &[b"* :End of NAMES"]),
            b"NAMES" => words[0]
                .split(|&b| b == b',')
                .for_each(|name| self.names(id, name)),
            b"WHO" => self.who(id, &words[0]),
            _ => self.reply(id, ERR_UNKNOWNCOMMAND, &[verb, b" :Unknown command"]),
        }
    }

    pub fn reply(&mut self, id: u64, numeric: &str, parts: &[&[u8]]) {
        let start = [b":chat ", numeric.as_bytes(), b" ", self.called(id), b" "].concat();
        self.put(id, &line(&[&start, &parts.concat()]));
    }

    fn called(&self, id: u64) -> &[u8] {
        let nick = &self.clients[&id].nick;
        if nick.is_empty() {
            b"*"
        } else {
            nick
        }
    }

    fn cap(&mut self, id: u64, words: &[Bytes]) {
        let answer = [b":chat CAP ", self.called(id), b" "].concat();
        let asking = self.clients[&id].person.is_none();
        match &words[0].to_ascii_uppercase()[..] {
            b"LS" => {
                self.client(id).asking = asking;
                self.put(id, &line(&[&answer, b"LS :echo-message server-time"]));
            }
            b"LIST" => {
                let client = self.client(id);
                let has = [
                    (client.echo, "echo-message"),
                    (client.post.has_time(), "server-time"),
                ];
                let has: Vec<&str> = has.into_iter().filter(|h| h.0).map(|h| h.1).collect();
                self.put(id, &line(&[&answer, b"LIST :", has.join(" ").as_bytes()]));
            }
            b"REQ" => {
                let asked = words[1..].join(&b' ');
                let client = self.client(id);
                client.asking = asking;
                let (mut echo, mut time, mut known) = (client.echo, client.post.has_time(), true);
                for word in asked.split(|&b| b == b' ').filter(|w| !w.is_empty()) {
                    match word.strip_prefix(b"-").unwrap_or(word) {
                        b"echo-message" => echo = word[0] != b'-',
                        b"server-time" => time = word[0] != b'-',
                        _ => known = false,
                    }
                }
                if known {
                    client.echo = echo;
                    client.post.time.store(time, Ordering::Relaxed);
                }
                self.put(
                    id,
                    &line(&[&answer, if known { b"ACK :" } else { b"NAK :" }, &asked]),
                );
            }
            b"END" => {
                self.client(id).asking = false;
                self.register(id);
            }
            _ => self.reply(
                id,
                ERR_INVALIDCAPCMD,
                &[&words[0], b" :Invalid CAP command"],
            ),
        }
    }

    fn pass(&mut self, id: u64, words: &[Bytes]) {
        let client = self.client(id);
        if client.person.is_some() || client.password.is_some() {
            return self.reply(id, ERR_ALREADYREGISTERED, &[b":You may not say it again"]);
        }
        client.password = Some(words[0].to_vec());
    }

    fn user(&mut self, id: u64, words: &[Bytes]) {
        let client = self.client(id);
        if client.user.is_some() {
            return self.reply(id, ERR_ALREADYREGISTERED, &[b":You may not say it again"]);
        }
        client.user = Some(words[0][..words[0].len().min(USER)].to_vec());
        client.real = words[3].to_vec();
        self.register(id);
    }

    fn nick(&mut self, id: u64, words: &[Bytes]) {
        let Some(name) = words.first().filter(|name| !name.is_empty()) else {
            return self.reply(id, ERR_NONICKNAMEGIVEN, &[b":No nickname given"]);
        };
        let before = self.clients[&id].nick.clone();
        if !is_nick(name) {
            self.reply(id, ERR_ERRONEUSNICKNAME, &[name, b" :Erroneous nickname"]);
        } else if self
            .nicks
            .get(&fold(name))
            .is_some_and(|&holder| holder != id)
        {
            self.reply(
                id,
                ERR_NICKNAMEINUSE,
                &[name, b" :Nickname is already in use"],
            );
        } else if before[..] != name[..] {
            if !before.is_empty() {
                self.nicks.remove(&fold(&before));
            }
            self.nicks.insert(fold(name), id);
            self.client(id).nick = name.to_vec();
            if self.clients[&id].person.is_some() {
                self.rename(id)
            } else {
                self.register(id)
            }
        }
    }

    /// Makes a client another person. The old one stays a member, and has received the messages
    /// that the client has confirmed.
    fn rename(&mut self, id: u64) {
        let client = &self.clients[&id];
        let text = line(&[&client.prefix, b" NICK ", &client.nick]);
        let before = client.person.clone().unwrap_or_default();
        self.put(id, &text);
        self.tell_neighbours(id, &text);
        if let Some(person) = self.people.get_mut(&before) {
            person.client = None;
        }
        let key = self.become_person(id);
        let client = self.clients.get_mut(&id).expect("it was here");
        for name in &client.rooms {
            if let Some(room) = self.rooms.get_mut(name) {
                let upto = room.members.get(&before).copied().unwrap_or(self.disk.end);
                room.members.insert(key.clone(), upto);
                self.disk.note(&client.nick, &room.name, Some(upto));
            }
        }
        client.said = self.disk.written();
        self.missed_alone(id, key);
    }

    fn become_person(&mut self, id: u64) -> Vec<u8> {
        let client = self.clients.get_mut(&id).expect("it was here");
        let key = fold(&client.nick);
        let user = client.user.as_deref().unwrap_or_default();
        client.prefix = [
            b":",
            &client.nick[..],
            b"!",
            user,
            b"@",
            client.host.as_bytes(),
        ]
        .concat();
        client.person = Some(key.clone());
        let end = self.disk.end;
        let person = self.people.entry(key.clone()).or_insert_with(|| {
            self.disk.note(&client.nick, b"*", Some(end));
            client.said = self.disk.written();
            Person {
                upto: end,
                ..Person::default()
            }
        });
        (person.name, person.client) = (client.nick.clone(), Some(id));
        key
    }

    fn register(&mut self, id: u64) {
        let client = &self.clients[&id];
        if client.person.is_some()
            || client.nick.is_empty()
            || client.user.is_none()
            || client.asking
        {
            return;
        }
        let right = match fs::read(self.disk.dir.join("password")) {
            Ok(text) => {
                let first = text.split(|&b| b == b'\n').next().unwrap_or_default();
                client.password.as_deref() == Some(first.strip_suffix(b"\r").unwrap_or(first))
            }
            Err(e) => e.kind() == ErrorKind::NotFound,
        };
        if !right {
            self.reply(id, ERR_PASSWDMISMATCH, &[b":Password incorrect"]);
            return self.leave(id, b"wrong password", false);
        }
        let nick = client.nick.clone();
        let key = self.become_person(id);
        self.reply(id, RPL_WELCOME, &[b":Welcome, ", &nick]);
        self.reply(id, RPL_YOURHOST, &[b":Your host is chat"]);
        self.reply(
            id,
            RPL_CREATED,
            &[b":This server keeps what you have missed"],
        );
        self.reply(id, RPL_MYINFO, &[b"chat interleave o o"]);
        let limits = b"CASEMAPPING=ascii CHANTYPES=# NICKLEN=30 CHANNELLEN=50 TOPICLEN=300";
        self.reply(
            id,
            RPL_ISUPPORT,
            &[limits, b" :are supported by this server"],
        );
        self.reply(id, ERR_NOMOTD, &[b":There is no message of the day"]);
        self.missed_alone(id, key);
    }

    fn missed_alone(&mut self, id: u64, key: Vec<u8>) {
        let Person { last, upto, .. } = self.people[&key];
        self.missed(id, key, last, upto);
    }

    /// Makes the client's writer send others' messages from the log.
    fn missed(&mut self, id: u64, place: Vec<u8>, last: i64, upto: i64) {
        if last > upto {
            let client = self.clients.get_mut(&id).expect("it was here");
            let missed = self.disk.missed(
                upto,
                last,
                place,
                fold(&client.nick),
                client.post.has_time(),
            );
            client.owes = true;
            client.post.put(b"", 0, Some(missed));
        }
    }

    fn ponged(&mut self, id: u64, words: &[Bytes]) {
        let token = words
            .last()
            .and_then(|t| str::from_utf8(t).ok()?.parse().ok());
        if let Some(upto) = token.filter(|&upto| upto <= self.clients[&id].asked) {
            self.received(id, upto);
        }
    }

    fn join(&mut self, id: u64, name: &[u8]) {
        let key = fold(name);
        let client = &self.clients[&id];
        if !is_room(name) {
            return self.reply(id, ERR_NOSUCHCHANNEL, &[name, b" :No such channel"]);
        } else if client.rooms.contains(&key) {
            return;
        } else if client.rooms.len() >= ROOMS {
            return self.reply(
                id,
                ERR_TOOMANYCHANNELS,
                &[name, b" :You have joined too many channels"],
            );
        }
        let room = self.rooms.entry(key.clone()).or_insert_with(|| Room {
            name: name.to_vec(),
            ..Room::default()
        });
        let client = self.clients.get_mut(&id).expect("it was here");
        room.present.push(client.post.clone());
        client.rooms.push(key.clone());
        let text = line(&[&client.prefix, b" JOIN ", &room.name]);
        let (called, topic) = (room.name.clone(), room.topic.clone());
        self.tell(&key, &text);
        if !topic.is_empty() {
            self.reply(id, RPL_TOPIC, &[&called, b" :", &topic]);
        }
        self.names(id, &called);
        let person = fold(&self.clients[&id].nick);
        let room = self.rooms.get_mut(&key).expect("it was made");
        let (last, end) = (room.last, self.disk.end);
        if let Some(&upto) = room.members.get(&person) {
            self.missed(id, key, last, upto);
        } else {
            room.members.insert(person, end);
            let client = self.clients.get_mut(&id).expect("it was here");
            self.disk.note(&client.nick, &called, Some(end));
            client.said = self.disk.written();
        }
    }

    /// The folded name of a room that the client is in. If it is not, the client gets the reason.
    fn inside(&mut self, id: u64, name: &[u8]) -> Option<Vec<u8>> {
        let key = fold(name);
        if !self.rooms.contains_key(&key) {
            self.reply(id, ERR_NOSUCHCHANNEL, &[name, b" :No such channel"]);
        } else if !self.clients[&id].rooms.contains(&key) {
            self.reply(
                id,
                ERR_NOTONCHANNEL,
                &[name, b" :You are not in that channel"],
            );
        } else {
            return Some(key);
        }
        None
    }

    fn part(&mut self, id: u64, name: &[u8], why: Option<&Bytes>) {
        let Some(key) = self.inside(id, name) else {
            return;
        };
        let called = self.rooms[&key].name.clone();
        let colon: &[u8] = if why.is_some() { b" :" } else { b"" };
        let why = why.map_or(&b""[..], |why| why);
        self.tell(
            &key,
            &line(&[&self.clients[&id].prefix, b" PART ", &called, colon, why]),
        );
        let client = self.clients.get_mut(&id).expect("it was here");
        client.rooms.retain(|other| *other != key);
        self.disk.note(&client.nick, &called, None);
        client.said = self.disk.written();
        let room = self.rooms.get_mut(&key).expect("it was here");
        room.present.retain(|post| post.id != id);
        room.members.remove(&fold(&client.nick));
        if room.members.is_empty() && room.topic.is_empty() {
            self.rooms.remove(&key);
        }
    }

    fn message(&mut self, id: u64, verb: Verb, words: &[Bytes]) {
        // A NOTICE is never answered with an error.
        let fail = |hall: &mut Hall, numeric, parts: &[&[u8]]| {
            if verb != Verb::Notice {
                hall.reply(id, numeric, parts);
            }
        };
        let Some(to) = words.first().filter(|to| !to.is_empty()) else {
            return fail(self, ERR_NORECIPIENT, &[b":No recipient given"]);
        };
        let Some(text) = words.get(1).filter(|text| !text.is_empty()) else {
            return fail(self, ERR_NOTEXTTOSEND, &[b":No text to send"]);
        };
        let length = if verb == Verb::Notice {
            "NOTICE".len()
        } else {
            "PRIVMSG".len()
        };
        for name in to.split(|&b| b == b',') {
            let key = fold(name);
            let client = &self.clients[&id];
            let whole = client.prefix.len() + length + name.len() + text.len() + "   :\r\n".len();
            let inside = client.rooms.contains(&key);
            let room = name.starts_with(b"#");
            let called = if room {
                self.rooms.get(&key).map(|room| room.name.clone())
            } else {
                self.people.get(&key).map(|person| person.name.clone())
            };
            match called {
                _ if room && !is_room(name) => {
                    fail(self, ERR_NOSUCHCHANNEL, &[name, b" :No such channel"])
                }
                _ if room && !inside => fail(
                    self,
                    ERR_CANNOTSENDTOCHAN,
                    &[name, b" :You are not in that channel"],
                ),
                None => fail(self, ERR_NOSUCHNICK, &[name, b" :No such nick"]),
                _ if whole > LONGEST => {
                    fail(self, ERR_INPUTTOOLONG, &[b":Input line was too long"])
                }
                Some(called) => self.say(id, verb, key, &called, text),
            }
        }
    }

    fn topic(&mut self, id: u64, words: &[Bytes]) {
        let Some(key) = self.inside(id, &words[0]) else {
            return;
        };
        let (called, topic) = (
            self.rooms[&key].name.clone(),
            self.rooms[&key].topic.clone(),
        );
        if let Some(text) = words.get(1) {
            self.say(
                id,
                Verb::Topic,
                key,
                &called,
                &text[..text.len().min(TOPIC)],
            );
            self.commit();
        } else if topic.is_empty() {
            self.reply(id, RPL_NOTOPIC, &[&called, b" :No topic is set"]);
        } else {
            self.reply(id, RPL_TOPIC, &[&called, b" :", &topic]);
        }
    }

    fn names(&mut self, id: u64, name: &[u8]) {
        let Some(room) = self.rooms.get(&fold(name)) else {
            return self.reply(id, RPL_ENDOFNAMES, &[name, b" :End of NAMES"]);
        };
        let called = room.name.clone();
        let start = [
            b":chat 353 ",
            &self.clients[&id].nick[..],
            b" = ",
            &called,
            b" :",
        ]
        .concat();
        let mut lines = vec![start.clone()];
        for nick in room
            .present
            .iter()
            .filter_map(|post| self.clients.get(&post.id))
            .map(|c| &c.nick)
        {
            let text = lines.last_mut().expect("there is one");
            if text.len() + nick.len() + " \r\n".len() > LONGEST {
                lines.push([&start[..], nick].concat());
                continue;
            }
            if text.len() > start.len() {
                text.push(b' ');
            }
            text.extend_from_slice(nick);
        }
        for text in lines.iter().filter(|text| text.len() > start.len()) {
            self.put(id, &line(&[text]));
        }
        self.reply(id, RPL_ENDOFNAMES, &[&called, b" :End of NAMES"]);
    }

    fn who(&mut self, id: u64, name: &[u8]) {
        let key = fold(name);
        let mut place = b"*".to_vec();
        let mut ids = Vec::new();
        if let Some(room) = self.rooms.get(&key) {
            place = room.name.clone();
            ids = room.present.iter().map(|post| post.id).collect();
        } else if let Some(person) = self.people.get(&key) {
            ids.extend(person.client);
        }
        for c in ids {
            let Some(c) = self.clients.get(&c).filter(|c| !c.left) else {
                continue;
            };
            let user = c.user.as_deref().unwrap_or_default();
            let words = [
                &place[..],
                user,
                c.host.as_bytes(),
                b"chat",
                &c.nick,
                b"H",
                b":0",
                &c.real,
            ]
            .join(&b' ');
            self.reply(id, RPL_WHOREPLY, &[&words]);
        }
        self.reply(id, RPL_ENDOFWHO, &[name, b" :End of WHO"]);
    }
}
