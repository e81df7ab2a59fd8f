#!/usr/bin/env bash
# Runs irctest, the public test suite of IRC servers, against Papaya, with the tests of our own in
# server_tests, and compares the results with expected.txt. The suite is fetched into out/irctest;
# IRCTEST=FOLDER names a copy of it instead.
# UPDATE=1 rewrites expected.txt. JOBS is how many tests run at once.
# usage: papaya/irctest/run.sh [ARGUMENT OF PYTEST...]
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=b00c039766f5c497920dd787f7cb0e0005bd5ce0
at=${IRCTEST:-out/irctest} venv=out/irctest-venv
[ $# -gt 0 ] || set -- irctest/server_tests "$PWD/papaya/irctest/server_tests"

skip() { echo "SKIP irctest: $1" && exit 0; }

fetch() { # clones the suite at the commit, all or nothing
	rm -rf "$at.new" &&
		git clone -q https://github.com/progval/irctest "$at.new" &&
		git -C "$at.new" checkout -q "$commit" && mv "$at.new" "$at"
}

if [ -n "${IRCTEST-}" ]; then
	[ -f "$at/irctest/basecontrollers.py" ] || { echo "IRCTEST=$IRCTEST: no irctest" && exit 1; }
elif [ ! -d "$at" ]; then
	fetch || skip "github.com is out of reach; IRCTEST=FOLDER names a copy of the suite ($commit)"
fi
if [ ! -x "$venv/bin/pytest" ]; then
	rm -rf "$venv"
	if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install -q 'pytest<9' pytest-xdist \
		pytest-rerunfailures ecdsa filelock websockets >&2; then
		rm -rf "$venv"
		skip 'pip cannot install pytest: it needs python3-venv and a network'
	fi
fi
here=$PWD
PAPAYA=$here/out/bin/papaya
go build -o "$PAPAYA" ./cmd/papaya
export PAPAYA PYTHONPATH=$here/papaya/irctest PYTHONDONTWRITEBYTECODE=1
python=$here/$venv/bin/python
cd "$at"
exec "$python" -m pytest -c pytest.ini --controller papaya_controller -p results \
	-p no:cacheprovider -q \
	--tb=short --reruns 3 -n "${JOBS:-4}" -m 'not Sable and not deprecated' "$@"
