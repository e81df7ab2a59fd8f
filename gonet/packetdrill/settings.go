package packetdrill

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"interleave/gonet/tcp"
)

// settings are what a script's options and shell commands configure, as far as it has a meaning
// here.
type settings struct {
	cfg       tcp.Config
	tolerance time.Duration
	percent   float64       // tolerance in percent of the time since the event before
	tick      time.Duration // of the timestamp clock; 0: timestamps are not compared
	strict    bool          // segments are compared one by one
	fastopen  int64         // Linux's sysctl tcp_fastopen
}

// initialSettings are those of packetdrill and of the scripts' common/defaults.sh, which makes
// Linux's receive buffer 15 MiB. Sockets of Linux begin with Nagle's algorithm.
func initialSettings() settings {
	return settings{
		cfg:       tcp.Config{MSS: 1460, ReceiveBuffer: 15 << 20, Delay: true},
		tolerance: 4 * time.Millisecond,
		percent:   12.5,
		fastopen:  0x70403,
	}
}

// listenersAreFast are the bits of tcp_fastopen with which all of Linux's listeners accept Fast
// Open.
const listenersAreFast = 0x402

// unsupported is what a script needs and GoNet, or its machine, does not have. Such a script does
// not apply.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// option applies an option of the script.
func (s *settings) option(o Option) error {
	var err error
	switch o.Name {
	case "tolerance_usecs":
		s.tolerance, err = o.micros()
	case "tolerance_percent":
		s.percent, err = strconv.ParseFloat(o.Value, 64)
	case "tcp_ts_tick_usecs":
		s.tick, err = o.micros()
	case "strict_segments":
		s.strict = true
	case "ip_version":
		if o.Value == "ipv6" {
			s.cfg.MSS, s.cfg.PeerMSS = 1440, 1220
		}
	case "tcp_ts_ecr_scaled", "local_ip", "remote_ip", "gateway_ip", "netmask_ip", "mss",
		"bind_port", "connect_port":
	default:
		return unsupported("--" + o.Name)
	}
	if err != nil {
		return &SyntaxError{o.Line, fmt.Sprintf("--%s=%s: %v", o.Name, o.Value, err)}
	}
	return nil
}

// micros returns the value of an option in microseconds.
func (o Option) micros() (time.Duration, error) {
	n, err := strconv.ParseUint(o.Value, 10, 31)
	return time.Duration(n) * time.Microsecond, err
}

// shell applies shell commands.
func (s *settings) shell(commands string) error {
	commands = strings.ReplaceAll(commands, "\\\n", " ")
	for _, line := range strings.FieldsFunc(commands, func(r rune) bool {
		return r == '\n' || r == ';' || r == '|'
	}) {
		line, _, _ = strings.Cut(line, "#")
		words := shellWords.FindAllString(line, -1)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], `"`, "")
		}
		if len(words) == 0 {
			continue
		}
		if err := s.command(words); err != nil {
			return err
		}
	}
	return nil
}

var shellWords = regexp.MustCompile(`(?:"[^"]*"|[^\s"])+`)

func (s *settings) command(words []string) error {
	name, args := words[0], words[1:]
	switch line := strings.Join(words, " "); {
	case strings.HasSuffix(name, "/defaults.sh"),
		strings.HasPrefix(name, "/tmp/sysctl_restore_"),
		strings.HasPrefix(line, "ip tcp_metrics flush"):
		return nil
	case name == "sysctl", strings.HasSuffix(name, "/set_sysctls.py"):
		return s.sysctls(args)
	// How Linux divides its work with the network card, and paces: neither is on the wire.
	case line == "ethtool -K tun0 tso off gso off", line == "tc qdisc replace dev tun0 root fq",
		strings.HasSuffix(line, "> /sys/module/tcp_cubic/parameters/hystart_detect"):
		return nil
	case name == "ip" || name == "tc":
		for _, arg := range args {
			if arg[0] != '-' {
				return unsupported("shell: " + name + " " + arg)
			}
		}
	}
	return unsupported("shell: " + name[strings.LastIndexByte(name, '/')+1:])
}

func (s *settings) sysctls(args []string) error {
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found {
			continue // an option of sysctl
		}
		name = strings.ReplaceAll(strings.TrimPrefix(name, "/proc/sys/"), "/", ".")
		if err := s.sysctl(strings.TrimPrefix(name, "net.ipv4."), value); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) sysctl(name, value string) error {
	off := value == "0"
	switch name {
	case "tcp_timestamps":
		s.cfg.NoTimestamps = off
	case "tcp_sack":
		s.cfg.NoSACK = off
	case "tcp_window_scaling":
		s.cfg.NoScale = off
	case "tcp_ecn":
		s.cfg.ECN = value == "1"
	case "tcp_congestion_control":
		s.cfg.Congestion = map[string]string{"cubic": tcp.CUBIC, "reno": tcp.NewReno}[value]
		if s.cfg.Congestion == "" {
			return unsupported("tcp_congestion_control=" + value)
		}
	case "tcp_fastopen":
		n, err := strconv.ParseInt(value, 0, 32)
		if err != nil {
			return unsupported("tcp_fastopen=" + value)
		}
		s.fastopen = n
	// Linux's rules for super-segments and for pacing, and its switches for tail loss probes and
	// for slow start after idle time, which GoNet always has: a script that needs them differs.
	case "tcp_min_tso_segs", "tcp_tso_win_divisor", "tcp_pacing_ss_ratio", "tcp_early_retrans",
		"tcp_slow_start_after_idle", "tcp_fastopen_key",
		"tcp_fastopen_blackhole_timeout_sec", "tcp_fastopen_cookies":
	default:
		return unsupported("sysctl " + name)
	}
	return nil
}
