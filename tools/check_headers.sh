#!/bin/sh
# Every public header compiles alone, as C99 and as C++11, without a warning.
set -eu
cd "$(dirname "$0")/.."
for h in $(find include -name '*.h' | sort); do
  ${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c "$h"
  ${CXX:-c++} -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ "$h"
done
echo "headers: ok"
