/* Gives the rows of its inputs back as tables. */
#include "trueno_table.h"

static const trueno_input spans = {
    sizeof spans, 0, TRUENO_TEXT("spans"),
    TRUENO_TEXT("SELECT id, lane, start_ns, dur_ns, self_ns, parent, depth, kind, name, category, brick FROM timeline.spans")};
static const trueno_input lanes = {
    sizeof lanes, 0, TRUENO_TEXT("lanes"),
    TRUENO_TEXT("SELECT l.lane, l.spans, l.busy_ns, COUNT(*) AS longer FROM timeline.lanes AS l JOIN timeline.spans AS s "
                "ON s.lane = l.lane WHERE s.dur_ns * 2 > 1000 GROUP BY l.lane, l.spans, l.busy_ns ORDER BY l.lane")};
static const trueno_input *const inputs[] = {&spans, &lanes};

static trueno_status run_echo(const trueno_run *run) {
  for (size_t i = 0; i < 2; i++) {
    trueno_status status = run->emit_table(run->host, inputs[i]->name, run->inputs[i]);
    if (status != TRUENO_OK) return status;
  }
  return TRUENO_OK;
}

static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("echo"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("Gives the rows of its inputs back."),
    .build = TRUENO_TEXT("C"), .inputs = inputs, .input_count = 2, .run = run_echo};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
