#!/bin/sh
# The folder of an empty PostgreSQL, made once for all servers: initdb takes a second. One that is
# whole and of this version stays: it may have been copied from another checkout.
set -eu
bin=$(dirname "$(readlink -f "$(command -v postgres)")")
version=$("$bin/postgres" --version)
[ "$(cat "$1/made-by" 2>/dev/null)" != "$version" ] || exit 0
as=''
rm -rf "$1"
mkdir -p "$1"
if [ "$(id -u)" = 0 ]; then
	chown postgres: "$1"
	as="setpriv --reuid postgres --regid postgres --clear-groups
		--inh-caps +dac_override --ambient-caps +dac_override"
fi
$as "$bin/initdb" -D "$1" -U images -A trust -E UTF8 --locale=C --no-sync
echo "$version" >"$1/made-by"
