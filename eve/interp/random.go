package interp

// registerRandom makes the native of module random. Its secrets come from the seed of the schedule,
// so that a run can be repeated.
func registerRandom() {
	natives["random.secure_bytes"] = func(c *called) value {
		n := c.int(0)
		if n < 0 || n > 1<<30 {
			fail(c.at, "a vector cannot have %d elements", n)
		}
		l := &list{elems: make([]value, n)}
		for i := range l.elems {
			l.elems[i] = int64(c.in.random.IntN(256))
		}
		return l
	}
}
