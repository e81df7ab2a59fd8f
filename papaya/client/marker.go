package client

import (
	"strings"
	"time"
)

// Read markers (draft/read-marker of IRCv3) say up to which time the user has read a room. All
// devices of an account share them, so a message that was read on one is unread on none.

const markerCap = "draft/read-marker"

// markAgain is the time after which a refused marker is sent again. A guess.
const markAgain = time.Minute

// ReadUpTo returns the time of the newest message that the user has seen, on any device.
func (r *Room) ReadUpTo() time.Time { return r.read }

// onMarker takes the marker of a room. A server may tell one from the future, which must not hide
// what is said from now on.
func (s *Session) onMarker(l line) {
	r := s.Find(l.Param(0))
	word, found := strings.CutPrefix(l.Param(1), "timestamp=")
	at, err := time.Parse(time.RFC3339Nano, word)
	if r == nil || !found || err != nil {
		return // there is none yet: *
	}
	latest := s.settings.Now()
	if m := r.newest(); m != nil && m.Time.After(latest) {
		latest = m.Time
	}
	if at.After(latest) {
		at = latest
	}
	if at.After(r.marked) {
		r.marked = at
	}
	if at.After(r.read) {
		r.read = at
		r.recount()
		s.tell(Event{Kind: ReadElsewhere, Room: r})
	}
}

// askMarker asks for the marker of a conversation. Those of rooms come with a JOIN.
func (s *Session) askMarker(r *Room) {
	if s.caps[markerCap] && s.state == ready && !r.Channel && r != s.Status {
		s.send("MARKREAD", r.Name)
	}
}

// moved says whether the server must still be told up to where a room was read.
func (r *Room) moved() bool { return r.looked && r.read.After(r.marked) }

// markerRefused takes note that the server could not store a marker: its disk may be full. The
// marker is sent again later, or on the next connection.
func (s *Session) markerRefused(r *Room) {
	s.markersFrom = s.settings.Now().Add(markAgain)
	if r != nil {
		r.marked = time.Time{}
	}
}

// MarkersWait says whether SendMarkers has something to send.
func (s *Session) MarkersWait() bool {
	if !s.caps[markerCap] || s.state != ready {
		return false
	}
	for _, r := range s.rooms {
		if r.moved() {
			return s.markersFrom.IsZero() || !s.settings.Now().Before(s.markersFrom)
		}
	}
	return false
}

// SendMarkers tells the server up to where the user has read. It is called after a while, so that
// a busy room does not need a line for each message.
func (s *Session) SendMarkers() {
	if !s.MarkersWait() {
		return
	}
	for _, r := range s.Rooms() {
		if r.moved() {
			r.marked = r.read
			s.send("MARKREAD", r.Name, stamp(r.read))
		}
	}
}
