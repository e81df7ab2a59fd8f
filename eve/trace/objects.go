package trace

import (
	"cmp"
	"slices"
	"strconv"
)

// An objectKey is an address of an object, and how many objects had it before.
type objectKey struct {
	address uint64
	before  int
}

// noType is the type of an object that only a finish knows.
const noType = "local of a finish"

// findObjects gives each want its object, and each object its name.
func (b *builder) findObjects() {
	for _, ends := range b.gone {
		slices.Sort(ends)
	}
	objects := map[objectKey]*Object{}
	for _, t := range b.t.Tasks {
		for i := range t.Wants {
			w := &t.Wants[i]
			key := objectKey{w.address, b.ended(w.address, t.Made)}
			o := objects[key]
			if o == nil {
				o = &Object{Address: w.address, Type: noType}
				objects[key] = o
				b.t.Objects = append(b.t.Objects, o)
			}
			if pretty, known := b.r.types[w.typ]; known && !w.inScope {
				o.Type = typeName(pretty)
			}
			w.Object = o
		}
	}
	for _, x := range b.built { // one that no other task wanted is not listed
		if o := objects[objectKey{x.address, b.ended(x.address, x.hold.From)}]; o != nil {
			o.add(x.hold, b.t.Length)
		}
	}
	count := map[string]int{}
	for _, o := range b.t.Objects {
		count[o.Type]++
	}
	seen := map[string]int{}
	for _, o := range b.t.Objects {
		o.Name = o.Type
		if seen[o.Type]++; count[o.Type] > 1 {
			o.Name += " #" + strconv.Itoa(seen[o.Type])
		}
	}
}

// ended is the number of objects at an address that ended before a time.
func (b *builder) ended(address uint64, at int64) int {
	ends := b.gone[address]
	n, _ := slices.BinarySearch(ends, at+1)
	return n
}

// findWaits pairs the events of permissions that were granted with the wants of their tasks, and
// finds who held the objects meanwhile.
func (b *builder) findWaits() {
	grants := b.t.Waits
	b.t.Waits = nil
	granted := map[uint64][]int64{} // times, by the address of the object
	for _, g := range grants {
		granted[g.Object.Address] = append(granted[g.Object.Address], g.To)
		w := b.want(g.Task, g.Object.Address)
		if w == nil || w.Granted >= 0 {
			continue
		}
		w.Granted, w.from = g.To, g.from
		if g.Task.Made >= 0 {
			b.wait(g.Task, w, max(g.To, g.Task.Made), false)
		}
	}
	for _, times := range granted {
		slices.Sort(times)
	}
	b.findHolds(granted)
	for _, o := range b.t.Objects {
		slices.SortStableFunc(o.Holds, func(x, y Hold) int { return cmp.Compare(x.From, y.From) })
	}
	b.findHolders()
}

// want finds what a task wants at an address; nil if that is not known. A list has each object
// once.
func (b *builder) want(t *Task, address uint64) *Want {
	if len(t.Wants) <= 32 {
		i := slices.IndexFunc(t.Wants, func(w Want) bool { return w.address == address })
		if i < 0 {
			return nil
		}
		return &t.Wants[i]
	}
	long := b.long[t]
	if long == nil {
		long = map[uint64]*Want{}
		for i := range t.Wants {
			long[t.Wants[i].address] = &t.Wants[i]
		}
		b.long[t] = long
	}
	return long[address]
}

func (b *builder) wait(t *Task, w *Want, to int64, open bool) {
	x := &Wait{Task: t, Object: w.Object, Write: w.Write, From: t.Made, To: to, Open: open,
		from: w.from}
	b.t.Waits = append(b.t.Waits, x)
	o := w.Object
	o.Waits++
	o.Waited += x.Time()
	o.Longest = max(o.Longest, x.Time())
}

// findHolds finds who held which object: from the grant, or from the start of the task if the
// object was free, to the end. A task that has not begun may still wait.
func (b *builder) findHolds(granted map[uint64][]int64) {
	var pending []*Task
	for _, t := range b.t.Tasks {
		if t.Began < 0 && t.Ended < 0 {
			pending = append(pending, t)
			continue
		}
		for i := range t.Wants {
			w := &t.Wants[i]
			b.hold(t, w, granted)
		}
	}
	for _, t := range pending {
		for i := range t.Wants {
			w := &t.Wants[i]
			if w.Granted < 0 && t.Made >= 0 && w.Object.keepsOut(w.Write) {
				b.wait(t, w, b.t.Length, true)
			} else {
				b.hold(t, w, granted)
			}
		}
	}
}

func (b *builder) hold(t *Task, w *Want, granted map[uint64][]int64) {
	h := Hold{Task: t, Write: w.Write, From: w.Granted, To: t.Ended}
	if h.From < 0 {
		h.From = max(t.Made, 0)
	}
	if t.Keeps {
		times := granted[w.address]
		if i, _ := slices.BinarySearch(times, h.To); i < len(times) {
			h.To = times[i]
		}
	}
	if h.To >= 0 {
		h.To = max(h.To, h.From)
	}
	w.Object.add(h, b.t.Length)
}

// add adds a hold. One without an end lasts to that of the recording.
func (o *Object) add(h Hold, length int64) {
	if h.To < 0 {
		h.To = length
		o.read, o.written = o.read || !h.Write, o.written || h.Write
	}
	o.Holds = append(o.Holds, h)
	o.Held += h.To - h.From
}

// keepsOut says whether a task that runs at the end holds the object, so that another one waits.
func (o *Object) keepsOut(write bool) bool {
	return o.written || o.read && write
}

// attributed is the number of waits whose holders are listed one by one.
const attributed = 5000

// findHolders sorts the waits and objects, and finds who held.
func (b *builder) findHolders() {
	slices.SortStableFunc(b.t.Waits, func(x, y *Wait) int {
		return cmp.Or(cmp.Compare(y.Time(), x.Time()), cmp.Compare(x.From, y.From))
	})
	slices.SortStableFunc(b.t.Objects, func(x, y *Object) int {
		return cmp.Or(cmp.Compare(y.Waited, x.Waited), cmp.Compare(y.Waits, x.Waits),
			cmp.Compare(y.Held, x.Held))
	})
	byObject := map[*Object][]*Wait{}
	for i, w := range b.t.Waits {
		byObject[w.Object] = append(byObject[w.Object], w)
		if i < attributed {
			w.findHolders()
		}
	}
	for o, waits := range byObject {
		o.findPairs(waits)
	}
}

// findHolders lists the tasks that held the object while w waited. At most as many holds as a gate
// has changed hands in are looked at.
func (w *Wait) findHolders() {
	holds := w.Object.Holds
	end, _ := slices.BinarySearchFunc(holds, w.To, func(h Hold, at int64) int {
		return cmp.Compare(h.From, at)
	})
	const most = 10000
	for _, h := range holds[max(0, end-most):end] {
		if h.Task == w.Task || h.To <= w.From {
			continue
		}
		if len(w.Holders) == mostHolders {
			w.More++
			continue
		}
		w.Holders = append(w.Holders, h.Task)
	}
	if len(w.Holders) == 0 && w.from != nil {
		w.Holders = []*Task{w.from}
	}
}

// A sum tells how long a set of holds had lasted at any time.
type sum struct {
	from, to       []int64 // sorted
	sumFrom, sumTo []int64 // of those before an index
}

func (s *sum) close() {
	slices.Sort(s.from)
	slices.Sort(s.to)
	s.sumFrom, s.sumTo = make([]int64, len(s.from)+1), make([]int64, len(s.to)+1)
	for i := range s.from {
		s.sumFrom[i+1] = s.sumFrom[i] + s.from[i]
		s.sumTo[i+1] = s.sumTo[i] + s.to[i]
	}
}

// until is the time for which the holds had lasted at x.
func (s *sum) until(x int64) int64 {
	begun, _ := slices.BinarySearch(s.from, x)
	ended, _ := slices.BinarySearch(s.to, x)
	return int64(begun-ended)*x - s.sumFrom[begun] + s.sumTo[ended]
}

// findPairs adds up, for each pair of codes, how long the one held the object while the other
// waited. Readers hold together, so the sum may exceed the wait.
func (o *Object) findPairs(waits []*Wait) {
	held := map[*Code]*sum{}
	for _, h := range o.Holds {
		s := held[h.Task.Code]
		if s == nil {
			s = &sum{}
			held[h.Task.Code] = s
		}
		s.from, s.to = append(s.from, h.From), append(s.to, h.To)
	}
	for _, s := range held {
		s.close()
	}
	type key struct{ waiter, holder *Code }
	pairs := map[key]*Pair{}
	add := func(w *Wait, holder *Code, time int64) {
		k := key{w.Task.Code, holder}
		p := pairs[k]
		if p == nil {
			p = &Pair{Waiter: k.waiter, Holder: holder}
			pairs[k] = p
		}
		p.Waits++
		p.Time += time
	}
	for _, w := range waits {
		any := false
		for c, s := range held {
			if time := s.until(w.To) - s.until(w.From); time > 0 {
				add(w, c, time)
				any = true
			}
		}
		if !any && w.from != nil {
			add(w, w.from.Code, w.Time())
		}
	}
	for _, p := range pairs {
		o.Pairs = append(o.Pairs, *p)
	}
	slices.SortFunc(o.Pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.Time, x.Time), cmp.Compare(y.Waits, x.Waits),
			cmp.Compare(x.Waiter.Name, y.Waiter.Name), cmp.Compare(x.Holder.Name, y.Holder.Name))
	})
}
