package hall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Users report messages, and other users, to the operators (REPORT). A report has a copy of the
// message, which the reporter's server has read in the text: it stays if the message is removed
// later. It has the names of the reporter and of whom it is about, and no address.

// Limits of reports: their number, how many of one reporter may be open, and the bytes of a reason
// and of a remark. A closed report stays for keepClosed. All are guesses.
const (
	maxReports   = 500
	maxOwnOpen   = 20
	maxReportWhy = 250
	keepClosed   = int64(90 * 24 * time.Hour / time.Millisecond)
)

// A report is what a user has told the operators. Times are in milliseconds since 1970.
type report struct {
	id  uint64
	at  int64
	by  string // whom it is from: an account, or ~ and the nick of a guest
	why string

	of      string // the nick of whom it is about
	account string // the account of that nick; empty if it had none

	// The message; empty if the report is about a user.
	target string // the room, or * for a message to the reporter or from it
	place  string // its offset, as the text has those
	said   int64
	text   string // its lines are separated by LF

	closedBy string // empty: it is open
	closedAt int64
	remark   string
}

// reports has the open reports, and the closed ones that are still kept, the oldest first.
type reports struct {
	list []*report
	last uint64 // the number of the newest one ever
	next int64  // when the next closed one is removed; 0: there is none
}

// OpenReports returns the number of reports that are open.
func (h *Hall) OpenReports() (n int) {
	for _, r := range h.reports.list {
		if r.closedBy == "" {
			n++
		}
	}
	return n
}

// reporter names a user in its reports.
func (u *user) reporter() string {
	if u.account != "" {
		return u.account
	}
	return "~" + u.nick
}

// forgetReports removes closed reports that are old.
func (h *Hall) forgetReports() {
	if h.reports.next == 0 || h.now < h.reports.next {
		return
	}
	h.reports.list = slices.DeleteFunc(h.reports.list, func(r *report) bool {
		return r.closedBy != "" && r.closedAt+keepClosed <= h.now
	})
	h.noteNextReport()
}

// noteNextReport notes when the next closed report is removed.
func (h *Hall) noteNextReport() {
	h.reports.next = 0
	for _, r := range h.reports.list {
		if end := r.closedAt + keepClosed; r.closedBy != "" &&
			(h.reports.next == 0 || end < h.reports.next) {
			h.reports.next = end
		}
	}
}

// mayReport returns why a user's next report is not taken: there are too many.
func (h *Hall) mayReport(by string) error {
	own, closed := 0, false
	for _, r := range h.reports.list {
		if r.closedBy != "" {
			closed = true
		} else if irc.Lower(r.by) == irc.Lower(by) {
			own++
		}
	}
	switch {
	case own >= maxOwnOpen:
		return fmt.Errorf("%d reports of yours are open: wait for the operators", own)
	case len(h.reports.list) >= maxReports && !closed:
		return fmt.Errorf("the operators have %d open reports already", maxReports)
	}
	return nil
}

// reportWords are the words of the entry of a report, each in a line: of, account, target, place
// and time of the message, reason; and the text, which may have several lines.
const reportWords = 7

// reportData makes the entry of a report.
func reportData(r report) []byte {
	return []byte(strings.Join([]string{"+", r.of, r.account, r.target, r.place,
		strconv.FormatInt(r.said, 10), r.why, r.text}, orderWords))
}

// parseReport parses what reportData has made, without the +.
func parseReport(data string) (r report, ok bool) {
	word := strings.SplitN(data, orderWords, reportWords)
	if len(word) != reportWords || word[0] == "" || len(word[6]) > maxLinesBytes+maxLines ||
		strings.ContainsAny(strings.Join(word[:5], ""), " \x00\r") {
		return report{}, false
	}
	said, err := strconv.ParseInt(word[4], 10, 64)
	return report{of: word[0], account: word[1], target: word[2], place: word[3], said: said,
		why: truncate(word[5], maxReportWhy), text: word[6]}, err == nil
}

// applyReport applies a report (+), or closes one (-).
func (h *Hall) applyReport(s *session, data []byte) {
	sign, words, _ := strings.Cut(string(data), orderWords)
	if sign != "+" {
		h.closeReport(s, words)
		return
	}
	r, ok := parseReport(words)
	if !ok {
		return // another program has logged it
	}
	r.by = s.user.reporter()
	if err := h.mayReport(r.by); err != nil {
		h.failReport(s.client, "TEMPORARILY_UNAVAILABLE", "", err.Error())
		return
	}
	if len(h.reports.list) >= maxReports {
		h.dropClosed()
	}
	h.reports.last++
	r.id, r.at = h.reports.last, h.now
	h.reports.list = append(h.reports.list, &r)
	h.inform(s.client, fmt.Sprintf("Your report %d is sent to the operators", r.id))
	if h.config.Reported != nil {
		h.config.Reported(r.id)
	}
	h.eachOperator(func(c *Client) { h.tellReport(c, "new "+r.line()) })
}

// dropClosed removes the report that was closed the longest ago.
func (h *Hall) dropClosed() {
	oldest := -1
	for i, r := range h.reports.list {
		if r.closedBy != "" && (oldest < 0 || r.closedAt < h.reports.list[oldest].closedAt) {
			oldest = i
		}
	}
	if oldest >= 0 {
		h.reports.list = slices.Delete(h.reports.list, oldest, oldest+1)
		h.noteNextReport()
	}
}

// closeReport closes a report: its number, and in the next line a remark.
func (h *Hall) closeReport(s *session, words string) {
	number, remark, _ := strings.Cut(words, orderWords)
	r := h.report(number)
	switch {
	case !s.user.role.runs(): // the role was taken from it meanwhile
		h.notOperator(s.client)
	case r == nil:
		h.tellReport(s.client, "There is no report "+middle(number))
	case r.closedBy != "":
		h.tellReport(s.client, fmt.Sprintf("Report %d was closed by %s", r.id, r.closedBy))
	default:
		r.closedBy, r.closedAt = s.user.operator(), h.now
		r.remark = truncate(remark, maxReportWhy)
		h.noteNextReport()
		h.eachOperator(func(c *Client) { h.tellReport(c, "now "+r.closing()) })
	}
}

// report returns the report with a number, or nil.
func (h *Hall) report(number string) *report {
	id, err := strconv.ParseUint(number, 10, 64)
	i := slices.IndexFunc(h.reports.list, func(r *report) bool { return r.id == id })
	if err != nil || i < 0 {
		return nil
	}
	return h.reports.list[i]
}

// eachOperator calls each with the clients of this server whose users are operators, by nick.
func (h *Hall) eachOperator(each func(c *Client)) {
	for _, nick := range sorted(h.nicks) {
		if u := h.nicks[nick]; u.role.runs() {
			u.eachClient(each)
		}
	}
}

// operServ is the source of what is said to operators about reports.
const operServ = "OperServ"

// tellReport is a notice of OperServ.
func (h *Hall) tellReport(c *Client, text string) { h.noticeOf(c, operServ, text) }

// line shows a report in one line that programs can read, too: key=value, and the reason.
func (r *report) line() string {
	state := "open"
	if r.closedBy != "" {
		state = "closed"
	}
	return fmt.Sprintf("report %d %s time=%s by=%s of=%s account=%s in=%s %s", r.id, state,
		when(r.at), r.by, r.of, r.account, r.target, r.why)
}

// closing is the line that says who has closed a report.
func (r *report) closing() string {
	return fmt.Sprintf("closed %d by=%s time=%s %s", r.id, r.closedBy, when(r.closedAt), r.remark)
}

// when shows a time, in milliseconds since 1970, in answers that programs can read, too.
func when(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

type savedReport struct {
	ID       uint64
	At       int64
	By, Why  raw
	Of       raw
	Account  raw   `json:",omitempty"`
	Target   raw   `json:",omitempty"`
	Msgid    raw   `json:",omitempty"`
	Said     int64 `json:",omitempty"`
	Text     raw   `json:",omitempty"`
	ClosedBy raw   `json:",omitempty"`
	ClosedAt int64 `json:",omitempty"`
	Remark   raw   `json:",omitempty"`
}

func (r *report) save() savedReport {
	return savedReport{r.id, r.at, raw(r.by), raw(r.why), raw(r.of), raw(r.account), raw(r.target),
		raw(r.place), r.said, raw(r.text), raw(r.closedBy), r.closedAt, raw(r.remark)}
}

func (h *Hall) loadReports(saved []savedReport, last uint64) {
	h.reports.last = last
	for _, v := range saved {
		h.reports.list = append(h.reports.list, &report{v.ID, v.At, string(v.By), string(v.Why),
			string(v.Of), string(v.Account), string(v.Target), string(v.Msgid), v.Said,
			string(v.Text), string(v.ClosedBy), v.ClosedAt, string(v.Remark)})
	}
	h.noteNextReport()
}
