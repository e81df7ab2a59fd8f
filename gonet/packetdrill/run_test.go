package packetdrill

import (
	"strings"
	"testing"
)

// The beginnings of the scripts below: a connection that a peer has opened, as descriptor 4, and
// one that we open, as descriptor 3.
const (
	passive = `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
  +.1 < . 1:1(0) ack 1 win 257
   +0 accept(3, ..., ...) = 4
`
	active = `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)
   +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
   +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
   +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>
`
)

var plays = []struct {
	name, script string
	want         Result
	line         int    // of the difference, counted from the last line; 0: not compared
	why          string // a part of Outcome.Why
}{
	{"data both ways", passive + `
   +0 write(4, ..., 3000) = 3000
   +0 > P. 1:3001(3000) ack 1                    // a super-segment of Linux
  +.1 < . 1:1(0) ack 3001 win 257
   +0 < P. 1:1001(1000) ack 3001 win 257
   +0 > . 3001:3001(0) ack 1001
   +0 ioctl(4, SIOCINQ, [1000]) = 0
   +0 read(4, ..., 4000) = 1000
   +0 < F. 1001:1001(0) ack 3001 win 257
   +0 > . 3001:3001(0) ack 1002
   +0 read(4, ..., 4000) = 0
  +.1 close(4) = 0
   +0 > F. 3001:3001(0) ack 1002
  +.1 < . 1002:1002(0) ack 3002 win 257
  +.1 < . 1002:1002(0) ack 3002 win 257
   +0 > R 3002:3002(0)`, Passed, 0, ""},
	{"active, with timestamps", "--tcp_ts_tick_usecs=1000\n" + active + `
  +.1 < S. 77:77(0) ack 1 win 5792 <mss 1460,sackOK,TS val 700 ecr 100,nop,wscale 7>
   +0 > . 1:1(0) ack 1 <nop,nop,TS val 200 ecr 700>
   +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
  +.1 close(3) = 0
   +0 > F. 1:1(0) ack 1 <...>`, Passed, 0, ""},
	{"a timestamp that is wrong", "--tcp_ts_tick_usecs=1000\n" + active + `
  +.1 < S. 77:77(0) ack 1 win 5792 <mss 1460,sackOK,TS val 700 ecr 100,nop,wscale 7>
   +0 > . 1:1(0) ack 1 <nop,nop,TS val 250 ecr 700>`, Differs, 1, "is 50ms from 250"},
	{"another acknowledgement", passive + `
   +0 < P. 1:1001(1000) ack 1 win 257
   +0 > . 1:1(0) ack 1002`, Differs, 1, "sent . 1:1(0) ack 1001, want . 1:1(0) ack 1002"},
	{"nothing is sent", passive + `
   +0 > . 1:1(0) ack 1
   +0 < . 1:1(0) ack 1 win 257`, Differs, 2, "nothing was sent, want . 1:1(0) ack 1"},
	{"the range of a retransmission", passive + `
   +0 write(4, ..., 1000) = 1000
   +0 > P. 1:1001(1000) ack 1
  +.3~+.401 > P. 1:1001(1000) ack 1
    * > P. 1:1001(1000) ack 1`, Passed, 0, ""},
	{"outside of the range", passive + `
   +0 write(4, ..., 1000) = 1000
   +0 > P. 1:1001(1000) ack 1
  +.6~+.7 > P. 1:1001(1000) ack 1`, Differs, 1, "-0.300 s from the instant"},
	{"at an instant since the start", passive + `
   .2 write(4, ..., 1000) = 1000
   .2 > P. 1:1001(1000) ack 1
   .5~.6 > P. 1:1001(1000) ack 1`, Passed, 0, ""},
	{"single segments", "--strict_segments\n" + passive + `
   +0 write(4, ..., 1500) = 1500
   +0 > . 1:1001(1000) ack 1
  +.1 < . 1:1(0) ack 1001 win 257
   +0 > P. 1001:1501(500) ack 1`, Passed, 0, ""},
	{"no single segment", "--strict_segments\n" + passive + `
   +0 write(4, ..., 2000) = 2000
   +0 > . 1:2001(2000) ack 1`, Differs, 1, "sent . 1:1001(1000) ack 1, want . 1:2001(2000)"},
	{"a call that blocks", passive + `
   +0...0.100 read(4, ..., 2000) = 1000
  +.1 < P. 1:1001(1000) ack 1 win 257
   +0 > . 1:1(0) ack 1001`, Passed, 0, ""},
	{"a call that blocks for too long", passive + `
   +0...0.050 read(4, ..., 2000) = 1000
  +.1 < P. 1:1001(1000) ack 1 win 257`, Differs, 2, "read returned +0.050 s from"},
	{"a call that never returns", passive + `
   +0...0.050 read(4, ..., 2000) = 1000
   +0 write(4, ..., 1000) = 1000`, Differs, 2, "read has not returned at"},
	{"a call that must not block", passive + `
   +0 read(4, ..., 2000) = 1000`, Differs, 1, "read blocks"},
	{"another result", passive + `
   +0 write(4, ..., 1000) = 999`, Differs, 1, "write returned 1000 , want 999 "},
	{"errors of calls", passive + `
   +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
   +0 read(4, ..., 1000) = -1 EAGAIN (Resource temporarily unavailable)
   +0 shutdown(4, SHUT_WR) = 0
   +0 > F. 1:1(0) ack 1
   +0 write(4, ..., 1000) = -1 EPIPE (Broken pipe)
   +0 < R. 1:1(0) ack 2 win 257
   +0 read(4, ..., 1000) = -1 ECONNRESET(Connection reset by peer)
   +0 read(4, ..., 1000) = 0
   +0 read(9, ..., 1000) = -1 EBADF
   +0 read(3, ..., 1000) = -1 ENOTCONN`, Passed, 0, ""},
	{"a refused connection", active + `
  +.1 < R. 0:0(0) ack 1 win 0
   +0 connect(3, ..., ...) = -1 ECONNREFUSED (Connection refused)`, Passed, 0, ""},
	{"connect that blocks", `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +.1...0.200 connect(3, ..., ...) = 0
   +0 > S 0:0(0) <...>
  +.1 < S. 0:0(0) ack 1 win 5792 <mss 1460>
   +0 > . 1:1(0) ack 1`, Passed, 0, ""},
	{"a write larger than the buffer", passive + `
   +0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [5000], 4) = 0
   +0...0.200 write(4, ..., 15000) = 15000
   +0 > P. 1:10001(10000) ack 1
  +.1 < . 1:1(0) ack 10001 win 257
   +0 > P. 10001:15001(5000) ack 1
  +.1 < . 1:1(0) ack 15001 win 257`, Differs, 5, "write returned -0.100 s"},
	{"one that does not block", passive + `
   +0 fcntl(4, F_SETFL, O_NONBLOCK) = 0
   +0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [1000], 4) = 0
   +0 write(4, ..., 15000) = 2000
   +0 write(4, ..., 15000) = -1 EAGAIN
   +0 > P. 1:2001(2000) ack 1`, Passed, 0, ""},
	{"options of sockets", `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [1100], 4) = 0
   +0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [1100], [4]) = 0
   +0 getsockopt(3, SOL_TCP, TCP_NODELAY, [0], [4]) = 0
   +0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
   +0 getsockopt(3, SOL_TCP, TCP_NODELAY, [1], [4]) = 0
   +0 setsockopt(3, SOL_TCP, TCP_USER_TIMEOUT, [3000], 4) = 0
   +0 getsockopt(3, SOL_TCP, TCP_USER_TIMEOUT, [4000], [4]) = 0`, Differs, 1,
		"TCP_USER_TIMEOUT is 3000, want 4000"},
	{"keep-alive", passive + `
   +0 setsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [1], 4) = 0
   +0 setsockopt(4, SOL_TCP, TCP_KEEPIDLE, [5], 4) = 0
   +0 setsockopt(4, SOL_TCP, TCP_KEEPINTVL, [1], 4) = 0
   +0 setsockopt(4, SOL_TCP, TCP_KEEPCNT, [2], 4) = 0
   +5 > . 0:0(0) ack 1
   +1 > . 0:0(0) ack 1
   +2 read(4, ..., 10) = -1 ETIMEDOUT`, Passed, 0, ""},
	{"assertions", passive + `
   +0 %{ cwnd = 5
assert tcpi_snd_cwnd == 10 and tcpi_state == TCP_ESTABLISHED, 'a "message" of %d' % tcpi_snd_cwnd
cwnd += 5; print(cwnd); assert 9 < cwnd <= 10 # a comment
assert (tcpi_options & TCPI_OPT_SYN_DATA) == 0, tcpi_options
assert tcpi_snd_ssthresh == 0x7fffffff and \
       tcpi_ca_state == TCP_CA_Open }%`, Passed, 0, ""},
	{"an assertion that is wrong", passive + `
   +0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%`, Differs, 1,
		"assert tcpi_snd_cwnd == 11: it is not, tcpi_snd_cwnd is 10"},
	{"counts of segments", passive + `
   +0 write(4, ..., 5000) = 5000
   +0 > P. 1:5001(5000) ack 1
  +.1 < . 1:1(0) ack 1 win 257 <sack 1001:2001,nop,nop>
   +0 %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_sacked == 1 and tcpi_unacked == 5 }%
   +0 < . 1:1(0) ack 1 win 257 <sack 1001:4001,nop,nop>
   +0 > . 1:1001(1000) ack 1
   +0 %{ assert tcpi_ca_state == TCP_CA_Recovery and tcpi_lost == 1 and tcpi_retrans == 1 }%
  +.5 %{ assert tcpi_ca_state == TCP_CA_Loss and tcpi_backoff == 1 }%`, Passed, 0, ""},
	{"a retransmission that is sacked", passive + `
   +0 write(4, ..., 6000) = 6000
   +0 > P. 1:6001(6000) ack 1
  +.1 < . 1:1(0) ack 1 win 257 <sack 2001:6001,nop,nop>
   +0 > . 1:2001(2000) ack 1
   +0 %{ assert tcpi_lost == 2 and tcpi_retrans == 2 and tcpi_sacked == 4 }%
  +.1 < . 1:1(0) ack 1 win 257 <sack 1001:6001,nop,nop>
   +0 > . 1:1001(1000) ack 1
   +0 %{ assert tcpi_lost == 1 and tcpi_retrans == 1 and tcpi_sacked == 5 }%`, Passed, 0, ""},
	{"ECN", "`sysctl -q net.ipv4.tcp_ecn=1`" + `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 ...0.1 connect(3, ..., ...) = 0
   +0 > [noecn] SEW 0:0(0) <...>
  +.1 < SE. 0:0(0) ack 1 win 32767 <mss 1000,sackOK>
   +0 > [noecn] . 1:1(0) ack 1
   +0 write(3, ..., 1000) = 1000
   +0 > [ect0] P. 1:1001(1000) ack 1
  +.1 < [ce] P. 1:101(100) ack 1001 win 32767
   +0 > E. 1001:1001(0) ack 101`, Passed, 0, ""},
	{"not ECN-capable", passive + `
   +0 write(4, ..., 1000) = 1000
   +0 > [ect0] P. 1:1001(1000) ack 1`, Differs, 1, "ECN-capable: false, want [ect0]"},
	{"a router's report", passive + `
   +0 write(4, ..., 2000) = 2000
   +0 > P. 1:2001(2000) ack 1
  +.1 < icmp unreachable frag_needed mtu 540 [1:1001(1000)]
   +0 > . 1:501(500) ack 1`, Passed, 0, ""},
	{"an unreachable port", active + `
  +.1 < icmp unreachable port_unreachable [0:0(0)]
   +0 connect(3, ..., ...) = -1 EHOSTUNREACH`, Passed, 0, ""},
	{"a segment for nobody", passive + `
   +0 close(4) = 0
   +0 > F. 1:1(0) ack 1
   +0 < R. 1:1(0) ack 2 win 0
  +.1 < - 1:101(100) win 0
   +0 > R. 0:0(0) ack 101`, Differs, 1, "sent R. 512:512(0) ack 101"},
	{"pieces of reads and writes", passive + `
   +0 sendmsg(4, {msg_name(...)=..., msg_iov(3)=[{..., 40}, {..., 0}, {..., 20}],
               msg_flags=0}, MSG_NOSIGNAL) = 60
   +0 > P. 1:61(60) ack 1
  +.1 < P. 1:101(100) ack 61 win 257
   +0 > . 61:61(0) ack 101
   +0 readv(4, [{..., 30}, {..., 40}], 2) = 70
   +0 recv(4, ..., 10, MSG_DONTWAIT) = 10
   +0 ioctl(4, FIONREAD, [30]) = 0
   +0 ioctl(4, SIOCINQ, [20]) = 0`, Differs, 2, "20 bytes can be read, want 30"},
	{"no more reading", passive + `
   +0 shutdown(4, SHUT_RD) = 0
   +0 read(4, ..., 10) = 0
   +0 < P. 1:101(100) ack 1 win 257
   +0 > . 1:1(0) ack 101
   +0 read(4, ..., 10) = 0
   +0 shutdown(4, SHUT_RDWR) = 0
   +0 > F. 1:1(0) ack 101`, Passed, 0, ""},
	{"IPv6, and other settings", "--ip_version=ipv6\n--tolerance_percent=5\n" + `
` + "`../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net/ipv4/tcp_window_scaling=0\n" +
		`../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \
	/proc/sys/net/ipv4/tcp_congestion_control=reno # not CUBIC` + "`" + `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0...0.1 connect(3, ..., ...) = 0
   +0 > S 0:0(0) <mss 1440>
  +.1 < S. 0:0(0) ack 1 win 9000
   +0 > . 1:1(0) ack 1
   +0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [1220], [4]) = 0
` + "`/tmp/sysctl_restore_${PPID}.sh`", Passed, 0, ""},
	{"an unknown congestion control", "`sysctl -q net.ipv4.tcp_congestion_control=bbr`" + active,
		NotApplicable, 0, "tcp_congestion_control=bbr"},
	{"a changed route", passive + "   +0 `ip -6 route change 1::2 mtu 1400`", NotApplicable, 0,
		"shell: ip route"},
	{"a program", passive + "   +0 `/bin/rm -f file`", NotApplicable, 0, "shell: rm"},
	{"every option of a segment", active + `
   +0 > . 1:1(0) ack 1 <mss 7,sackOK,TS val 1 ecr 2,wscale 3,sack 4:5 6:7>`, Differs, 1,
		"want . 1:1(0) ack 1 <mss 7,sackOK,TS val 1 ecr 2,wscale 3,sack 4:5 6:7>"},
	{"SACK blocks", passive + `
   +0 < . 1001:2001(1000) ack 1 win 257
   +0 > . 1:1(0) ack 1 <sack 1001:2001>`, Passed, 0, ""},
	{"other SACK blocks", passive + `
   +0 < . 1001:2001(1000) ack 1 win 257
   +0 > - 1:1(0) <sack 1001:2002>`, Differs, 1, "ack 1 <sack 1001:2001>, want - 1:1(0) <sack"},
	{"a window", passive + `
   +0 < . 1:1001(1000) ack 1 win 257
   +0 > . 1:1(0) ack 1001 win 1`, Differs, 1, "win 2"},
	{"errors that are soft", active + `
  +.1 < icmp unreachable host_unreachable [0:0(0)]
   +0 < icmp unreachable port_unreachable [9:9(0)]
  +.9~+1 > S 0:0(0) <...>`, Passed, 0, ""},
	{"a message that is sent", active + "   +0 > icmp unreachable host_unreachable [0:0(0)]",
		NotApplicable, 0, "ICMP code host_unreachable"},
	{"a SYN for nobody", passive + `
   +0 < R. 1:1(0) ack 1 win 0
   +0 < SF 1000:1000(0) win 0
   +0 > R. -5:-5(0) ack 1`, Unread, 1, "-5 is not from 0"},
	{"a reset for nobody", passive + `
   +0 < R. 1:1(0) ack 1 win 0
   +0 < R. 1:1(0) ack 1 win 0
   +0 < . 1:1(0) ack 1 win 0
   +0 > R 1:1(0)`, Passed, 0, ""},
	{"no options", passive + "   +0 fcntl(4, 3, 4) = 0", NotApplicable, 0, "a number in place"},
	{"datagrams", "0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3", NotApplicable, 0,
		"a socket of SOCK_DGRAM"},
	{"a call that is too large", passive + "   +0 write(4, ..., 99999999) = 9", NotApplicable, 0,
		"64 MiB"},
	{"control data without a kind", passive +
		"   +0 recvmsg(4, {msg_iov(1)=[], msg_control=[]}, 0) = 0", NotApplicable, 0,
		"msg_control"},
	{"a listener gets no SYN", `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 listen(3, 1) = 0
   +0 < . 1:1(0) ack 1 win 10
   +0 > R 1:1(0)
   +0 close(3) = 0`, Passed, 0, ""},
	{"there is nobody", "\n0 < . 1:1(0) ack 1 win 10", Differs, 1, "there is no connection"},
	{"too late", passive + `
    * > . 0:0(0) ack 1
  .01 read(4, ..., 10) = 0`, Differs, 2, "nothing was sent"},
	{"time that has passed", passive + `
  .01 read(4, ..., 10) = 0`, Differs, 1, "it is 90ms late"},
	{"Linux's measures of reordering", passive + `
   +0 %{ assert tcpi_reordering == 3; assert tcpi_snd_cwnd == 10 }%`, Passed, 0,
		"without the assertions on tcpi_reordering"},
	{"Fast Open", passive + "   +0 sendto(4, ..., 10, MSG_FASTOPEN, ..., ...) = 10",
		NotApplicable, 0, "MSG_FASTOPEN"},
	{"a listener with Fast Open", passive + "   +0 < S 0:0(0) win 32792 <FO abcd>",
		NotApplicable, 0, "tcp_fastopen"},
	{"a cookie that is ignored", "`sysctl -q net.ipv4.tcp_fastopen=2`" + `
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 listen(3, 1) = 0
   +0 < S 0:10(10) win 32792 <mss 1460,sackOK,nop,nop,FO 0123456789abcdef>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>`, Passed, 0, ""},
	{"a cookie", passive + "   +0 > S. 0:0(0) ack 1 <FO abcd>", NotApplicable, 0, "FO"},
	{"AccECN", passive + "   +0 > P.5 1:1(0) ack 1", NotApplicable, 0, "AccECN"},
	{"an option of Linux", passive + "   +0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0",
		NotApplicable, 0, "TCP_CORK"},
	{"a call of Linux", passive + "   +0 epoll_create(1) = 5", NotApplicable, 0, "epoll_create"},
	{"a null pointer", passive + "   +0 write(4, NULL, 10) = -1 EFAULT", NotApplicable, 0, "NULL"},
	{"control data", passive + `   +0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 10}],
		msg_flags=0, msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=1}]}, 0)
		= 10`, NotApplicable, 0, "TCP_CM_INQ"},
	{"a measure of Linux", passive + "   +0 %{ assert tcpi_busy_time == 0 }%", NotApplicable, 0,
		"tcpi_busy_time"},
	{"more of Python", passive + "   +0 %{ import os }%", NotApplicable, 0, "code: "},
	{"the shell", passive + "   +0 `tc qdisc replace dev tun0 root pfifo limit 0`",
		NotApplicable, 0, "shell: tc qdisc"},
	{"a setting", "`sysctl -q net.ipv4.tcp_wmem=\"1 2 3\"`" + passive, NotApplicable, 0,
		"sysctl tcp_wmem"},
	{"an option of the tool", "--define=CC=bbr\n" + passive, NotApplicable, 0, "--define"},
	{"a number that is none", "--tolerance_usecs=few\n" + active, Unread, 0,
		"--tolerance_usecs=few: strconv"},
	{"percent that are none", "--tolerance_percent=few\n" + active, Unread, 0,
		"--tolerance_percent=few: strconv"},
	{"no script", "0 what", Unread, 1, "expected (, found the end"},
}

func TestRun(t *testing.T) {
	for _, c := range plays {
		got := Run(c.script)
		line := strings.Count(c.script, "\n") + 2 - got.Line
		if got.Result != c.want || !strings.Contains(got.Why, c.why) ||
			(c.why == "") != (got.Why == "") || c.line > 0 && line != c.line {
			t.Errorf("%s: %v, line %d from the last: %s; want %v, line %d: %s", c.name, got.Result,
				line, got.Why, c.want, c.line, c.why)
		}
	}
}

// FuzzRun plays any text: it neither panics nor hangs, and an error names a line of the text.
func FuzzRun(f *testing.F) {
	for _, c := range plays {
		f.Add(c.script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 4000 {
			return
		}
		got := Run(script)
		if lines := strings.Count(script, "\n") + 1; got.Line < 0 || got.Line > lines {
			t.Errorf("line %d of %d: %s", got.Line, lines, got.Why)
		}
		if got.Result != Passed && got.Why == "" {
			t.Errorf("%v, and nothing is said of it", got.Result)
		}
	})
}
