package client

// Rooms get other names (draft/channel-rename of IRCv3). The room of the session stays the same,
// with its messages and what is unread. A server may also tell the name of a room when its former
// one is joined.

// Rename asks the server to give a room another name. The server decides.
func (s *Session) Rename(r *Room, name, why string) {
	s.send("RENAME", append([]string{r.Name, name}, words(why)...)...)
}

// onRename: a room that we are in has another name.
func (s *Session) onRename(l line) {
	from, to := l.Param(0), l.Param(1)
	if s.Find(from) == nil || !s.IsChannel(from) || !s.IsChannel(to) {
		return
	}
	if key, wanted := s.unwant(from); wanted && !s.wanted(to) {
		s.wants[to] = key
	}
	s.note(s.renamed(from, to), Happened,
		l.nick()+" renamed the room from "+from+" to "+to+because(l.Param(2)), l.time)
}

// onRenamed: a room that we want to join has another name. We follow it.
func (s *Session) onRenamed(l line) {
	from, to := l.Param(2), l.Param(3)
	if !s.IsChannel(from) || !s.IsChannel(to) || s.Fold(from) == s.Fold(to) {
		return
	}
	key, _ := s.unwant(from)
	if s.Find(from) != nil {
		s.renamed(from, to)
	}
	s.Note(s.active, Happened, from+" is now "+to)
	s.tell(Event{Kind: Moved, Why: from, Target: to})
	if r := s.Find(to); r == nil || !r.Joined {
		s.Join(to, key)
	}
}

// renamed gives a room its other name, and returns it. If we have a room of that name, which we are
// in, that is the one which stays: the server has brought it.
func (s *Session) renamed(from, to string) *Room {
	r, there := s.Find(from), s.Find(to)
	delete(s.rooms, s.Fold(from))
	if there != nil && there != r && there.Joined {
		if s.active == r {
			s.active = there
		}
		return there
	}
	r.Name = to
	s.rooms[s.Fold(to)] = r
	return r
}

// unwant removes a room from those that are joined after a reconnect, and returns its key.
func (s *Session) unwant(name string) (key string, was bool) {
	for w, k := range s.wants {
		if s.Fold(w) == s.Fold(name) {
			key, was = k, true
			delete(s.wants, w)
		}
	}
	return key, was
}
