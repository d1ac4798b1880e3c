#!/bin/sh
# Rules of the tree that no compiler knows. Prints every breach.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
breach() { [ -z "$2" ] || { printf '%s:\n%s\n' "$1" "$2"; bad=1; }; }

code=$(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.def')
text=$(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.def' '*.md' '*.py' '*.sh' '*.cmake' '*.txt' dev .ci)

breach "file names are unique" "$(echo "$code" | grep '^src/' | sed 's|.*/||' | sort | uniq -d)"
breach "files end before line 1200" "$(echo "$code" | xargs wc -l | awk '$1 > 1200 && $2 != "total"')"
breach "no #if 0" "$(echo "$code" | xargs grep -nE '^ *# *if +0' )"
breach "TODO names its topic: TODO(topic):" "$(echo "$code" | xargs grep -nE '\b(TODO|FIXME)\b' | grep -vE 'TODO\([a-z0-9 -]+\):')"
breach "no tabs" "$(echo "$code" | xargs grep -nP '\t' | head -5)"
breach "no paths of one machine" "$(echo "$text" | xargs grep -nE '(^|[^a-zA-Z0-9_./$-])/(root|home|work|mnt|Users)/' )"
breach "no fast-math" "$(echo "$text" | xargs grep -nE -e '-ffast-math|-Ofast|-funsafe-math' | grep -v '^tools/check_tree.sh')"
breach "operator versions are decided in src/onnx only" \
  "$(echo "$code" | grep '^src/' | grep -v '^src/onnx/' | xargs grep -nE '\bif *\(.*opset *[<>=!]')"

[ $bad -eq 0 ] && echo "tree: ok"
exit $bad
