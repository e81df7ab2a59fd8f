package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// The processes of the viewer: the workers, and the objects that were waited for.
const (
	workersPid = 1
	objectsPid = 2
)

// mostShown is the number of objects that get a row of their own.
const mostShown = 40

// A viewerEvent is an event in Chrome's Trace Event Format, which Perfetto reads too. Times are
// microseconds.
type viewerEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	Cat   string         `json:"cat,omitempty"`
	ID    string         `json:"id,omitempty"`
	At    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// A viewer writes events, and keeps the first error.
type viewer struct {
	w     *bufio.Writer
	first bool
	err   error
}

func (v *viewer) put(e viewerEvent) {
	if v.err != nil {
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		v.err = err
		return
	}
	if !v.first {
		fmt.Fprint(v.w, ",\n")
	}
	v.first = false
	_, v.err = v.w.Write(text)
}

func micros(ns int64) float64 { return float64(ns) / 1000 }

// Chrome writes the trace for chrome://tracing and ui.perfetto.dev. The rows of the first process
// are workers. Those of the second are the objects that were waited for most, with what held them
// and what waited.
func (t *Trace) Chrome(w io.Writer) error {
	v := &viewer{w: bufio.NewWriter(w), first: true}
	fmt.Fprint(v.w, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n")
	v.name("process_name", workersPid, 0, "workers of "+t.Program)
	v.name("process_name", objectsPid, 0, "objects")
	for i := range t.Workers {
		v.name("thread_name", workersPid, i, fmt.Sprintf("worker %d", i))
	}
	for _, s := range t.Spans {
		v.span(s)
	}
	for _, l := range t.Loans {
		v.pair(workersPid, l.Of, "loan", fmt.Sprintf("served by worker %d", l.By),
			fmt.Sprintf("loan-%d-%d", l.Of, l.From), l.From, l.To, nil)
	}
	shown := map[*Object]bool{}
	for i, o := range t.Objects[:min(len(t.Objects), mostShown)] {
		if o.Waits == 0 {
			break
		}
		shown[o] = true
		v.name("thread_name", objectsPid, i, o.Name)
		for k, h := range o.Holds {
			v.pair(objectsPid, i, "holds", "held by "+h.Task.Code.Name,
				fmt.Sprintf("hold-%d-%d", i, k), h.From, h.To, map[string]any{
					"task": h.Task.ID, "to": access(h.Write), "place": h.Task.Code.Place()})
		}
	}
	for i, x := range t.Waits {
		if !shown[x.Object] {
			continue
		}
		args := map[string]any{"task": x.Task.ID, "to": access(x.Write),
			"place": x.Task.Code.Place(), "object": x.Object.Name}
		var holders []string
		for _, h := range x.Holders {
			holders = append(holders, h.Code.label())
		}
		args["held by"] = holders
		v.pair(objectsPid, 0, "waits", x.Task.Code.Name+" waits for "+x.Object.Name,
			fmt.Sprintf("wait-%d", i), x.From, x.To, args)
	}
	fmt.Fprint(v.w, "\n]}\n")
	if err := v.w.Flush(); v.err == nil {
		v.err = err
	}
	return v.err
}

func access(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

func (v *viewer) name(what string, pid, tid int, name string) {
	v.put(viewerEvent{Name: what, Phase: "M", Pid: pid, Tid: tid,
		Args: map[string]any{"name": name}})
}

func (v *viewer) span(s Span) {
	e := viewerEvent{Name: s.Kind.String(), Phase: "X", Pid: workersPid, Tid: s.Worker,
		Cat: "worker", At: micros(s.From), Dur: micros(s.To - s.From)}
	args := map[string]any{}
	if s.Code != nil {
		e.Name = s.Code.Name
		if place := s.Code.Place(); place != "" {
			args["place"] = place
		}
	}
	if s.Task != nil {
		args["task"] = s.Task.ID
		if s.Task.Made >= 0 && s.Task.Began >= 0 {
			args["waited us"] = micros(s.Task.Began - s.Task.Made)
		}
		var list []string
		for _, w := range s.Task.Wants {
			if w.Object != nil {
				list = append(list, w.Object.Name+" to "+access(w.Write))
			}
		}
		if len(list) > 0 {
			args["holds"] = list
		}
	}
	if s.Took || s.Kind == Stolen {
		args["taken from worker"] = s.Other
	}
	if s.Kind == Joining {
		args["worker"] = s.Other
	}
	if len(args) > 0 {
		e.Args = args
	}
	v.put(e)
}

// pair writes a time that may overlap others of its row.
func (v *viewer) pair(pid, tid int, cat, name, id string, from, to int64, args map[string]any) {
	v.put(viewerEvent{Name: name, Phase: "b", Pid: pid, Tid: tid, Cat: cat, ID: id,
		At: micros(from), Args: args})
	v.put(viewerEvent{Name: name, Phase: "e", Pid: pid, Tid: tid, Cat: cat, ID: id, At: micros(to)})
}
