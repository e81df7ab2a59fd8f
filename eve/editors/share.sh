#!/usr/bin/env bash
# Installs what belongs beside the command eve: its manual page, the completion for shells, and the
# files of editors. usage: share.sh EVE FOLDER, with the command and a folder such as /usr/share
set -euo pipefail
if [ $# -ne 2 ] || [ -z "$2" ]; then
	echo "usage: $0 EVE FOLDER, such as $0 /usr/bin/eve /usr/share" >&2
	exit 2
fi
eve=$1 share=$2
here=$(cd "$(dirname "$0")" && pwd)

completion() { # SHELL FILE
	mkdir -p "$share/$(dirname "$2")"
	"$eve" completion "$1" >"$share/$2"
	chmod 644 "$share/$2"
}
linked() { # TARGET LINK: both below the folder
	mkdir -p "$share/$(dirname "$2")"
	ln -sfnT "$1" "$share/$2"
}

install -D -m 644 "$here/../../docs/eve/man/eve.1" "$share/man/man1/eve.1"
# Debian's zsh reads the one folder below /usr, and the other below /usr/local.
case $share in
*/usr/share) functions=vendor-completions ;;
*) functions=site-functions ;;
esac
completion bash bash-completion/completions/eve
completion zsh "zsh/$functions/_eve"
completion fish fish/vendor_completions.d/eve.fish

rm -rf "$share/eve/editors"
mkdir -p "$share/eve/editors"
cp -R "$here/vim" "$here/emacs" "$here/helix" "$share/eve/editors/"
linked ../../../../../eve/editors/vim nvim/site/pack/eve/start/eve
linked ../../../../../eve/editors/vim vim/vimfiles/pack/eve/start/eve
linked ../../eve/editors/emacs/eve-mode.el emacs/site-lisp/eve-mode.el
