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

# serve CONFIG [OUT [ERR]] starts a server and waits until it is ready. Its process is $server. Its
# output is in the files OUT and ERR, or out and err.
serve() {
	out=${2:-out} err=${3:-err}
	rm -f "$out" "$err" # of a server before: what is awaited must be said by this one
	papaya serve --config "$1" >"$out" 2>"$err" &
	# shellcheck disable=SC2034 # the scripts use it
	server=$!
	await '^ready' "$err"
}

# stop PROCESS ends a server and prints its status.
stop() {
	kill "$1"
	status=0
	wait "$1" || status=$?
	echo "ended with $status"
}
