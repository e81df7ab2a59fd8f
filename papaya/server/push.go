package server

import (
	"context"
	"errors"

	"interleave/papaya/hall"
)

// Push keeps the devices of accounts, and notifies them of what their account misses. The methods
// of hall.Notifier must not block. A call of the others may take long, and many goroutines call
// them. The client is told an error that is ErrNotYours or ErrManyDevices, and any other as a
// failure of the server.
type Push interface {
	hall.Notifier
	// PublicKey is the server's key (VAPID), in base64url.
	PublicKey() string
	// Register takes the parameters of WEBPUSH REGISTER.
	Register(ctx context.Context, account, endpoint, keys string) error
	// AddTopic has an account notified at a topic of ntfy. The token may be empty.
	AddTopic(ctx context.Context, account, topic, token string) error
	// Unregister ends the notification of a device. It is no error if there is none.
	Unregister(ctx context.Context, account, endpoint string) error
	// Devices lists the devices, a line for each.
	Devices(account string) []string
	// RemoveDevice ends the notification of a device that Devices has listed with an ID.
	RemoveDevice(ctx context.Context, account, id string) error
}

// ErrManyDevices reports that an account has too many devices.
var ErrManyDevices = errors.New("too many devices")

// pusher passes requests about devices on, beside the goroutine that owns the hall, and returns the
// answer to it.
type pusher server

func (p *pusher) Key() string { return p.config.Push.PublicKey() }

func (p *pusher) Wants(account string) bool { return p.config.Push.Wants(account) }

// Missed tells of a message. Those that the log has from before the start were told of then.
func (p *pusher) Missed(n hall.Notice) {
	if p.begun {
		p.config.Push.Missed(n)
	}
}

func (p *pusher) Seen(account, target string, until int64) {
	if p.begun {
		p.config.Push.Seen(account, target, until)
	}
}

func (p *pusher) Removed(at uint64) {
	if p.begun {
		p.config.Push.Removed(at)
	}
}

func (p *pusher) Request(c *hall.Client, r *hall.PushRequest) {
	o, account := p.conns[c.ID], c.Account()
	(*server)(p).beside(o, func(ctx context.Context) func() (hall.Entry, bool) {
		var err error
		if r.Verb == "REGISTER" {
			err = p.config.Push.Register(ctx, account, r.Endpoint, r.Keys)
		} else {
			err = p.config.Push.Unregister(ctx, account, r.Endpoint)
		}
		code, why := p.failure(account, err)
		return func() (hall.Entry, bool) {
			p.hall.Pushed(c, r, code, why)
			return hall.Entry{}, false
		}
	})
}

// failure returns the code and the text of FAIL WEBPUSH; both are empty if there is no error.
func (p *pusher) failure(account string, err error) (code, why string) {
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, ErrManyDevices):
		return "MAX_REGISTRATIONS", "There are too many devices: NS PUSH LIST lists them"
	case errors.Is(err, ErrNotYours):
		return "INVALID_PARAMS", oneLine.Replace(err.Error())
	}
	p.config.Logger.Error("a device could not be registered", "account", account, "reason", err)
	return "INTERNAL_ERROR", "That cannot be done at the moment"
}

func (p *pusher) List(c *hall.Client) {
	(*owner)(p).ask(c, func(_ context.Context, who Owner) ([]string, error) {
		return p.config.Push.Devices(who.Account), nil
	})
}

func (p *pusher) Add(c *hall.Client, topic, token string) {
	(*owner)(p).ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The topic is notified, as its first message says."},
			p.config.Push.AddTopic(ctx, who.Account, topic, token)
	})
}

func (p *pusher) Remove(c *hall.Client, id string) {
	(*owner)(p).ask(c, func(ctx context.Context, who Owner) ([]string, error) {
		return []string{"The device is not notified any more."},
			p.config.Push.RemoveDevice(ctx, who.Account, id)
	})
}
