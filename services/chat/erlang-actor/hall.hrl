%% What the owner of the rooms and those who work for it know. What the owner knows. Positions are
%% those in the log. A log that was made anew goes on counting, from base. Looked: when it was
%% last seen where it belongs, in milliseconds; unseen, who has said something since. Second: the
%% last one, as text.
-record(hall, {
    data,
    log,
    inode,
    looked = 0,
    unseen = [],
    second = {0, <<>>},
    base = 0,
    pos = 0,
    members,
    grown = 0,
    stale = false,
    unsaid = [],
    clients = #{},
    nicks = #{},
    people = #{},
    rooms = #{},
    ending = false
}).
%% A connection. Said: since it was last known to be on the disk. Asked: the position that the last
%% PING named. Upto: all before was sent to it when it left, and it has received that if it ends
%% in_order; after the server has said so, ask.
-record(client, {
    host,
    nick = <<>>,
    user,
    real,
    prefix,
    password = <<>>,
    passed = false,
    person,
    asking = false,
    echo = false,
    time = false,
    rooms = [],
    opened,
    heard,
    pinged = 0,
    said = false,
    owes = false,
    asked = 0,
    left = false,
    upto = 0,
    in_order = false,
    ask = false,
    closed = false,
    flushed = false
}).
%% Last is the position after the last message, upto that before which all was received.
-record(person, {name, pid, last = 0, upto = 0}).
-record(room, {name, topic = <<>>, last = 0, present = [], members = #{}}).

%% What one client has said in a row to one room or nick; a line is head and one of the texts.
-record(said, {to, verb, pid, head, texts}).

%% A part of the log that a client has missed: what others than me have said where, with or
%% without the time.
-record(missed, {file, from, to, where, me, time}).
%% Bytes of a time, as 2026-11-22T07:20:11.123Z.
-define(STAMP, 24).
