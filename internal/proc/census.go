package proc

import "time"

// A Census is the CPU so far of all processes that are not ours. Two of them tell what other
// programs have used in between, by what each of them is charged with. The kernel's own time for
// waking a core is charged to nobody, and is not in it.
//
// Figures are in ticks of 10 ms, each rounded down: of a few programs that use little, the sum is
// right to some 10 ms.
type Census map[int]counted

// counted is what one process has used.
type counted struct {
	parent int
	start  uint64 // with its number, names a process for good
	own    time.Duration
	// of children that have ended and were waited for, and theirs
	children time.Duration
}

func (c counted) all() time.Duration { return c.own + c.children }

// kthreadd starts all threads of the kernel. It is seen only where all processes of the machine
// are: in the first namespace of processes, and where /proc hides nobody's.
const kthreadd = 2

// SeesAll tells whether all of the machine's processes can be seen.
func SeesAll(r *Reader) bool {
	s, ok := ParseStat(r.File(kthreadd, "stat"))
	return ok && string(s.Comm) == "kthreadd"
}

// Count reads all processes but ours and what ours have started. It returns false if some of the
// machine's processes cannot be seen.
func Count(r *Reader, ours []int) (Census, bool) {
	if !SeesAll(r) {
		return nil, false
	}
	mine := map[int]bool{}
	for _, pid := range ours {
		mine[pid] = true
	}
	all := Census{}
	for _, pid := range r.PIDs(nil) {
		if mine[pid] {
			continue
		}
		if s, ok := ParseStat(r.File(pid, "stat")); ok {
			all[pid] = counted{s.PPID, s.Start, s.User + s.System, s.ChildUser + s.ChildSystem}
		}
	}
	others := Census{}
	for pid, p := range all {
		if !all.startedBy(p, mine) {
			others[pid] = p
		}
	}
	return others, true
}

// startedBy tells whether a process of the census has one of ours among its ancestors.
func (c Census) startedBy(p counted, ours map[int]bool) bool {
	for range len(c) + 1 { // while it was read, a chain may have become a circle
		if p.parent == 0 {
			return false
		}
		if ours[p.parent] {
			return true
		}
		var there bool
		if p, there = c[p.parent]; !there {
			return false
		}
	}
	return false
}

// Since is what the processes have used since an earlier census. One that has ended in between has
// left what it used to its parent, if that waited for it.
func (c Census) Since(before Census) (used time.Duration) {
	for pid, now := range c {
		used += now.all()
		if then, there := before[pid]; there && then.start == now.start {
			used -= then.all()
		}
	}
	for pid, then := range before {
		if now, there := c[pid]; there && now.start == then.start {
			continue
		}
		parent, lives := c[then.parent]
		if lives && parent.children-before[then.parent].children >= then.all() {
			used -= then.all() // it was used before
		}
	}
	return max(0, used)
}
