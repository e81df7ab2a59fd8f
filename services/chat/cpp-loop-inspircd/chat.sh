#!/bin/sh
# InspIRCd as a user would set it up for friends on a network of their own: without the limits that
# are meant for strangers (fake lag for many commands, connections of one address, short queues),
# without look-ups of names. The trade: one loop over epoll, in C++ with a hook for each thing that
# a module may want to see, hands everything to everybody, and nothing is kept.
port=$1 host=$2 data=$3
# It would go on without a port.
if grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp; then
	echo "chat.sh: port $port is in use" >&2
	exit 1
fi
cat >"$data/inspircd.conf" <<END || exit
<server name="irc.local" description="a comparator" network="local">
<admin name="root" nick="root" email="root@localhost">
<bind address="$host" port="$port" type="clients">
<connect name="friends" allow="*" timeout="30" pingfreq="120" hardsendq="16M" softsendq="16M"
	recvq="1M" fakelag="no" threshold="1000000" commandrate="1000000"
	localmax="100000" globalmax="100000" maxchans="100" useident="no"
	resolvehostnames="no" useconnectban="no" useconnflood="no">
<performance softlimit="100000" somaxconn="4096" clonesonconnect="no">
<limits maxnick="30" maxchan="50" maxuser="10">
END
# Its end by SIGTERM has the status 10; and it must not outlive this script.
trap 'kill "$!"; wait "$!"; exit 0' TERM
setpriv --pdeathsig KILL \
	inspircd --nofork --nolog --nopid --runasroot --config "$data/inspircd.conf" >/dev/null &
wait "$!"
exit 1
