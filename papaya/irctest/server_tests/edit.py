"""Changes of messages by +draft/edit, of which irctest has no test. Run by run.sh beside the suite.

IRCv3 has no specification of edits: docs/papaya/rooms.md says what Papaya does.
"""

from irctest import cases
from irctest.irc_utils.junkdrawer import random_name
from irctest.irc_utils.message_parser import Message
from irctest.patma import ANYSTR, StrRe

EDIT_CAP = "draft/message-edit"
TAGS = ["message-tags", "echo-message", "batch", "labeled-response"]
HISTORY = ["server-time", "draft/chathistory"]


class EditTestCase(cases.BaseServerTestCase):
    def _connect(self, name: str, channel: str, *capabilities: str) -> str:
        """Connects a client that knows edits, or one with the capabilities."""
        nick = random_name(name)
        self.connectClient(
            nick, name=nick, capabilities=[*TAGS, *(capabilities or [EDIT_CAP])]
        )
        self.joinChannel(nick, channel)
        return nick

    def _setup(self) -> tuple[str, str, str]:
        """Connects alice and bob, who know edits. Alice operates the channel."""
        channel = random_name("#channel")
        alice = self._connect("alys", channel)
        bob = self._connect("bob", channel)
        for nick in (alice, bob):
            self.getMessages(nick)
        return alice, bob, channel

    def _say(self, nick: str, target: str, text: str) -> str:
        """Says something, and returns its msgid. The others have it to read."""
        self.sendLine(nick, f"PRIVMSG {target} :{text}")
        echo = self.getMessage(nick)
        self.assertMessageMatch(echo, command="PRIVMSG", params=[target, text])
        msgid = echo.tags["msgid"]
        assert msgid
        return msgid

    def _edit(self, nick: str, target: str, msgid: str, text: str, **tags: str) -> None:
        more = "".join(f"{key}={value};" for key, value in tags.items())
        self.sendLine(nick, f"@{more}+draft/edit={msgid} PRIVMSG {target} :{text}")

    def _assertEdit(
        self, msg: Message, by: str, target: str, msgid: str, text: str
    ) -> None:
        self.assertMessageMatch(
            msg, command="PRIVMSG", params=[target, text], prefix=StrRe(f"{by}!.*")
        )
        self.assertEqual(msg.tags.get("+draft/edit"), msgid, msg)
        self.assertNotIn(msg.tags.get("msgid"), (None, msgid), msg)

    def _assertFail(self, msg: Message, code: str, *params: str) -> None:
        self.assertMessageMatch(
            msg, command="FAIL", params=["PRIVMSG", code, *params, ANYSTR]
        )

    def testEdit(self):
        """All in the channel are told: those who know edits by the tag, and others by a
        message that answers the former one."""
        alice, bob, channel = self._setup()
        carol = self._connect("carol", channel, "message-tags")
        for nick in (alice, bob, carol):
            self.getMessages(nick)
        msgid = self._say(alice, channel, "the ketle is on")
        for nick in (bob, carol):
            self.getMessage(nick)

        self._edit(alice, channel, msgid, "the kettle is on")
        for nick in (alice, bob):
            msg = self.getMessage(nick)
            self._assertEdit(msg, alice, channel, msgid, "the kettle is on")
        correction = self.getMessage(carol)
        self.assertMessageMatch(
            correction, command="PRIVMSG", params=[channel, "* the kettle is on"]
        )
        self.assertEqual(correction.tags.get("+draft/reply"), msgid, correction)
        self.assertNotIn("+draft/edit", correction.tags)

    def testEditOfAnEdit(self):
        """The msgid of the later text names the message, too."""
        alice, bob, channel = self._setup()
        msgid = self._say(alice, channel, "one")
        self._edit(alice, channel, msgid, "two")
        later = self.getMessage(alice).tags["msgid"]
        self.getMessages(bob)
        self._edit(alice, channel, later, "three")
        for nick in (alice, bob):
            self._assertEdit(self.getMessage(nick), alice, channel, msgid, "three")

    def testPrivateEdit(self):
        alice, bob, _ = self._setup()
        msgid = self._say(alice, bob, "for bob")
        self.getMessage(bob)
        self._edit(alice, bob, msgid, "for bob alone")
        for nick in (alice, bob):
            msg = self.getMessage(nick)
            self._assertEdit(msg, alice, bob, msgid, "for bob alone")

    def testLabels(self):
        """The echo of a change has its label, and so has a refusal."""
        alice, _, channel = self._setup()
        msgid = self._say(alice, channel, "one")
        self._edit(alice, channel, msgid, "two", label="abc")
        self.assertEqual(self.getMessage(alice).tags.get("label"), "abc")
        self._edit(alice, channel, "nonexistent123", "two", label="def")
        refusal = self.getMessage(alice)
        self.assertEqual(refusal.tags.get("label"), "def")
        self._assertFail(refusal, "UNKNOWN_MSGID", channel, "nonexistent123")

    def testNobodyElseEdits(self):
        """Neither members nor operators change the messages of others."""
        alice, bob, channel = self._setup()
        for author, other in ((alice, bob), (bob, alice)):
            msgid = self._say(author, channel, f"said by {author}")
            self.getMessage(other)
            self._edit(other, channel, msgid, "something else")
            self._assertFail(self.getMessage(other), "EDIT_FORBIDDEN", channel, msgid)
            self.assertEqual(self.getMessages(author), [])

    def testEditsThatAreRefused(self):
        alice, bob, channel = self._setup()
        msgid = self._say(alice, channel, "one")
        self.getMessages(bob)
        other = random_name("#other")
        self._edit(alice, other, msgid, "two")
        self._assertFail(self.getMessage(alice), "INVALID_TARGET", other)
        self.joinChannel(alice, other)
        self.getMessages(alice)
        self._edit(alice, other, msgid, "two")
        self._assertFail(self.getMessage(alice), "UNKNOWN_MSGID", other, msgid)
        self.sendLine(alice, f"@+draft/edit={msgid} PRIVMSG {channel} :")
        self._assertFail(self.getMessage(alice), "INVALID_EDIT", channel, msgid)
        self.sendLine(alice, f"@+draft/edit={msgid} TAGMSG {channel}")
        self.assertMessageMatch(
            self.getMessage(alice),
            command="FAIL",
            params=["TAGMSG", "INVALID_EDIT", channel, ANYSTR],
        )
        self.sendLine(alice, f"PART {channel}")
        self.getMessages(alice)
        self._edit(alice, channel, msgid, "two")
        self._assertFail(self.getMessage(alice), "INVALID_TARGET", channel)
        for msg in self.getMessages(bob):
            self.assertEqual(msg.command, "PART", msg)

    def _history(self, nick: str, channel: str) -> list[tuple[str, str]]:
        """Returns the msgids and texts of the messages of a channel."""
        self.sendLine(nick, f"CHATHISTORY LATEST {channel} * 10")
        return [
            (msg.tags["msgid"], msg.params[1])
            for msg in self.getMessages(nick)
            if msg.command == "PRIVMSG"
        ]

    def testHistory(self):
        """A history has the newest text in the place of the message, and after a removal
        none of its texts."""
        channel = random_name("#channel")
        alice = self._connect("alys", channel, EDIT_CAP, "draft/message-redaction")
        carol = self._connect("carol", channel, *HISTORY)
        self.getMessages(alice)
        first = self._say(alice, channel, "one")
        second = self._say(alice, channel, "two")
        self._edit(alice, channel, first, "one, changed")
        self._edit(alice, channel, first, "one, changed again")
        self.getMessages(alice)
        self.getMessages(carol)
        self.assertEqual(
            self._history(carol, channel),
            [(first, "one, changed again"), (second, "two")],
        )
        self.sendLine(alice, f"REDACT {channel} {first}")
        self.getMessages(alice)
        self.assertEqual(self._history(carol, channel), [(second, "two")])
        self._edit(alice, channel, first, "one, back")
        self._assertFail(self.getMessage(alice), "UNKNOWN_MSGID", channel, first)

    def testSeveralLines(self):
        """A message of several lines takes the place of another."""
        channel = random_name("#channel")
        alice = self._connect("alys", channel, EDIT_CAP, "draft/multiline")
        bob = self._connect("bob", channel)
        for nick in (alice, bob):
            self.getMessages(nick)
        msgid = self._say(alice, channel, "one")
        self.getMessages(bob)
        self.sendLine(alice, f"@+draft/edit={msgid} BATCH +1 draft/multiline {channel}")
        self.sendLine(alice, f"@batch=1 PRIVMSG {channel} :two")
        self.sendLine(alice, f"@batch=1 PRIVMSG {channel} :three")
        self.sendLine(alice, "BATCH -1")
        heard = self.getMessages(bob)
        self.assertEqual([msg.params[1] for msg in heard], ["two", "three"])
        self.assertEqual(heard[0].tags.get("+draft/edit"), msgid)
