package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/checker"
	"interleave/papaya/irc"
)

// A worker does what a session does, one thing after another.
type worker struct {
	*session
	dice *rand.Rand
}

// deeds are what a worker does, and how often of 100 times.
var deeds = []struct {
	often int
	do    func(w *worker, ctx context.Context) error
}{
	{38, (*worker).talk},
	{14, (*worker).readSome},
	{4, (*worker).search},
	{9, (*worker).redact},
	{7, (*worker).change},
	{8, (*worker).mark},
	{6, (*worker).marked},
	{2, (*worker).send},
	{6, (*worker).fetchSome},
	{6, (*worker).trespass},
}

// work does one thing after another until stop is closed. It waits between them for pace, in the
// mean.
func (w *worker) work(ctx context.Context, pace time.Duration, stop <-chan struct{}) error {
	for {
		wait := time.Duration(w.dice.ExpFloat64() * float64(pace))
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(min(wait, 10*pace)):
		}
		if err := w.up(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
		n := w.dice.IntN(100)
		for _, d := range deeds {
			if n -= d.often; n >= 0 {
				continue
			}
			// A session that has just lost its connection does nothing.
			if err := d.do(w, ctx); err != nil && !errors.Is(err, errOffline) {
				return ignoreEnd(ctx, err)
			}
			break
		}
	}
}

// ignoreEnd returns an error, unless it is only that of the campaign's end.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// one returns one of a list, at random.
func one[T any](dice *rand.Rand, list []T) T { return list[dice.IntN(len(list))] }

// some returns one of the messages that the session remembers.
func (w *worker) some(own bool) (m seen, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.heard
	if own {
		list = w.said
	}
	if len(list) == 0 {
		return m, false
	}
	return one(w.dice, list), true
}

// talk says one to three messages in a conversation, and waits for all answers.
func (w *worker) talk(context.Context) error {
	in := one(w.dice, w.account.conversations)
	var calls []*call
	var texts []string
	var offline error // what has begun must have an end in spite of it
	for n := 1 + w.dice.IntN(3); n > 0 && offline == nil; n-- {
		text := w.campaign.word() + strings.Repeat(" papaya", w.dice.IntN(30))
		var c *call
		c, offline = w.begin(&checker.Event{Do: checker.Say, In: in, Text: text},
			irc.Message{Command: "PRIVMSG", Params: []string{w.target(in), text}})
		if offline == nil {
			calls, texts = append(calls, c), append(texts, text)
		}
	}
	for i, c := range calls {
		if _, err := w.end(c, echoed(texts[i])); err != nil {
			return err
		}
	}
	return offline
}

// echoed finds the echo of a text, which acknowledges it as a message or as a change of one.
func echoed(text string) func([]reply, *checker.Event) {
	return func(lines []reply, e *checker.Event) {
		for _, l := range lines {
			if _, it := message(l.Message); l.Command == "PRIVMSG" && it.Text == text {
				e.Type, e.ID = checker.OK, it.ID
				return
			}
		}
		refused(lines, e)
	}
}

// refused notes that an operation was refused, if the answer says so. Any other answer is not
// understood, and means nothing.
func refused(lines []reply, e *checker.Event) {
	e.Type = checker.Unknown
	for _, l := range lines {
		e.Why = l.String()
		number, err := strconv.Atoi(l.Command)
		if l.Command == "FAIL" || err == nil && number >= 400 && number < 600 {
			e.Type = checker.Fail
			return
		}
	}
}

// readSome reads the latest messages of a conversation, or those near one.
func (w *worker) readSome(context.Context) error {
	m, known := w.some(false)
	near := known && w.dice.IntN(2) == 0
	in := one(w.dice, w.account.conversations)
	if near {
		in = m.in
	}
	words := []string{"LATEST", w.target(in), "*", "50"}
	if near {
		words = []string{one(w.dice, []string{"AROUND", "AFTER", "BEFORE"}), w.target(in),
			"msgid=" + m.id, "20"}
	}
	c, err := w.begin(&checker.Event{Do: checker.Read, In: in, Latest: !near},
		irc.Message{Command: "CHATHISTORY", Params: words})
	if err != nil {
		return err
	}
	_, err = w.end(c, func(lines []reply, e *checker.Event) {
		// A page with fewer messages than were asked for is not the whole conversation: it lacks
		// those that others have removed while it was read.
		page, _, ok := pageOf(lines)
		if !ok {
			refused(lines, e)
			return
		}
		e.Type, e.Messages = checker.OK, page
	})
	return err
}

// pageOf returns the messages of an answer to CHATHISTORY or SEARCH, and the number of its lines,
// which has removals, too.
func pageOf(lines []reply) (page []checker.Message, all int, ok bool) {
	for _, l := range lines {
		if l.Command == "FAIL" {
			return nil, 0, false
		}
		if l.kind != "chathistory" && l.kind != "papaya/search" {
			continue
		}
		all++
		if l.Command == "PRIVMSG" {
			_, it := message(l.Message)
			page = append(page, it)
		}
	}
	return page, all, true
}

// search looks for the first word of a message.
func (w *worker) search(context.Context) error {
	m, ok := w.some(w.dice.IntN(2) == 0)
	if !ok {
		return nil
	}
	first, _, _ := strings.Cut(m.text, " ")
	return w.searchFor(m.in, first)
}

func (w *worker) searchFor(in, first string) error {
	c, err := w.begin(&checker.Event{Do: checker.Search, In: in, Text: first},
		irc.Message{Command: "SEARCH", Params: []string{w.target(in), first}})
	if err != nil {
		return err
	}
	_, err = w.end(c, func(lines []reply, e *checker.Event) {
		page, _, ok := pageOf(lines)
		e.Type, e.Messages = checker.OK, page
		for _, l := range lines {
			if l.Command == "NOTE" { // not all was searched
				e.Type, e.Messages, e.Why = checker.Unknown, nil, l.String()
			}
		}
		if !ok {
			e.Messages = nil
			refused(lines, e)
		}
	})
	return err
}

// redact removes a message: mostly an own one. Those of others may be removed by operators only.
func (w *worker) redact(context.Context) error {
	m, ok := w.some(w.dice.IntN(5) > 0)
	if !ok {
		return nil
	}
	return w.remove(m.in, m.id)
}

func (w *worker) remove(in, id string) error {
	c, err := w.begin(&checker.Event{Do: checker.Redact, In: in, ID: id},
		irc.Message{Command: "REDACT", Params: []string{w.target(in), id}})
	if err != nil {
		return err
	}
	_, err = w.end(c, func(lines []reply, e *checker.Event) {
		for _, l := range lines {
			if l.Command == "REDACT" && l.Param(1) == id {
				e.Type = checker.OK
				return
			}
		}
		refused(lines, e)
	})
	return err
}

// change gives a message another text: mostly an own one. Nobody may change those of others. The
// file of a message with a link goes with the message, whatever its text is, so these stay.
func (w *worker) change(context.Context) error {
	m, ok := w.some(w.dice.IntN(5) > 0)
	if !ok || strings.Contains(m.text, "://") {
		return nil
	}
	first, _, _ := strings.Cut(m.text, " ")
	text := first + " " + w.campaign.word() + strings.Repeat(" papaya", w.dice.IntN(30))
	c, err := w.begin(&checker.Event{Do: checker.Edit, In: m.in, ID: m.id, Text: text},
		irc.Message{Tags: map[string]string{"+draft/edit": m.id}, Command: "PRIVMSG",
			Params: []string{w.target(m.in), text}})
	if err != nil {
		return err
	}
	_, err = w.end(c, echoed(text))
	return err
}

// mark sets a read marker to the time of a message.
func (w *worker) mark(context.Context) error {
	m, ok := w.some(false)
	if !ok {
		return nil
	}
	return w.markers(&checker.Event{Do: checker.Mark, In: m.in, Time: m.time.UnixMilli()},
		"timestamp="+m.time.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// marked asks where a read marker is.
func (w *worker) marked(context.Context) error {
	return w.markers(&checker.Event{Do: checker.Marked,
		In: one(w.dice, w.account.conversations)})
}

func (s *session) markers(e *checker.Event, words ...string) error {
	c, err := s.begin(e, irc.Message{Command: "MARKREAD",
		Params: append([]string{s.target(e.In)}, words...)})
	if err != nil {
		return err
	}
	_, err = s.end(c, func(lines []reply, e *checker.Event) {
		for _, l := range lines {
			if ms, ok := markerTime(l.Param(1)); l.Command == "MARKREAD" && ok {
				e.Type, e.Time = checker.OK, ms
				return
			}
		}
		refused(lines, e)
	})
	return err
}

// trespass tries to join, read, search or talk in a room that is not the account's. All of it must
// be refused.
func (w *worker) trespass(context.Context) error {
	if len(w.account.closed) == 0 {
		return nil
	}
	in := one(w.dice, w.account.closed)
	e, m := &checker.Event{Do: checker.Join, In: in},
		irc.Message{Command: "JOIN", Params: []string{in}}
	switch w.dice.IntN(4) {
	case 0:
		return w.searchFor(in, "papaya")
	case 1:
		e.Do, e.Latest = checker.Read, true
		m = irc.Message{Command: "CHATHISTORY", Params: []string{"LATEST", in, "*", "50"}}
	case 2:
		e.Do, e.Text = checker.Say, w.campaign.word()
		m = irc.Message{Command: "PRIVMSG", Params: []string{in, e.Text}}
	}
	c, err := w.begin(e, m)
	if err != nil {
		return err
	}
	_, err = w.end(c, func(lines []reply, done *checker.Event) {
		refused(lines, done)
		if page, _, ok := pageOf(lines); done.Type != checker.Fail && ok {
			done.Type, done.Messages, done.ID = checker.OK, page, ""
		}
	})
	return err
}
