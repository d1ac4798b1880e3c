#!/usr/bin/env bash
# clients.sh LIBDIR PYTHON [CLIENT...] - programs and packages made for ONNX Runtime, run on the libraries in LIBDIR.
#
# Packages come from their registries through their own clients into build/clients. PYTHON has onnx and numpy. A client
# whose language is not installed is skipped, and said so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/tests/clients work=$PWD/build/clients
libdir=$(cd "$1" && pwd) python=$2; shift 2
lib=$libdir/libonnxruntime.so.1 models=$work/models

go_version=v1.27.0 java_version=1.23.2 node_version=1.30.0 extensions_version=0.15.2 genai_version=0.18.0
sherpa_version=1.13.8 vad_version=0.0.31

has() { command -v "$1" >/dev/null 2>&1; }
lacks() { has "$1" || { echo "skipped: no $1"; return 0; }; return 1; }

npm_packages() {
  mkdir -p $work/node
  [ -f $work/node/package.json ] || (cd $work/node && npm init -y >/dev/null)
  for p in "$@"; do
    [ -d $work/node/node_modules/${p%@[0-9]*} ] || (cd $work/node && npm install --silent --no-audit --no-fund --ignore-scripts "$p")
  done
  export NODE_PATH=$work/node/node_modules
}

# The official C header of this client's version, and its test suite.
go_module() {
  mkdir -p $work/go
  local dir=$work/go/onnxruntime_go
  [ -d $dir ] && return
  (cd $work/go && { [ -f go.mod ] || go mod init clients 2>/dev/null; } && go mod download github.com/yalue/onnxruntime_go@$go_version)
  cp -r "$(go env GOMODCACHE)/github.com/yalue/onnxruntime_go@$go_version" $dir.tmp
  chmod -R u+w $dir.tmp
  mv $dir.tmp $dir
}

client_go() {
  lacks go && return
  go_module
  (cd $work/go/onnxruntime_go && ONNXRUNTIME_SHARED_LIBRARY_PATH=$lib go test -v ./...) >$work/go.log 2>&1 ||
    { grep -A12 -E '^ *--- FAIL|panic' $work/go.log | head -40; return 1; }
  echo "$(grep -c '^--- PASS' $work/go.log) passed, $(grep -c '^--- FAIL' $work/go.log || true) failed"
}

client_java() {
  lacks javac && return; lacks mvn && return
  local repo=$HOME/.m2/repository/com/microsoft/onnxruntime/onnxruntime/$java_version dir=$work/java
  local jar=$repo/onnxruntime-$java_version.jar
  [ -f $jar ] || mvn -q dependency:get -Dartifact=com.microsoft.onnxruntime:onnxruntime:$java_version -Dtransitive=false
  mkdir -p $dir/lib
  [ -f $dir/lib/libonnxruntime4j_jni.so ] ||
    (cd $dir/lib && jar xf $jar ai/onnxruntime/native/linux-x64/libonnxruntime4j_jni.so && mv ai/onnxruntime/native/linux-x64/*.so . && rm -r ai)
  ln -sf $lib $dir/lib/libonnxruntime.so # the package looks for this name, its JNI part for the other
  javac -cp $jar -d $dir $here/java/Client.java
  java -Donnxruntime.native.path=$dir/lib -cp $jar:$dir Client $models
}

client_node() {
  lacks npm && return
  npm_packages onnxruntime-node@$node_version
  LD_LIBRARY_PATH=$libdir node $here/node/client.js $models
}

client_rust() {
  lacks cargo && return
  mkdir -p $work/rust
  cp -r $here/rust/. $work/rust/
  (cd $work/rust && cargo build -q) || return 1
  ORT_DYLIB_PATH=$lib $work/rust/target/debug/client $models
}

# The package's own library must find the same speech as ours.
client_sherpa() {
  lacks npm && return; lacks espeak-ng && return
  npm_packages sherpa-onnx-node@$sherpa_version sherpa-onnx-linux-x64@$sherpa_version @ricky0123/vad-web@$vad_version
  local model=$NODE_PATH/@ricky0123/vad-web/dist/silero_vad_v5.onnx
  espeak-ng -w $work/speech.wav "The quick brown fox jumps over the lazy dog. ... Hello."
  node $here/node/vad.js $model $work/speech.wav >$work/vad.want
  LD_PRELOAD=$libdir/libonnxruntime.so node $here/node/vad.js $model $work/speech.wav >$work/vad.got
  [ -s $work/vad.want ] && diff $work/vad.want $work/vad.got && echo "$(wc -l <$work/vad.got) passed, 0 failed"
}

client_extensions() {
  local dir=$work/extensions
  [ -d $dir/onnxruntime_extensions ] ||
    "$python" -m pip install -q --disable-pip-version-check --no-deps --target $dir onnxruntime-extensions==$extensions_version
  "$python" $here/extensions.py $lib $(ls $dir/onnxruntime_extensions/_extensions_pydll*.so)
}

client_c() {
  lacks go && return
  go_module
  cc -std=c11 -O1 -w -I$work/go/onnxruntime_go -o $work/client $here/c/client.c $lib -Wl,-rpath,$libdir
  $work/client $models
}

# The official C++ headers, out of Debian's package libonnxruntime-dev of a suite, which is not installed: DIR/include.
debian_headers() {
  local suite=$1 dir=$2
  [ -d $dir/include ] && return
  mkdir -p $dir/lists/partial $dir/cache/archives/partial $dir/parts
  sed -E "/^Suites:/s/.*/Suites: $suite/; /^$/,\$d" /etc/apt/sources.list.d/debian.sources >$dir/parts/debian.sources
  local private="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$dir/parts -o Dir::State::Lists=$dir/lists"
  private+=" -o Dir::Cache=$dir/cache -o Acquire::Languages=none -o APT::Sandbox::User=root"
  apt-get $private -qq update
  (cd $dir && apt-get $private -qq download libonnxruntime-dev && dpkg-deb -x libonnxruntime-dev_*.deb unpacked)
  mv $dir/unpacked/usr/include/onnxruntime $dir/include
  rm -r $dir/lists $dir/cache $dir/unpacked
}

# Two versions of the headers: 1.21, and 1.23, which can make models.
client_cpp() {
  lacks g++ && return; lacks apt-get && return
  [ -f /etc/apt/sources.list.d/debian.sources ] || { echo "skipped: no Debian"; return; }
  local suite dir file
  for suite in trixie forky; do
    dir=$work/cpp/$suite
    debian_headers $suite $dir || return 1
    for file in $here/cpp/*.cpp; do
      g++ -std=c++17 -Wall -Wextra -isystem $dir/include -c -o $dir/$(basename $file .cpp).o $file || return 1
    done
    g++ -o $dir/client $dir/*.o $lib -Wl,-rpath,$libdir -pthread && $dir/client $models || return 1
  done
}

client_nulls() { "$python" $here/nulls.py $lib; }

# The package looks for a package `onnxruntime` with the library in it: this one has ours.
client_genai() {
  local dir=$work/genai
  [ -d $dir/onnxruntime_genai ] ||
    "$python" -m pip install -q --disable-pip-version-check --no-deps --target $dir onnxruntime-genai==$genai_version
  mkdir -p $dir/onnxruntime/capi
  : >$dir/onnxruntime/__init__.py
  ln -sf $lib $dir/onnxruntime/capi/libonnxruntime.so.1
  PYTHONPATH=$dir "$python" $here/genai.py $work/genai_model
}

# The function table against the official C header and against bindings made from a newer one.
client_table() {
  lacks go && return; lacks cargo && return
  go_module
  mkdir -p $work/rust
  cp -r $here/rust/. $work/rust/
  local sys=$(cd $work/rust && cargo metadata --format-version 1 |
    "$python" -c 'import json, sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "ort-sys"))')
  "$python" $here/table.py $work/go/onnxruntime_go/onnxruntime_c_api.h $(dirname $sys)/src/lib.rs
}

mkdir -p $work
"$python" $here/models.py $models
[ $# -gt 0 ] || set -- table nulls c cpp go java node rust sherpa extensions genai
failed=0
for client in "$@"; do
  if client_$client >$work/$client.out 2>&1; then
    printf '%-11s %s\n' $client "$(tail -1 $work/$client.out)"
  else
    printf '%-11s FAILED\n' $client; tail -20 $work/$client.out; failed=1
  fi
done
exit $failed
