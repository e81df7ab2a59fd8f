package server

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/batch"
)

// TestNewcomersWait: when many clients come at once, each batch of the log registers a part of
// them, and what is said by a client that is in goes into the next batch.
func TestNewcomersWait(t *testing.T) {
	const newcomers, took = 3 * batch.LoginsAtOnce, time.Second
	var mu sync.Mutex
	var batches []int // their lines
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(batches)
	}
	metrics := Metrics{Batches: func(n, _ int, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		batches = append(batches, n)
	}}
	inOpenBubble(t, took, Limits{}, metrics, func(t *testing.T, connect func() visitor) {
		enter := func(v visitor, nick string) error {
			go func() { _ = v.say("NICK " + nick + "\r\nUSER u 0 * :u\r\nPING in") }()
			return v.until("PONG")
		}
		ann := connect()
		if err := enter(ann, "ann"); err != nil {
			t.Fatal(err)
		}
		in := make(chan error, newcomers)
		for n := range newcomers {
			v := connect()
			go func() { in <- enter(v, fmt.Sprint("u", n)) }()
		}
		synctest.Wait() // a batch is in flight, and all others wait for it
		before := count()
		go func() { _ = ann.say("PRIVMSG ann :tea?\r\nPRIVMSG ann :yes\r\nPING said") }()
		if err := ann.until("PONG chat :said"); err != nil {
			t.Fatal(err)
		}
		if n := count() - before; n != 2 {
			t.Errorf("a message was in the log after %d batches, want 2: that in flight, and "+
				"the next", n)
		}
		// each of the two batches registers some: how many had come when the first began is chance
		if n := len(in); n > 2*batch.LoginsAtOnce {
			t.Errorf("%d clients were registered before a message of one that is in", n)
		}
		for range newcomers {
			if err := <-in; err != nil {
				t.Fatal(err)
			}
		}
	})
	// Each newcomer has a PING behind its login, and ann has three lines.
	const most = 2*batch.LoginsAtOnce + 3
	for i, n := range batches {
		if n > most {
			t.Errorf("batch %d has %d lines: %d", i, n, batches)
		}
	}
}
