package main

import (
	"net/http"
	"time"

	"interleave/papaya/config"
	"interleave/papaya/public"
)

// publicRooms shows the rooms of the setting public.rooms to everybody.
func (d *daemon) publicRooms(c *config.Config) http.Handler {
	return public.NewServer(public.Options{Chat: &d.admin, Network: c.Network,
		Rooms:   func() []string { return d.settings.Load().PublicRooms },
		Age:     func() time.Duration { return d.settings.Load().PublicAge },
		Index:   func() bool { return d.settings.Load().PublicIndex },
		Readers: c.PublicReaders, Logger: d.logger, Now: time.Now}).Handler()
}
