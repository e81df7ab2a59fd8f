#!/usr/bin/env bash
# Holds each language but Go, C and C++ to its own formatter, and with --write rewrites the files.
# A formatter that Debian does not pack is fetched by the package manager of its language into the
# user's cache, where all checkouts find it. A language whose formatter cannot be had is left out,
# with a line that says so.
# usage: ./format.sh [--write]
set -uo pipefail
cd "$(dirname "$0")" && mkdir -p out/tools || exit
export PATH="$PATH:$HOME/.cargo/bin"
fault=0 write=${1-} check=yes
[ -z "$write" ] || check=

skip() { echo "SKIP: install $2 to have $1 checked (out/tools/log)"; }

fetch() { # NAME COMMAND..., in which {} is the folder to install into; sets $at to the folder
	at=out/tools/$1
	local kept=${XDG_CACHE_HOME:-$HOME/.cache}/interleave/tools/$1 new install=("${@:2}")
	[ ! -e "$at" ] || return 0
	if [ ! -d "$kept" ]; then
		mkdir -p "${kept%/*}" && new=$(mktemp -d "$kept.XXXXXX") || return
		if timeout --foreground 900 "${install[@]//\{\}/$new}" &>>out/tools/log; then
			mv -T "$new" "$kept" 2>>out/tools/log # fails if another checkout was quicker
		fi
		rm -rf "$new"
	fi
	[ -d "$kept" ] && ln -sfn "$kept" "$at"
}

hold() { # PATTERN CHECK WRITE, the last two being commands with their flags
	local files said command=$2
	[ -z "$write" ] || command=$3
	mapfile -t files < <(git ls-files "$1" | grep -v /uplot/)
	said=$($command "${files[@]}" 2>&1) || { echo "$said" && fault=1; }
}

compiler() { # Prints a java that has the compiler of JDK 25, in which google-java-format runs.
	local java
	for java in "${JAVA_HOME-}/bin/java" /usr/lib/jvm/*/bin/java; do
		if [ -x "$java" ] && "$java" --list-modules | grep -q '^jdk.compiler@2[5-9]'; then
			echo "$java" && return
		fi
	done
	return 1
}

if fetch shfmt-3.14.1 env GOBIN={} go install mvdan.cc/sh/v3/cmd/shfmt@v3.14.1; then
	hold '*.sh' "$at/shfmt -d .ci/run" "$at/shfmt -w .ci/run"
else
	skip shell go
fi
if fetch prettier-3.10.1 npm install --no-audit --no-fund --ignore-scripts --prefix {} \
	prettier@3.10.1; then
	prettier="node $at/node_modules/prettier/bin/prettier.cjs --log-level warn"
	hold '*.js' "$prettier --check" "$prettier --write"
else
	skip JavaScript 'nodejs and npm'
fi
if fetch ruff-0.17.5 python3 -m pip install --no-compile --target {} ruff==0.17.5; then
	ruff="$at/bin/ruff format --no-cache --quiet"
	hold '*.py' "$ruff --diff" "$ruff"
else
	skip Python python3-pip
fi
if fetch efmt-0.21.1 cargo install --locked --root {} efmt@0.21.1; then
	hold '*.[eh]rl' "$at/bin/efmt --check" "$at/bin/efmt --write"
else
	skip Erlang 'cargo (rustup, or cargo-web)'
fi
if java=$(compiler) && fetch google-java-format-1.37.0 mvn -B -q dependency:copy \
	-DoutputDirectory={} \
	-Dartifact=com.google.googlejavaformat:google-java-format:1.37.0:jar:all-deps; then
	for part in api code file parser tree util; do
		java+=" --add-exports=jdk.compiler/com.sun.tools.javac.$part=ALL-UNNAMED"
	done
	java+=" -jar $at/google-java-format-1.37.0-all-deps.jar"
	hold '*.java' "$java --dry-run --set-exit-if-changed" "$java --replace"
else
	skip Java 'a JDK 25 (not a JRE) and maven'
fi
if command -v rustfmt >/dev/null; then
	while read -r manifest; do
		cargo fmt --manifest-path "$manifest" ${check:+--check} || fault=1
	done < <(git ls-files '*/Cargo.toml')
else
	skip Rust rustfmt-web
fi
if command -v hindent >/dev/null; then
	hold '*.hs' 'hindent --validate' hindent
else
	skip Haskell hindent
fi
if command -v rubocop >/dev/null; then
	rubocop='rubocop --only Layout --cache false --format simple'
	hold '*.rb' "$rubocop" "$rubocop --autocorrect"
else
	skip Ruby rubocop
fi
[ $fault = 0 ] || echo 'format.sh --write rewrites these files' >&2
exit $fault
