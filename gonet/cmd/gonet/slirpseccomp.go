package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process that serves a guest has its tap, its sockets and its files. It needs neither other
// programs nor privileges any more, so a filter of system calls (seccomp(2)) takes away what a
// process that was taken over would use first. The filter names what is forbidden, as that of
// slirp4netns does: a list of what is allowed would break with another version of Go's runtime. A
// forbidden call fails with EPERM.

// forbiddenCalls are the system calls that fail: those that start programs, look into other
// processes, change namespaces, mounts, modules or the clock, and those with a large surface in the
// kernel that a proxy has no use for.
var forbiddenCalls = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_MKNODAT,
	unix.SYS_CAPSET, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SYSLOG, unix.SYS_PERSONALITY, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
}

// allowedFamilies are those of the sockets that a slirp opens: the guest's traffic, the API, and
// what package net asks the kernel about interfaces.
var allowedFamilies = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// newNamespaces are the flags of clone for other namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET |
	unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// filterArches has what the kernel calls the architectures whose system calls are known here: those
// with the arguments in the same places, and the least significant byte first.
var filterArches = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
}

// The offsets in struct seccomp_data (linux/seccomp.h), and the first number of the x32 calls of
// amd64.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
	argLen       = 8
	firstX32     = 0x40000000
)

// The actions of the filter.
const (
	actAllow = unix.SECCOMP_RET_ALLOW
	actKill  = unix.SECCOMP_RET_KILL_PROCESS
)

func actFail(errno syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// filterProgram is a program of classic BPF that judges a system call.
type filterProgram []unix.SockFilter

func (p *filterProgram) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// judge ends the program with an action if the loaded value passes a test, BPF_JEQ, BPF_JGE or
// BPF_JSET, of k.
func (p *filterProgram) judge(test uint16, k, action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: 1})
	p.end(action)
}

func (p *filterProgram) end(action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// withArg judges an argument of one call by the instructions that f adds. The number of the call is
// loaded before and afterwards.
func (p *filterProgram) withArg(call, arg uint32, f func(*filterProgram)) {
	var inner filterProgram
	inner.load(offsetArgs + argLen*arg)
	f(&inner)
	inner.load(offsetNumber)
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ, K: call,
		Jf: uint8(len(inner))})
	*p = append(*p, inner...)
}

// newFilter returns the filter for an architecture.
func newFilter(arch uint32) (p filterProgram) {
	p.load(offsetArch)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ, K: arch,
		Jt: 1})
	p.end(actKill) // a program of another architecture has other numbers
	p.load(offsetNumber)
	if arch == unix.AUDIT_ARCH_X86_64 {
		p.judge(unix.BPF_JGE, firstX32, actFail(unix.ENOSYS))
	}
	for _, call := range forbiddenCalls {
		p.judge(unix.BPF_JEQ, call, actFail(unix.EPERM))
	}
	// The flags of clone3 are in memory, which a filter cannot read. Libraries then use clone.
	p.judge(unix.BPF_JEQ, unix.SYS_CLONE3, actFail(unix.ENOSYS))
	p.withArg(unix.SYS_CLONE, 0, func(p *filterProgram) {
		p.judge(unix.BPF_JSET, newNamespaces, actFail(unix.EPERM))
	})
	p.withArg(unix.SYS_SOCKET, 0, func(p *filterProgram) {
		for i, family := range allowedFamilies {
			// over the other families, and the failure
			*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ,
				K: family, Jt: uint8(len(allowedFamilies) - i)})
		}
		p.end(actFail(unix.EAFNOSUPPORT))
	})
	for _, call := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT} {
		p.withArg(call, 2, func(p *filterProgram) { // no new code
			p.judge(unix.BPF_JSET, unix.PROT_EXEC, actFail(unix.EPERM))
		})
	}
	p.end(actAllow)
	return p
}

// forbidCalls sets the filter for all threads of this process, and those that come. It cannot be
// taken back.
func forbidCalls() error {
	arch, ok := filterArches[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter of system calls for %s", runtime.GOARCH)
	}
	p := newFilter(arch)
	program := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The kernel sets this for the other threads as well, with the filter.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(p)
	switch {
	case errno != 0:
		return os.NewSyscallError("seccomp", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return nil
}
