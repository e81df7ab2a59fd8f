#!/bin/sh
# Builds both Java models: the classes of this folder and the jars that pom.xml names, into OUT.
# Maven only fetches jars, into a folder of CACHE for each pom.xml, which both models share: so a
# build again is javac alone, without a network.
set -eu
cd "$(dirname "$0")"
out=${1:?} lib=${2:?}/images-jars-$(cksum <pom.xml | cut -d' ' -f1)
mkdir -p "$2"
exec 9>"$lib.lock"
flock 9
if [ ! -d "$lib" ]; then
	rm -rf "$lib.part"
	mvn -B -q -ntp dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$lib.part"
	mv "$lib.part" "$lib"
fi
flock -u 9
rm -rf "${out:?}/lib" "${out:?}/classes"
cp -rl "$lib" "$out/lib"
mkdir "$out/classes"
cp application.properties "$out/classes"
javac -parameters -d "$out/classes" -cp "$(printf '%s:' "$out"/lib/*.jar)" ./*.java
