# Shared by ./check and ./demo: which packages are needed, how they are installed, how presets are built.
# Sourced, not run.

BUILD_PACKAGES=(build-essential cmake ninja-build ccache git libeigen3-dev libpng-dev libspdlog-dev
                libtomlplusplus-dev libcli11-dev libopencv-dev libhdf5-dev libboost-dev libgdcm-dev)
CHECK_PACKAGES=(libgtest-dev clang-format libtorch-dev libopenblas0-pthread chromium libegl1
                libgl1-mesa-dri)
WEB_PACKAGES=()  # Node.js builds the viewer's page; one that is there already, from wherever, is good
command -v npm >/dev/null || WEB_PACKAGES=(nodejs npm)
FULL_PACKAGES=(clang-tidy libbenchmark-dev)

say() { printf '\n== %s\n' "$*"; }

# install_missing PACKAGE…: says what it will install, then installs it; silent when all is there.
install_missing() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" = "install ok installed" ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null || ! grep -qiE '^(ID|ID_LIKE)=.*debian' /etc/os-release 2>/dev/null; then
    echo "this system is not Debian: please install the equivalents of: ${missing[*]}" >&2
    exit 2
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "not root and no sudo: please install: ${missing[*]}" >&2; exit 2; }
    sudo=(sudo)
  fi
  say "installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
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

run_tests() {
  say "tests: $1"
  ctest --preset "$1" -j"$(nproc)" --progress
}

# Keeps, of the files named on stdin, those the preset compiles (parts may be missing for want of a library).
only_compiled() {
  local file
  while read -r file; do
    grep -q "$file" "build/$1/compile_commands.json" && echo "$file"
  done
}
