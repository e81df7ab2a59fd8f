#!/usr/bin/env bash
# Compiles GoNet and Papaya for other systems, and vets what differs between them: GoNet's links,
# with their tests and examples, and all of GoNet where words have 32 bits. GoNet's modules are
# compiled alone, as their users have them. usage: systems.sh [GO]
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${1:-go}
export CGO_ENABLED=0

on() { # OS/ARCH COMMAND...
	GOOS=${1%/*} GOARCH=${1#*/} "${@:2}" || {
		echo "$0: the above is of $1" >&2
		exit 1
	}
}

for target in darwin/amd64 freebsd/amd64; do
	on "$target" "$go" build -o /dev/null ./cmd/papaya
done
export GOWORK=off
cd gonet
for target in linux/386 darwin/amd64 freebsd/amd64 windows/amd64; do
	on "$target" "$go" build ./...
done
for target in openbsd/amd64 plan9/amd64; do
	on "$target" "$go" build .
done
on linux/386 "$go" vet ./...
for target in darwin/{amd64,arm64} freebsd/{386,amd64,arm64} openbsd/{amd64,arm64} \
	windows/{386,amd64,arm64} plan9/amd64; do
	on "$target" "$go" vet ./link
done
cd wireguard
for target in darwin/amd64 freebsd/amd64 windows/amd64; do
	on "$target" "$go" build ./...
done
cd ../wintun
for target in windows/{386,amd64,arm64}; do
	on "$target" "$go" vet ./...
done
