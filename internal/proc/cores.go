package proc

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// Cores are those that this process might use when it started, rising; nil if these are all of the
// machine's. In a container with a part of a large machine's cores, programs on the other cores
// disturb nothing here.
func Cores() []int { return cores }

// cores is read before any thread binds itself to one.
var cores = usable()

func usable() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) != nil {
		return nil
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil || bytes.Count(stat, []byte("\ncpu")) <= set.Count() {
		return nil
	}
	var list []int
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			list = append(list, c)
		}
	}
	return list
}
