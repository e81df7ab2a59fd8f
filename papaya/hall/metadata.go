package hall

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// Users and rooms may have metadata (draft/metadata-3 of IRCv3): values by key, such as
// display-name, avatar and color. Users change their own, and operators of a room those of the
// room. An account keeps its metadata. Clients subscribe to keys. They are told the values of users
// and rooms that they meet, and changes.

// Limits of metadata in keys and bytes: of a user or room, and of what a client subscribes to. A
// value fits in a line with its key. All are guesses.
const (
	maxFacts  = 20
	maxSubs   = 50
	maxKeyLen = 50
	maxValue  = 300
	// maxSync is how many members a room may have whose metadata a client is told unasked.
	maxSync = 500
)

// facts are metadata by key.
type facts map[string]string

// metadataOffer is the value of the capability.
var metadataOffer = fmt.Sprintf("before-connect,max-keys=%d,max-subs=%d,max-value-bytes=%d",
	maxFacts, maxSubs, maxValue)

func isFactKey(key string) bool {
	return key != "" && len(key) <= maxKeyLen &&
		strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_./-") == ""
}

func isFactValue(value string) bool { return len(value) <= maxValue && utf8.ValidString(value) }

// A subject is a user or a room that has metadata.
type subject struct {
	name  string
	user  *user // nil: it is a room
	room  *room
	facts *facts
}

func (u *user) subject() subject { return subject{u.nick, u, nil, &u.facts} }
func (r *room) subject() subject { return subject{r.name, nil, r, &r.facts} }

// subject returns the user or room of a target, if u may know of it.
func (h *Hall) subject(u *user, target string) (subject, bool) {
	if target == "*" {
		return u.subject(), true
	}
	if to := h.nicks[irc.Lower(target)]; to != nil {
		return to.subject(), true
	}
	if r := h.rooms[irc.Lower(target)]; r != nil && (!r.hidden() || u.in(r) != nil) {
		return r.subject(), true
	}
	return subject{}, false
}

// describes says whether a user may change the metadata of a subject.
func (u *user) describes(s subject) bool {
	in := u.in(s.room)
	return s.user == u || in != nil && in.op
}

// asksMetadata says whether a METADATA changes nothing, or is wrong whoever sends it.
func asksMetadata(_ *Hall, m *irc.Message) bool {
	switch strings.ToUpper(m.Param(1)) {
	case "CLEAR":
		return false
	case "SET":
		return !isFactKey(m.Param(2)) || !isFactValue(m.Param(3))
	}
	return true
}

// metadataCommand answers METADATA.
func (h *Hall) metadataCommand(c *Client, m *irc.Message) Entry {
	verb, keys := strings.ToUpper(m.Param(1)), m.Params[min(2, len(m.Params)):]
	about, found := subject{name: "*", facts: &c.facts}, m.Param(0) == "*"
	if c.user != nil {
		about, found = h.subject(c.user, m.Param(0))
	}
	switch {
	case !found:
		h.fail(c, "METADATA", "INVALID_TARGET", middle(m.Param(0)), "There is nobody of that name")
	case len(keys) == 0 && (verb == "GET" || verb == "SET" || verb == "SUB" || verb == "UNSUB"):
		h.num(c, irc.ERR_NEEDMOREPARAMS, "METADATA :Not enough parameters")
	case verb == "GET":
		h.getFacts(c, about, keys)
	case verb == "LIST":
		h.listFacts(c, about)
	case verb == "SYNC":
		h.metadataBatch(c, about.name, func(batch string) { h.syncFacts(c, batch, about) })
	case verb == "SUB":
		h.subscribe(c, keys)
	case verb == "UNSUB":
		h.unsubscribe(c, keys)
	case verb == "SUBS":
		h.metadataWords(c, irc.RPL_METADATASUBS, sorted(c.subs))
	case verb == "SET" && !isFactKey(keys[0]):
		h.fail(c, "METADATA", "KEY_INVALID", middle(keys[0]), "Not a key of metadata")
	case verb == "SET" && len(keys) > 1 && !isFactValue(keys[1]):
		h.fail(c, "METADATA", "INVALID_VALUE", keys[0], fmt.Sprintf(
			"A value is UTF-8 of at most %d bytes", maxValue))
	case verb == "SET": // before registration
		h.setFact(c, about, keys)
	case verb == "CLEAR":
		h.clearFacts(c, about)
	default:
		h.fail(c, "METADATA", "SUBCOMMAND_INVALID", middle(verb), "There is no such subcommand")
	}
	return Entry{}
}

// changeMetadata applies METADATA SET and CLEAR.
func (h *Hall) changeMetadata(s *session, m *irc.Message) {
	about, found := h.subject(s.user, m.Param(0))
	clears, key := strings.EqualFold(m.Param(1), "CLEAR"), m.Param(2)
	if clears {
		key = "*"
	}
	switch {
	case !clears && asksMetadata(h, m): // another program has logged it
	case !found:
		h.fail(s.client, "METADATA", "INVALID_TARGET", middle(m.Param(0)),
			"There is nobody of that name")
	case !s.user.describes(about):
		h.fail(s.client, "METADATA", "KEY_NO_PERMISSION", about.name+" "+key,
			"You may not change that")
	case clears:
		h.clearFacts(s.client, about)
	default:
		h.setFact(s.client, about, m.Params[2:])
	}
}

// setFact changes a value, or removes it if there is none. c is the client that does so; it is nil
// if that is on another server.
func (h *Hall) setFact(c *Client, about subject, words []string) {
	key, all := words[0], *about.facts
	before, was := all[key]
	if len(words) == 1 {
		if !was {
			h.fail(c, "METADATA", "KEY_NOT_SET", about.name+" "+key, "That key is not set")
			return
		}
		delete(all, key)
		h.tellFact(c, "", about, key)
		h.tellSubscribers(c, about, key)
		return
	}
	if !was && len(all) >= maxFacts {
		h.fail(c, "METADATA", "LIMIT_REACHED", about.name, "There are too many keys")
		return
	}
	if all == nil {
		all = facts{}
		*about.facts = all
	}
	all[key] = words[1]
	h.tellFact(c, "", about, key)
	if !was || before != words[1] {
		h.tellSubscribers(c, about, key)
	}
}

func (h *Hall) clearFacts(c *Client, about subject) {
	keys := sorted(*about.facts)
	clear(*about.facts)
	h.metadataBatch(c, about.name, func(batch string) {
		for _, key := range keys {
			h.tellFact(c, batch, about, key)
		}
	})
	for _, key := range keys {
		h.tellSubscribers(c, about, key)
	}
}

// tellFact tells a client the value of a key, or that there is none.
func (h *Hall) tellFact(c *Client, batch string, about subject, key string) {
	if value, set := (*about.facts)[key]; set {
		h.numIn(c, batch, irc.RPL_KEYVALUE, about.name+" "+key+" * :"+value)
	} else {
		h.numIn(c, batch, irc.RPL_KEYNOTSET, about.name+" "+key+" :key not set")
	}
}

// tellSubscribers tells the others who meet a subject that a key has changed.
func (h *Hall) tellSubscribers(c *Client, about subject, key string) {
	tell := func(to *Client) {
		if to != c && to.caps&metadata != 0 && to.subs[key] {
			h.tellFact(to, "", about, key)
		}
	}
	switch {
	case about.room != nil:
		for _, to := range about.room.clients {
			tell(to)
		}
	case about.user != nil: // nil: it has not registered
		h.eachObserver(about.user, metadata, tell)
		about.user.eachClient(tell)
	}
}

// metadataBatch sends a client lines about a target as a batch, if it understands batches.
func (h *Hall) metadataBatch(c *Client, target string, lines func(batch string)) {
	if c == nil {
		return
	}
	if c.caps&inBatch == 0 {
		lines("")
		return
	}
	name := c.batchName()
	h.say(c, "BATCH +"+name+" metadata "+target)
	lines(name)
	h.say(c, "BATCH -"+name)
}

func (h *Hall) getFacts(c *Client, about subject, keys []string) {
	h.metadataBatch(c, about.name, func(batch string) {
		for _, key := range keys {
			if isFactKey(key) {
				h.tellFact(c, batch, about, key)
			} else {
				h.sayIn(c, batch, "FAIL METADATA KEY_INVALID "+middle(key)+
					" :Not a key of metadata")
			}
		}
	})
}

func (h *Hall) listFacts(c *Client, about subject) {
	h.metadataBatch(c, about.name, func(batch string) {
		for _, key := range sorted(*about.facts) {
			h.tellFact(c, batch, about, key)
		}
	})
}

// syncFacts tells a client those values of a user, or of a room and its members, whose keys it
// subscribes to.
func (h *Hall) syncFacts(c *Client, batch string, about subject) {
	for _, key := range sorted(*about.facts) {
		if c.subs[key] {
			h.tellFact(c, batch, about, key)
		}
	}
	if about.room != nil {
		for _, in := range about.room.here {
			h.syncFacts(c, batch, in.user.subject())
		}
	}
}

// meet tells a client what it subscribes to of a user or room that it meets. Of a large room it
// may ask by METADATA SYNC.
func (h *Hall) meet(c *Client, about subject) {
	switch {
	case c.caps&metadata == 0 || len(c.subs) == 0:
	case about.room != nil && len(about.room.here) > maxSync:
		h.num(c, irc.RPL_METADATASYNCLATER, about.name)
	case c.known(about):
		h.metadataBatch(c, about.name, func(batch string) { h.syncFacts(c, batch, about) })
	}
}

// known says whether a subject has a value whose key the client subscribes to.
func (c *Client) known(about subject) bool {
	for key := range *about.facts {
		if c.subs[key] {
			return true
		}
	}
	if about.room != nil {
		for _, in := range about.room.here {
			if c.known(in.user.subject()) {
				return true
			}
		}
	}
	return false
}

// subscribe adds keys to those that a client is told of. Of the rooms that the client is in it may
// ask by METADATA SYNC.
func (h *Hall) subscribe(c *Client, keys []string) {
	var done []string
	full := ""
	for _, key := range keys {
		if !isFactKey(key) {
			h.fail(c, "METADATA", "KEY_INVALID", middle(key), "Not a key of metadata")
			continue
		}
		if !c.subs[key] && len(c.subs) >= maxSubs {
			full = key
			break
		}
		if c.subs == nil {
			c.subs = map[string]bool{}
		}
		c.subs[key] = true
		done = append(done, key)
	}
	h.metadataWords(c, irc.RPL_METADATASUBOK, done)
	if full != "" {
		h.fail(c, "METADATA", "TOO_MANY_SUBS", full, "You subscribe to too many keys")
	}
	if c.user == nil || len(done) == 0 {
		return
	}
	for _, in := range c.user.rooms {
		h.num(c, irc.RPL_METADATASYNCLATER, in.room.name)
	}
}

func (h *Hall) unsubscribe(c *Client, keys []string) {
	var done []string
	for _, key := range keys {
		if !isFactKey(key) {
			h.fail(c, "METADATA", "KEY_INVALID", middle(key), "Not a key of metadata")
			continue
		}
		delete(c.subs, key)
		done = append(done, key)
	}
	h.metadataWords(c, irc.RPL_METADATAUNSUBOK, done)
}

// metadataWords sends keys in as many lines as they need.
func (h *Hall) metadataWords(c *Client, number string, keys []string) {
	line := ""
	for _, key := range keys {
		if len(line)+len(key) > maxOffers {
			h.num(c, number, line[1:])
			line = ""
		}
		line += " " + key
	}
	if line != "" {
		h.num(c, number, line[1:])
	}
}

// lines are the metadata that a client has set before it registers, for its entry.
func (f facts) lines() string {
	var b strings.Builder
	for _, key := range sorted(f) {
		b.WriteString("\n" + key + " " + f[key])
	}
	return b.String()
}

// takeFacts gives a user the metadata of an entry.
func (h *Hall) takeFacts(u *user, lines []string) {
	for _, l := range lines {
		key, value, ok := strings.Cut(l, " ")
		_, was := u.facts[key]
		if !ok || !isFactKey(key) || !isFactValue(value) || !was && len(u.facts) >= maxFacts {
			continue
		}
		if u.facts == nil {
			u.facts = facts{}
		}
		u.facts[key] = value
		h.tellSubscribers(nil, u.subject(), key)
	}
}
