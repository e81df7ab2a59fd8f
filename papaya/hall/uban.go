package hall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/papaya/bans"
	"interleave/papaya/irc"
)

// Operators ban by UBAN, the command of Ergo: one for accounts, addresses and masks. KLINE and
// DLINE have other words on each server, and know no accounts.

var errBanWords = errors.New("UBAN ADD TARGET [DURATION 7d] [MYSELF] [REASON], UBAN DEL TARGET, " +
	"UBAN LIST and UBAN INFO TARGET are known")

// uban answers UBAN, or returns the entry of a change.
func (h *Hall) uban(c *Client, m *irc.Message) Entry {
	if !h.full() {
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	}
	words := strings.Fields(strings.Join(m.Params[1:], " "))
	verb := strings.ToUpper(m.Param(0))
	switch {
	case !c.user.role.runs():
		h.notOperator(c)
	case verb == "LIST":
		h.listBans(c)
	case len(words) == 0:
		h.failBan(c, errBanWords)
	case verb == "ADD":
		return h.banEntry(c, words)
	case verb == "DEL":
		c.later = true
		return Entry{Kind: ServerBan, Data: []byte("-" + orderWords + words[0])}
	case verb == "INFO":
		h.banInfo(c, words[0])
	default:
		h.failBan(c, errBanWords)
	}
	return Entry{}
}

func (h *Hall) failBan(c *Client, why error) {
	h.fail(c, "UBAN", "INVALID_PARAMS", "", why.Error())
}

func (h *Hall) listBans(c *Client) {
	open := h.OpenBans()
	for _, b := range open {
		h.inform(c, banLine(b))
	}
	h.inform(c, fmt.Sprintf("%d bans", len(open)))
}

// A banOrder is what follows UBAN ADD.
type banOrder struct {
	target bans.Target
	length time.Duration
	myself bool // it may be for oneself
	why    string
}

// parseBan parses the words of UBAN ADD: a target, DURATION and a time, MYSELF, and the reason.
// DURATION may be left out.
func parseBan(words []string) (o banOrder, err error) {
	if o.target, err = bans.Parse(words[0]); err != nil {
		return o, err
	}
	timed := false
	for rest := words[1:]; len(rest) > 0; rest = rest[1:] {
		word := strings.ToUpper(rest[0])
		length, noLength := bans.ParseLength(rest[0])
		switch {
		case word == "DURATION" && !timed:
			if len(rest) == 1 {
				return o, errBanWords
			}
			if o.length, err = bans.ParseLength(rest[1]); err != nil {
				return o, err
			}
			timed, rest = true, rest[1:]
		case noLength == nil && !timed:
			o.length, timed = length, true
		case word == "MYSELF" && !o.myself:
			o.myself = true
		default:
			o.why = truncate(strings.Join(rest, " "), maxBanWhy)
			return o, nil
		}
	}
	return o, nil
}

func (h *Hall) banEntry(c *Client, words []string) Entry {
	o, err := parseBan(words)
	if err == nil {
		err = h.mayBan(c, o)
	}
	if err != nil {
		h.failBan(c, err)
		return Entry{}
	}
	c.later = true
	return Entry{Kind: ServerBan, Data: fmt.Appendf(nil, "+\n%s\n%d\n%s", o.target,
		o.length.Milliseconds(), o.why)}
}

// mayBan returns why a client may not set a ban. Nobody bans itself or an administrator by mistake,
// and an operator bans no administrator at all.
func (h *Hall) mayBan(c *Client, o banOrder) error {
	if err := h.CheckBan(o.target); err != nil {
		return err
	}
	if name := o.target.Account(); name != "" {
		if err := h.knownAccount(name); err != nil {
			return err
		}
	}
	for _, u := range h.meant(o.target) {
		switch {
		case u == c.user && !o.myself:
			return errors.New("that would ban you, too: if you mean it, put the word MYSELF " +
				"after the target")
		case u == c.user || u.role != Admin:
		case c.user.role != Admin:
			return fmt.Errorf("that would ban %s, an administrator: only administrators can",
				u.nick)
		case !o.myself:
			return fmt.Errorf("that would ban %s, an administrator: if you mean it, put the word "+
				"MYSELF after the target", u.nick)
		}
	}
	return nil
}

// CheckBan returns why nobody may ban a target on this server: it is a reverse proxy, or there are
// too many bans.
func (h *Hall) CheckBan(t bans.Target) error {
	if rest, _, _ := h.bans.list.Without(t); len(rest) >= maxBans {
		return errMaxBans
	}
	if n := t.Network(); n.IsValid() && h.config.Spared != nil && h.config.Spared(n) {
		return fmt.Errorf("%s is a reverse proxy of this server (listen.trusted), which stands "+
			"for many clients", t)
	}
	return nil
}

// knownAccount returns an error that helps if an account was never here.
func (h *Hall) knownAccount(name string) error {
	u := h.nicks[irc.Lower(name)]
	switch {
	case h.accounts[irc.Lower(name)] != nil:
		return nil
	case u == nil:
		return fmt.Errorf("no account of the name %s was here yet", name)
	case u.account != "":
		return fmt.Errorf("%s is a nick of the account %s: ban that", u.nick, u.account)
	}
	return fmt.Errorf("%s has no account: ban %s!*@*, *!*@%s, or an address (WHOIS shows it)",
		u.nick, u.nick, u.host)
}

// meant returns the users that a ban is for, as far as this server knows: by nick, then the
// accounts that are not here.
func (h *Hall) meant(t bans.Target) (all []*user) {
	folded := irc.Lower(t.Account())
	has := func(u *user) bool {
		switch t.Kind() {
		case bans.Account:
			return u.uses(folded)
		case bans.Mask:
			return t.HasSource(u.source) || slices.ContainsFunc(u.sessions,
				func(s *session) bool { return t.HasSource(s.source()) })
		}
		return slices.ContainsFunc(u.sessions, func(s *session) bool {
			return s.client != nil && t.HasAddress(s.client.From)
		})
	}
	for _, nick := range sorted(h.nicks) {
		if u := h.nicks[nick]; has(u) {
			all = append(all, u)
		}
	}
	for _, name := range sorted(h.accounts) {
		if u := h.accounts[name]; !h.here(u) && has(u) {
			all = append(all, u)
		}
	}
	return all
}

// banInfo shows the ban of a target, and whom it is or would be for.
func (h *Hall) banInfo(c *Client, word string) {
	t, err := bans.Parse(word)
	if err != nil {
		h.failBan(c, err)
		return
	}
	if _, b, found := h.OpenBans().Without(t); found {
		h.inform(c, banLine(b))
	} else {
		h.inform(c, t.String()+" is not banned")
	}
	line, where := "", ""
	if t.Kind() == bans.Network {
		where = " on this server"
	}
	all := h.meant(t)
	for _, u := range all {
		if len(line)+len(u.nick) > maxNicks {
			h.inform(c, "users"+line)
			line = ""
		}
		line += " " + u.nick
	}
	if line != "" {
		h.inform(c, "users"+line)
	}
	h.inform(c, fmt.Sprintf("It fits %d users%s", len(all), where))
}

// maxNicks is in bytes: what a line of UBAN INFO may have of nicks.
const maxNicks = 300
