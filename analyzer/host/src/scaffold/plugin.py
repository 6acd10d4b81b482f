"""What this plugin tells, in one line. (Change what is marked: Yours.)

The comment below describes the plugin, as TOML; nothing of this file runs for that. Yours: id and file name, summary,
the tables you need as queries (`trueno-analyze tables RUN` shows what there is), options with their defaults, and the
types of the columns that you give.
"""

# /// trueno-plugin
# id = "@ID@"
# version = "0.1.0"
# summary = "How long each name took."
#
# [inputs]
# bricks = "SELECT name, dur_ns FROM bricks WHERE kind = 'brick' AND timing <> 'bound'"
#
# [options]
# min_share = 0.5
#
# [tables.by_name]
# name = "text"
# total_ns = "i64"
# brick_share = "f64"
# ///

from trueno_plugin import BadInput, Result


# Yours: the analysis.
def run(tables, options):
    total_ns = {}
    for name, dur_ns in tables["bricks"].rows("name", "dur_ns"):
        # What was not measured is None, and in no sum.
        if name is not None and dur_ns is not None:
            total_ns[name] = total_ns.get(name, 0) + dur_ns
    all_ns = sum(total_ns.values())
    if not all(-(2**63) <= ns < 2**63 for ns in (all_ns, *total_ns.values())):
        raise BadInput("the times add up to more than 2^63 ns")
    names = sorted(total_ns)
    shares = [total_ns[name] / all_ns if all_ns > 0 else None for name in names]
    result = Result()
    for name, share in zip(names, shares):
        if share is not None and share >= options["min_share"]:
            result.finding("dominant", "info", f"{name} takes {share * 100:.0f} % of the time in bricks")
    columns = {"name": names, "total_ns": [total_ns[name] for name in names], "brick_share": shares}
    return result.table("by_name", columns)
