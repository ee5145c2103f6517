#!/usr/bin/env bash
# Studies, an archive and a training on a real Slurm of one node, which lives and ends with this script in a scratch
# folder.
#   tests/slurm.sh BUILD           studies and an archive whose tasks are killed, whose node drains and fails, whose
#                                  watcher is killed; a training whose ranks srun starts
#   tests/slurm.sh BUILD training  that alone
#   tests/slurm.sh BUILD measure   how much longer it takes than the same study without Slurm
# Skips, with a line that says why, where there is no Slurm or we are not root.
set -euo pipefail
build=$(cd "$1" && pwd)
lumen=$build/bin/lumen
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "Slurm's daemons are started by root here"
for program in slurmctld slurmd munged sbatch squeue; do
  command -v $program >/dev/null || skip "$program is not installed"
done

scratch=$(mktemp -d /tmp/lumen-slurm.XXXXXX)
host=$(hostname -s)
export SLURM_CONF=$scratch/slurm.conf
unset "${!SLURM_JOB@}" "${!SBATCH@}"
study_pid=
stop_pid_of() { [ ! -s "$1" ] || kill "$(cat "$1")" 2>/dev/null || true; }
finish() {
  local code=$?
  [ -z "$study_pid" ] || kill -9 "$study_pid" 2>/dev/null || true
  scancel --user=root 2>/dev/null || true
  sleep 1
  for daemon in slurmd slurmctld munged; do stop_pid_of "$scratch/$daemon.pid"; done
  [ $code = 0 ] || tail -n 20 "$scratch"/*.log "$scratch/said"
  sleep 1
  rm -rf "$scratch"
}
trap finish EXIT
fail() { echo "failed: $*"; exit 1; }
# until_true SECONDS COMMAND…
until_true() {
  local left=$((10 * $1))
  shift
  until "$@"; do
    sleep 0.1
    left=$((left - 1))
    [ $left -gt 0 ] || fail "in vain waited for: $*"
  done
}

# A free port and the one after it, unless somebody is quicker.
port=$((20000 + RANDOM % 10000))
start_slurm() {
  dd if=/dev/urandom of="$scratch/munge.key" bs=128 count=1 status=none
  chmod 600 "$scratch/munge.key"
  munged --force --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --seed-file="$scratch/munge.seed" \
    --pid-file="$scratch/munged.pid" --log-file="$scratch/munged.log"
  # Slurm waits 3 s before it fills a place that a task has left, unless it is told not to.
  cat >"$SLURM_CONF" <<END
ClusterName=scratch
SlurmctldHost=$host(localhost)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthInfo=socket=$scratch/munge.socket
NodeName=$host NodeAddr=localhost CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
SlurmUser=root
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0
END
  mkdir "$scratch/state" "$scratch/spool"
  slurmctld -f "$SLURM_CONF"
  slurmd -f "$SLURM_CONF"
  until_true 30 node_is idle
}
node_is() { [ "$(sinfo --noheader --format=%T 2>/dev/null)" = "$1" ]; }
controller_answers() { squeue >/dev/null 2>&1; }
node_takes_tasks() { node_is idle || node_is mixed || node_is allocated; }
# One that was down may be back by itself, with its daemon's next word.
resume_node() { scontrol update nodename="$host" state=resume 2>/dev/null; node_takes_tasks; }
set_node() { scontrol update nodename="$host" state="$1" reason=test; }

study() { "$lumen" study suite --subjects "$subjects" --frames "$frames" --data "$scratch/data" "$@"; }
begin_study() {
  "$lumen" study suite --subjects "$subjects" --frames "$frames" --data "$scratch/data" --out "$scratch/out" \
    --on slurm >"$scratch/table" 2>"$scratch/said" &
  study_pid=$!
}
# The cells' processes, and how many tasks ended well.
cells() { pgrep -f "^lumen study-cell .*$scratch/out"; }
a_cell_runs() { [ -n "$(cells)" ]; }
no_cell_runs() { [ -z "$(cells)" ]; }
runs_of() { pgrep -f "^lumen run .*$1"; }
a_run_of() { [ -n "$(runs_of "$1")" ]; }
a_video_runs() { pgrep -f "^lumen .*$scratch/batch/work" >/dev/null; }
says() { grep -q "$1" "$scratch/said"; }
completed() { squeue --noheader --array --states=COMPLETED --format=%i | wc -l; }

try_everything() {
  subjects=nasal-1,colon-5,bronchus-8,stomach-11 frames=36
  study --out "$scratch/here" --jobs 2 >/dev/null
  begin_study

  echo "-- a task's process is killed"
  until_true 60 a_cell_runs
  kill -9 "$(cells | head -n 1)"
  until_true 30 says "lost on node $host (was ended by SIGKILL), attempt 2 of 3"

  echo "-- the node drains, and the watcher is killed meanwhile"
  set_node drain
  until_true 60 no_cell_runs
  kill -9 "$study_pid"
  { wait "$study_pid" || true; } 2>/dev/null
  [ "$(completed)" -lt 4 ] || fail "all was over before"
  sleep 1
  no_cell_runs || fail "a drained node starts tasks"
  begin_study
  until_true 30 says "of an earlier call goes on"
  until_true 30 resume_node

  echo "-- the node fails"
  until_true 60 a_cell_runs
  set_node down
  until_true 60 says "lost on node $host (NODE_FAIL)"
  until_true 60 no_cell_runs
  until_true 30 resume_node

  echo "-- the controller is restarted"  # what the node took with it is done again meanwhile
  until_true 60 a_cell_runs
  stop_pid_of "$scratch/slurmctld.pid"
  until_true 60 says "asking again"
  slurmctld -f "$SLURM_CONF"
  until_true 30 controller_answers

  wait "$study_pid" || fail "the study ended with $?: $(cat "$scratch/said")"
  study_pid=
  cat "$scratch/said"
  cmp "$scratch/out/study.md" "$scratch/here/study.md" || fail "another table than without Slurm"
  cmp "$scratch/out/study.csv" "$scratch/here/study.csv" || fail "other numbers than without Slurm"
  [ "$(completed)" = 4 ] || fail "$(completed) tasks ended well, not each cell once"
  ls "$scratch"/out/.slurm/lumen-* >/dev/null 2>&1 && fail "lists are left behind"

  echo "-- a run crashes, and is named so"
  frames=36 subjects=nasal-1
  study --out "$scratch/crash" --on slurm >/dev/null 2>"$scratch/said" &
  until_true 60 a_run_of "$scratch/crash"
  kill -SEGV "$(runs_of "$scratch/crash" | head -n 1)"
  wait $! && fail "a crash, but code 0"
  says "ended by SIGSEGV.*on node $host" || fail "a crash that is not named: $(cat "$scratch/said")"

  echo "-- an archive, left and taken up again"
  "$lumen" batch "$scratch/data" --end 12 --out "$scratch/batch" --on slurm >/dev/null 2>&1 &
  until_true 60 a_video_runs
  kill -9 $!
  { wait $! || true; } 2>/dev/null
  "$lumen" batch "$scratch/data" --end 12 --out "$scratch/batch" --on slurm 2>"$scratch/said" | tail -n 1
  [ "$(grep -c ',done,' "$scratch/batch/index.csv")" = 4 ] || fail "an archive that is not done: $(cat "$scratch/said")"

  echo "-- faults, each in one line"
  local line
  line=$(study --out "$scratch/none" --on slurm --partition nowhere 2>&1 >/dev/null) && fail "no partition, but code 0"
  echo "$line"
  [ "$(wc -l <<<"$line")" = 1 ] && grep -q "nowhere" <<<"$line" || fail "a bad partition"
}

# Ranks that srun starts know their places, and one that fails stops the other with its reason.
try_training() {
  [ -x "$build/bin/lumen-train" ] || { echo "no lumen-train: no training on Slurm"; return; }
  echo "-- a training's two ranks"
  local tiny="--steps 2 --device cpu --no-vocabulary --set tiny=true --set first_scenes=1 --set ring=2
    --set validation_scenes=0 --set sim.width=64 --set sim.height=64 --set sim.clips_per_scene=1 --set sim.places=1
    --set sim.views=3 --set batch=1 --set first_stage=1 --set losses.keypoints=64"
  srun --ntasks 2 "$lumen" train --out "$scratch/trained" $tiny >"$scratch/table" 2>"$scratch/said"
  grep "2 ranks, gradients summed by gloo" "$scratch/said" || fail "no two ranks: $(cat "$scratch/said")"
  [ "$(grep -c '"finished": true' "$scratch/table")" = 1 ] || fail "not one rank told: $(cat "$scratch/table")"
  [ -s "$scratch/trained/model.safetensors" ] || fail "no model"
  srun --ntasks 2 bash -c "exec $lumen train --out $scratch/unlike $(echo $tiny) --seed \$SLURM_PROCID" \
    2>"$scratch/said" && fail "ranks with two seeds, but code 0"
  grep "rank 1 has another setting than rank 0: seed = 1, not seed = 0" "$scratch/said" || fail "$(cat "$scratch/said")"
}

measure() {
  subjects=nasal-1,colon-5,bronchus-8,stomach-11 frames=60
  study --out "$scratch/data-only" --jobs 2 --run-arg=--no-such-option >/dev/null 2>&1 || true
  local turn start
  for turn in 1 2 3; do
    for where in "--jobs 2" "--on slurm"; do
      start=$(date +%s%N)
      study --out "$scratch/$turn-${where##* }" $where >/dev/null 2>&1
      echo "$where: $((($(date +%s%N) - start) / 1000000)) ms; load $(cut -d ' ' -f 1 /proc/loadavg)"
    done
    cmp "$scratch/$turn-2/study.md" "$scratch/$turn-slurm/study.md" && echo "the same table"
  done
}

start_slurm
case "${2:-}" in
  "") try_everything; try_training ;;
  training) try_training ;;
  measure) measure ;;
  *) fail "usage: tests/slurm.sh BUILD [training|measure]" ;;
esac
echo "what was started on Slurm ended as it should"
