package main

import (
	"flag"
	"fmt"

	"interleave/eve/profile"
)

// runProfile runs a program that takes samples of itself, or reads a profile, and writes it as a
// page, as folded stacks and for pprof.
func runProfile(c *call) error {
	r := recorded{variable: "EVE_PROFILE", magic: profile.Magic}
	rate := 0
	err := c.parse(func(f *flag.FlagSet) {
		f.StringVar(&r.out, "o", r.out,
			"write `NAME`.profile.html, NAME.profile.folded and NAME.profile.pb.gz, or into "+
				"a folder NAME (the program's name)")
		f.IntVar(&rate, "rate", rate,
			"take `N` samples a second of a worker's processor time (997)")
	})
	switch {
	case err != nil:
		return err
	case rate < 0:
		return usage("--rate is a number of samples a second")
	case rate > 0:
		r.more = []string{fmt.Sprint("EVE_PROFILE_RATE=", rate)}
	}
	data, ended, err := r.get(c)
	if err != nil {
		return err
	}
	p, err := profile.Read(data)
	if err != nil {
		return err
	}
	if r.ran != "" {
		p.Program = r.ran
	}
	if err := p.Text(c.stderr); err != nil {
		return err
	}
	base := r.base(".profile")
	if err := c.writeAll(written{base + ".html", p.HTML}, written{base + ".folded", p.Folded},
		written{base + ".pb.gz", p.Pprof}); err != nil {
		return err
	}
	return passOn(ended)
}
