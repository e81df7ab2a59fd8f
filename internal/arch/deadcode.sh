#!/usr/bin/env bash
# Prints the functions that no program reaches, and fails if there are any besides those in
# testonly.txt. usage: deadcode.sh DEADCODE PACKAGES... (golang.org/x/tools/cmd/deadcode)
set -euo pipefail
list=$(dirname "$0")/testonly.txt
found=$("$@" | grep -v '^out/')

fault=0
while read -r pattern; do
	case $pattern in '' | '#'*) continue ;; esac
	if ! grep -qE "$pattern" <<<"$found"; then
		echo "$list: nothing matches $pattern any more: remove it"
		fault=1
	fi
done <"$list"

if grep -vEf <(grep -E '^[^#]' "$list") <<<"$found"; then
	echo "Only tests use these, or nobody: remove them, move them into a test, or add them" \
		"to $list and say why."
	fault=1
fi
exit $fault
