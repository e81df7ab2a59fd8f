package hall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

func (h *Hall) names(c *Client, m *irc.Message) Entry {
	if len(m.Params) == 0 {
		h.num(c, irc.RPL_ENDOFNAMES, "* :End of NAMES")
		return Entry{}
	}
	for i, name := range strings.Split(m.Params[0], ",") {
		r := h.rooms[irc.Lower(name)]
		switch {
		case i == maxTargets:
			return Entry{}
		case r == nil || r.hidden() && c.user.in(r) == nil:
			h.num(c, irc.RPL_ENDOFNAMES, middle(name)+" :End of NAMES")
		default:
			h.sendNames(c, r)
		}
	}
	return Entry{}
}

// sendNames answers NAMES for a room, with as many nicks in a line as fit.
func (h *Hall) sendNames(c *Client, r *room) {
	head := "= " + r.name + " :"
	if r.modes['s'] {
		head = "@" + head[1:]
	}
	limit := irc.MaxLine - 2 - len(":"+h.config.Name+" 353 "+c.Nick()+" ")
	line := []byte(head)
	add := func(u *user, prefix string) {
		nick := u.nick
		if c.caps&userhostInNames != 0 {
			nick = u.source
		}
		if len(line)+len(nick)+3 > limit {
			h.num(c, irc.RPL_NAMREPLY, string(line))
			line = append(line[:0], head...)
		}
		if len(line) > len(head) {
			line = append(line, ' ')
		}
		line = append(append(line, prefix...), nick...)
	}
	for _, m := range r.here {
		add(m.user, m.prefix(c))
	}
	for _, u := range h.absentAccounts(r) {
		add(u, "")
	}
	if len(line) > len(head) {
		h.num(c, irc.RPL_NAMREPLY, string(line))
	}
	h.num(c, irc.RPL_ENDOFNAMES, r.name+" :End of NAMES")
}

// absentAccounts lists the accounts that are absent members of a room, if they are to be shown.
func (h *Hall) absentAccounts(r *room) (all []*user) {
	if show := h.config.AbsentInNames; show == nil || !show() {
		return nil
	}
	for _, who := range sorted(r.absent) {
		folded, found := strings.CutPrefix(who, accountKey(""))
		if u := h.accounts[folded]; found && u != nil && !h.here(u) {
			all = append(all, u)
		}
	}
	return all
}

func (h *Hall) whois(c *Client, m *irc.Message) Entry {
	nick := m.Params[len(m.Params)-1]
	u := h.nicks[irc.Lower(nick)]
	if u == nil {
		h.num(c, irc.ERR_NOSUCHNICK, middle(nick)+" :No such nick/channel")
		h.num(c, irc.RPL_ENDOFWHOIS, middle(nick)+" :End of WHOIS")
		return Entry{}
	}
	h.num(c, irc.RPL_WHOISUSER, fmt.Sprintf("%s %s %s * :%s", u.nick, u.name, u.host, u.real))
	line := ""
	for _, in := range u.rooms {
		if (in.room.hidden() || u.invisible && u != c.user) && c.user.in(in.room) == nil {
			continue
		}
		if len(line)+len(in.room.name) > 380 {
			h.num(c, irc.RPL_WHOISCHANNELS, u.nick+" :"+line[1:])
			line = ""
		}
		line += " " + in.prefix(c) + in.room.name
	}
	if line != "" {
		h.num(c, irc.RPL_WHOISCHANNELS, u.nick+" :"+line[1:])
	}
	h.num(c, irc.RPL_WHOISSERVER, u.nick+" "+h.config.Name+" :"+h.config.Network)
	if h.full() && (u == c.user || c.user.role.runs()) {
		h.num(c, irc.RPL_WHOISACTUALLY, u.nick+" "+u.name+"@"+u.host+" "+u.address()+
			" :Actual user@host, Actual IP")
	}
	if u.away != "" {
		h.num(c, irc.RPL_AWAY, u.nick+" :"+u.away)
	}
	if u.account != "" {
		h.num(c, irc.RPL_WHOISACCOUNT, u.nick+" "+u.account+" :is logged in as")
	}
	if u.styles['B'] {
		h.num(c, irc.RPL_WHOISBOT, u.nick+" :is a bot")
	}
	if c.caps&metadata != 0 {
		for _, key := range sorted(u.facts) {
			h.num(c, irc.RPL_WHOISKEYVALUE, u.nick+" "+key+" * :"+u.facts[key])
		}
	}
	switch u.role {
	case Admin:
		h.num(c, irc.RPL_WHOISOPERATOR, u.nick+" :is an administrator")
	case Operator:
		h.num(c, irc.RPL_WHOISOPERATOR, u.nick+" :is an operator")
	case Guest, Member:
	}
	if u.secure() {
		h.num(c, irc.RPL_WHOISSECURE, u.nick+" :is using a secure connection")
	}
	h.num(c, irc.RPL_ENDOFWHOIS, u.nick+" :End of WHOIS")
	return Entry{}
}

// list answers LIST with the rooms that the client may join or is in. Conditions may choose among
// them.
func (h *Hall) list(c *Client, m *irc.Message) Entry {
	wanted := strings.Split(m.Param(0), ",")
	wanted = wanted[:min(len(wanted), maxTargets)]
	h.num(c, irc.RPL_LISTSTART, "Channel :Users  Name")
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		if r.hidden() && c.user.in(r) == nil && !c.user.role.runs() || len(r.here) == 0 {
			continue
		}
		if slices.ContainsFunc(wanted, r.meets) {
			h.num(c, irc.RPL_LIST, r.name+" "+strconv.Itoa(len(r.here))+" :"+r.topic)
		}
	}
	h.num(c, irc.RPL_LISTEND, ":End of LIST")
	return Entry{}
}

// meets says whether a room meets a condition of LIST: a mask, !MASK for all others, or <N and >N
// for fewer and for more members than N (ELIST=MNU).
func (r *room) meets(condition string) bool {
	if condition == "" {
		return true
	}
	n, err := strconv.Atoi(condition[1:])
	switch {
	case condition[0] == '!' && len(condition) > 1:
		return !irc.Match(condition[1:], r.name)
	case condition[0] == '<' && err == nil:
		return len(r.here) < n
	case condition[0] == '>' && err == nil:
		return len(r.here) > n
	}
	return irc.Match(condition, r.name)
}

// links answers LINKS with no server: users see one, however many share the log, since all of them
// have one name. Modern IRC lets a server leave out others.
func (h *Hall) links(c *Client, m *irc.Message) Entry {
	mask := m.Last()
	if mask == "" {
		mask = "*"
	}
	h.num(c, irc.RPL_ENDOFLINKS, middle(mask)+" :End of LINKS list")
	return Entry{}
}

func (h *Hall) lusers(c *Client, _ *irc.Message) Entry {
	here, all, rooms := h.Here()
	invisible, operators := 0, 0
	for _, u := range h.nicks {
		if u.invisible {
			invisible++
		}
		if u.role.runs() {
			operators++
		}
	}
	h.num(c, irc.RPL_LUSERCLIENT, fmt.Sprintf(":There are %d users and %d invisible on %d servers",
		all-invisible, invisible, max(1, len(h.servers))))
	h.num(c, irc.RPL_LUSEROP, strconv.Itoa(operators)+" :operator(s) online")
	h.num(c, irc.RPL_LUSERUNKNOWN, strconv.Itoa(len(h.clients)-here)+" :unknown connection(s)")
	h.num(c, irc.RPL_LUSERCHANNELS, strconv.Itoa(rooms)+" :channels formed")
	h.num(c, irc.RPL_LUSERME, fmt.Sprintf(":I have %d clients and %d servers", here,
		max(0, len(h.servers)-1)))
	h.mostHere, h.mostUsers = max(h.mostHere, here), max(h.mostUsers, all)
	h.num(c, irc.RPL_LOCALUSERS, fmt.Sprintf("%d %d :Current local users %d, max %d", here,
		h.mostHere, here, h.mostHere))
	h.num(c, irc.RPL_GLOBALUSERS, fmt.Sprintf("%d %d :Current global users %d, max %d", all,
		h.mostUsers, all, h.mostUsers))
	return Entry{}
}

func (h *Hall) ison(c *Client, m *irc.Message) Entry {
	var here []string
	for _, p := range m.Params {
		for nick := range strings.FieldsSeq(p) {
			if u := h.nicks[irc.Lower(nick)]; u != nil {
				here = append(here, u.nick)
			}
		}
	}
	h.num(c, irc.RPL_ISON, ":"+strings.Join(here, " "))
	return Entry{}
}

func (h *Hall) userhost(c *Client, m *irc.Message) Entry {
	var here []string
	for _, nick := range m.Params[:min(len(m.Params), 5)] {
		if u := h.nicks[irc.Lower(nick)]; u != nil {
			name, sign := u.nick, "+"
			if u.role.runs() {
				name += "*"
			}
			if u.away != "" {
				sign = "-"
			}
			here = append(here, name+"="+sign+u.name+"@"+u.host)
		}
	}
	h.num(c, irc.RPL_USERHOST, ":"+strings.Join(here, " "))
	return Entry{}
}

func (h *Hall) info(c *Client, _ *irc.Message) Entry {
	h.num(c, irc.RPL_INFO, ":papaya "+h.config.Version)
	h.num(c, irc.RPL_ENDOFINFO, ":End of INFO")
	return Entry{}
}

func (h *Hall) version(c *Client, _ *irc.Message) Entry {
	h.num(c, irc.RPL_VERSION, "papaya-"+h.config.Version+" "+h.config.Name+" :https://ircv3.net")
	return Entry{}
}

// time answers TIME with the time of the last batch: a hall has no clock.
func (h *Hall) time(c *Client, _ *irc.Message) Entry {
	h.num(c, irc.RPL_TIME, h.config.Name+" :"+clock(h.now))
	return Entry{}
}

// clockForm is the form of times in the text and in tags.
const clockForm = "2006-01-02T15:04:05.000Z"

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(clockForm) }
