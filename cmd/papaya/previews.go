package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"interleave/internal/version"
	"interleave/papaya/config"
	"interleave/papaya/fence"
	"interleave/papaya/hall"
	"interleave/papaya/preview"
	"interleave/papaya/proxy"
)

// previewsName is the name of the folder of the images of previews in a data folder. A backup does
// not have it: it is a cache.
const previewsName = "previews"

// openPreviews opens the service that makes previews. If the settings have none, it removes the
// images of earlier ones.
func (d *daemon) openPreviews(c *config.Config) (err error) {
	folder := filepath.Join(c.Data, previewsName)
	if !c.Preview {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("removing the images of previews: %w", err)
		}
		return nil
	}
	d.images, err = preview.OpenImages(folder,
		func() int64 { return int64(d.settings.Load().PreviewTotal) }, d.logger)
	if err != nil {
		return err
	}
	networks, _ := proxy.ParseNetworks(c.PreviewNetworks) // package config has checked them
	base := pageURL(c)
	d.links = d.metrics.Counters("papaya_previews_total", "Links that could get a preview.",
		"result", preview.Results...)
	d.previews = preview.New(preview.Options{
		Fence: fence.Fence{Open: networks, Setting: "preview.networks",
			Ports: portsOf(c.Plain, c.TLS, c.Web, c.Proxied, c.ProxiedWeb, []string{c.Metrics})},
		Ports: numbers(c.PreviewPorts), Base: base,
		Agent:   "PapayaLinkPreview/" + version.String() + " (bot; +" + base + "/)",
		Private: func() bool { return d.settings.Load().PreviewPrivate },
		Images:  d.images, Shrink: d.files.Shrink, Publish: d.addPreview,
		Count:  func(result string) { d.links.Of(result).Add(1) },
		Logger: d.logger, Now: time.Now})
	return nil
}

// addPreview adds a preview to its message, unless that was removed while the page was fetched. It
// waits while messages are being removed, since the message may be one of them.
func (d *daemon) addPreview(ctx context.Context, l hall.Linked, preview string) (stored bool,
	err error) {
	d.erasing.RLock()
	defer d.erasing.RUnlock()
	return d.admin.AddPreview(ctx, l, preview)
}

// portsOf returns the ports of listeners.
func portsOf(lists ...[]string) (ports []uint16) {
	for _, address := range slices.Concat(lists...) {
		if _, port, err := net.SplitHostPort(address); err == nil {
			ports = append(ports, numbers([]string{port})...)
		}
	}
	return ports
}

// numbers parses ports that package config has checked. 0 is none.
func numbers(words []string) (ports []uint16) {
	for _, w := range words {
		if n, err := strconv.ParseUint(w, 10, 16); err == nil && n > 0 {
			ports = append(ports, uint16(n))
		}
	}
	return ports
}

// offer returns what is told of messages with links; nil if there are no previews.
func (d *daemon) offer() func(hall.Linked) {
	if d.previews == nil {
		return nil
	}
	return d.previews.Offer
}

// previewErased removes the image of a preview that is removed.
func (d *daemon) previewErased(text string) {
	token := preview.ImageOf(text)
	if d.images == nil || token == "" {
		return
	}
	if err := d.images.Remove(token); err != nil {
		d.logger.Error("the image of a removed preview is left", "reason", err)
	}
}

// expirePreviews removes old images.
func (d *daemon) expirePreviews(now time.Time) {
	c := d.settings.Load()
	age := shorter(c.PreviewKeep, c.Keep)
	if d.images == nil || age == 0 {
		return
	}
	if n, err := d.images.Expire(now.Add(-age)); n > 0 || err != nil {
		d.logger.Info("old images of previews were removed", "images", n, "error", err)
	}
}

// measurePreviews makes the metrics of the images of previews.
func (d *daemon) measurePreviews() {
	if d.images == nil {
		return
	}
	d.metrics.Gauge("papaya_preview_images", "Images of previews that are kept.", func() float64 {
		n, _ := d.images.Usage()
		return float64(n)
	})
	d.metrics.Gauge("papaya_preview_images_bytes", "Size of these images.", func() float64 {
		_, n := d.images.Usage()
		return float64(n)
	})
}
