package gonet

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialDoesNotBegin has a dial given up, or its stack aborted, before the dealer has come to it:
// Dial returns, and no connection is made.
func TestDialDoesNotBegin(t *testing.T) {
	for name, end := range map[string]func(x *Stack) error{
		"context": func(*Stack) error { return nil }, "stack": (*Stack).Abort} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, _ := twoQuiet(t)
				if err := x.post(func() { time.Sleep(time.Minute) }); err != nil {
					t.Fatal(err)
				}
				bound := time.Hour
				if name == "context" {
					bound = time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				dialed := make(chan error, 1)
				go func() {
					_, err := x.DialContext(ctx, "tcp", "10.0.0.2:80")
					dialed <- err
				}()
				synctest.Wait()
				if err := end(x); err != nil {
					t.Error(err)
				}
				err := <-dialed
				if name == "stack" {
					if !errors.Is(err, net.ErrClosed) {
						t.Errorf("a dial of a stack that has ended: %v", err)
					}
					return
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a dial whose context has ended: %v", err)
				}
				time.Sleep(2 * time.Minute)
				if err := x.claim(func() {
					if n := len(x.tcp.conns); n != 0 {
						t.Errorf("%d connections were made", n)
					}
				}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
