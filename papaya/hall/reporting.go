package hall

import (
	"fmt"
	"strings"

	"interleave/papaya/irc"
)

// The commands of reports: REPORT of users, and REPORTS of operators.

const reportUsage = "It is REPORT NICK :REASON, or REPORT TARGET MSGID :REASON"

func (h *Hall) failReport(c *Client, code, words, why string) {
	if c != nil {
		h.fail(c, "REPORT", code, words, why)
	}
}

// reportCommand answers REPORT, or returns the entry of the report.
func (h *Hall) reportCommand(c *Client, m *irc.Message) Entry {
	why := func(code, words, text string) Entry {
		h.failReport(c, code, words, text)
		return Entry{}
	}
	target, reason := m.Param(0), strings.TrimSpace(m.Last())
	switch {
	case !h.full():
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	case len(m.Params) > 3 || reason == "" || middle(target) != target:
		return why("INVALID_PARAMS", "", reportUsage)
	}
	r := report{}
	var ok bool
	if len(m.Params) == 2 {
		if r, ok = h.reportUser(c, target); !ok {
			return why("INVALID_TARGET", target, "There is no such user")
		}
	} else if r, ok = h.reportMessage(c, irc.RoomOf(target), m.Param(1)); !ok {
		return why("UNKNOWN_MSGID", target+" "+middle(m.Param(1)),
			"There is no such message, or not any more")
	}
	r.why = truncate(reason, maxReportWhy)
	if err := h.mayReport(c.user.reporter()); err != nil {
		return why("TEMPORARILY_UNAVAILABLE", "", err.Error())
	}
	if h.config.Reporting != nil && !h.config.Reporting(c) {
		return why("RATE_LIMITED", "", "You report too much at once: try again later")
	}
	c.later = true
	return Entry{Kind: Report, Data: reportData(r)}
}

// reportUser begins a report about a user who is here, or has an account that was.
func (h *Hall) reportUser(c *Client, nick string) (report, bool) {
	u := h.holder(irc.Lower(nick))
	if u == nil || u == c.user {
		return report{}, false
	}
	return report{of: u.nick, account: u.account, target: "-"}, true
}

// reportMessage begins a report about a message that the client may read. A guest's conversations
// have no history, but the guest has received what was said since it has its nick.
func (h *Hall) reportMessage(c *Client, target, id string) (report, bool) {
	u, folded := c.user, irc.Lower(target)
	at, ok := h.ids.parse(id)
	if !ok {
		return report{}, false
	}
	s, _, ok := h.messageAt(at)
	if !ok || !s.spoken() {
		return report{}, false
	}
	// who reports it has read its newest text
	now, ok := (&pages{text: h.whole(), versions: h.versions}).revised(s)
	if !ok {
		return report{}, false
	}
	r := report{target: "*", place: string(appendPlace(nil, at)), said: s.time, text: now.text()}
	r.of, _, _ = irc.SplitMask(s.source)
	r.account = h.Author(r.of, at)
	if room := h.rooms[folded]; room != nil {
		r.target = room.name
	}
	if irc.IsRoom(target) || u.lasting() {
		want := h.readable(c, target, messageTags)
		return r, want != nil && want(s) && at >= h.since(c, target)
	}
	return r, s.nick() == folded && u.hadNick(s.target, at)
}

const reportsUsage = "It is REPORTS LIST, REPORTS LIST ALL, REPORTS SHOW ID or REPORTS CLOSE ID " +
	":REMARK"

// reportsCommand answers REPORTS, or returns the entry that closes a report.
func (h *Hall) reportsCommand(c *Client, m *irc.Message) Entry {
	verb, id := strings.ToUpper(m.Param(0)), m.Param(1)
	switch {
	case !h.full():
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
	case !c.user.role.runs():
		h.notOperator(c)
	case verb == "LIST":
		h.listReports(c, strings.EqualFold(id, "ALL"))
	case verb == "SHOW" && id != "":
		h.showReport(c, id)
	case verb == "CLOSE" && id != "":
		c.later = true
		remark := strings.Join(m.Params[2:], " ")
		return Entry{Kind: Report, Data: []byte("-" + orderWords + id + orderWords + remark)}
	default:
		h.tellReport(c, reportsUsage)
	}
	return Entry{}
}

// listReports lists the open reports, or all, and says how many are open.
func (h *Hall) listReports(c *Client, all bool) {
	for _, r := range h.reports.list {
		if all || r.closedBy == "" {
			h.tellReport(c, r.line())
		}
	}
	h.countReports(c)
}

// countReports tells an operator how many reports are open.
func (h *Hall) countReports(c *Client) {
	h.tellReport(c, fmt.Sprintf("%d reports are open. REPORTS LIST lists them", h.OpenReports()))
}

// greetOperator tells a client that has registered how many reports are open.
func (h *Hall) greetOperator(c *Client) {
	if c.user.role.runs() && (h.config.Reporting != nil || h.OpenReports() > 0) {
		h.countReports(c)
	}
}

// offerReports says that REPORT is understood. No standard has a word for it.
func (h *Hall) offerReports(c *Client) {
	if h.full() && h.config.Reporting != nil {
		h.num(c, irc.RPL_ISUPPORT, "papaya/REPORT :are supported by this server")
	}
}

// showReport shows a report with its message. Lines that are too long go on in lines "more". The
// first line may have had no room for all of the reason, so that follows by itself.
func (h *Hall) showReport(c *Client, number string) {
	r := h.report(number)
	if r == nil {
		h.tellReport(c, "There is no report "+middle(number))
		return
	}
	h.tellReport(c, r.line())
	h.tellReport(c, fmt.Sprintf("reason %d %s", r.id, r.why))
	if r.place != "" {
		h.tellReport(c, fmt.Sprintf("message %d time=%s msgid=%s", r.id, when(r.said),
			h.ids.msgid(r.place)))
		for l := range strings.SplitSeq(r.text, "\n") {
			word := "text"
			for {
				part := truncate(l, maxShown)
				h.tellReport(c, fmt.Sprintf("%s %d %s", word, r.id, part))
				if l, word = l[len(part):], "more"; l == "" {
					break
				}
			}
		}
	}
	if r.closedBy != "" {
		h.tellReport(c, r.closing())
	}
	h.tellReport(c, fmt.Sprintf("end of report %d", r.id))
}

// maxShown is in bytes: what a line of REPORTS SHOW may have of a message.
const maxShown = 300
