/* Takes a column of numbers for text: status 3, naming column and types. */
#include "hostile.h"

static trueno_status run_wrong_type(const trueno_run *run) {
  trueno_reader in;
  trueno_open(&in, run, 0);
  trueno_column(&in, "start_ns", TRUENO_UTF8);
  return trueno_close(&in);
}

HOSTILE_WITH_INPUT("wrong_type", 0, "bricks", "SELECT start_ns FROM bricks", run_wrong_type)
