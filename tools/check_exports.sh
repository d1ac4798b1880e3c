#!/bin/sh
# check_exports.sh BUILDDIR - the libraries export what they should, need libc and libm only, and stay small.
#   libsardonyx      exactly the functions that include/ declares with SDX_API
#   libonnxruntime   OrtGetApiBase and OrtSessionOptionsAppendExecutionProvider_* only
set -eu
cd "$(dirname "$0")/.."
build=$1
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }

declared=$(cat include/sardonyx/*.h | tr '\n' ' ' | grep -oE 'SDX_API[^;(]*\(' | grep -oE 'sdx_[a-z0-9_]+ *\($' | tr -d '( ' | sort -u)
got=$(exports $build/libsardonyx.so)
if [ "$declared" != "$got" ]; then
  echo "libsardonyx.so and include/ disagree (< declared only, > exported only):"
  echo "$declared" >$build/exports.want; echo "$got" >$build/exports.got
  diff $build/exports.want $build/exports.got || true
  exit 1
fi

lib=$build/ort/libonnxruntime.so.1
if [ -e $lib ]; then
  other=$(exports $lib | grep -vE '^(OrtGetApiBase|OrtSessionOptionsAppendExecutionProvider_[A-Za-z]+)$' || true)
  [ -z "$other" ] || { echo "$lib also exports:"; echo "$other"; exit 1; }
  exports $lib | grep -q '^OrtGetApiBase$' || { echo "$lib lacks OrtGetApiBase"; exit 1; }
  readelf -d $lib | grep -q 'SONAME.*\[libonnxruntime.so.1\]' || { echo "$lib: wrong SONAME"; exit 1; }
fi

for lib in $build/libsardonyx.so $lib; do
  [ -e $lib ] || continue
  needed=$(readelf -d $lib | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux.*)\.so' || true)
  [ -z "$needed" ] || { echo "$lib needs $needed"; exit 1; }
  strip -o $build/stripped.so $lib
  size=$(wc -c <$build/stripped.so)
  case $lib in */ort/*) limit=1700000 ;; *) limit=1500000 ;; esac
  [ "$size" -lt $limit ] || { echo "$lib: $size bytes stripped, limit $limit"; exit 1; }
  echo "$(basename $lib): $(exports $lib | wc -l) exports, $size bytes stripped"
done
