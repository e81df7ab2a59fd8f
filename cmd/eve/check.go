package main

import (
	"flag"
	"fmt"
	"strings"

	"interleave/eve/compile"
	"interleave/eve/diag"
)

func runCheck(c *call) error {
	var json bool
	err := c.spread(func(f *flag.FlagSet) {
		f.BoolVar(&json, "json", json, "write one JSON object for editors and scripts")
	})
	if err != nil {
		return err
	}
	if len(c.args) == 0 {
		return usage("name a file")
	}
	var all []diag.Diagnostic
	for _, name := range c.args {
		main, err := c.readMain(name)
		if err != nil {
			return err
		}
		_, diags := compile.Check(main, loader(name))
		all = append(all, diags...)
	}
	if json {
		if err := diag.JSON(c.stdout, all); err != nil {
			return err
		}
	} else {
		c.show(c.stderr, all)
	}
	if wrong(all) {
		return status(exitWrong)
	}
	return nil
}

func runExplain(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	if len(c.args) == 0 {
		for _, code := range diag.Codes() {
			text, _ := diag.Explain(code)
			title, _, _ := strings.Cut(text, "\n")
			fmt.Fprintln(c.stdout, strings.TrimPrefix(title, "# "))
		}
		return nil
	}
	for _, code := range c.args {
		text, ok := diag.Explain(strings.ToUpper(code))
		if !ok {
			return fmt.Errorf("there is no code %s; `eve explain` lists them", code)
		}
		fmt.Fprint(c.stdout, page(text, width(c.stdout)))
	}
	return nil
}
