package push

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/fence"
	"interleave/papaya/hall"
	"interleave/papaya/limit"
	"interleave/papaya/proxy"
)

// The rate of pushes to one device. Both are guesses.
const (
	rateBurst = 30
	rateEvery = 10 * time.Second
)

// eventQueue is in events. More are dropped, so that the hall never waits.
const eventQueue = 1000

// refreshEvery is how often a server of several reads the subscriptions that others have changed.
// expireEvery is how often those are looked for that were not renewed.
const (
	refreshEvery = 30 * time.Second
	expireEvery  = 24 * time.Hour
)

// Options say how a Service runs.
type Options struct {
	Store    account.Store
	Shared   bool   // other servers use the store
	Server   string // the server's name
	Contact  string // of who runs the server, for push services: an address or a URL with https
	Page     string // the URL of the page, to which topics of ntfy lead; empty: to none
	Networks proxy.Networks
	Content  func() Content
	// Count is called with what has become of each push: sent, gone, refused, failed, dropped. It
	// may be nil.
	Count  func(result string)
	Logger *slog.Logger
}

// A Service notifies the devices of accounts. Any goroutine may use it.
type Service struct {
	Options
	book   *book
	key    key
	fence  fence.Fence
	client *http.Client
	rate   *limit.Rate
	topics *limit.Rate // of topics that accounts add
	now    func() time.Time
	events chan event
}

// An event is what others tell the goroutine of Run.
type event func(q *queue, now time.Time)

// Open reads the subscriptions and the key from the store.
func Open(ctx context.Context, o Options) (*Service, error) {
	key, err := openKey(ctx, o.Store)
	if err != nil {
		return nil, err
	}
	if o.Count == nil {
		o.Count = func(string) {}
	}
	f := newFence(o)
	s := &Service{Options: o, key: key, fence: f, client: newClient(f),
		book: &book{store: o.Store, now: time.Now, logger: o.Logger}, now: time.Now,
		rate:   limit.NewRate(rateBurst, rateEvery, time.Now),
		topics: limit.NewRate(topicBurst, topicEvery, time.Now),
		events: make(chan event, eventQueue)}
	if err := s.book.load(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// PublicKey returns the key that devices subscribe with, in base64url.
func (s *Service) PublicKey() string { return s.key.Public }

// Wants says whether an account has devices to notify, by its folded name.
func (s *Service) Wants(account string) bool { return s.book.wants(account) }

// Missed takes a message that an account may miss. It never blocks.
func (s *Service) Missed(n hall.Notice) {
	s.tell(func(q *queue, now time.Time) { q.add(n, now) })
}

// Seen says that an account has read a room, or its conversation with a nick, up to a time in
// milliseconds since 1970. Both names are folded. It never blocks.
func (s *Service) Seen(account, target string, until int64) {
	s.tell(func(q *queue, _ time.Time) { q.seen(account, target, until) })
}

// Removed says that the message at an offset of the text was removed. It never blocks.
func (s *Service) Removed(at uint64) {
	s.tell(func(q *queue, _ time.Time) {
		q.forget(func(n hall.Notice) bool { return n.At == at })
	})
}

func (s *Service) tell(e event) {
	select {
	case s.events <- e:
	default:
		s.Count("dropped")
	}
}

// Run sends pushes until ctx ends. What has not been sent then is forgotten.
func (s *Service) Run(ctx context.Context) {
	q := &queue{lanes: map[string]*lane{}, devices: s.book.list, device: s.book.device,
		count: s.Count,
		admits: func(endpoint string) bool {
			_, ok := s.rate.Take(endpoint)
			return ok
		}}
	var requests sync.WaitGroup
	defer requests.Wait()
	requests.Go(func() { s.tend(ctx) })
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.events:
			e(q, s.now())
		case <-alarm.C:
		}
		now := s.now()
		send, next := q.step(now)
		for _, l := range send {
			notice, device, content := l.notices[0].notice, l.device, s.Content()
			requests.Go(func() { s.deliver(ctx, l, device, notice, content) })
		}
		if !next.IsZero() {
			alarm.Reset(next.Sub(now))
		}
	}
}

// deliver sends a push, and tells the goroutine of Run what has become of it.
func (s *Service) deliver(ctx context.Context, l *lane, device Subscription, n hall.Notice,
	c Content) {
	what, wait, err := s.send(ctx, device, n, c)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Logger.Debug("a device was not notified", "device", device.ID(), "account",
			device.Account, "reason", err)
	}
	if what == gone {
		if err := s.book.drop(ctx, device); err != nil {
			s.Logger.Warn("a subscription that has ended could not be removed", "device",
				device.ID(), "reason", err)
		}
	}
	select {
	case s.events <- func(q *queue, now time.Time) { q.done(l, what, wait, now) }:
	case <-ctx.Done():
	}
}

// tend keeps the subscriptions up to date until ctx ends.
func (s *Service) tend(ctx context.Context) {
	every := expireEvery
	if s.Shared {
		every = refreshEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	expired := s.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if s.Shared {
			err = s.book.load(ctx)
		}
		if err == nil && s.now().Sub(expired) >= expireEvery {
			err, expired = s.book.expire(ctx), s.now()
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("the devices to notify could not be looked after", "reason", err)
		}
	}
}
