%% Records of the owner of the rooms and of its helpers. The owner's state: positions are those in
%% the log. A new log goes on counting, from base. Looked is the time in milliseconds of the last
%% check of its file; unseen has the clients with messages since then. Second is the last one, as
%% text.
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
%% A connection. Said: it has sent messages since its last ones were known to be on the disk. Asked:
%% the position that the last PING named. Upto: everything before was sent to it when it left, and
%% it has received that if it ends in_order; ask, if the server ended it.
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
%% Last is the position after the last message. All messages before upto were received.
-record(person, {name, pid, last = 0, upto = 0}).
-record(room, {name, topic = <<>>, last = 0, present = [], members = #{}}).

%% Consecutive messages of one client to one room or nick; a line is head and one of the texts.
-record(said, {to, verb, pid, head, texts}).

%% A part of the log that a client has missed: messages of others than me in a room, with or without
%% the time.
-record(missed, {file, from, to, where, me, time}).
%% Bytes of a time, as 2026-11-22T07:20:11.123Z.
-define(STAMP, 24).
