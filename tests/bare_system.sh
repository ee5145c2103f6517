#!/usr/bin/env bash
# bare_system.sh BUILD [RELEASE]: makes a bare Debian (bookworm unless said otherwise) in a scratch folder, installs
# the build's package there with apt, which brings what it depends on, uses it as an ordinary user from an ordinary
# folder, and removes it. Needs root, debootstrap and the network; skips with a line where one is missing.
set -euo pipefail
build=$(realpath "$1")
release=${2:-bookworm}
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
[ "$(id -u)" -eq 0 ] || skip "only root can make a root"
command -v debootstrap >/dev/null || skip "no debootstrap here"
grep -q "VERSION_CODENAME=$release" /etc/os-release || skip "the package was built on another system than $release"

scratch=$(mktemp -d)
root=$scratch/root
clean() { umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$scratch"; }
trap clean EXIT
mirror=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
debootstrap --variant=minbase "$release" "$root" "$mirror" >"$scratch/log" 2>&1 || { tail -n 3 "$scratch/log"; skip "no bare system to be had"; }
mount -t proc proc "$root/proc" 2>/dev/null || true
(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$root/packages" >cpack.log 2>&1) || fail "cpack"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"; }
before=$(inside dpkg-query -W -f='${Package}\n' | sort)
inside sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/lumen_*.deb' >"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log"; fail "apt-get install"; }
inside useradd -m someone
someone() { inside su someone -c "cd ~ && $*"; }
someone "lumen info"
someone "lumen -q simulate video --anatomy nasal --seed 5 --frames 40 --no-model"
someone "lumen -q run video --out run && lumen fuse run --out surface.glb && lumen eval run --truth video | head -n 4"
inside test -s /home/someone/surface.glb || fail "no surface"
inside sh -c 'apt-get purge -y -qq lumen && apt-get autoremove --purge -y -qq' >"$scratch/log" 2>&1 || fail "apt-get purge"
after=$(inside dpkg-query -W -f='${Package}\n' | sort)
[ "$before" = "$after" ] || fail "packages left behind: $(comm -13 <(echo "$before") <(echo "$after") | tr '\n' ' ')"
left=$(find "$root/usr" -ipath '*lumen*' -print -quit)
[ -z "$left" ] || fail "left behind: $left"
echo "installed, used and removed on a bare $release"
