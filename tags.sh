#!/usr/bin/env bash
# Makes the tags of a release: VERSION for the laboratory, and FOLDER/VERSION for each module below
# it, as Go expects them. They name a commit of their own, which differs from HEAD in one thing: the
# modules require each other at VERSION, and not as folders, since Go installs no program of a
# module that replaces another. Nothing is pushed. usage: ./tags.sh VERSION, such as v0.1.0
set -euo pipefail
cd "$(dirname "$0")"
fail() { echo "$0: $*" >&2 && exit 1; }

version=${1-}
if [[ ! $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]]; then
	echo "usage: $0 VERSION, such as v0.1.0; from v2 on, Go expects it in the modules' paths" >&2
	exit 2
fi
module=$(sed -n 's/^module //p' go.mod)
[[ $module == *.*/* ]] || fail "nobody can fetch $module: ./module-path.sh gives it another path"

files=() tags=()
while read -r file; do
	if grep -qE "^module ${module//./\\.}(/|\$)" "$file"; then
		folder=${file%go.mod}
		files+=("$file") tags+=("$folder$version")
	fi
done < <(git ls-files go.mod '*/go.mod')
for tag in "${tags[@]}"; do
	! git rev-parse --verify --quiet "refs/tags/$tag" >/dev/null || fail "there is a tag $tag"
done

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree"; rmdir "$work"' EXIT
git worktree add --quiet --detach "$work/tree" HEAD
for file in "${files[@]}"; do
	while read -r ours; do
		go mod edit "-dropreplace=$ours" "-require=$ours@$version" "$work/tree/$file"
	done < <(sed -nE "s#^replace (${module//./\\.}[^ ]*) => .*#\1#p" "$file")
done
git -C "$work/tree" diff --quiet ||
	git -C "$work/tree" commit --quiet --all --message "modules: require each other at $version"
for tag in "${tags[@]}"; do
	git -C "$work/tree" tag --annotate --message "$tag" "$tag"
done
echo "made the tags; to publish them: git push origin ${tags[*]}"
