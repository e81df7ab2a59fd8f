#!/usr/bin/env bash
# Compiles the generator of parsers in generator/ and installs it into out/tools/tree-sitter. All
# checkouts share it, in the user's cache. usage: generator.sh
set -euo pipefail
cd "$(dirname "$0")/generator"
tools=$(cd ../../../.. && pwd)/out/tools
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
kept=${XDG_CACHE_HOME:-$HOME/.cache}/interleave/tools/tree-sitter-$version
export PATH="$PATH:$HOME/.cargo/bin"

mkdir -p "$tools" "${kept%/*}"
if [ ! -d "$kept" ]; then
	command -v cargo >/dev/null || {
		echo "$0: cargo is missing: install rustup, or apt-get install cargo-web rustc-web" >&2
		exit 1
	}
	new=$(mktemp -d "$kept.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	cargo install --locked --path . --root "$new" --target-dir "$new/target"
	rm -rf "$new/target"
	mv -T "$new" "$kept" || [ -d "$kept" ] # another checkout was quicker
fi
ln -sfn "$kept" "$tools/tree-sitter"
