#!/usr/bin/env bash
# Has clang-tidy analyse a server in C. A file is skipped if a library of its model is not here. A
# file in which nothing was found is analysed again when anything has changed that the analysis
# depends on: what the compiler reads of it and its headers, with comments and macros; the checks;
# the analyser. The user's cache keeps that, as it does for golangci-lint.
# usage: tidy.sh FILE
set -uo pipefail
flags=(-std=c11 -D_GNU_SOURCE -isystem out/tools/lwip/src/include
	-isystem out/tools/tapip/include -I"$(dirname "$1")")
clean=''
if command -v clang >/dev/null && read=$(clang -E -C -dD "${flags[@]}" "$1" 2>/dev/null); then
	key=$({
		clang-tidy --version && clang-tidy --dump-config "$1" -- "${flags[@]}"
		cat "$0" && echo "$1" && echo "$read"
	} 2>/dev/null | sha256sum)
	clean=${XDG_CACHE_HOME:-$HOME/.cache}/interleave/tidy/${key%% *}
	[ ! -e "$clean" ] || exec touch "$clean"
fi
if said=$(clang-tidy --quiet "$1" -- "${flags[@]}" 2>/dev/null); then
	[ -z "$clean" ] || { mkdir -p "${clean%/*}" && touch "$clean"; }
	exit 0
fi
if missing=$(grep -o "'[^']*' file not found" <<<"$said"); then
	echo "SKIP: $1: ${missing%%$'\n'*} (make toolchains)"
	exit 0
fi
echo "$said"
exit 1
