#!/usr/bin/env bash
# Packs the extension of VS Code into out/eve.vsix, a zip with a manifest, the extension and the
# language client, which npm brings. usage: pack.sh
set -euo pipefail
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)
for tool in npm zip; do
	command -v $tool >/dev/null || {
		echo "$0: $tool is missing: apt-get install $tool" >&2
		exit 1
	}
done

work=$root/out/vsix
rm -rf "$work" && mkdir -p "$work/extension"
cp -r package.json package-lock.json extension.js language-configuration.json syntaxes \
	"$work/extension"
cp "$root/LICENSE" "$work/extension/LICENSE.txt"
cp extension.vsixmanifest "$work"
cp content_types.xml "$work/[Content_Types].xml"
npm ci --prefix "$work/extension" --omit=dev --ignore-scripts --no-audit --no-fund --silent
rm -f "$root/out/eve.vsix" "$work/extension/node_modules/.package-lock.json"
(cd "$work" && zip -qXrD "$root/out/eve.vsix" .)
echo "$root/out/eve.vsix: code --install-extension out/eve.vsix installs it"
