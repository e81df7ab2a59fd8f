package hall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// gossip is a server with the accounts ann, bob and eve. Bob writes to ann first and last, and in
// between eve writes to her so much that it fills several chunks.
func gossip(t *testing.T) *node {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, name := range []string{"ann", "bob", "eve"} {
		for _, l := range []string{"[connect " + name + " at a with " + name + "]",
			name + " > CAP REQ :sasl", name + " > AUTHENTICATE EXTERNAL",
			name + " > AUTHENTICATE +", name + " > NICK " + name,
			name + " > USER " + name + " 0 * :" + name, name + " > CAP END"} {
			p.step(l)
		}
	}
	p.step("bob > PRIVMSG ann :first")
	for i := range 3 * chunkSize / 400 {
		p.say(p.people["eve"], fmt.Sprintf("PRIVMSG ann :%d %s", i, strings.Repeat("x", 360)))
	}
	p.step("ann > PRIVMSG bob :second")
	return p.halls["a"]
}

// conversationOf reads a conversation of ann as CHATHISTORY LATEST does.
func conversationOf(t *testing.T, h *Hall, with string) (q question, texts []string) {
	t.Helper()
	q, ok := h.question(&Client{user: h.accounts["ann"]}, h.frozen(), with)
	if !ok {
		t.Fatalf("ann may not read what she has said with %s", with)
	}
	for _, s := range q.backward(t.Context(), first, last, 10) {
		texts = append(texts, s.text())
	}
	return q, texts
}

// TestConversationBehindOthers: what others have written to somebody is not read for a
// conversation, however much it is.
func TestConversationBehindOthers(t *testing.T) {
	s := gossip(t)
	q, texts := conversationOf(t, s.hall, "bob")
	if fmt.Sprint(texts) != "[first second]" || len(q.chunks) != 2 {
		t.Errorf("her conversation with bob is %q, in %d chunks; want 2", texts, len(q.chunks))
	}
	if q, texts = conversationOf(t, s.hall, "eve"); len(texts) != 10 || len(q.chunks) < 4 {
		t.Errorf("her conversation with eve has %d messages in %d chunks", len(texts),
			len(q.chunks))
	}
}

// TestConversationOfAnOlderVersion: the index of format 3 has no conversations. What was said then
// is found by the nicks, and what is said later by the conversation.
func TestConversationOfAnOlderVersion(t *testing.T) {
	s := gossip(t)
	state, err := s.hall.Save()
	if err != nil {
		t.Fatal(err)
	}
	var saved savedHall
	if err := json.Unmarshal(state, &saved); err != nil {
		t.Fatal(err)
	}
	saved.Format = formatConversations - 1
	for name := range saved.Index {
		if strings.Contains(name, " ") {
			delete(saved.Index, name)
		}
	}
	if state, err = json.Marshal(saved); err != nil {
		t.Fatal(err)
	}
	h := loaded(t, s.hall.config, state)
	if q, texts := conversationOf(t, h, "bob"); fmt.Sprint(texts) != "[first second]" {
		t.Errorf("her conversation with bob is %q, in %d chunks", texts, len(q.chunks))
	}
	now, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	again := loaded(t, s.hall.config, now)
	if again.conversationsFrom != saved.At {
		t.Errorf("conversations begin at %d when it is loaded again, want %d",
			again.conversationsFrom, saved.At)
	}
}

// TestReadingOfAFrozenText: a reading sees the lines that were not written when it was asked, and
// none that come later.
func TestReadingOfAFrozenText(t *testing.T) {
	s := gossip(t)
	h, end := s.hall, len(s.text.lines)
	cut := strings.LastIndexByte(string(s.text.lines[:end-1]), '\n') + 1
	h.text = append(h.text[:0], s.text.lines[cut:]...) // as in a batch that is being applied
	s.text.lines = s.text.lines[:cut]
	q, ok := h.question(&Client{user: h.accounts["ann"]}, h.frozen(), "bob")
	s.text.lines = append(s.text.lines, h.text...)
	s.text.lines = append(s.text.lines, h.text...)
	clear(h.text) // the next batch
	if got := q.backward(t.Context(), first, last, 10); !ok || len(got) != 2 ||
		got[1].text() != "second" {
		t.Errorf("read: %v, want the two messages", got)
	}
}
