// Package hall is who is in Papaya, in which rooms, and what each of them may see. It is a
// machine: batches of entries go in, in the order of the log, and lines for this server's clients
// come out. It does no I/O, has no clock and no chance, so all servers that read one log agree.
// One goroutine calls it.
package hall

import (
	"fmt"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Limits of names and texts in bytes, and of lists in entries. TOPICLEN is the contract's; the
// rest are guesses.
const (
	maxTopic   = 300
	maxReal    = 150
	maxAway    = 300
	maxTargets = 20
	maxBans    = 100
	maxKey     = 30
	maxHistory = 200  // messages in one answer to CHATHISTORY
	maxAbsent  = 10e3 // members of one room that are away
	maxKnown   = 1e6  // nicks that were ever here
	maxRooms   = 100e3
	// bytes that wait for a client before it is given more of what it has missed
	maxCatching = 256 << 10
)

// A Config is what the machine is told once. Its functions are how it asks the world; none may
// block for long.
type Config struct {
	Server  string // this server's name among those that share the log
	Name    string // the name in every numeric
	Network string
	Version string
	MOTD    []string
	Rooms   int  // that one client may be in
	Founder bool // who makes a room without an account is its operator, too

	Text     Text                  // what was said, to be read again
	Password func() (string, bool) // the first line of DATA/password; false if there is none
	Sign     Sign                  // nil: there are no accounts
	Ordered  func(number uint64)   // is told of this server's orders that were obeyed; may be nil
	// runs the query and hands it back by Hall.Found, later; nil: SEARCH is not offered
	Search  func(*Client, *Query)
	Created time.Time
}

// Text is the log that people read, by places in it.
type Text interface {
	ReadAt(p []byte, at uint64) (int, error)
	Begin() uint64
}

// Sign asks for accounts. The answer comes by Hall.Signed, later: a password takes long to check.
type Sign interface {
	Plain(c *Client, name, password string)
	External(c *Client, name string) // of the account that it asks for, or empty
	Register(c *Client, name, password, invitation string)
	Required() bool
}

// Hall is the machine.
type Hall struct {
	config  Config
	at      uint64 // the place in the text where the next line will stand
	now     int64  // milliseconds since 1970, of the batch that is applied
	text    []byte // lines for the text, of the batch that is applied
	stamp   []byte // now, as it stands in the text
	from    origin // of the batch
	servers map[string]*peer
	users   map[origin]map[uint64]*user
	nicks   map[string]*user  // folded; who is there
	known   map[string]*known // folded; who was ever there
	rooms   map[string]*room  // folded
	// folded name of a room or nick -> chunks of the text that have messages to it
	index map[string][]uint32

	clients map[uint64]*Client // of this server
	behind  map[*Client]bool   // those that are being given what they have missed
	round   uint64             // of telling each client once
	batches uint64             // for names of BATCH
	turn    uint64             // batches that were begun
	shared  []*room            // those that have runs of the last one
	told    out                // the message that is being told; one at a time
}

// An origin is one run of one server.
type origin struct {
	server string
	run    int64 // nanoseconds since 1970 of its start
}

// A peer is a server as the log knows it.
type peer struct {
	run    int64
	number uint64 // of its last batch
	seen   int64  // milliseconds since 1970, of that batch, by the time of the log
	clock  int64  // and by its own clock
	gone   bool   // the others have given this run up
}

// A user is a client that has registered, on whichever server.
type user struct {
	origin  origin
	id      uint64
	nick    string
	name    string
	host    string
	real    string
	account string
	role    Role
	away    string
	secure  bool
	since   int64
	source  string // nick!name@host
	inbox   mark
	rooms   []*member
	client  *Client // nil if on another server
	round   uint64
}

// A mark says up to where somebody has had what was said.
type mark struct {
	at  uint64
	lag bool // it is still being given what it has missed, so what is newer does not count
}

// known is a nick that was here, and what waits for it.
type known struct {
	account string // whose it is; nobody's if empty
	mark    uint64
	since   uint64 // the place from which on it is the account's
}

type room struct {
	name    string
	created int64
	// the place in the text where it begins: what was said before was said in another
	// room of that name
	since   uint64
	topic   string
	founder string // the folded account that made it: operator whenever it comes
	setBy   string
	setAt   int64
	modes   map[byte]bool // i m t n
	key     string
	limit   int
	bans    []ban
	rights  map[string]byte   // folded account -> o or v
	invited map[string]bool   // folded nick
	here    []*member         // in the order in which they came
	absent  map[string]absent // folded nick
	runs    runs
}

type ban struct {
	mask, by string
	at       int64
}

// absent is a member that is not there. Where it had an account, only that account gets
// what it has missed.
type absent struct {
	mark    uint64
	account string
}

type member struct {
	user  *user
	room  *room
	mark  mark
	op    bool
	voice bool
	// behind is set while the client of this server is given what it has missed: what is newer
	// waits in the text.
	behind bool
}

// New makes an empty hall whose text begins at a place.
func New(config Config, at uint64) *Hall {
	if config.Rooms == 0 {
		config.Rooms = 100
	}
	return &Hall{
		config: config, at: at,
		servers: map[string]*peer{}, users: map[origin]map[uint64]*user{},
		nicks: map[string]*user{}, known: map[string]*known{},
		rooms: map[string]*room{}, index: map[string][]uint32{}, clients: map[uint64]*Client{},
		behind: map[*Client]bool{},
	}
}

// At is the place in the text where the next line will stand.
func (h *Hall) At() uint64 { return h.at }

// Here counts clients of this server that have registered, users on all servers, and rooms.
func (h *Hall) Here() (clients, users, rooms int) {
	for _, c := range h.clients {
		if c.user != nil {
			clients++
		}
	}
	return clients, len(h.nicks), len(h.rooms)
}

// Begin opens a batch; false means that it was applied before, or that it comes from a run
// that was given up.
func (h *Hall) Begin(b Batch) bool {
	p := h.servers[b.Server]
	switch {
	case p == nil:
		p = &peer{run: b.Run}
		h.servers[b.Server] = p
	case b.Run > p.run: // a server that starts anew has nobody of before
		h.lose(origin{b.Server, p.run}, "server started anew")
		*p = peer{run: b.Run, clock: p.clock}
	case b.Run < p.run || b.Number <= p.number || p.gone:
		return false
	}
	h.turn++
	for _, r := range h.shared {
		r.runs = runs{} // who still has to write them has them
	}
	clear(h.shared)
	h.shared = h.shared[:0]
	h.tick(p, b.Time)
	p.number = b.Number
	h.from = origin{b.Server, b.Run}
	h.stamp = time.UnixMilli(h.now).UTC().AppendFormat(h.stamp[:0], clockForm+" ")
	return true
}

// Lines returns the lines for the text since the last call, and the place where they begin. They
// are valid until the next Apply.
func (h *Hall) Lines() (at uint64, lines []byte) {
	lines = h.text
	h.text = h.text[:0]
	return h.at - uint64(len(lines)), lines
}

// leap is in milliseconds: a clock that has gone on by more, or back, was set. Servers that share a
// log say something each 5 s.
const leap = 10_000

// tick moves the time of the log on to that of a batch, by the clock of its server. It falls only
// if that clock was set back, so servers whose clocks differ agree on the latest. By a leap nobody
// grows silent: others had no time to say something.
func (h *Hall) tick(p *peer, clock int64) {
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

// Run is the last run of a server that the log knows; 0 if there was none.
func (h *Hall) Run(server string) int64 {
	if p := h.servers[server]; p != nil {
		return p.run
	}
	return 0
}

// Lost says whether the others have given up this run of a server.
func (h *Hall) Lost(server string, run int64) bool {
	p := h.servers[server]
	return p != nil && p.run == run && p.gone
}

// Silent lists the entries that give up the servers that have said nothing for so long, by the
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

// Apply does what an entry of the batch says. said is the client's own line where this server has
// it, else it is read from the entry.
func (h *Hall) Apply(e Entry, said *irc.Message, label string) {
	u := h.users[h.from][e.Client]
	switch e.Kind {
	case Enter:
		h.enter(e)
	case Gone:
		h.gone(e)
	case Order:
		h.order(e)
	case Said:
		if u == nil {
			return
		}
		if said == nil {
			m, err := irc.Parse(string(e.Data))
			if err != nil {
				return
			}
			said = &m
		}
		if c := command(said.Command); c != nil && c.apply != nil {
			h.labelled(u.client, label, func() { c.apply(h, u, said) })
		}
	case End:
		if u != nil {
			h.end(u, e.Data)
		}
	case Marks:
		if u != nil {
			h.mark(u, e.Data)
		}
	case Account:
		if u != nil {
			h.account(u, string(e.Data))
		}
	}
}

// Alone is for entries that the log could not take, on a server that shares it with nobody: they
// happen all the same.
func (h *Hall) Alone(server string, run, now int64) {
	h.from = origin{server, run}
	if p := h.servers[server]; p != nil {
		h.tick(p, now)
	}
}

// gone ends a run of a server that the others have given up.
func (h *Hall) gone(e Entry) {
	name, number, _ := strings.Cut(string(e.Data), " ")
	var run int64
	if _, err := fmt.Sscan(number, &run); err != nil {
		return
	}
	if p := h.servers[name]; p != nil && p.run == run && !p.gone {
		p.gone = true
		h.lose(origin{name, run}, "server lost")
	}
}

// lose ends all users of a run, in the order of their names: that of a map is another one
// on each server.
func (h *Hall) lose(o origin, why string) {
	users := h.users[o]
	for _, id := range sorted(users) {
		h.leave(users[id], why)
	}
	delete(h.users, o)
}

// record adds a line to the text, and to the index of what has been said to a name, and
// returns its place.
func (h *Hall) record(name string, body []byte) uint64 {
	at := h.at
	h.text = append(h.text, h.stamp...)
	h.text = append(h.text, body...)
	h.text = append(h.text, '\n')
	h.at += uint64(len(h.stamp) + len(body) + 1)
	if name != "" {
		h.noted(name, at)
	}
	return at
}
