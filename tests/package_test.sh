#!/usr/bin/env bash
# package_test.sh BUILD: makes the Debian packages of a build, lays `lumen` into a scratch root with dpkg, uses it
# there (the program from another folder, its manual and completions, its headers from another project) and takes
# it out again. What it depends on is not installed anew: tests/bare_system.sh does that. Exit code 77: skipped.
set -euo pipefail
build=$(realpath "$1")
source_dir=$(realpath "$(dirname "$0")/..")
for tool in dpkg dpkg-deb dpkg-shlibdeps file cpack; do
  command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: dpkg fills a root only for root"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
fail() { echo "FAILED: $*"; exit 1; }

echo "-- packages"
(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages" >cpack.log 2>&1) ||
  { cat "$scratch/cpack.log"; fail "cpack"; }
package=$(ls "$scratch"/packages/lumen_*.deb)
dpkg-deb -f "$package" Package Version Architecture Installed-Size Depends
dpkg-deb -f "$package" Depends >"$scratch/depends"
grep -q libc6 "$scratch/depends" || fail "no dependencies declared"
dpkg-deb -c "$package" | awk '{print $6}' >"$scratch/files"
for file in bin/lumen share/lumen/models/lumen-base.safetensors share/lumen/models/lumen-base.vocabulary.safetensors \
            share/man/man1/lumen.1.gz share/bash-completion/completions/lumen include/lumen/slam/slam.h \
            share/doc/lumen/copyright; do
  grep -qx "./usr/$file" "$scratch/files" || fail "the package lacks /usr/$file"
done
grep -q 'LumenConfig.cmake$' "$scratch/files" || fail "the package lacks its CMake files"
if grep -aqs "$build" <(dpkg-deb --fsys-tarfile "$package" | tar -xO --wildcards '*.cmake'); then
  fail "the package's CMake files know the build folder"
fi

echo "-- in"
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
# Small images tell dpkg to leave out manuals.
dpkg --root="$root" --force-depends --path-include='/usr/share/*' --install "$package" >"$scratch/dpkg.log" 2>&1 || { cat "$scratch/dpkg.log"; fail "dpkg --install"; }

echo "-- used from anywhere"
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere"
export PATH=$root/usr/bin:$PATH
lumen info | tee info.txt
grep -q "$root/usr/share/lumen/models" info.txt || fail "the model is not the package's own"
lumen -q simulate video --anatomy nasal --seed 5 --frames 12 --size 160x128 --no-model
lumen -q run video --out run --device cpu
[ -s run/surface.ply ] || fail "no surface"
MANWIDTH=80 man -l "$root/usr/share/man/man1/lumen.1.gz" 2>/dev/null | head -n 12 || true
# Into a file first: `grep -q` leaves at its first hit, and what still writes to it would count as failed.
zcat "$root/usr/share/man/man1/lumen.1.gz" >manual
grep -q 'SH "\?NAME' manual || fail "no manual page"
bash --norc -c "source '$root/usr/share/bash-completion/completions/lumen' && complete -p lumen" || fail "bash completion"

echo "-- built upon"
mkdir project
cp "$source_dir/examples/video_to_mesh.cpp" project/
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(Lumen REQUIRED)
add_executable(mine video_to_mesh.cpp)
target_link_libraries(mine PRIVATE Lumen::slam Lumen::io Lumen::surface)
END
(cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build project/build) >project.log 2>&1 ||
  { tail -n 20 project.log; fail "a project that uses the package"; }
project/build/mine video "$root/usr/share/lumen/models/lumen-base.safetensors" path.tum surface.ply >mine.log 2>&1 || true
cat mine.log
[ -s path.tum ] && [ -s surface.ply ] || fail "the project's program placed nothing"

if [ -d "$root/usr/lib/python3/dist-packages/lumen" ]; then
  echo "-- imported"
  PYTHONPATH="$root/usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1 python3 -c '
import lumen
video = lumen.open("video")
slam = lumen.Slam(video)
placed = sum(slam.process(frame).placed for frame in video)
print("lumen", lumen.__version__, placed, "frames placed")
assert placed == 12' || fail "the Python module"
fi

echo "-- out"
dpkg --root="$root" --purge lumen >"$scratch/dpkg.log" 2>&1 || { cat "$scratch/dpkg.log"; fail "dpkg --purge"; }
left=$(find "$root" -path "$root/var/lib/dpkg" -prune -o -type f -print)
[ -z "$left" ] || fail "left behind: $left"
echo "all good"
