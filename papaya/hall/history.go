package hall

import (
	"slices"
	"sort"

	"interleave/papaya/irc"
	"interleave/papaya/search"
)

// chunkBits is the size of a chunk as a power of two. The state knows which 64 KiB of the text have
// messages to a name. The index of the text (package search) knows more, but may lack any of it. A
// guess.
const (
	chunkBits = search.ChunkBits
	chunkSize = 1 << chunkBits
)

// maxChunks bounds how many chunks one CHATHISTORY reads, where messages were removed. Elsewhere
// each of them has at least one message. A guess.
const maxChunks = 1024

// conversation is the name in the index of the messages between two folded nicks. No nick or room
// has a blank.
func conversation(a, b string) string { return min(a, b) + " " + max(a, b) }

// chunksOf merges lists of the index.
func (h *Hall) chunksOf(names []string) []uint32 {
	if len(names) == 1 {
		return slices.Clip(h.index[names[0]]) // it only ever gets longer
	}
	var list []uint32
	for _, name := range names {
		list = append(list, h.index[name]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// addToIndex adds the chunk of an offset to the index.
func (h *Hall) addToIndex(name string, at uint64) {
	list, n := h.index[name], uint32(at>>chunkBits)
	if len(list) == 0 || list[len(list)-1] != n {
		h.index[name] = append(list, n)
	}
}

// A backlog is a room, or the inbox, whose missed messages a client is being sent.
type backlog struct {
	room   *room    // nil: the inbox
	name   string   // folded; * for the inbox
	keys   []string // the names in the index
	from   uint64   // up to there the user has received them
	cursor uint64
	began  uint64  // the end of the text when it began
	join   *member // the client does not know yet that it is in the room; nil: it does
	// own are the offsets of messages that other sessions of the user have said meanwhile.
	own map[uint64]bool
}

// waitsFor says whether a client still gets missed messages of a room, or of its inbox (nil).
func (c *Client) waitsFor(r *room) bool { return c.backlog(r) != nil }

func (c *Client) backlog(r *room) *backlog {
	for _, k := range c.backlogs {
		if k.room == r {
			return k
		}
	}
	return nil
}

// postpone leaves a message of another session of the user to the backlog of a room.
func (c *Client) postpone(r *room, o *out) {
	k := c.backlog(r)
	if o.ids == nil {
		return // it is not in the text
	}
	if k.own == nil {
		k.own = map[uint64]bool{}
	}
	k.own[o.at] = true
}

// catchUp starts to send a client the messages of a room that its user has missed.
func (h *Hall) catchUp(c *Client, in *member) {
	if in.mark < h.at {
		h.begin(c, newBacklog(in))
	}
}

func newBacklog(in *member) *backlog {
	folded := irc.Lower(in.room.name)
	return &backlog{room: in.room, name: folded, keys: []string{folded},
		from: in.mark, cursor: in.mark}
}

// catchUpInbox starts to send a client the messages to its user that the user has missed.
func (h *Hall) catchUpInbox(c *Client) {
	if u := c.user; u.inbox < h.at {
		h.begin(c, &backlog{name: "*", keys: u.ownNicks(), from: u.inbox,
			cursor: u.inbox})
	}
}

// MissedCap is requested by clients that know histories, and are still to be sent what they have
// missed.
const MissedCap = "papaya/missed"

// sendsMissed says whether a client is sent what its user has missed in a room, or in its inbox
// (nil). Clients that know histories ask for it, and would show it twice. But a guest has no
// history of its conversations.
func (c *Client) sendsMissed(r *room) bool {
	return c.caps&chathistory == 0 || c.caps&missed != 0 || r == nil && !c.user.lasting()
}

func (h *Hall) begin(c *Client, k *backlog) {
	if !c.sendsMissed(k.room) {
		k.from, k.cursor = h.at, h.at
	}
	k.began = h.at
	if c.asked != 0 {
		c.askedLag = append(c.askedLag, lag{k.name, k.cursor})
	}
	c.backlogs = append(c.backlogs, k)
	h.behind[c] = true
	for h.behind[c] && c.sink.Waiting() < maxCatchUp {
		h.step(c)
	}
}

// maxSteps is how many clients get missed messages in one Step: each may cost a millisecond, and
// all others wait meanwhile. A guess.
const maxSteps = 16

// Step sends some more missed messages to the clients that have read the last ones: to maxSteps of
// them, which a map chooses by chance. It returns how many clients are not done.
func (h *Hall) Step() int {
	steps := 0
	for c := range h.behind {
		if c.sink.Waiting() >= maxCatchUp {
			continue
		}
		h.step(c)
		if steps++; steps == maxSteps {
			break
		}
	}
	return len(h.behind)
}

// step sends a client the missed messages of one chunk.
func (h *Hall) step(c *Client) {
	if len(c.backlogs) == 0 {
		delete(h.behind, c)
		return
	}
	k := c.backlogs[0]
	if k.join != nil {
		h.show(c, k.join)
		k.join = nil
	}
	if k.cursor == h.at || c.user == nil { // nothing was missed, or not any more
		c.backlogs = c.backlogs[1:]
		return
	}
	list := h.chunksOf(k.keys)
	i := sort.Search(len(list),
		func(i int) bool { return (uint64(list[i])+1)<<chunkBits > k.cursor })
	if i == len(list) {
		c.backlogs = c.backlogs[1:]
		return
	}
	text := pages{text: h.whole(), versions: h.versions}
	text.each(list[i], k.cursor, func(s said) {
		if k.wants(c, s) {
			h.sendMissed(c, k, &text, s.own())
			c.sent = h.at
		}
	})
	k.cursor = min(h.at, (uint64(list[i])+1)<<chunkBits)
	if i == len(list)-1 && k.cursor == h.at { // that was the last chunk
		c.backlogs = c.backlogs[1:]
	}
}

// sendMissed sends a missed message with its newest text. A later text of a message that the user
// has received is sent as such.
func (h *Hall) sendMissed(c *Client, k *backlog, text *pages, s said) {
	of, edit := s.edits()
	if edit && !text.isNewest(s.at, of) {
		return // a newer one follows
	}
	s, ok := text.revised(s)
	if !ok {
		return
	}
	if k.room != nil {
		s = k.room.under(s)
	}
	if edit && !c.knowsEdits() {
		h.correctionOf(s).to(c)
		return
	}
	h.outOf(s, "").to(c)
}

// wants says whether a message is one that the user has missed.
func (k *backlog) wants(c *Client, s said) bool {
	u := c.user
	of, edit := s.edits()
	// The client has received the message with an older text: before the backlog, or in an earlier
	// step of it.
	edit = edit && (of < k.from || of < k.cursor && s.at >= k.began)
	// Events are played back in answers only: by themselves they would be taken for new ones.
	if !edit && !s.shown(c.caps&^eventPlayback) || u.isOwn(s.nick(), s.at) && !k.own[s.at] {
		return false
	}
	if k.room == nil {
		return u.isOwn(s.target, s.at)
	}
	status, name := irc.SplitStatus(s.target)
	return k.room.called(name, s.at) &&
		(status == "" || u.in(k.room).standing().hears(status))
}

// stopCatchUp stops sending missed messages: of a room that the client has left, or of the inbox
// (nil) of a nick that it has changed.
func (h *Hall) stopCatchUp(c *Client, in *member) {
	var r *room
	if in != nil {
		r = in.room
	}
	for i, k := range c.backlogs {
		if k.room == r {
			c.backlogs = append(c.backlogs[:i:i], c.backlogs[i+1:]...)
			return
		}
	}
}
