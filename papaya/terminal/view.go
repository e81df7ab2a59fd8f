package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"interleave/papaya/client"
)

// The widths of the screen's parts in columns, and the least width of the screen to show them.
const (
	roomsWidth   = 18
	peopleWidth  = 16
	roomsFrom    = 60 // columns
	peopleFrom   = 80
	nicksFrom    = 60 // nicks have a column of their own
	nickWidth    = 10
	stampWidth   = 6  // "15:04 "
	leastPicture = 4  // below this height, only the input line is shown
	unfolded     = 12 // lines of a long message that are shown unless it is opened
)

// The styles use the 16 colours of every terminal, so the user's theme decides how they look. They
// also differ without colour.
var (
	bar     = lipgloss.NewStyle().Reverse(true)
	faint   = lipgloss.NewStyle().Faint(true)
	wrong   = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	mention = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("3"))
	chosen  = lipgloss.NewStyle().Bold(true).Underline(true)
	fresh   = lipgloss.NewStyle().Bold(true)
	hues    = []lipgloss.Style{colour("2"), colour("4"), colour("5"), colour("6"), colour("10"),
		colour("12"), colour("13"), colour("14")}
)

func colour(c string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(c)) }

// hue returns the colour of a nick, which is always the same.
func hue(nick string) lipgloss.Style {
	sum := 0
	for _, c := range strings.ToLower(nick) {
		sum = (sum*31 + int(c)) & 0xffff
	}
	return hues[sum%len(hues)]
}

// A layout says which parts are shown, and how large the messages' part is.
type layout struct {
	rooms, people bool
	width, height int // of the messages' part
}

func (m *Model) layout() layout {
	l := layout{width: m.width, height: m.height - 3} // without title, state and input
	if m.width >= roomsFrom {
		l.rooms = true
		l.width -= roomsWidth + 1
	}
	if m.width >= peopleFrom && m.session.Active().Channel {
		l.people = true
		l.width -= peopleWidth + 1
	}
	return l
}

// View returns the screen as lines, each as wide as the screen, and the cursor's place.
func (m *Model) View() (screen string, x, y int) {
	text, column := m.in.view(max(1, m.width-3))
	prompt := fit("> "+text, m.width)
	if m.height < leastPicture {
		return prompt, min(column+2, m.width-1), 0
	}
	l := m.layout()
	talk := m.talk(l)
	rooms, people := m.roomList(l.height), m.peopleList(l.height)
	out := []string{bar.Render(fit(m.title(), m.width))}
	for i := range l.height {
		row := fit(talk[i], l.width)
		if l.rooms {
			row = fit(rooms[i], roomsWidth) + faint.Render("│") + row
		}
		if l.people {
			row += faint.Render("│") + fit(people[i], peopleWidth)
		}
		out = append(out, row)
	}
	out = append(out, bar.Render(fit(m.status(l), m.width)), prompt)
	return strings.Join(out, "\n"), min(column+2, m.width-1), m.height - 1
}

func (m *Model) name(r *client.Room) string {
	if r != m.session.Status {
		return clean(r.Name)
	}
	if n := m.session.Network(); n != "" {
		return clean(n)
	}
	return "server"
}

func (m *Model) title() string {
	r := m.session.Active()
	title := " " + m.name(r)
	if r.Channel && !r.Joined {
		title += " (not there)"
	}
	if r.Topic != "" {
		title += "  " + clean(r.Topic)
	}
	if p := m.session.Presence(r); p != client.Unknown {
		title += "  " + string(p)
	}
	return title
}

// status returns the state line: what is wrong, else the answer to the last input, else the nick
// and the rooms with unread messages.
func (m *Model) status(l layout) string {
	switch {
	case m.told != "":
		return " " + m.told
	case m.state != "":
		return " " + clean(m.state)
	}
	out := " " + clean(m.session.Nick)
	if m.session.Away {
		out += " (away)"
	}
	switch {
	case m.picked != nil && m.picked.Hit != nil:
		return out + "  chosen: Enter goes to it, Esc leaves it"
	case m.picked != nil:
		return out + "  chosen: Enter shows it whole, /reply /react /edit /delete, Esc leaves it"
	case m.bottom != nil || m.session.Active().Past() != nil:
		out += "  scrolled back: Esc goes to the newest"
	}
	if l.rooms {
		return out
	}
	for _, r := range m.session.Rooms() {
		if r.Unread > 0 {
			out += "  " + m.name(r) + " " + badge(r)
		}
	}
	return out
}

func badge(r *client.Room) string {
	n := fmt.Sprint(r.Unread)
	if r.Unread > 99 {
		n = "99+"
	}
	if r.Mentions > 0 {
		n += "!"
	}
	return n
}

// roomList returns the left column. It always contains the room on the screen.
func (m *Model) roomList(height int) []string {
	all := m.all()
	at := slices.Index(all, m.session.Active())
	from := max(0, min(at-height/2, len(all)-height))
	out := make([]string, height)
	for i := range out {
		if from+i >= len(all) {
			break
		}
		r := all[from+i]
		after := ""
		if p := m.session.Presence(r); p == client.Away || p == client.Offline {
			after = " " + string(p)
		}
		if r.Unread > 0 {
			after += " " + badge(r) + " "
		}
		text := fit(" "+m.name(r), roomsWidth-len(after)) + after
		switch {
		case r == m.session.Active():
			text = chosen.Render(text)
		case r.Mentions > 0:
			text = mention.Render(text)
		case r.Unread > 0:
			text = fresh.Render(text)
		case r.Channel && !r.Joined:
			text = faint.Render(text)
		}
		out[i] = text
	}
	return out
}

func (m *Model) peopleList(height int) []string {
	out := make([]string, height)
	people := m.session.Active().People()
	for i := range out {
		switch {
		case i >= len(people):
		case i == height-1 && len(people) > height:
			out[i] = faint.Render(fmt.Sprintf(" and %d more", len(people)-i))
		case people[i].Away:
			out[i] = faint.Render(fit(" "+people[i].Prefix+clean(people[i].Nick)+" (away)",
				peopleWidth))
		default:
			out[i] = " " + people[i].Prefix + hue(people[i].Nick).Render(clean(people[i].Nick))
			if people[i].Bot {
				out[i] += faint.Render(" (bot)")
			}
		}
	}
	return out
}

// drawn has the drawn lines of a message, as long as its look does not change.
type drawn struct {
	width         int
	pending, fail bool
	text          string
	edited        time.Time
	kind          client.Kind
	about         about
	lines         []string
}

// An about is what stands above and below a message: a quote of the one that it answers, and the
// reactions.
type about struct{ quote, reactions string }

// A row is a line of the messages' part, with its message. A line between messages belongs to the
// one below.
type row struct {
	text string
	of   *client.Message
}

// drawAll returns all rows of the room on the screen.
func (m *Model) drawAll(l layout) []row {
	r := m.session.Active()
	var out []row
	if r.Fetching() {
		out = append(out, row{faint.Render("loading older messages"), nil})
	} else if past := r.Past(); past != nil && past.Whole || past == nil && r.Whole &&
		r != m.session.Status {
		out = append(out, row{faint.Render("this is where " + m.name(r) + " begins"), nil})
	}
	var day time.Time
	mark, due := m.marks[r]
	for _, x := range r.Shown() {
		if x.Kind == client.Unseen {
			continue
		}
		if t := x.Time.In(m.zone); !sameDay(t, day) {
			day = t
			out = append(out, row{faint.Render(rule(t.Format("Monday, 2 January 2006"), l.width)),
				x})
		}
		if due && x.Spoken() && !x.Own && x.Time.After(mark) {
			due = false
			out = append(out, row{mention.Render(rule("new", l.width)), x})
		}
		for _, line := range m.draw(x, l.width) {
			if x == m.picked {
				line = bar.Render(fit(ansi.Strip(line), l.width))
			}
			out = append(out, row{line, x})
		}
	}
	return out
}

func sameDay(a, b time.Time) bool { return a.YearDay() == b.YearDay() && a.Year() == b.Year() }

func rule(text string, width int) string {
	side := max(0, (width-ansi.StringWidth(text)-2)/2)
	return strings.Repeat("─", side) + " " + text + " " + strings.Repeat("─", side)
}

func (m *Model) draw(x *client.Message, width int) []string {
	d, ok := m.rows[x]
	about := m.about(x)
	if ok && d.width == width && d.pending == x.Pending && d.fail == x.Failed &&
		d.text == x.Text && d.edited.Equal(x.Edited) && d.kind == x.Kind && d.about == about {
		return d.lines
	}
	d = drawn{width, x.Pending, x.Failed, x.Text, x.Edited, x.Kind, about, m.lines(x, width)}
	indent := stampWidth
	if m.width >= nicksFrom {
		indent += nickWidth + 1
	}
	beside := func(text string) string {
		return strings.Repeat(" ", indent) + faint.Render(ansi.Truncate(text, width-indent, "…"))
	}
	if about.quote != "" {
		d.lines = append([]string{beside(about.quote)}, d.lines...)
	}
	if about.reactions != "" {
		d.lines = append(d.lines, beside(about.reactions))
	}
	m.rows[x] = d
	return d.lines
}

// about returns what stands above and below a message.
func (m *Model) about(x *client.Message) (a about) {
	if original, answers := m.session.Active().Answered(x); answers {
		a.quote = "┌ " + quote(original)
	}
	for _, r := range m.session.Active().Reactions(x) {
		if a.reactions != "" {
			a.reactions += "  "
		}
		a.reactions += fmt.Sprintf("%s %d", clean(r.Text), len(r.Nicks))
	}
	return a
}

// quote returns a message in one line; nil is one that is not here.
func quote(x *client.Message) string {
	switch {
	case x == nil:
		return "an earlier message"
	case x.Kind == client.Deleted:
		return "message deleted by " + clean(x.Nick)
	}
	return clean(x.Nick) + ": " + clean(x.Text)
}

// botMark stands before what a bot says.
const botMark = "[bot] "

// lines draws a message: the time, the nick, and the text beside them.
func (m *Model) lines(x *client.Message, width int) []string {
	head, style := m.head(x)
	text := cleanLines(x.Text)
	if x.Bot {
		text = botMark + text
	}
	if x.Kind == client.Deleted {
		text = "message deleted by " + clean(x.Nick) + clean(x.Why())
	}
	if !x.Edited.IsZero() && x.Kind != client.Deleted {
		text += " (edited)"
	}
	if x.Failed {
		text += " (not known to have arrived)"
	}
	stamp := faint.Render(x.Time.In(m.zone).Format("15:04")) + " "
	indent := stampWidth
	if m.width >= nicksFrom {
		indent += nickWidth + 1
		head = strings.Repeat(" ", max(0, nickWidth-ansi.StringWidth(head))) + ansi.Truncate(head,
			nickWidth, "…")
		stamp += styled(x, head) + " "
	} else if head != "" {
		text = head + " " + text
	}
	var out []string
	parts := wrap(text, width-indent)
	folded := len(parts) - unfolded // one more line would take no less room than saying so
	if folded > 1 && !m.opened[x] {
		parts = parts[:unfolded]
	}
	for i, part := range parts {
		if rest, is := strings.CutPrefix(part, head); i == 0 && is && m.width < nicksFrom &&
			head != "" {
			part = styled(x, head) + style.Render(rest)
		} else {
			part = style.Render(part)
		}
		if i == 0 {
			out = append(out, stamp+part)
		} else {
			out = append(out, strings.Repeat(" ", indent)+part)
		}
	}
	if folded > 1 && !m.opened[x] {
		out = append(out, strings.Repeat(" ", indent)+faint.Render(ansi.Truncate(
			fmt.Sprintf("… %d more lines", folded), width-indent,
			"…")))
	}
	return out
}

// head returns the part before the text, and the style of the text.
func (m *Model) head(x *client.Message) (string, lipgloss.Style) {
	nick := clean(x.Nick)
	plain := lipgloss.NewStyle()
	if x.Mention {
		plain = mention
	}
	switch x.Kind {
	case client.Action:
		return "* " + nick, plain
	case client.Notice:
		return "-" + nick + "-", plain
	case client.Happened, client.Deleted:
		return "--", faint
	case client.Answer:
		return "", plain
	case client.Wrong:
		return "!!", wrong
	}
	if x.Failed {
		plain = wrong
	} else if x.Pending {
		plain = faint
	}
	if m.width < nicksFrom {
		return nick + ":", plain
	}
	return nick, plain
}

func styled(x *client.Message, head string) string {
	switch {
	case x.Mention:
		return mention.Reverse(true).Render(head)
	case x.Kind == client.Happened, x.Kind == client.Deleted:
		return faint.Render(head)
	case x.Kind == client.Wrong:
		return wrong.Render(head)
	case x.Nick == "":
		return head
	}
	return hue(x.Nick).Render(head)
}

// talk returns the rows that are on the screen.
func (m *Model) talk(l layout) []string {
	rows := m.drawAll(l)
	end := m.end(rows)
	out := make([]string, l.height)
	for i := range out {
		if at := end - l.height + i; at >= 0 && at < len(rows) {
			out[i] = rows[at].text
		}
	}
	return out
}

// end returns the row after the last on the screen.
func (m *Model) end(rows []row) int {
	if m.bottom == nil {
		return len(rows)
	}
	for i, r := range slices.Backward(rows) {
		if r.of == m.bottom {
			return max(0, i+1-m.cut)
		}
	}
	return len(rows) // the room has no such message any more
}

// scroll scrolls back by so many rows, and requests older messages near the beginning.
func (m *Model) scroll(by int) {
	l := m.layout()
	rows := m.drawAll(l)
	m.scrollTo(rows, l, m.end(rows)-by)
}

// scrollTo makes a row the one after the last on the screen.
func (m *Model) scrollTo(rows []row, l layout, end int) {
	end = max(end, min(l.height, len(rows)))
	if end >= len(rows) {
		m.bottom, m.cut = nil, 0
		m.session.Newer(m.session.Active())
		m.see()
		return
	}
	m.bottom, m.cut = rows[end-1].of, 0
	for i := end; i < len(rows) && rows[i].of == m.bottom; i++ {
		m.cut++
	}
	if end-l.height < l.height {
		m.session.Older(m.session.Active())
	}
}
