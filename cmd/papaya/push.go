package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/proxy"
	"interleave/papaya/push"
	"interleave/papaya/server"
)

// openPush opens the service that notifies devices, or returns nil if the settings have none.
func (d *daemon) openPush(ctx context.Context, c *config.Config) (*push.Service, error) {
	if !c.Push {
		return nil, nil
	}
	networks, _ := proxy.ParseNetworks(c.PushNetworks) // package config has checked them
	contact := c.PushContact
	if contact == "" {
		contact, _ = webAddress(c)
	}
	d.pushes = d.metrics.Counters("papaya_pushes_total", "Notifications for devices.", "result",
		"sent", "gone", "refused", "failed", "dropped")
	return push.Open(ctx, push.Options{Store: d.keys, Shared: len(c.NATS) > 0, Server: c.Name,
		Contact: contact, Networks: networks, Page: linkedPage(c),
		Content: func() push.Content { return push.Content(d.settings.Load().PushContent) },
		Count:   func(result string) { d.pushes.Of(result).Add(1) }, Logger: d.logger})
}

// A notifier implements server.Push.
type notifier struct{ *push.Service }

// toldOfPush makes the mistakes of an account's owner errors that the client may see.
func toldOfPush(err error) error {
	mistake, ok := errors.AsType[push.Mistake](err)
	switch {
	case ok:
		return clientError{mistake}
	case errors.Is(err, push.ErrMany):
		return fmt.Errorf("%w: %w", server.ErrManyDevices, err)
	}
	return err
}

// Register implements server.Push, as the methods below do.
func (n notifier) Register(ctx context.Context, account, endpoint, keys string) error {
	return toldOfPush(n.Service.Register(ctx, account, endpoint, keys))
}

// AddTopic implements server.Push. An account with too many devices is told so by NickServ.
func (n notifier) AddTopic(ctx context.Context, account, topic, token string) error {
	err := n.Service.AddTopic(ctx, account, topic, token)
	if errors.Is(err, push.ErrMany) {
		return clientError{err}
	}
	return toldOfPush(err)
}

// RemoveDevice implements server.Push.
func (n notifier) RemoveDevice(ctx context.Context, account, id string) error {
	return toldOfPush(n.Remove(ctx, account, id))
}

// linkedPage returns the URL of the page for links in notifications; empty if there is none.
func linkedPage(c *config.Config) string {
	if len(c.Web)+len(c.ProxiedWeb) == 0 && c.FilesURL == "" {
		return ""
	}
	return pageURL(c)
}

// Devices implements server.Push. Of an endpoint it shows only the host: the rest is a secret.
func (n notifier) Devices(account string) []string {
	list := n.List(account)
	lines := []string{fmt.Sprintf("%d devices.", len(list))}
	for _, one := range list {
		host := ""
		if u, err := url.Parse(one.Endpoint); err == nil {
			host = u.Host
		}
		line := fmt.Sprintf("push %s to=%s since=%s", one.ID(), host, one.Made.Format(time.RFC3339))
		if one.Ntfy {
			line += " ntfy"
		}
		lines = append(lines, line)
	}
	return lines
}
