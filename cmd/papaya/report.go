package main

import (
	"net"
	"strings"
	"time"

	"interleave/papaya/limit"
)

// An account, and an address, may report 5 times at once, and then once in 2 minutes. A guess.
const (
	reportBurst = 5
	reportEvery = 2 * time.Minute
)

// report counts a report against the limits of its account and of its address. An account on this
// machine is limited by its name only: many users may share a loopback address.
func (d *daemon) report(from net.Addr, account string) bool {
	var keys []string
	if account != "" {
		keys = append(keys, "account "+strings.ToLower(account))
	}
	if address := addrOf(from); !address.IsLoopback() || account == "" {
		keys = append(keys, limit.Key(address))
	}
	_, ok := d.reports.Take(keys...)
	return ok
}
