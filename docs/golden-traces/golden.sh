#!/bin/sh
# Golden traces: what programs did when all was well, as texts for git, and budgets that they must keep.
#
#   golden.sh capture [NAME…]   record the programs, and keep what they did as golden_traces/NAME.golden.json
#   golden.sh check [NAME…]     record them again, and check them against their budgets and golden traces
#
# golden_traces/programs has a line for each program: its name, then its command. A command with {} records itself,
# and {} stands for the run that it writes; of any other, system calls are recorded. The budgets of a program are in
# golden_traces/NAME.toml, or else in golden_traces/budgets.toml. Runs and outcomes stay in golden_traces/runs, which
# is no part of git.
#
# GOLDEN_TRACES names another folder. Exit code, the first of these that is true: 1 something does not hold, 2 something
# could not be recorded or checked, 3 something could not be measured, 0 all holds.
set -u

folder="${GOLDEN_TRACES:-golden_traces}"
runs="$folder/runs"
task="${1:-}"
case "$task" in
  capture | check) shift ;;
  *)
    echo "golden.sh: expected capture or check, found '$task' (next: golden.sh capture)" >&2
    exit 2
    ;;
esac
for program in trueno-record trueno-analyze; do
  if ! command -v "$program" > /dev/null; then
    echo "golden.sh: $program is not in the search path (next: put the folder that it was built in into PATH)" >&2
    exit 2
  fi
done
if [ ! -r "$folder/programs" ]; then
  echo "golden.sh: $folder/programs cannot be read; expected a line 'NAME COMMAND' for each program" >&2
  exit 2
fi
mkdir -p "$runs" || exit 2

worst=0
note() { # The smallest code but 0 is the worst.
  if [ "$1" -ne 0 ] && { [ "$worst" -eq 0 ] || [ "$1" -lt "$worst" ]; }; then worst="$1"; fi
}

record() { # NAME COMMAND…: the run is $runs/NAME.run; what the program prints is in $runs/NAME.log.
  name="$1"
  run="$runs/$name.run"
  shift
  rm -rf "$run"
  for word in "$@"; do
    shift
    if [ "$word" = "{}" ]; then
      itself=1
      word="$run"
    fi
    set -- "$@" "$word"
  done
  if [ -n "${itself:-}" ]; then
    "$@" > "$runs/$name.log" 2>&1
  else
    trueno-record run --calls --strict -o "$run" -- "$@" > "$runs/$name.log" 2>&1
  fi
}

one() { # NAME COMMAND…: the code of the task for one program.
  if ! (record "$@") || [ ! -d "$runs/$1.run" ]; then
    echo "golden.sh: $1 was not recorded: '$*' failed (next: see $runs/$1.log)" >&2
    return 2
  fi
  golden="$folder/$1.golden.json"
  if [ "$task" = capture ]; then
    trueno-analyze golden save --overwrite "$runs/$1.run" -o "$golden" || return 2
    return 0
  fi
  if [ ! -r "$golden" ]; then
    echo "golden.sh: $golden is not there (next: golden.sh capture $1, and commit it)" >&2
    return 2
  fi
  budgets="$folder/$1.toml"
  [ -r "$budgets" ] || budgets="$folder/budgets.toml"
  printf '\n== %s\n' "$1"
  trueno-analyze check --no-project "$runs/$1.run" --assert "$budgets" --golden "$golden" --junit "$runs/$1.xml"
}

wanted=" $* "
done_names=" "
while read -r name command; do
  case "$name" in '' | '#'*) continue ;; esac
  if [ $# -gt 0 ]; then
    case "$wanted" in *" $name "*) ;; *) continue ;; esac
  fi
  done_names="$done_names$name "
  # Words of the line are words of the command.
  # shellcheck disable=SC2086
  one "$name" $command < /dev/null
  note $?
done < "$folder/programs"
for name in "$@"; do
  case "$done_names" in
    *" $name "*) ;;
    *)
      echo "golden.sh: $name is not in $folder/programs" >&2
      note 2
      ;;
  esac
done
if [ "$done_names" = " " ]; then
  echo "golden.sh: there is no program in $folder/programs" >&2
  note 2
fi
exit "$worst"
