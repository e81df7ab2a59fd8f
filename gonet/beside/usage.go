package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// ownCPU returns the processor time that this process has used.
func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// tick is the unit of times in /proc, in which Linux counts for programs (USER_HZ, proc(5)).
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that another process has used, in ticks.
func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may have blanks.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const user, system = 11, 12 // fields 14 and 15 of proc(5)
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	total := time.Duration(0)
	for _, f := range fields[user : system+1] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// residentOf returns the resident memory of a process in bytes. Pages that it shares with others
// count in part.
func residentOf(pid int) (float64, error) {
	name := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if value, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			value = bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))
			n, err := strconv.ParseFloat(string(value), 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("%s: no Pss", name)
}

// ownResident returns the resident memory of this process in bytes, after a collection.
func ownResident() (float64, error) {
	debug.FreeOSMemory()
	return residentOf(os.Getpid())
}

// heap returns the size in bytes of the heap and the stacks in use.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}
