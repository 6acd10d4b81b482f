"""Cost of an empty span from Python, beside others that are installed: PyTorch's and viztracer's.

    python analyzer/python/benches/spans.py [ROUNDS [SPANS]]

In each round all are measured one after the other, so that what disturbs the machine disturbs all. Printed are the
median of the rounds with its quartiles, the number of rounds and of spans in each, and the median of the ratio to
`rec.brick(name)` of the same round. The loop around them is a row of its own, and is not taken off.
"""

import contextlib
import statistics
import sys
import tempfile
import time

import trueno


class Empty:
    """What any `with` costs whose two methods are Python."""

    def __enter__(self):
        pass

    def __exit__(self, *raised):
        pass


def span_ns(make, spans):
    began = time.perf_counter_ns()
    for _ in range(spans):
        with make():
            pass
    return (time.perf_counter_ns() - began) / spans


def others(stack, spans):
    """Spans of other tools that are installed, each with what begins and what ends its round."""
    found = {}
    with contextlib.suppress(ImportError):
        from torch.profiler import ProfilerActivity, profile, record_function

        found["torch.profiler.record_function"] = (
            lambda: profile(activities=[ProfilerActivity.CPU]),
            lambda: record_function("span"),
        )
    with contextlib.suppress(ImportError):
        from viztracer import VizTracer

        tracer = VizTracer(log_sparse=True, verbose=0, tracer_entries=2 * spans)

        @contextlib.contextmanager
        def tracing():
            tracer.start()
            yield
            tracer.stop()
            tracer.clear()

        found["viztracer log_event"] = (tracing, lambda: tracer.log_event("span"))
    return found


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    spans = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        rec = stack.enter_context(trueno.record(f"{folder}/bench.run"))
        span, off = rec.brick("span"), trueno.disabled()
        nothing = contextlib.nullcontext
        contenders = {
            "trueno rec.brick(name)": (nothing, lambda: rec.brick("span")),
            "trueno span.again()": (nothing, span.again),
            "trueno disabled": (nothing, lambda: off.brick("span")),
            "contextlib.nullcontext()": (nothing, nothing),
            "a class with __enter__, __exit__": (nothing, Empty),
            **others(stack, spans),
        }
        costs = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, (around, make) in contenders.items():
                with around():
                    costs[name].append(span_ns(make, spans))
        written, dropped, _ = rec.finish()
    print(f"{rounds} rounds of {spans} spans each; {written} rows written, {dropped} dropped")
    print(f"{'':34}{'median':>9}{'quartiles':>17}{'ratio':>8}")
    base = costs["trueno rec.brick(name)"]
    for name, each in costs.items():
        low, middle, high = statistics.quantiles(each, n=4)
        ratio = statistics.median(cost / of for cost, of in zip(each, base))
        print(f"{name:34}{middle:6.0f} ns{low:8.0f} to {high:.0f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
