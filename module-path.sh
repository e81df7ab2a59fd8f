#!/usr/bin/env bash
# Changes the path of the tree's modules, so that others can fetch and import them: that of the
# laboratory, and those of GoNet, which begin with it. usage: ./module-path.sh
# example.org/you/interleave
set -euo pipefail
cd "$(dirname "$0")"

new=${1-}
if [[ ! $new =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$ ]]; then
	echo "usage: $0 PATH, such as example.org/you/interleave:" \
		"a host's name with a dot, then a path" >&2
	exit 2
fi
old=$(sed -n 's/^module //p' go.mod)
from=${old//./\\.}

list() { # the files of these kinds, without built and fetched ones
	find . -path ./out -prune -o -path ./.git -prune -o -type f \( "$@" \) -print0
}
list -name '*.go' | xargs -0 sed -i "s#\"$from/#\"$new/#g"
list -name '*.md' | xargs -0 sed -i -E \
	"s#\"$from/#\"$new/#g; s#([\`=])$from/gonet#\1$new/gonet#g
	s#(go (doc|get|install)) $from/#\1 $new/#g"
list -name go.mod | xargs -0 sed -i -E \
	"s#^(module |\t|replace )$from(/gonet[^ ]*)?( |\$)#\1$new\2\3#"
sed -i "s#\*$from/#*$new/#g" .golangci.yml
echo "module $old is module $new now; git diff shows what changed"
