package bot

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// Limits of outgoing webhooks. All are guesses.
const (
	outgoingPage  = 100              // messages of one request
	outgoingTime  = 10 * time.Second // of one request
	outgoingLook  = 5 * time.Second  // between two looks for new and removed webhooks
	firstPause    = time.Second      // after a failure; it doubles with each further one
	longestPause  = 5 * time.Minute
	outgoingLease = 30 * time.Second // for which a webhook is one server's
)

// Outgoing posts what is said in rooms to the URLs of outgoing webhooks. Each message is sent at
// least once, and those of a room in their order. What programs say is left out, so that two of
// them cannot answer each other for ever.
type Outgoing struct {
	Tokens *Tokens
	Store  account.Store
	Chat   Chat
	Logger *slog.Logger
	// Owner names this server among several that share the store, of which one at a time serves a
	// webhook; empty: it is the only one.
	Owner string

	client http.Client
	pause  time.Duration // firstPause, but for tests
}

// Run serves all webhooks until ctx ends.
func (o *Outgoing) Run(ctx context.Context) {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.client = http.Client{Timeout: outgoingTime, CheckRedirect: stay}
	if o.pause == 0 {
		o.pause = firstPause
	}
	var all sync.WaitGroup
	defer all.Wait()
	running := map[string]context.CancelFunc{} // all end with ctx
	for {
		list, err := o.Tokens.outgoing(ctx)
		if err != nil && ctx.Err() == nil {
			o.Logger.Warn("outgoing webhooks cannot be read", "reason", err)
		}
		there := map[string]bool{}
		for _, t := range list {
			there[t.Record.ID] = true
			if running[t.Record.ID] == nil {
				one, stop := context.WithCancel(ctx)
				running[t.Record.ID] = stop
				all.Go(func() { o.serve(one, t) })
			}
		}
		if err == nil {
			maps.DeleteFunc(running, func(id string, stop context.CancelFunc) bool {
				if !there[id] {
					stop()
				}
				return !there[id]
			})
		}
		if !sleep(ctx, outgoingLook) {
			return
		}
	}
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// serve serves one webhook until ctx ends.
func (o *Outgoing) serve(ctx context.Context, t account.Stored[Token]) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		err := o.step(ctx, t)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && pause > 0:
			o.Logger.Info("an outgoing webhook works again", "token", t.Record.ID)
			pause = 0
		case err != nil:
			if pause == 0 {
				o.Logger.Warn("an outgoing webhook fails, and is tried again", "token", t.Record.ID,
					"room", t.Record.Rooms[0], "reason", err)
			}
			pause = min(max(2*pause, o.pause), longestPause)
			sleep(ctx, pause)
		}
	}
}

// A cursor is how far a webhook has come, and whose it is.
type cursor struct {
	After string    `json:"after"` // the id of the last message that was sent
	Owner string    `json:"owner,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// cursorPrefix is that of a cursor's key in the store.
const cursorPrefix = "outgoing."

// step sends the next messages, or waits for some.
func (o *Outgoing) step(ctx context.Context, t account.Stored[Token]) error {
	if _, _, err := o.Store.Get(ctx, t.Key); errors.Is(err, account.ErrAbsent) {
		<-ctx.Done() // it was removed, and Run is about to see that
		return nil
	} else if err != nil {
		return err
	}
	key := cursorPrefix + t.Record.ID
	at, revision, mine, err := o.claim(ctx, key, t.Record.Rooms[0])
	if err != nil {
		return err
	}
	if !mine {
		sleep(ctx, outgoingLook)
		return nil
	}
	news := o.Chat.News()
	page, err := o.Chat.Messages(ctx, t.Record.Rooms[0], hall.Page{After: at.After,
		Limit: outgoingPage, Changes: t.Record.Changes})
	switch {
	case errors.Is(err, hall.ErrNoRoom): // until somebody makes it
		sleep(ctx, outgoingLook)
		return nil
	case err != nil:
		return err
	case len(page) == 0:
		select {
		case <-news:
			sleep(ctx, newsPause) // more may be said at once
		case <-time.After(outgoingLease / 3):
		case <-ctx.Done():
		}
		return nil
	}
	var said []hall.Message
	for _, m := range page {
		if !strings.Contains(m.From, "/") {
			said = append(said, m)
		}
	}
	if len(said) > 0 {
		if err := o.deliver(ctx, t, said); err != nil {
			return err
		}
	}
	at.After = page[len(page)-1].ID
	if err := o.save(ctx, key, at, revision); !errors.Is(err, account.ErrChanged) {
		return err
	}
	return nil // another server has it now, or it was removed
}

// claim returns how far a webhook has come. A new one begins with what is said from now on. mine is
// false if another server has it.
func (o *Outgoing) claim(ctx context.Context, key, room string) (at cursor, revision uint64,
	mine bool, err error) {
	data, revision, err := o.Store.Get(ctx, key)
	switch {
	case errors.Is(err, account.ErrAbsent):
		at.After = hall.Beginning
		last, err := o.Chat.Messages(ctx, room, hall.Page{Limit: 1, Changes: true})
		if err != nil && !errors.Is(err, hall.ErrNoRoom) {
			return at, 0, false, err
		}
		if len(last) > 0 {
			at.After = last[0].ID
		}
		revision = 0
	case err != nil:
		return at, 0, false, err
	default:
		if err := json.Unmarshal(data, &at); err != nil {
			return at, 0, false, fmt.Errorf("%s: %w", key, err)
		}
	}
	if o.Owner != "" && at.Owner != o.Owner && time.Now().Before(at.Until) {
		return at, revision, false, nil
	}
	if revision != 0 && at.Owner == o.Owner &&
		(o.Owner == "" || time.Until(at.Until) > outgoingLease/2) {
		return at, revision, true, nil
	}
	switch err := o.save(ctx, key, at, revision); {
	case errors.Is(err, account.ErrChanged): // another server was faster
		return at, 0, false, nil
	case err != nil:
		return at, 0, false, err
	}
	_, revision, err = o.Store.Get(ctx, key)
	return at, revision, err == nil, err
}

// save stores how far a webhook has come. It returns ErrChanged if that has changed meanwhile.
func (o *Outgoing) save(ctx context.Context, key string, at cursor, revision uint64) error {
	at.Owner = o.Owner
	if o.Owner != "" {
		at.Until = time.Now().Add(outgoingLease).UTC()
	}
	data, err := json.Marshal(at)
	if err == nil {
		err = o.Store.Put(ctx, key, data, revision)
	}
	return err
}

// forget removes what is stored of how far a webhook has come.
func forget(ctx context.Context, store account.Store, id string) error {
	key := cursorPrefix + id
	_, revision, err := store.Get(ctx, key)
	if err == nil {
		err = store.Delete(ctx, key, revision)
	}
	if errors.Is(err, account.ErrAbsent) || errors.Is(err, account.ErrChanged) {
		return nil // it was none, or its server is about to see that it is gone
	}
	return err
}

// A delivery is the body of a request to a webhook's URL.
type delivery struct {
	Webhook  string         `json:"webhook"` // its name
	Room     string         `json:"room"`
	Messages []hall.Message `json:"messages"`
}

// deliver posts messages to the URL of a webhook, and says in the room what it answers.
func (o *Outgoing) deliver(ctx context.Context, t account.Stored[Token],
	said []hall.Message) error {
	room := t.Record.Rooms[0]
	now, there, err := o.Chat.Room(ctx, room)
	if err != nil {
		return err
	}
	if there && irc.Lower(now.Name) != irc.Lower(room) { // it has got another name
		room = now.Name
	}
	body, err := json.Marshal(delivery{t.Record.Name, room, said})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Record.URL, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Papaya")
	r.Header.Set("X-Papaya-Delivery", said[len(said)-1].ID)
	r.Header.Set("X-Papaya-Signature", signature(signingKey(t.Key), body))
	a, err := o.client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(a.Body, maxText))
	switch {
	case a.StatusCode/100 != 2:
		return fmt.Errorf("status %d", a.StatusCode)
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	}
	if lines := spoken(a.Header.Get("Content-Type"), answer); len(lines) > 0 {
		if err := o.Chat.Post(ctx, t.Record.Rooms[0], t.Record.Nick(), lines); err != nil {
			o.Logger.Warn("the answer of an outgoing webhook is lost", "token", t.Record.ID,
				"reason", err)
		}
	}
	return nil
}

// spoken returns the lines that an answer {"text": "..."} has for the room.
func spoken(contentType string, body []byte) []string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return nil
	}
	var p struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(body, &p) != nil {
		return nil
	}
	return Lines(p.Text)
}

// withoutURL is an error of package http without the URL, which may have a secret in it.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// signingKey is the key of a webhook's signatures: the SHA-256 of its token, in hexadecimal digits.
// The token itself is not stored.
func signingKey(storeKey string) string { return strings.TrimPrefix(storeKey, prefix) }

// signature signs a body (HMAC-SHA-256, RFC 2104).
func signature(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
