#!/usr/bin/env bash
# Has clang-tidy analyse a server in C. A file is skipped if a library of its model is not here.
# usage: tidy.sh FILE
set -uo pipefail
said=$(clang-tidy --quiet "$1" -- -std=c11 -D_GNU_SOURCE -isystem out/tools/lwip/src/include \
	-isystem out/tools/tapip/include -I"$(dirname "$1")" 2>/dev/null) && exit 0
if missing=$(grep -o "'[^']*' file not found" <<<"$said"); then
	echo "SKIP: $1: ${missing%%$'\n'*} (make toolchains)"
	exit 0
fi
echo "$said"
exit 1
