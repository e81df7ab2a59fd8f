#!/usr/bin/env bash
# Compares the benchmarks of HEAD with those of another commit. The test programs of both are built
# once and run in turns (A B A B), so that both meet the same disturbances of the machine.
# usage: make benchstat BASE=COMMIT, or ./benchstat.sh COMMIT PACKAGES BENCHMARKS ROUNDS
set -euo pipefail
cd "$(dirname "$0")"
fail() { echo "benchstat.sh: $*" >&2 && exit 1; }
base=${1-} benchmarks=${3:-.} rounds=${4:-6}
flags=(-test.run '^$' -test.bench "$benchmarks" -test.benchmem)
read -ra packages <<<"${2:-./gonet/...}"
[ "$base" ] || fail 'no commit to compare with: make benchstat BASE=COMMIT'
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || fail "$base is not a commit"
[[ $rounds =~ ^[1-9][0-9]*$ ]] || fail "$rounds is not a number of rounds"
[ -z "$(git status --porcelain)" ] || fail 'the checkout has changes that are not committed'

mkdir -p out && work=$(mktemp -d "$PWD/out/benchstat.XXXXXX")
clear() {
	trap '' INT TERM
	git worktree remove --force "$work/A"
	git worktree remove --force "$work/B"
	rm -r "$work"
}
trap 'set +e; clear' EXIT
trap 'exit 130' INT TERM
git worktree add --quiet --detach "$work/A" "$base"
git worktree add --quiet --detach "$work/B" HEAD
for side in A B; do
	export GOWORK=$work/$side/go.work
	[ -e "$GOWORK" ] || GOWORK=off # not that of the checkout around it
	folders=$(go list -C "$work/$side" -f '{{.Dir}}' "${packages[@]}")
	while read -r folder; do
		if grep -qs '^func Benchmark' "$folder"/*_test.go; then
			go test -C "$folder" -c -o benchstat.test
		fi
	done <<<"$folders"
done
for ((round = 1; round <= rounds; round++)); do
	for side in A B; do
		echo "round $round of $rounds, $side" >&2
		for program in $(cd "$work" && find "$side" -name benchstat.test | sort); do
			(cd "$work/${program%/*}" && ./benchstat.test "${flags[@]}" >>"$work/$side.txt") ||
				fail "a benchmark of $side failed: $(tail "$work/$side.txt")"
		done
		grep -qs '^Benchmark' "$work/$side.txt" || fail "no benchmark of $side matches $benchmarks"
	done
done
out/bin/benchstat "$base=$work/A.txt" "HEAD=$work/B.txt"
