#!/bin/sh
# ngircd as a user would set it up for friends on a network of their own: without the limits that
# are meant for strangers (penalties for many commands, connections of one address), without
# look-ups of names. The trade: one loop over epoll hands everything to everybody, and nothing is
# kept: no log, no waiting for a disk, nobody who was away.
port=$1 host=$2 data=$3
# It would go on without a port.
if grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp; then
	echo "chat.sh: port $port is in use" >&2
	exit 1
fi
cat >"$data/ngircd.conf" <<EOF || exit
[Global]
Name = irc.local
Info = a comparator
Listen = $host
Ports = $port
MotdPhrase = none
AdminEMail = root@localhost
[Limits]
MaxConnections = 0
MaxConnectionsIP = 0
MaxJoins = 0
MaxNickLength = 30
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
EOF
exec ngircd -n -f "$data/ngircd.conf" >/dev/null # it says there who comes and goes
