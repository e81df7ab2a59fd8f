package main

import (
	"flag"
	"fmt"
	"io"

	"interleave/eve/trace"
)

// runTrace runs a program and records it, or reads a recording, and writes two pages.
func runTrace(c *call) error {
	r := recorded{variable: "EVE_RECORD", magic: trace.Magic}
	events := 0
	err := c.parse(func(f *flag.FlagSet) {
		f.StringVar(&r.out, "o", r.out,
			"write `NAME`.trace.html and NAME.trace.json, or into a folder NAME (the "+
				"program's name)")
		f.IntVar(&events, "events", events,
			"keep the last `N` events of each worker (about a million)")
	})
	switch {
	case err != nil:
		return err
	case events < 0:
		return usage("--events is a number of events")
	case events > 0:
		r.more = []string{fmt.Sprint("EVE_RECORD_EVENTS=", events)}
	}
	data, ended, err := r.get(c)
	if err != nil {
		return err
	}
	t, err := trace.Read(data)
	if err != nil {
		return err
	}
	if r.ran != "" {
		t.Program = r.ran
	}
	if err := t.Text(c.stderr); err != nil {
		return err
	}
	html := func(w io.Writer) error { return t.HTML(w, sourceText) }
	base := r.base(".trace")
	if err := c.writeAll(written{base + ".html", html},
		written{base + ".json", t.Chrome}); err != nil {
		return err
	}
	return passOn(ended)
}
