package client

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Answers (+draft/reply of IRCv3) and reactions (draft/react) name the message that they are about
// by its msgid. A reaction is a TAGMSG, which another one takes back. The server keeps both.

// The tags. Some clients say them without draft/.
const (
	replyTag   = "+draft/reply"
	reactTag   = "+draft/react"
	unreactTag = "+draft/unreact"
)

// Bounds of what is remembered: the characters of a reaction, the reactions of a message, and the
// messages that have some. All are guesses.
const (
	maxReaction  = 16
	maxReactions = 200
	maxReacted   = 5000
)

// A Reaction is what users have reacted to a message with.
type Reaction struct {
	Text  string
	Nicks []string // from the first on
}

// reactions are those of messages of a room, by their msgids, and by the user's folded nick and the
// text.
type reactions map[string]map[string]reaction

// A reaction is the last one of a user with a text; on is false if it was taken back.
type reaction struct {
	nick, text, id string
	time           time.Time
	on             bool
}

// about returns the msgid of the message that a line is about; empty if it is about none.
func (l line) about() string { return cmp.Or(l.Tags[replyTag], l.Tags["+reply"]) }

// onTags: a TAGMSG may be a reaction, to a message of the room in which it was said.
func (s *Session) onTags(l line) {
	on := cmp.Or(l.Tags[reactTag], l.Tags["+react"])
	text := strings.TrimSpace(cmp.Or(on, l.Tags[unreactTag], l.Tags["+unreact"]))
	if of := l.about(); of != "" && text != "" && utf8.RuneCountInString(text) <= maxReaction {
		s.react(s.roomOf(l), of, reaction{l.nick(), text, l.Tags["msgid"], l.time, on != ""})
	}
}

// roomOf returns the room or conversation of a line; nil if we have none.
func (s *Session) roomOf(l line) *Room {
	target, nick := s.target(l), l.nick()
	if !s.IsChannel(target) && !s.IsMe(nick) {
		target = nick
	}
	return s.Find(target)
}

// react notes a reaction. Histories come late, so the newest one of a user counts.
func (s *Session) react(r *Room, of string, one reaction) {
	if r == nil {
		return
	}
	all := r.reactions[of]
	if all == nil {
		if len(r.reactions) >= maxReacted {
			for other := range r.reactions {
				delete(r.reactions, other)
				break
			}
		}
		all = map[string]reaction{}
		r.reactions[of] = all
	}
	key := s.Fold(one.nick) + " " + one.text
	if before, there := all[key]; there && before.time.After(one.time) ||
		!there && len(all) >= maxReactions {
		return
	}
	all[key] = one
}

// withdrawReaction takes back the reaction with a msgid. It returns false if there is none.
func (r *Room) withdrawReaction(id string) bool {
	for _, all := range r.reactions {
		for key, one := range all {
			if one.id == id && id != "" {
				one.on = false
				all[key] = one
				return true
			}
		}
	}
	return false
}

// Reactions returns the reactions to a message, from the first on.
func (r *Room) Reactions(m *Message) (list []Reaction) {
	if m.ID == "" || !m.Kind.spoken() || len(r.reactions[m.ID]) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(r.reactions[m.ID]), func(a, b reaction) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.text, b.text),
			cmp.Compare(a.nick, b.nick))
	})
	for _, one := range all {
		if !one.on {
			continue
		}
		i := slices.IndexFunc(list, func(r Reaction) bool { return r.Text == one.text })
		if i < 0 {
			i, list = len(list), append(list, Reaction{Text: one.text})
		}
		list[i].Nicks = append(list[i].Nicks, one.nick)
	}
	return list
}

// MayAnswer says whether a message can be answered and reacted to now.
func (s *Session) MayAnswer(r *Room, m *Message) bool {
	return s.caps["message-tags"] && s.state == ready && r != s.Status &&
		(!r.Channel || r.Joined) && m.ID != "" && m.Kind.spoken()
}

// React reacts to a message, or takes that back. It returns false if that is not possible.
func (s *Session) React(r *Room, m *Message, text string) bool {
	text = strings.TrimSpace(text)
	if !s.MayAnswer(r, m) || text == "" || utf8.RuneCountInString(text) > maxReaction {
		return false
	}
	tag, on := reactTag, !r.reactions[m.ID][s.Fold(s.Nick)+" "+text].on
	if !on {
		tag = unreactTag
	}
	s.send("TAGMSG", r.Name)
	s.out[len(s.out)-1].Tags = map[string]string{tag: text, replyTag: m.ID}
	if !s.caps["echo-message"] {
		s.react(r, m.ID, reaction{s.Nick, text, "", s.settings.Now(), on})
	}
	return true
}

// Answer is Say as an answer to a message.
func (s *Session) Answer(r *Room, m *Message, text string) Outcome {
	if !s.MayAnswer(r, m) {
		return Unheard
	}
	return s.say(r, Said, text, m.ID)
}

// Answered returns the message of a room that another one answers. ok is false if it answers none;
// the message is nil if it is not here.
func (r *Room) Answered(m *Message) (original *Message, ok bool) {
	if m.reply == "" {
		return nil, false
	}
	if r.past != nil {
		if x := r.past.find(m.reply); x != nil {
			return x, true
		}
	}
	return r.find(m.reply), true
}
