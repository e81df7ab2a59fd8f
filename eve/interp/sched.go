package interp

import (
	"cmp"
	"slices"

	"interleave/eve/types"
)

// An object has a value, and the queue of the tasks that want it.
type object struct {
	id    int
	v     value
	t     *types.Type
	queue []*slot
	emits *emitter // nil of other objects
}

// A slot is a task's place in the queue of one object.
type slot struct {
	task    *task
	write   bool
	granted bool
}

// A task is a body that waits for its objects, or has them.
type task struct {
	run     func()
	needs   []need
	waiting int
	scope   *scope // of a child
}

// A need is one object that a task asks for.
type need struct {
	object *object
	write  bool
}

// A scope is a finish under way. Its children have queues of their own, since the parent's objects
// are theirs alone.
type scope struct {
	outer   *scope
	pending int
	queues  map[*object][]*slot
	ready   []*task
	failure *failure // the first one of a child
}

func (in *interp) object(v value, t *types.Type) *object {
	in.objects++
	o := &object{id: in.objects, v: v, t: t}
	if emits(t) {
		o.emits = &emitter{}
		in.emitters[&o.v] = o
	}
	return o
}

// merged joins the needs of one object into the stronger one, in the order of the objects'
// addresses.
func merged(needs []need) []need {
	slices.SortStableFunc(needs,
		func(a, b need) int { return cmp.Compare(a.object.id, b.object.id) })
	var out []need
	for _, n := range needs {
		if last := len(out) - 1; last >= 0 && out[last].object == n.object {
			out[last].write = out[last].write || n.write
		} else {
			out = append(out, n)
		}
	}
	return out
}

// post puts a root into the queues of all its objects at once.
func (in *interp) post(needs []need, run func()) {
	t := &task{run: run, needs: merged(needs)}
	t.waiting = len(t.needs)
	for _, n := range t.needs {
		n.object.queue = append(n.object.queue, &slot{task: t, write: n.write})
	}
	if len(t.needs) == 0 {
		in.ready = append(in.ready, t)
	}
	for _, n := range t.needs {
		in.grant(n.object)
	}
}

// heads grants the slots that may run: the first of a queue, and readers with only readers before
// them. It calls ready for each task that now has all its objects.
func heads(queue []*slot, ready func(*task)) {
	for i, s := range queue {
		if i > 0 && (s.write || queue[i-1].write) {
			return
		}
		if s.granted {
			continue
		}
		s.granted = true
		if s.task.waiting--; s.task.waiting == 0 {
			ready(s.task)
		}
	}
}

func (in *interp) grant(o *object) {
	heads(o.queue, func(t *task) { in.ready = append(in.ready, t) })
}

func without(queue []*slot, t *task) []*slot {
	return slices.DeleteFunc(queue, func(s *slot) bool { return s.task == t })
}

// release gives back the objects of a root.
func (in *interp) release(t *task) {
	for _, n := range t.needs {
		n.object.queue = without(n.object.queue, t)
	}
	for _, n := range t.needs {
		in.grant(n.object)
	}
}

// hold makes the builder of an object its first owner. The result ends that.
func (in *interp) hold(o *object) (release func()) {
	t := &task{needs: []need{{o, true}}}
	o.queue = append(o.queue, &slot{task: t, write: true, granted: true})
	return func() { in.release(t) }
}

// child adds a task to a finish.
func (in *interp) child(s *scope, needs []need, run func()) {
	t := &task{run: run, needs: merged(needs), scope: s}
	t.waiting = len(t.needs)
	s.pending++
	for _, n := range t.needs {
		s.queues[n.object] = append(s.queues[n.object], &slot{task: t, write: n.write})
	}
	if len(t.needs) == 0 {
		s.ready = append(s.ready, t)
	}
	for _, n := range t.needs {
		heads(s.queues[n.object], func(t *task) { s.ready = append(s.ready, t) })
	}
}

// runChild runs a ready child and hands its objects over.
func (in *interp) runChild(s *scope, t *task) {
	if s.failure == nil {
		outer := in.scope
		in.scope = s
		if f := in.guarded(t.run); f != nil && s.failure == nil {
			s.failure = f
		}
		in.scope = outer
	}
	s.pending--
	for _, n := range t.needs {
		s.queues[n.object] = without(s.queues[n.object], t)
	}
	for _, n := range t.needs {
		heads(s.queues[n.object], func(t *task) { s.ready = append(s.ready, t) })
	}
}

// maxNested is how many roots may run nested while finishes wait.
const maxNested = 16

// join runs ready tasks until the scope's children are done: mostly these children, and now and
// then another task that another worker would run meanwhile.
func (in *interp) join(s *scope) {
	for s.pending > 0 {
		from := s
		for from.outer != nil && len(from.outer.ready) > 0 && in.random.IntN(8) == 0 {
			from = from.outer
		}
		if len(in.ready) > 0 && in.nested < maxNested && (len(from.ready) == 0 ||
			in.random.IntN(8) == 0) {
			in.runRoot()
			continue
		}
		if len(from.ready) == 0 {
			from = s
		}
		in.runChild(from, take(in, &from.ready))
	}
	if s.failure != nil {
		panic(s.failure)
	}
}

// take removes and returns any of the ready tasks.
func take(in *interp, ready *[]*task) *task {
	i := in.random.IntN(len(*ready))
	t := (*ready)[i]
	*ready = slices.Delete(*ready, i, i+1)
	return t
}

// runRoot runs any ready root to its end.
func (in *interp) runRoot() {
	t := take(in, &in.ready)
	outer := in.scope
	in.scope = nil
	in.nested++
	t.run()
	in.nested--
	in.scope = outer
	in.release(t)
}
