package hall

import (
	"strings"

	"interleave/papaya/irc"
)

// While the log cannot be written, since the disk is full or the folder is gone, it refuses all
// that is to last: nobody is told that something is done before it is in the log. People come and
// go nevertheless, and are in rooms: a single server applies such entries without the log, and
// writes them to it when it can.

// Refuse answers an entry of a client that the log has refused, and the line m that it was made of,
// if there is one. It returns false if the entry goes on without the log.
func (h *Hall) Refuse(c *Client, e Entry, m *irc.Message, why string) bool {
	command, words, label := m.Command, m.Params, m.Tags["label"]
	switch e.Kind {
	case Said:
		if cmd := commands[command]; cmd == nil || cmd.passes {
			return false
		}
	case Lines:
		first, _ := parseLines(e.Data)
		command, words, label = first.Command, first.Params, e.Label
	case Edit:
		edit, target, it, _ := parseEdit(e.Data)
		h.labelled(c, e.Label, func() {
			h.fail(c, it.command, "TEMPORARILY_UNAVAILABLE", middle(target)+" "+
				h.ids.of(edit.of), "The log says: "+why)
		})
		return true
	case Redact:
		target, _, _ := strings.Cut(string(e.Data), "\n")
		command, words, label = "REDACT", []string{target}, e.Label
	case Founder:
		command, label = "CS", e.Label
	case ServerBan:
		command, label = "UBAN", e.Label
	case Report:
		command, label = "REPORT", e.Label
	default:
		return false
	}
	h.labelled(c, label, func() {
		h.tellRefused(c, &irc.Message{Command: command, Params: words}, why)
	})
	return true
}

// tellRefused tells a client that a line of it was refused.
func (h *Hall) tellRefused(c *Client, m *irc.Message, why string) {
	target, says := m.Param(0), "The log says: "+why
	switch m.Command {
	case "NOTICE": // it is never answered
	case "PRIVMSG", "TAGMSG", "TOPIC":
		for one := range strings.SplitSeq(target, ",") {
			h.num(c, irc.ERR_CANNOTSENDTOCHAN, middle(one)+" :Cannot send to channel: "+why)
		}
	case "MARKREAD":
		h.fail(c, m.Command, "INTERNAL_ERROR", middle(target), says)
	case "RENAME":
		h.fail(c, m.Command, "CANNOT_RENAME", middle(target)+" "+middle(m.Param(1)), says)
	case "SETNAME":
		h.fail(c, m.Command, "CANNOT_CHANGE_REALNAME", "", says)
	case "CS":
		h.notice(c, "Not done. "+says)
	default:
		h.fail(c, m.Command, "TEMPORARILY_UNAVAILABLE", middle(target), says)
	}
}

// Says says whether an order only adds something to what is said, so that it ends no session, and
// changes nobody's rights.
func Says(e Entry) bool {
	verb, _, _ := strings.Cut(string(e.Data), orderWords)
	return e.Kind == Order && (verb == PostTo || verb == AddPreview)
}

// Passes says whether an order goes on while the log cannot be written: one that ends sessions. All
// sessions end with the server, so a restart does not bring them back.
func Passes(e Entry) bool {
	verb, _, _ := strings.Cut(string(e.Data), orderWords)
	return e.Kind == Order && (verb == EndNick || verb == EndAccount || verb == EndTokens)
}
