package client

import "slices"

// A search asks the server for the messages of one room after the other, since it takes one search
// at a time.

// maxFound bounds the messages that one search finds in all rooms together. A guess.
const maxFound = 200

// A Hit is a message that a search has found.
type Hit struct {
	Room    *Room
	Message *Message
}

// A search is the one that the user waits for.
type search struct {
	text  string
	rooms []*Room // not asked yet
	hits  []Hit
}

// Searchable returns the rooms that can be searched: those we are in, and the conversations.
func (s *Session) Searchable() []*Room {
	return slices.DeleteFunc(s.Rooms(), func(r *Room) bool { return r.Channel && !r.Joined })
}

// Search looks for the messages of rooms that contain all words of a text. The answer is an event
// Found. A search that is not answered yet is given up. Search returns false if the server offers
// none.
func (s *Session) Search(rooms []*Room, text string) bool {
	if !s.support.search || s.state != ready {
		return false
	}
	s.search = &search{text: text, rooms: slices.Clone(rooms)}
	s.searchNext()
	return true
}

// searchNext searches the next room, or tells what was found.
func (s *Session) searchNext() {
	switch {
	case s.search == nil || s.searching != nil:
	case len(s.search.rooms) == 0:
		hits := s.search.hits
		s.tell(Event{Kind: Found, Hits: hits[max(0, len(hits)-maxFound):]})
		s.search = nil
	default:
		s.searching, s.searched = s.search.rooms[0], s.search
		s.search.rooms = s.search.rooms[1:]
		s.send("SEARCH", s.searching.Name, s.search.text)
	}
}

// withdraw removes the text of a deleted message from what was found.
func (s *Session) withdraw(id, by string) {
	if s.search != nil {
		s.search.hits = slices.DeleteFunc(s.search.hits,
			func(h Hit) bool { return h.Message.ID == id })
	}
	for _, r := range append(s.Rooms(), s.Status) {
		for _, m := range r.Messages {
			if m.Hit != nil && m.Hit.Message.ID == id {
				m.delete(&Message{Nick: by})
				m.Hit = nil
			}
		}
	}
}

// found takes the messages of one room.
func (s *Session) found(page []*Message) {
	if s.search != nil && s.search == s.searched {
		theirs := make([]Hit, len(page))
		for i, m := range page {
			theirs[i] = Hit{s.searching, m}
		}
		s.search.hits = byTime(s.search.hits, theirs)
	}
	s.searching = nil
	s.searchNext()
}

// byTime makes one list of two. Each keeps its own order: that of a room is the server's, and many
// of its messages may have the same time.
func byTime(one, other []Hit) []Hit {
	list := make([]Hit, 0, len(one)+len(other))
	for _, h := range one {
		for len(other) > 0 && other[0].Message.Time.Before(h.Message.Time) {
			list, other = append(list, other[0]), other[1:]
		}
		list = append(list, h)
	}
	return append(list, other...)
}
