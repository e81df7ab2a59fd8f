#!/bin/sh
# Builds both Java models into OUT: images.jar, and in lib the jars that pom.xml names, which Maven
# only fetches, and an archive of a start's classes, verified, for the tests' JVMs, which start
# often. All is made once for both, in CACHE, and linked: an archive knows the times of its jars.
set -eu
cd "$(dirname "$0")"
lib=${2:?}/images-jars-$(cksum <pom.xml | cut -d' ' -f1)
made=$2/images-made-$(java -version 2>&1 | cat - ./* | cksum | cut -d' ' -f1)
hurried='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' # for JVMs that live for seconds
mkdir -p "$2"
exec 9>"$2/images.lock" && flock 9
if [ ! -d "$lib" ]; then
	rm -rf "$lib.part"
	MAVEN_OPTS=$hurried mvn -B -q -ntp dependency:copy-dependencies -DincludeScope=runtime \
		-DoutputDirectory="$lib.part"
	mv "$lib.part" "$lib"
fi
if [ ! -d "$made" ]; then
	rm -rf "$2"/images-made-*
	mkdir -p "$made.part/tmp"
	JAVA_TOOL_OPTIONS=$hurried javac -parameters -d "$made.part/tmp/classes" -cp "$lib/*" ./*.java
	jar cf "$made.part/images.jar" -C "$made.part/tmp/classes" . application.properties
	cp -rlT "$lib" "$made.part/lib"
	java -XX:ArchiveClassesAtExit="$made.part/lib/images.jsa" -Xlog:disable \
		-XX:TieredStopAtLevel=1 -Djava.io.tmpdir="$made.part/tmp" \
		--enable-native-access=ALL-UNNAMED -Dspring.context.exit=onRefresh \
		-cp "$made.part/images.jar:$made.part/lib/*" images.Images 0 127.0.0.1 "$made.part/tmp" ..
	mv "$made.part" "$made"
fi
rm -rf "${1:?}/lib" "$1/images.jar"
cp -rl "$made/lib" "$made/images.jar" "$1"
