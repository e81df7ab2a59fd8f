package checker

import (
	"fmt"
	"slices"
)

// A file is one whose upload was acknowledged. It goes with a message of its owner that has its
// link.
type file struct {
	owner, sum string
	size       int64
	said       []*message // that have its link
}

// uploaded takes the acknowledgement of an upload.
func (c *checker) uploaded(o *operation, e *Event) error {
	if e.Link == "" {
		return fmt.Errorf("expected a link")
	}
	if old := c.files[e.Link]; old != nil {
		c.breach(Stored, "operation %d got the link of a file of %s", e.Op, old.owner)
		return nil
	}
	c.files[e.Link] = &file{owner: o.account, sum: o.Sum, size: o.Size}
	return nil
}

// removals returns the operations by which the file goes, if they are done.
func (f *file) removals() (all []*operation) {
	for _, m := range f.said {
		if m.from == f.owner {
			all = append(all, m.removals...)
		}
	}
	return all
}

// fetched takes the answer to a Fetch.
func (c *checker) fetched(o *operation, e *Event) {
	f := o.file
	removed := slices.IndexFunc(f.removals(), o.knows)
	switch {
	case e.Gone && !c.mayBeGone(f):
		c.breach(Stored, "operation %d: the file %s of %s is not there", e.Op, o.Link, f.owner)
	case e.Gone:
	case e.Sum != f.sum || e.Size != f.size:
		c.breach(Stored, "operation %d: the file %s of %s has %d bytes with the SHA-256 %.12s; "+
			"%d with %.12s were stored", e.Op, o.Link, f.owner, e.Size, e.Sum, f.size, f.sum)
	case removed >= 0:
		c.breach(Removed, "operation %d: the file %s is there, and operation %d had removed its "+
			"message", e.Op, o.Link, f.removals()[removed].Op)
	}
}

// mayBeGone says whether somebody has begun to remove a message of the owner with the file's link.
func (c *checker) mayBeGone(f *file) bool {
	return slices.ContainsFunc(c.removing, func(o *operation) bool {
		return o.outcome != Fail && o.message != nil && o.message.from == f.owner &&
			slices.Contains(f.said, o.message)
	})
}
