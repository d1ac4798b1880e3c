#!/bin/sh
# check_install.sh BUILDDIR - installs into a scratch prefix and builds a stranger's program against
# it, once through find_package (shared and static) and once through pkg-config.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/$1
prefix=$build/install-check
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix/usr" >/dev/null
cmake -S tests/consumer -B "$prefix/consumer" -DCMAKE_PREFIX_PATH="$prefix/usr" >/dev/null
cmake --build "$prefix/consumer" >/dev/null
"$prefix/consumer/consumer" demo/digits.onnx
"$prefix/consumer/consumer_static" demo/digits.onnx
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sardonyx.pc)")
  export PKG_CONFIG_PATH
  lib=$(pkg-config --variable=libdir sardonyx)
  ${CC:-cc} tests/consumer/main.c -o "$prefix/pc" $(pkg-config --cflags --libs sardonyx) -Wl,-rpath,"$lib"
  "$prefix/pc" demo/digits.onnx
fi
echo "install: ok"
