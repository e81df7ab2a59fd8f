#!/usr/bin/env bash
# Makes the parser of Eve for editors: out/tree-sitter has this folder with the generated
# src/parser.c, the queries of Neovim, and the library eve.so. Nothing is done if no source and no
# tool has changed. usage: build.sh
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
to=$root/out/tree-sitter
generate=$root/out/tools/tree-sitter/bin/generate

missing() {
	echo "$1 is missing: $2" >&2
	exit 3
}
[ -x "$generate" ] || missing 'the generator of tree-sitter' 'make tree-sitter installs it'
command -v node >/dev/null || missing node 'apt-get install nodejs'
command -v cc >/dev/null || missing cc 'apt-get install gcc libc6-dev'

# Tests of several packages may build at once.
if command -v flock >/dev/null; then
	exec 9>"$root/out/tree-sitter.lock"
	flock 9
fi
queries=../vim/queries/eve
key=$({
	"$generate" --version
	cc --version
	cat build.sh tree-sitter.json grammar.js grammar/*.js src/* $queries/*
} | sha256sum)
[ "$(cat "$to/key" 2>/dev/null)" != "$key" ] || exit 0

new=$to.new
rm -rf "$new"
mkdir -p "$new"
cp -r tree-sitter.json grammar.js grammar src test "$new"
cp -r $queries "$new/queries"
(cd "$new" && "$generate")
for part in parser scanner; do
	strict=()
	[ $part = parser ] || strict=(-Wall -Wextra -Wshadow -Wconversion -Werror)
	cc -std=c11 -O2 -fPIC "${strict[@]}" -I "$new/src" -c "$new/src/$part.c" -o "$new/$part.o"
done
cc -shared "$new/parser.o" "$new/scanner.o" -o "$new/eve.so"
rm "$new"/*.o
echo "$key" >"$new/key"
rm -rf "$to"
mv "$new" "$to"
