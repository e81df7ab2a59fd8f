#!/bin/bash
# picture.sh RUN: makes docs/report.svg and docs/report-dark.svg, the first two pages of a run's
# report as they are printed, and in the colours of a dark screen. It needs out/bin/interleave (or
# INTERLEAVE), a headless Chromium (or CHROMIUM) and pdftocairo.
set -euo pipefail
run=${1:?which run: an ID, a folder, or last}
browser=${CHROMIUM:-chromium-headless-shell}
width=612 height=760 # of a page in points, less the lower margin
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

picture() { # theme, colour of the paper
	sed "s/:root, :root\[data-theme\] { color-scheme: light }/:root, :root[data-theme] { \
color-scheme: $1; print-color-adjust: exact }/" "$made/report.html" >"$made/$1.html"
	"$browser" --no-sandbox --disable-gpu --no-pdf-header-footer \
		--print-to-pdf="$made/report.pdf" "file://$made/$1.html"
	printf '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
	printf ' viewBox="0 0 %d %d" role="img">' $((2 * width)) $height
	printf '<title>The first two pages of a report: the answers to published claims</title>'
	printf '<rect width="100%%" height="100%%" fill="%s" stroke="#8888"/>\n' "$2"
	for page in 1 2; do
		pdftocairo -svg -f $page -l $page "$made/report.pdf" "$made/page.svg"
		printf '<svg x="%d" width="%d" height="%d" viewBox="0 0 %d %d">\n' \
			$(((page - 1) * width)) $width $height $width $height
		# The pages are parts of one document: their ids must differ. The rest makes it small.
		P=$page perl -0pe 's/^.*?<svg[^>]*>//s; s/<\/svg>\s*$//; s/ id="/ id="p$ENV{P}/g;
			s/(href="|url\()#/$1#p$ENV{P}/g; s/(\.\d\d)\d+/$1/g; s/ style="stroke:none;"//g;
			s/<g style="fill:([^;]*);fill-opacity:1;">/<g fill="$1">/g; s/ ([A-Z]) /$1/g;
			1 while s/(<g fill="[^"]*">\s*)((?:<use [^>]*>\s*)+)<\/g>\s*\1/$1$2/g' "$made/page.svg"
		printf '</svg>\n'
	done
	printf '</svg>\n'
}

"${INTERLEAVE:-out/bin/interleave}" report "$run" --format html --output "$made/report.html"
picture light '#fffefb' >"$made/light.svg"
picture dark '#16171a' >"$made/dark.svg"
mv "$made/light.svg" docs/report.svg
mv "$made/dark.svg" docs/report-dark.svg
