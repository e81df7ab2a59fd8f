#!/usr/bin/env bash
# Holds the C of services/ against clang-tidy (services/.clang-tidy has the checks) and the blanks
# between its words against clang-format (services/.clang-format). usage: c.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
fault=0

words() { tr -s ' \t\n' '\n' | grep -vx '[\]'; } # a macro may be broken at other words

if command -v clang-format >/dev/null; then
	while read -r file; do
		clang-format "$file" | words |
			diff -U2 --label "$file" --label 'clang-format' <(words <"$file") - || fault=1
	done < <(git ls-files 'services/*.c' 'services/*.h')
else
	echo 'SKIP: install clang-format to see whether blanks in C are where they belong'
fi

if command -v clang-tidy >/dev/null; then
	git ls-files 'services/*.c' | xargs -P "$(nproc)" -I{} internal/arch/tidy.sh {} || fault=1
	find "${XDG_CACHE_HOME:-$HOME/.cache}/interleave/tidy" -type f -mtime +30 -delete 2>/dev/null
else
	echo 'SKIP: install clang-tidy to have the servers in C analysed'
fi
exit $fault
