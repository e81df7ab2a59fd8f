package tun2socks

import "sync"

// running counts the handlers that run, and lets none begin once wait was called.
type running struct {
	mu    sync.Mutex
	ended bool
	all   sync.WaitGroup
}

func (r *running) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.all.Add(1)
	}
	return !r.ended
}

func (r *running) leave() { r.all.Done() }

func (r *running) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.all.Wait()
}
