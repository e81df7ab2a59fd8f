package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/hall"
)

// TestOrderOfNewcomers: lines of newcomers go behind all others, but in some batches a few go
// ahead. Those that wait before an order that may be about them keep their places.
func TestOrderOfNewcomers(t *testing.T) {
	line, login := hall.Entry{Kind: hall.Said}, hall.Entry{Kind: hall.Enter}
	post := hall.NewOrder(1, hall.PostTo, "#tea", "bot", "hello")
	end := hall.NewOrder(1, hall.EndAccount, "ann", "")
	for _, test := range []struct {
		name, queue, want string // a letter is a client: large when it logs in; . and ! are orders
		number            uint64
	}{
		{"nobody is new", "abc", "abc", 1},
		{"some are", "aBbcCcDa", "aaBbcCcD", 1},
		{"with a post", "Bb.aC", ".aBbC", 1},
		{"some go ahead", "aBbCaDEF", "BbCDaaEF", aheadEvery},
		{"few go ahead", "aB", "Ba", aheadEvery},
		{"an order", "aBbCd!cEeaF", "aBbCd!caEeF", 1},
		{"an order, ahead", "B!aE", "EB!a", aheadEvery},
	} {
		s, conns := &server{}, map[string]*conn{}
		s.log.number = test.number
		for _, letter := range strings.Split(test.queue, "") {
			switch letter {
			case ".":
				s.push(item{entry: post})
				continue
			case "!":
				s.push(item{entry: end})
				continue
			}
			name := strings.ToLower(letter)
			if conns[name] == nil {
				conns[name] = &conn{}
			}
			i := item{conn: conns[name], entry: line}
			if letter != name {
				i.entry = login
			}
			s.push(i)
		}
		s.newcomersLast()
		got := ""
		for n := range s.log.queue {
			i := &s.log.queue[n]
			for name, c := range conns {
				switch {
				case i.conn != c:
				case i.entry.Kind == hall.Enter:
					got += strings.ToUpper(name)
				default:
					got += name
				}
			}
			switch {
			case i.conn == nil && hall.Says(i.entry):
				got += "."
			case i.conn == nil:
				got += "!"
			}
			s.admitNewcomer(i)
		}
		if got != test.want || s.log.newcomers != 0 {
			t.Errorf("%s: %s becomes %s, want %s; %d are left", test.name, test.queue, got,
				test.want, s.log.newcomers)
		}
	}
}

// TestNewcomersWait: when many clients come at once, each batch of the log registers a part of
// them, and what is said by a client that is in goes into the next batch.
func TestNewcomersWait(t *testing.T) {
	const newcomers, took = 3 * loginsAtOnce, time.Second
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
		if n := len(in); n > loginsAtOnce+1 {
			t.Errorf("%d clients were registered before a message of one that is in", n)
		}
		for range newcomers {
			if err := <-in; err != nil {
				t.Fatal(err)
			}
		}
	})
	// Each newcomer has a PING behind its login, and ann has three lines.
	const most = 2*loginsAtOnce + 3
	for i, n := range batches {
		if n > most {
			t.Errorf("batch %d has %d lines: %d", i, n, batches)
		}
	}
}
