#!/bin/sh
# Builds both Java models: the classes of this folder and the jars that pom.xml names, into OUT. Maven only fetches jars,
# and only where pom.xml is not that of the last time: so a build again is javac alone, without a network.
set -eu
cd "$(dirname "$0")"
out=$1
if ! cmp -s pom.xml "$out/pom.xml"; then
  rm -rf "$out/lib"
  mvn -B -q -ntp dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$out/lib"
  cp pom.xml "$out/pom.xml"
fi
rm -rf "$out/classes"
mkdir "$out/classes"
cp application.properties "$out/classes"
javac -parameters -d "$out/classes" -cp "$(printf '%s:' "$out"/lib/*.jar)" ./*.java
