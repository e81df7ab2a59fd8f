#!/bin/sh
# A server of images with a PostgreSQL of its own, on the server's port of another loopback address.
# Both count as the server: SQLite, too, works in the process that is measured.
set -eu
template=$1 data=$2 port=$3
shift 3
bin=$(dirname "$(readlink -f "$(command -v postgres)")")
mkdir -p "$data"
[ -d "$data/postgresql" ] || cp -r "$template" "$data/postgresql"
chmod 700 "$data/postgresql"
as="setpriv --pdeathsig QUIT"
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses root; its user may pass the folders of root
	chown -R postgres: "$data/postgresql"
	as="$as --reuid postgres --regid postgres --clear-groups
		--inh-caps +dac_override --ambient-caps +dac_override"
fi
server='' database=''
trap 'kill -TERM $server 2>/dev/null || exit 1' TERM INT
$as "$bin/postgres" -D "$data/postgresql" -p "$port" -c listen_addresses=127.0.0.2 \
	-c unix_socket_directories= >>"$data/postgresql.log" 2>&1 &
database=$!
until "$bin/pg_isready" -q -h 127.0.0.2 -p "$port" || ! kill -0 $database; do sleep .02; done
setpriv --pdeathsig KILL "$@" "postgres://images@127.0.0.2:$port/postgres" &
server=$!
while # a signal ends wait before the server has ended
	status=0
	wait $server || status=$?
	kill -0 $server 2>/dev/null
do :; done
kill -INT $database 2>/dev/null || : # fast: connections are closed, what was committed is kept
wait $database || :
exit $status
