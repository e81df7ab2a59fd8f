#!/usr/bin/env bash
# Plays the public scripts of packetdrill for TCP on GoNet's machine, and compares the results with
# testdata/expected.txt. The scripts are fetched into out/packetdrill; PACKETDRILL=FOLDER names a
# copy of packetdrill, or of its folder gtests/net/tcp, instead. UPDATE=1 rewrites expected.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=2c4001c
at=${PACKETDRILL:-out/packetdrill}

skip() { echo "SKIP packetdrill: $1" && exit 0; }

fetch() { # clones packetdrill at the commit, all or nothing
	rm -rf "$at.new" &&
		git clone -q https://github.com/google/packetdrill "$at.new" &&
		git -C "$at.new" checkout -q "$commit" && mv "$at.new" "$at"
}

if [ -z "${PACKETDRILL-}" ] && [ ! -d "$at" ]; then
	fetch || skip "github.com is out of reach; PACKETDRILL=FOLDER names a copy of it ($commit)"
fi
[ ! -d "$at/gtests/net/tcp" ] || at=$at/gtests/net/tcp
[ -f "$at/slow_start/slow-start-ack-per-1pkt.pkt" ] ||
	{ echo "$at: no scripts of packetdrill" && exit 1; }
at=$(cd "$at" && pwd)
exec "${GO:-go}" test -count=1 -v -run 'TestPublicScripts|TestThePageIsTrue' ./gonet/packetdrill \
	-args -scripts="$at" ${UPDATE:+-update}
