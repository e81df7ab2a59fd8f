package torture

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticks are those of the kernel in a second (sysconf(_SC_CLK_TCK)), on every architecture that Go
// supports.
const ticks = 100

// usageOf returns what a process that runs has used, from proc(5). It is zero if that cannot be
// read.
func usageOf(pid int) (u usage) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	text, err := os.ReadFile(folder + "status")
	if err != nil {
		return u
	}
	u.resident, u.peak = kilobytes(string(text), "VmRSS:"), kilobytes(string(text), "VmHWM:")
	if text, err = os.ReadFile(folder + "stat"); err != nil {
		return u
	}
	// The name of the program, in parentheses, may have blanks.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return u
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	u.cpu = time.Duration(user+system) * (time.Second / ticks)
	return u
}

// kilobytes returns a size of /proc/PID/status in bytes.
func kilobytes(text, name string) uint64 {
	_, after, _ := strings.Cut(text, name)
	var n uint64
	_, _ = fmt.Sscan(after, &n) // 0 if it is not there
	return n << 10
}
