#!/bin/bash
# picture.sh RUN: makes docs/report.svg, the first two pages of a run's report as they are printed.
# It needs out/bin/interleave, a headless Chromium (CHROMIUM names another) and pdftocairo.
set -euo pipefail
run=${1:?which run: an ID, a folder, or last}
browser=${CHROMIUM:-chromium-headless-shell}
width=612 height=760 # of a page in points, less the lower margin
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

out/bin/interleave report "$run" --format html --output "$made/report.html"
"$browser" --no-sandbox --disable-gpu --no-pdf-header-footer \
	--print-to-pdf="$made/report.pdf" "file://$made/report.html"
{
	printf '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
	printf ' viewBox="0 0 %d %d" role="img">' $((2 * width)) $height
	printf '<title>The first two pages of a report: the answers to published claims</title>'
	printf '<rect width="100%%" height="100%%" fill="#fffefb" stroke="#ccc"/>\n'
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
} >docs/report.svg
