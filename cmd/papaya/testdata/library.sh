# shellcheck shell=sh
# Functions for the scripts.

# await PATTERN FILE waits up to five minutes until a line of FILE matches; nothing is expected to be fast.
await() {
	for _ in $(seq 6000); do
		grep -q "$1" "$2" 2>/dev/null && return
		sleep 0.05
	done
	echo "await: no $1 in $2:" >&2
	cat "$2" >&2
	return 1
}

# stop PROCESS ends a server and prints its status.
stop() {
	kill "$1"
	status=0
	wait "$1" || status=$?
	echo "ended with $status"
}
