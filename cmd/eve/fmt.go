package main

import "flag"

func runFmt(c *call) error {
	if err := c.parse(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	return nil
}
