"""Cost of an empty span from Python, beside others that are installed.

    python analyzer/python/benches/spans.py

Each is the least of ten rounds, since what disturbs a round makes it longer; the loop itself is taken off.
"""

import contextlib
import tempfile
import time

import trueno

SPANS = 20_000
ROUNDS = 10


def least_ns(make):
    """Least time of a span over all rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(SPANS):
            with make():
                pass
        rounds.append((time.perf_counter_ns() - began) / SPANS)
    return min(rounds)


class Empty:
    """What any `with` costs whose two methods are Python."""

    def __enter__(self):
        pass

    def __exit__(self, *raised):
        pass


def main():
    base = least_ns(contextlib.nullcontext().__class__)
    print(f"contextlib.nullcontext()          {base:8.0f} ns")
    print(f"a class with __enter__, __exit__  {least_ns(Empty):8.0f} ns")
    with tempfile.TemporaryDirectory() as folder:
        with trueno.record(f"{folder}/bench.run") as rec:
            print(f"trueno  rec.brick(name)           {least_ns(lambda: rec.brick('span')):8.0f} ns")
            span = rec.brick("span")
            print(f"trueno  span.again()              {least_ns(span.again):8.0f} ns")
        off = trueno.disabled()
        print(f"trueno  disabled                  {least_ns(lambda: off.brick('span')):8.0f} ns")
    with contextlib.suppress(ImportError):
        from torch.profiler import ProfilerActivity, profile, record_function

        with profile(activities=[ProfilerActivity.CPU]):
            cost = least_ns(lambda: record_function("span"))
        print(f"torch.profiler.record_function    {cost:8.0f} ns")
    with contextlib.suppress(ImportError):
        from viztracer import VizTracer

        tracer = VizTracer(log_sparse=True, verbose=0, tracer_entries=2 * SPANS * ROUNDS)
        tracer.start()
        cost = least_ns(lambda: tracer.log_event("span"))
        tracer.stop()
        tracer.clear()
        print(f"viztracer  log_event              {cost:8.0f} ns")


if __name__ == "__main__":
    main()
