# Shared by ./check and ./demo: which packages are needed, how they are installed, how presets are built, and how
# long each part took. Sourced, not run. Debian 12 and 13 and Ubuntu 24.04 call the packages alike; what one of
# them lacks is left out with a line.

BUILD_PACKAGES=(build-essential cmake ninja-build ccache git libeigen3-dev libpng-dev libspdlog-dev
                libtomlplusplus-dev libcli11-dev libopencv-dev libhdf5-dev libboost-dev libgdcm-dev
                libopenigtlink-dev)
CHECK_PACKAGES=(libgtest-dev clang-format-14 libtorch-dev libgloo-dev libopenblas0-pthread chromium libegl1 openigtlink-examples
                libgl1-mesa-dri man-db file python3-dev python3-numpy pybind11-dev colmap)
WEB_PACKAGES=()  # Node.js builds the viewer's page; one that is there already, from wherever, is good
command -v npm >/dev/null || WEB_PACKAGES=(nodejs npm)
FULL_PACKAGES=(clang-tidy-14 clang-14 libclang-rt-14-dev libbenchmark-dev debootstrap
               slurmctld slurmd slurm-client munge)

# What goes on without a package that this system does not have; a package not named here is a must.
declare -A WITHOUT=(
  [clang-format-14]="the format of the sources is not checked"
  [clang-tidy-14]="clang-tidy does not read the sources"
  [clang-14]="the readers are not fuzzed"
  [libclang-rt-14-dev]="the readers are not fuzzed"
  [libtorch-dev]="training and its tests are left out"
  [libgloo-dev]="training goes on in one process alone"
  [libopenblas0-pthread]="training and its tests are left out"
  [chromium]="the viewer's page is not tried in a browser"
  [pybind11-dev]="the Python module is left out"
  [slurmctld]="studies are not tried on a real Slurm"
  [slurmd]="studies are not tried on a real Slurm"
  [slurm-client]="studies are not tried on a real Slurm"
  [munge]="studies are not tried on a real Slurm"
  [colmap]="an exported model is not tried in COLMAP"
  [libgdcm-dev]="CTs are not read from DICOM"
  [libopenigtlink-dev]="runs are not followed over OpenIGTLink"
  [openigtlink-examples]="OpenIGTLink is not tried with somebody else's clients"
)

# say TEXT: the heading of a part; how long the part before it took is kept for `say_times`.
PART="" PART_START=$SECONDS TIMES=()
say() {
  [ -n "$PART" ] && TIMES+=("$(printf '%5d s  %s' $((SECONDS - PART_START)) "$PART")")
  PART="$*" PART_START=$SECONDS
  printf '\n== %s\n' "$*"
}
say_times() {
  say "$1"
  printf '%s\n' "${TIMES[@]}"
  printf '%5d s  in all\n' "$SECONDS"
}

is_installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" = "install ok installed" ]; }
is_offered() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }
# Ubuntu's package of this name only asks for a snap, which containers and servers have no use for.
is_empty_here() { [ "$1" = chromium ] && grep -q '^ID=ubuntu' /etc/os-release; }

# install_missing PACKAGE…: says what it will install, then installs it; silent when all is there.
install_missing() {
  local missing=() offered=() package
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null || ! grep -qiE '^(ID|ID_LIKE)=.*debian' /etc/os-release 2>/dev/null; then
    echo "this system is neither Debian nor Ubuntu; going on with what is there. Lumen builds with the equivalents" >&2
    echo "of these, and needs at least a C++20 compiler, CMake 3.25, Ninja, Eigen, libpng and CLI11: ${missing[*]}" >&2
    return
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "not root and no sudo: please install: ${missing[*]}" >&2; exit 2; }
    sudo=(sudo)
  fi
  say "install"
  "${sudo[@]}" apt-get update -qq
  for package in "${missing[@]}"; do
    if is_offered "$package" && ! is_empty_here "$package"; then
      offered+=("$package")
    elif [ -n "${WITHOUT[$package]:-}" ]; then
      echo "no package $package here: ${WITHOUT[$package]}"
    else
      echo "this system has no package $package" >&2
      exit 2
    fi
  done
  [ ${#offered[@]} -eq 0 ] && return
  echo "${offered[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${offered[@]}" >/dev/null
}

# build PRESET [cmake arguments…]
build() {
  say "build: $1"
  local log
  log=$(mktemp)
  if ! cmake --preset "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  grep -E '^-- Lumen' "$log" || true
  rm -f "$log"
  cmake --build --preset "$1" -- -j"$(nproc)" --quiet
}

# The page of the viewer, into web/dist, from where CMake takes it. Does nothing if nothing changed. Without
# Node.js or its packages everything else still goes on; the viewer then serves a page that says so.
build_web() {
  say "build: web"
  local stamp log
  stamp=$(cat web/package-lock.json web/vite.config.js web/tsconfig.json web/index.html web/src/* | sha256sum)
  [ "$(cat web/dist/stamp 2>/dev/null)" = "$stamp" ] && return
  log=$(mktemp)
  if (cd web && npm ci --no-audit --no-fund && npm run build) >"$log" 2>&1; then
    echo "$stamp" >web/dist/stamp
  else
    tail -n 15 "$log" >&2
    echo "the viewer's page could not be built (no network?); everything else goes on without it" >&2
  fi
  rm -f "$log"
}

# ctest counts suites; how many cases they held is read off its log.
run_tests() {
  say "tests: $1"
  # Said in so many words: where a failure is counted rather than fatal, the next line would hide it.
  ctest --preset "$1" -j"$(nproc)" --progress || return 1
  grep -hoE '^\[  PASSED  \] [0-9]+ test' "build/$1/Testing/Temporary/LastTest.log" |
    awk '{ cases += $4 } END { print cases " cases passed" }'
}

# compiled PRESET: what its compiler is given, as files.
compiled() { grep -o '"file": "[^"]*"' "build/$1/compile_commands.json" | cut -d'"' -f4; }
