package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"interleave/papaya/hall"
)

// An Admin passes an administrator's questions and orders to a running server. Any goroutine may
// call it. The zero value is for Config.Admin.
type Admin struct {
	mu      sync.Mutex
	server  *server       // nil before Run
	gone    chan struct{} // closed when the server takes no more events
	last    uint64
	waiting map[uint64]chan error // orders without an answer; each has room for it
	news    chan struct{}         // nil: nobody waits for it
}

// ErrNotServing is returned before the server runs and after it has ended.
var ErrNotServing = errors.New("the server does not serve")

// attach connects the Admin with a server. The caller calls detach when the server takes no more
// events.
func (a *Admin) attach(s *server) (detach func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server, a.gone, a.waiting = s, make(chan struct{}), map[uint64]chan error{}
	gone := a.gone
	return func() {
		close(gone)
		a.tell()
	}
}

// News returns a channel that is closed when something may have been said in some room, or when the
// server has ended. Get it before you look for messages, so that none is missed.
func (a *Admin) News() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.news == nil {
		a.news = make(chan struct{})
	}
	return a.news
}

// tell wakes those who wait for news.
func (a *Admin) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
}

// ask runs a question on the goroutine that owns the hall. The server logs the entry that it may
// return.
func (a *Admin) ask(ctx context.Context, question func(h *hall.Hall) (hall.Entry, bool)) error {
	a.mu.Lock()
	s, gone := a.server, a.gone
	a.mu.Unlock()
	if s == nil {
		return ErrNotServing
	}
	done := make(chan struct{})
	select {
	case s.events <- event{do: func() (hall.Entry, bool) {
		defer close(done)
		return question(s.hall)
	}}:
		return wait(ctx, done, gone)
	case <-gone:
		return ErrNotServing
	case <-ctx.Done():
		return ctx.Err()
	}
}

func wait(ctx context.Context, done, gone <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-gone:
		return ErrNotServing
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sessions lists the sessions on all servers of the log.
func (a *Admin) Sessions(ctx context.Context) (list []hall.Session, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		list = h.Sessions()
		return hall.Entry{}, false
	})
	return list, err
}

// Rooms lists the rooms.
func (a *Admin) Rooms(ctx context.Context) (list []hall.Room, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		list = h.Rooms()
		return hall.Entry{}, false
	})
	return list, err
}

// Unseen lists the accounts that are in rooms and have had no session since a time.
func (a *Admin) Unseen(ctx context.Context, since time.Time) (list []string, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		list = h.Unseen(since.UnixMilli())
		return hall.Entry{}, false
	})
	return list, err
}

// Room returns a room. ok is false if there is none of that name.
func (a *Admin) Room(ctx context.Context, name string) (room hall.Room, ok bool, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		room, ok = h.Room(name)
		return hall.Entry{}, false
	})
	return room, ok, err
}

// Messages returns messages of a room.
func (a *Admin) Messages(ctx context.Context, room string,
	p hall.Page) (list []hall.Message, err error) {
	var read func(context.Context) ([]hall.Message, error)
	var failed error
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		read, failed = h.Messages(room, p)
		return hall.Entry{}, false
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return read(ctx)
}

// Author returns the account that had a nick at an offset of the text. A program's nick is its own
// name; a guest is nobody.
func (a *Admin) Author(ctx context.Context, nick string, at uint64) (who string, err error) {
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		who = h.Author(nick, at)
		return hall.Entry{}, false
	})
	return who, err
}

// Post says lines in a room in the name of a program, whose nick has a slash.
func (a *Admin) Post(ctx context.Context, room, from string, lines []string) error {
	return a.Order(ctx, hall.PostTo, append([]string{room, from}, lines...)...)
}

// AddPreview gives a message a preview of a link in it. stored is false if the message was removed
// meanwhile, also from the text alone, or if the preview comes too late. The caller removes nothing
// from the text until AddPreview returns.
func (a *Admin) AddPreview(ctx context.Context, l hall.Linked, preview string) (stored bool,
	err error) {
	there := false
	if err := a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		_, there = h.SpanAt(l.At)
		return hall.Entry{}, false
	}); err != nil || !there {
		return false, err
	}
	if err := a.Order(ctx, hall.AddPreview, l.Order(preview)...); err != nil {
		return false, err
	}
	err = a.ask(ctx, func(h *hall.Hall) (hall.Entry, bool) {
		stored = h.HasPreview(l.At, preview)
		return hall.Entry{}, false
	})
	return stored, err
}

// Order logs an order (hall.EndNick and the others), and returns when this server has obeyed it.
// The error is log.ErrRefused if the log cannot be written: the order is not obeyed then. It is not
// obeyed either if the hall refuses it, whose reason is the error.
func (a *Admin) Order(ctx context.Context, verb string, words ...string) error {
	done := make(chan error, 1)
	a.mu.Lock()
	a.last++
	number, gone := a.last, a.gone
	if a.server != nil {
		a.waiting[number] = done
	}
	a.mu.Unlock()
	defer a.answer(number, nil)
	if err := a.ask(ctx, func(*hall.Hall) (hall.Entry, bool) {
		return hall.NewOrder(number, verb, words...), true
	}); err != nil {
		return err
	}
	err := ErrNotServing
	select {
	case answer := <-done:
		return answer
	case <-gone:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return fmt.Errorf("the log has not taken the order yet: %w", err)
}

// answer ends the wait for an order that was obeyed, or tells why it was not.
func (a *Admin) answer(number uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done := a.waiting[number]; done != nil {
		done <- err
		delete(a.waiting, number)
	}
}
