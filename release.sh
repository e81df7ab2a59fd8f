#!/usr/bin/env bash
# Builds a release into out/release/VERSION: tarballs of eve, gonet (with gonet-wg) and papaya,
# Debian packages of eve and papaya, container images of papaya, an SBOM of each program
# (CycloneDX), and SHA256SUMS. The same commit gives the same bytes. Then tags.sh makes the tags of
# the modules. usage: ./release.sh VERSION, such as v0.1.0
set -euo pipefail
cd "$(dirname "$0")"

version=${1-}
if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]]; then
	echo "usage: $0 VERSION, such as v0.1.0" >&2
	exit 2
fi
fail() {
	echo "$0: $*" >&2
	exit 1
}
command -v dpkg-deb >/dev/null || fail "dpkg-deb is missing: apt-get install dpkg"
[ -x out/bin/cyclonedx-gomod ] ||
	fail "cyclonedx-gomod is missing: make release VERSION=$version installs it"
grep -q "^## $version\b" CHANGES.md || fail "CHANGES.md has no section \"## $version\""
[ -z "$(git status --porcelain)" ] || fail "the checkout has changes that are not committed"

export CGO_ENABLED=0 GOWORK=off # each program as the go.mod of its module says
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
module=$(sed -n 's/^module //p' go.mod)
out=$PWD/out/release/$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

place() { # PROGRAM: sets the folder of its module, its package there, and that of its version
	dir=. main=cmd/$1 own=$module
	case $1 in
	gonet) dir=gonet/cmd/gonet main=. own=$module/gonet ;;
	gonet-wg) dir=gonet/wireguard own=$module/gonet ;;
	esac
}

compile() { # PROGRAM OS ARCH FILE
	place "$1"
	(cd "$dir" && GOOS=$2 GOARCH=$3 go build -trimpath -buildvcs=false -o "$4" \
		-ldflags "-s -w -X $own/internal/version.Release=$version" "./$main")
}

pages() { # PROGRAM FOLDER: copies the files that belong beside a program (a test runs it, too)
	mkdir -p "$2"
	cp LICENSE CHANGES.md "$2/"
	case $1 in
	eve) cp -r docs/eve/*.md docs/eve/examples "$2/" ;;
	gonet) cp docs/gonet/command.md docs/gonet/wireguard.md "$2/" ;;
	papaya)
		cp -r docs/papaya/*.md docs/papaya/man papaya/papaya.service "$2/"
		# Only its own changes, with links to the pages beside them.
		awk '/^# /; /^##? / { on = 0 } /^## / { print "\n" $0 }
			/^### / { on = $2 == "Papaya" && NF == 2; next } on' CHANGES.md |
			sed 's#](docs/papaya/#](#g' >"$2/CHANGES.md"
		;;
	esac
}

pack() { # FOLDER of $work -> a reproducible tarball, without names or times of this machine
	tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		--mode=u=rwX,go=rX -cf - "$1" | gzip -9n >"$out/$1.tar.gz"
}

# An eve of this machine writes its completions.
compile eve "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/eve"

# The command gonet needs Linux's tap; the library builds for the other systems as well.
for target in eve/linux gonet/linux papaya/linux papaya/darwin papaya/freebsd; do
	program=${target%/*} os=${target#*/}
	for arch in amd64 arm64; do
		name=$program-$version-$os-$arch
		pages "$program" "$work/$name"
		compile "$program" "$os" "$arch" "$work/$name/$program"
		[ "$program" != gonet ] || compile gonet-wg "$os" "$arch" "$work/$name/gonet-wg"
		[ "$program" != eve ] || eve/editors/share.sh "$work/eve" "$work/$name/share"
		pack "$name"
		echo "built $name.tar.gz"
	done
done

# The settings of a server whose data is in the system's place for it.
go run ./cmd/papaya admin example |
	sed 's#^\#data = .*#data = "/var/lib/papaya"#' >"$work/papaya.toml"

# What some programs of Eve need, as `eve build` names it, and what makes building them nicer.
suggested=$(sed -n 's/.*Package: *"\([^"]*\)".*/\1/p' eve/libraries.go | sort -u | paste -sd ,)
suggested="gdb, mold, pkg-config, ${suggested//,/, }"

deb() { # PROGRAM ARCH DEPENDS SUMMARY
	local root=$work/$1-$2.deb more=""
	mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/doc/$1"
	cp "$work/$1-$version-linux-$2/$1" "$root/usr/bin/"
	pages "$1" "$root/usr/share/doc/$1"
	mv "$root/usr/share/doc/$1/LICENSE" "$root/usr/share/doc/$1/copyright"
	if [ "$1" = papaya ]; then
		mkdir -p "$root/lib/systemd/system" "$root/etc/papaya"
		mv "$root/usr/share/doc/papaya/papaya.service" "$root/lib/systemd/system/"
		cp "$work/papaya.toml" "$root/etc/papaya/papaya.toml"
		mkdir -p "$root/usr/share/man/man1" "$root/usr/share/man/man5"
		mv "$root/usr/share/doc/papaya/man/papaya.1" "$root/usr/share/man/man1/"
		mv "$root/usr/share/doc/papaya/man/papaya.toml.5" "$root/usr/share/man/man5/"
		rmdir "$root/usr/share/doc/papaya/man"
		echo /etc/papaya/papaya.toml >"$root/DEBIAN/conffiles"
		printf '#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || systemctl daemon-reload\n' \
			>"$root/DEBIAN/postinst"
		printf '#!/bin/sh\nset -e\n%s\n' \
			'[ ! -d /run/systemd/system ] || systemctl stop papaya || true' \
			>"$root/DEBIAN/prerm"
		chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
	else
		eve/editors/share.sh "$work/eve" "$root/usr/share"
		more=$'\n'"Suggests: $suggested"
	fi
	gzip -9n "$root"/usr/share/man/man?/*
	cat >"$root/DEBIAN/control" <<-END
		Package: $1
		Version: ${version#v}
		Architecture: $2
		Maintainer: The developers of Interleave <interleave@localhost>
		Section: $([ "$1" = eve ] && echo devel || echo net)
		Priority: optional
		Depends: $3$more
		Installed-Size: $(du -sk "$root" | cut -f1)
		Description: $4
	END
	find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
	chmod -R u=rwX,go=rX "$root/usr" "$root/DEBIAN"
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/$1_${version#v}_$2.deb" >/dev/null
	echo "built $1_${version#v}_$2.deb"
}
for arch in amd64 arm64; do
	deb eve "$arch" "g++ (>= 4:12)" \
		"a parallel language of events and permissions, compiled by way of C++"
	deb papaya "$arch" "libc-bin" "a chat server of your own: rooms of IRC for any client"
	go run ./cmd/oci -version "$version" -arch "$arch" -settings "$work/papaya.toml" \
		-program "$work/papaya-$version-linux-$arch/papaya" \
		-o "$out/papaya-$version-linux-$arch.oci.tar"
	echo "built papaya-$version-linux-$arch.oci.tar"
done

for program in eve gonet gonet-wg papaya; do
	place "$program"
	# The SBOM's timestamp would be the only difference between two builds of a commit.
	out/bin/cyclonedx-gomod app -json -licenses -noserial -main "$main" "$dir" |
		sed '/^ *"timestamp": /d' >"$out/$program-$version.cdx.json"
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "$out"
if [[ $module == *.*/* ]]; then
	./tags.sh "$version"
else
	echo "no tags were made: nobody can fetch modules by the path $module (./module-path.sh)"
fi
