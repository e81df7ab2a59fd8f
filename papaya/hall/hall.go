// Package hall is the state of the chat: the users, the rooms, and what each user may see. Hall is
// a state machine. Batches of entries go in, in the order of the log, and lines for this server's
// clients come out. It does no I/O, reads no clock and draws no random numbers, so all servers that
// read one log reach the same state. One goroutine calls it.
package hall

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"interleave/papaya/bans"
	"interleave/papaya/irc"
	"interleave/papaya/search"
)

// Limits of names and texts in bytes, and of lists in entries. TOPICLEN is the protocol's; the
// others are guesses.
const (
	maxTopic   = 300
	maxReal    = 150
	maxAway    = 300
	maxTargets = 20
	maxLists   = 100 // masks in all lists of one room
	maxInvited = 100 // users that are invited to one room
	maxKey     = 30
	maxHistory = 200  // messages in one answer to CHATHISTORY
	maxAbsent  = 10e3 // absent members of one room
	maxKnown   = 1e6  // nicks of guests with a record
	maxRooms   = 100e3
	// A client gets more missed messages only while fewer bytes than this wait for it.
	maxCatchUp = 256 << 10
)

// A Config is what a Hall is told once. Its functions must not block for long.
type Config struct {
	Server  string // this server's name among those that share the log
	Name    string // the name in every numeric
	Network string
	Version string
	MOTD    []string
	Rooms   int // rooms that one client may join
	// UTF8Only is told to clients: the server takes no other lines.
	UTF8Only bool
	Founder  bool // a client without an account may be operator of the room that it makes

	// AlwaysOn says whether an account that logs in now stays in sight when its last session has
	// ended. AbsentInNames says whether NAMES and WHO show accounts that are away. nil: no.
	AlwaysOn      func() bool
	AbsentInNames func() bool
	// Invisible says whether a user is invisible (+i) until it says MODE -i. nil: no.
	Invisible func() bool
	// Redact is the age up to which users may remove their own messages; 0: any age. nil: any age.
	Redact func() time.Duration
	// Edit is the age up to which users may change their messages; 0: any age. nil: any age.
	Edit func() time.Duration

	Secret Secret // of msgids
	// MsgidsFrom is told the offset from which on Secret makes the msgids, in each run once. nil:
	// nobody wants to know.
	MsgidsFrom func(at uint64)

	Text     Text                  // the log as people read it: messages are read back from it
	Index    *search.Index         // of the text; nil: there is none
	Password func() (string, bool) // the first line of DATA/password; false if there is none
	Sign     Sign                  // nil: there are no accounts
	Scram    Scram                 // nil: SASL SCRAM-SHA-256 is not offered
	Own      Own                   // nil: accounts do not look after themselves
	Push     Push                  // nil: devices are not notified
	Preview  func(Linked)          // told of messages with links; nil: there are no previews
	// Ordered is told that an order of this server was obeyed, or why it was refused: it may have
	// been possible only when it was given. nil: nobody wants to know.
	Ordered func(number uint64, refused error)
	// End ends a connection whose token has ended, by Hall.Ended. nil: there are no tokens.
	End func(c *Client, why string)
	// FileHost returns the URL to which clients post files; empty if there is none. nil: none.
	FileHost func() string
	STS      *STS // nil: clients need not come over TLS
	// Spared says whether a network is that of a reverse proxy, which nobody may ban. nil: no.
	Spared func(netip.Prefix) bool
	// Banned is told when a ban of the whole server was added or removed, or has ended. nil: nobody
	// wants to know.
	Banned func(what string, b bans.Ban)
	// TurnedAway is called for each client of this server that a ban keeps out or ends. nil: nobody
	// wants to know.
	TurnedAway func()
	// Reporting says whether a client may report something to the operators now, and counts that.
	// nil: it may.
	Reporting func(*Client) bool
	// Reported is told the number of a report that has come. nil: nobody wants to know.
	Reported func(id uint64)
	// Read runs a reading in another goroutine and returns it by Hall.Answer, later. nil: histories
	// are read at once, and SEARCH is not offered.
	Read    func(*Client, Reading)
	Created time.Time
}

// Text is the log that people read, by offsets in bytes. Any goroutine may read it.
type Text interface {
	ReadAt(p []byte, at uint64) (int, error)
	Begin() uint64
}

// Sign checks logins. The answer comes later, by Hall.Signed: a password takes long to check.
type Sign interface {
	Plain(c *Client, name, password string)
	External(c *Client, name string) // the account that the client asks for, or empty
	Register(c *Client, name, password, invitation string)
	Required() bool
}

// Scram checks logins by SASL SCRAM-SHA-256. The answer to each message comes later, by
// Hall.Challenged.
type Scram interface {
	First(c *Client, message string)
	Final(c *Client, message string)
}

// Hall is the state machine.
type Hall struct {
	config  Config
	at      uint64 // the offset of the next line in the text
	now     int64  // milliseconds since 1970: the time of the batch that is applied
	text    []byte // the batch's lines for the text
	stamp   []byte // now as the text has it
	from    origin // the server and run that wrote the batch
	old     bool   // the batch is of a version in which each connection was a user: see apart.go
	bare    bool   // the batch is of a version that wrote no tags into the text
	few     bool   // the batch is of a version that had fewer modes: see style.go
	passing bool   // the batch is of a version that passed reactions on, and kept none
	// unedited says that the batch is of a version in which a message could not be changed.
	unedited bool
	ids      msgids
	removed  []Span // what the batch has removed from the text
	// removals counts what was removed from the text since the start.
	removals uint64
	servers  map[string]*peer
	rooms    map[string]*room // by folded name
	// formers are the rooms that had a folded name: see roomname.go.
	formers map[string][]*room

	sessions map[origin]map[uint64]*session
	nicks    map[string]*user // the users that are here, by folded nick
	accounts map[string]*user // the users with an account, here or not, by folded account
	held     map[string]*user // accounts, by the folded nicks that are kept for them
	// aliases are accounts, by the folded nicks that they have or had and that are not their names.
	aliases map[string][]*user
	aparts  int // users apart among those that are here
	// known are the nicks of guests that were used: the offset up to which messages to a nick were
	// received, by folded nick. It is the only mark that is of a nick and not of a user: a guest
	// ends with its connection, and whoever comes back has nothing but the nick.
	known map[string]uint64
	// index maps a folded room or nick to the chunks of the text that have messages to it, and a
	// conversation to those that have messages of it.
	index map[string][]uint32
	// conversationsFrom is the offset from which on the index has conversations. Older versions
	// wrote none.
	conversationsFrom uint64

	clients     map[uint64]*Client // the clients of this server
	behind      map[*Client]bool   // clients that still get missed messages
	round       uint64             // the number of the last call of eachNeighbour
	batchNumber uint64             // numbers the batches of the log
	shared      []*room            // rooms that have runs of the current batch
	told        out                // the message that is being sent; one at a time
	founded     map[string]int     // how many rooms each folded account has founded
	bans        serverBans         // see ban.go
	reports     reports            // see report.go
	tagged      uint64             // numbers the TAGMSG of one batch
	versions    versions           // later texts of messages
	nearby      []nearby           // previews and removals of the last minutes: see preview.go

	// This server's own memory, which is not saved.
	revisions           uint64                      // counts the changes of versions
	ticked              int64                       // its clock: see Tick
	watchers            map[string]map[*Client]bool // clients that watch a folded nick
	departed            []departed
	mostHere, mostUsers int
}

// An origin is one run of one server.
type origin struct {
	server string
	run    int64 // its start, in nanoseconds since 1970
}

// A peer is what the log tells of a server.
type peer struct {
	run    int64
	number uint64 // the last batch
	seen   int64  // milliseconds since 1970: when it came, by the time of the log
	clock  int64  // and by the server's own clock
	gone   bool   // the others have declared this run lost
}

type room struct {
	name    string
	created int64
	// since is the offset of the room's beginning. Older messages belong to another room of that
	// name.
	since uint64
	// named is the offset from which on the room has its name. former are the names before it, and
	// taken those of them that another room has had since.
	named   uint64
	former  []tenure
	taken   map[string]bool
	topic   string
	founder string // the folded account that made the room, and is always operator
	setBy   string
	setAt   int64
	modes   map[byte]bool // of modeLetters
	open    bool          // users outside may write in the room: an operator has said MODE -n
	key     string
	limit   int
	facts   facts             // see metadata.go
	offered string            // the folded account that the founder offers the room to
	lists   map[byte][]ban    // b, e, I and q: see list.go
	rights  map[string]byte   // folded account -> o or v
	invited map[string]bool   // by user.key
	here    []*member         // members that are here, in the order of their JOIN
	clients []*Client         // their clients on this server
	absent  map[string]uint64 // marks of the members that are not here, by user.key
	runs    runs
}

// A member's mark is the offset of the text up to which the user has received the room's messages.
// Any session of the user may have confirmed them.
type member struct {
	user  *user
	room  *room
	mark  uint64
	op    bool
	voice bool
}

// New makes an empty hall whose text begins at an offset. What is before it was imported.
func New(config Config, at uint64) *Hall {
	h := empty(config, at)
	if at > 0 { // nobody has msgids of an imported text
		h.beginMsgids(0)
	}
	return h
}

func empty(config Config, at uint64) *Hall {
	if config.Rooms == 0 {
		config.Rooms = 100
	}
	return &Hall{
		config: config, at: at, ids: newMsgids(config.Secret),
		servers: map[string]*peer{}, sessions: map[origin]map[uint64]*session{},
		nicks: map[string]*user{}, accounts: map[string]*user{}, held: map[string]*user{},
		aliases: map[string][]*user{},
		known:   map[string]uint64{},
		rooms:   map[string]*room{}, formers: map[string][]*room{},
		index: map[string][]uint32{}, clients: map[uint64]*Client{},
		behind: map[*Client]bool{}, watchers: map[string]map[*Client]bool{},
		founded: map[string]int{},
	}
}

// beginMsgids has msgids be encrypted from an offset on, unless they are already.
func (h *Hall) beginMsgids(at uint64) {
	if h.ids.begin(at) && h.config.MsgidsFrom != nil {
		h.config.MsgidsFrom(at)
	}
}

// At returns the offset of the next line in the text.
func (h *Hall) At() uint64 { return h.at }

// Here counts clients of this server that have registered, users that are here, and rooms.
func (h *Hall) Here() (clients, users, rooms int) {
	for _, c := range h.clients {
		if c.user != nil {
			clients++
		}
	}
	return clients, len(h.nicks), len(h.rooms)
}

// Begin opens a batch. It returns false if the batch was applied before, or if its run was declared
// lost.
func (h *Hall) Begin(b Batch) bool {
	p := h.servers[b.Server]
	switch {
	case p == nil:
		p = &peer{run: b.Run}
		h.servers[b.Server] = p
	case b.Run > p.run: // a new run of a server has no sessions of the last one
		h.disconnectAll(origin{b.Server, p.run}, "server restarted")
		*p = peer{run: b.Run, clock: p.clock}
	case b.Run < p.run || b.Number <= p.number || p.gone:
		return false
	}
	h.old = b.Format == apartFormat
	h.bare = h.old || b.Format == bareFormat
	h.few = h.bare || b.Format == fewFormat
	h.passing = b.Format != 0 && b.Format <= passingFormat
	h.unedited = b.Format != 0
	if b.Format == 0 || b.Format > placeFormat {
		h.beginMsgids(h.at)
	}
	h.batchNumber++
	for _, r := range h.shared {
		r.runs = runs{} // send queues keep the runs that they still need
	}
	clear(h.shared)
	h.shared = h.shared[:0]
	h.advance(p, b.Time)
	h.endBans()
	h.forgetReports()
	p.number = b.Number
	h.tagged = 0
	h.from = origin{b.Server, b.Run}
	h.stamp = time.UnixMilli(h.now).UTC().AppendFormat(h.stamp[:0], clockForm+" ")
	return true
}

// Lines returns the lines for the text since the last call, and the offset of the first. They are
// valid until the next Apply.
func (h *Hall) Lines() (at uint64, lines []byte) {
	lines = h.text
	h.text = h.text[:0]
	return h.at - uint64(len(lines)), lines
}

// leap is in milliseconds. If a server's clock has gone forward by more than this since its last
// batch, or backward, then somebody has set it: servers that share a log write every 5 s.
const leap = 10_000

// advance moves the time of the log to the time of a batch, which its server's clock gives. The
// time goes back only if that clock was set back, so servers with different clocks agree on the
// latest. After a leap no server counts as silent, since none had time to write.
func (h *Hall) advance(p *peer, clock int64) {
	before := h.now
	if clock < p.clock-leap {
		h.now = clock
	}
	h.now = max(h.now, clock)
	by := h.now - before
	if by > leap {
		by -= leap
	}
	if by < 0 || h.now-before > leap {
		for _, other := range h.servers {
			other.seen += by
		}
	}
	p.seen, p.clock = h.now, clock
}

// Run returns the last run of a server that the log has; 0 if there is none.
func (h *Hall) Run(server string) int64 {
	if p := h.servers[server]; p != nil {
		return p.run
	}
	return 0
}

// Lost says whether the others have declared this run of a server lost.
func (h *Hall) Lost(server string, run int64) bool {
	p := h.servers[server]
	return p != nil && p.run == run && p.gone
}

// Silent returns entries that declare servers lost which have written nothing for so long, by the
// time of the log.
func (h *Hall) Silent(long time.Duration) []Entry {
	var out []Entry
	for _, name := range sorted(h.servers) {
		if p := h.servers[name]; name != h.config.Server && !p.gone &&
			p.seen < h.now-long.Milliseconds() {
			out = append(out, Entry{Kind: Gone, Data: fmt.Appendf(nil, "%s %d", name, p.run)})
		}
	}
	return out
}

// Apply applies one entry of the batch. said is the parsed line if this server has it; otherwise
// the line is parsed from the entry.
func (h *Hall) Apply(e Entry, said *irc.Message, label string) {
	s := h.sessions[h.from][e.Client]
	switch e.Kind {
	case Enter:
		h.enter(e)
	case Gone:
		h.gone(e)
	case Order:
		h.order(e)
	case Said:
		if s == nil {
			return
		}
		if said == nil {
			m, err := irc.Parse(string(e.Data))
			if err != nil {
				return
			}
			said = &m
		}
		// The server that has logged the line may be another program.
		if c := command(said.Command); c != nil && c.apply != nil && len(said.Params) >= c.words {
			h.labelled(s.client, label, func() { c.apply(h, s, said) })
		}
	case End:
		if s != nil {
			h.end(s, e.Data)
		}
	case Marks:
		if s != nil {
			h.mark(s.user, e.Data)
		}
	case Account:
		if s != nil {
			h.login(s, string(e.Data))
		}
	case Oper:
		if s != nil {
			h.giveRole(s.user, string(e.Data))
		}
	case Lines:
		if s != nil {
			h.labelled(s.client, label, func() { h.sayLines(s, e.Data) })
		}
	case Redact:
		if s != nil {
			h.labelled(s.client, label, func() { h.applyRedact(s, e.Data) })
		}
	case Edit:
		if s != nil {
			h.labelled(s.client, label, func() { h.applyEdit(s, e.Data) })
		}
	case Founder:
		if s != nil {
			h.labelled(s.client, label, func() { h.applyFounder(s, e.Data) })
		}
	case ServerBan:
		if s != nil {
			h.labelled(s.client, label, func() { h.applyBan(s, e.Data) })
		}
	case Report:
		if s != nil {
			h.labelled(s.client, label, func() { h.applyReport(s, e.Data) })
		}
	case Logout:
		if s != nil {
			h.logout(s.user, string(e.Data))
		}
	}
}

// Alone prepares for entries that the log has refused. A single server applies them without the
// log.
func (h *Hall) Alone(server string, run, now int64) {
	h.from = origin{server, run}
	if p := h.servers[server]; p != nil {
		h.advance(p, now)
	}
}

// gone ends a run of a server that the others have declared lost.
func (h *Hall) gone(e Entry) {
	name, number, _ := strings.Cut(string(e.Data), " ")
	var run int64
	if _, err := fmt.Sscan(number, &run); err != nil {
		return
	}
	if p := h.servers[name]; p != nil && p.run == run && !p.gone {
		p.gone = true
		h.disconnectAll(origin{name, run}, "server lost")
	}
}

// disconnectAll ends all sessions of a run, in the order of their numbers: all servers must use the
// same order, and a map has none.
func (h *Hall) disconnectAll(o origin, why string) {
	for _, id := range sorted(h.sessions[o]) {
		if s := h.sessions[o][id]; s != nil { // it may have ended with another one
			h.hangUp(s, why)
		}
	}
	delete(h.sessions, o)
}

// recordOf adds what a user does to the text, where it concerns a folded room or nick.
func (h *Hall) recordOf(u *user, target, tags string, body []byte) uint64 {
	at := h.record(target, tags, body)
	if !irc.IsRoom(target) {
		h.addToIndex(conversation(irc.Lower(u.nick), target), at)
	}
	return at
}

// record adds a line with its tags to the text, and its chunk to the index of a name. It returns
// the line's offset.
func (h *Hall) record(name, tags string, body []byte) uint64 {
	at, before := h.at, len(h.text)
	h.text = append(h.text, h.stamp...)
	if tags != "" {
		h.text = append(append(append(h.text, '@'), tags...), ' ')
	}
	h.text = append(h.text, body...)
	h.text = append(h.text, '\n')
	h.at += uint64(len(h.text) - before)
	if name != "" {
		h.addToIndex(name, at)
	}
	return at
}
