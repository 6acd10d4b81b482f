"""A slow, obvious replay of a run: hosts that launch and wait, streams that do one thing after the other.

It knows launches, streams, recorded waits and copies that block, and nothing that the plugins infer. Threads
that launch to one stream are one host with one clock, which waits move, and pieces of host time that are made
shorter. Work begins when its launch has arrived and the work before it on its stream has ended; time before a
start that both do not explain stays as it was measured.
"""

import bisect

# A wait without a target waited for work that ended so soon before, or within a tenth of it.
WAKE_NS = 50_000
# Work that stood on an idle stream for so long, and began so soon after work of another, waited for that.
IDLE_NS = 20_000
NEXT_NS = 10_000


class Replay:
    def __init__(self, work, waits, ends):
        """`work`: dicts with start, end, device, stream, call (thread, start, end) or None, blocks; in any order.

        `waits`: (thread, start, end, kind, device, stream). `ends`: last end of a row of each thread.
        """
        self.work = sorted(work, key=lambda of: (of["start"], of["end"]))
        self.ends = ends
        self.host_of = {}
        of_stream = {}
        for of in self.work:
            if of["call"]:
                thread = of["call"][0]
                own = self.host_of.setdefault(thread, thread)
                other = of_stream.setdefault((of["device"], of["stream"]), own)
                if other != own:
                    for thread, host in self.host_of.items():
                        if host == own:
                            self.host_of[thread] = other
                    for stream, host in of_stream.items():
                        if host == own:
                            of_stream[stream] = other
        self.before = []
        last = {}
        for at, of in enumerate(self.work):
            recent = last.setdefault((of["device"], of["stream"]), [])
            self.before.append(max(recent, key=lambda other: self.work[other]["end"], default=None))
            recent.append(at)
            del recent[:-8]
        self.least = self.shortest()
        self.waits = [(wait, self.waited_for(wait)) for wait in waits if wait[0] in self.host_of]
        for at, of in enumerate(self.work):
            call = of["call"]
            staged = max(WAKE_NS, (of["end"] - of["start"]) / 10)
            if of["blocks"] and call and call[1] <= of["start"] < call[2] and of["end"] - call[2] <= staged:
                self.waits.append(((*call, None, None, None), [at]))

    def shortest(self):
        """Of each stream the shortest times from call to start where it was idle, and from end to start."""
        launch, follow = {}, {}
        for at, of in enumerate(self.work):
            if not of["call"]:
                continue
            key, called = (of["device"], of["stream"]), of["call"][1]
            end = None if self.before[at] is None else self.work[self.before[at]]["end"]
            if end is None or end <= called:
                launch.setdefault(key, []).append(of["start"] - called)
            elif end > called + WAKE_NS:
                follow.setdefault(key, []).append(of["start"] - end)
        keys = launch.keys() | follow.keys()
        return {key: tuple(max(0, min(times.get(key, [0]))) for times in (launch, follow)) for key in keys}

    def waited_for(self, wait):
        thread, start, end, kind, device, stream = wait
        launched = [
            at
            for at, of in enumerate(self.work)
            if (of["call"][1] < start and of["start"] < end if of["call"] else of["start"] < start)
        ]
        if kind == "device" or (kind == "stream" and stream is not None):
            is_target = lambda of: device in (None, of["device"]) and (kind == "device" or of["stream"] == stream)
            return [at for at in launched if is_target(self.work[at])]
        soon = max(WAKE_NS, (end - start) / 10)
        ended = [at for at in launched if start < self.work[at]["end"] <= end <= self.work[at]["end"] + soon]
        return [max(ended, key=lambda at: self.work[at]["end"])] if ended and end - start > NEXT_NS else []

    def host(self, thread):
        """Host of a thread; of one that launches nothing it is known only where there is one host."""
        hosts = set(self.host_of.values())
        return self.host_of.get(thread, next(iter(hosts)) if len(hosts) == 1 else None)

    def length(self, of_host, pieces=(), part=0.0):
        """Last end of a host and of what it launched, where `pieces` of hosts take that part less of their time.

        A piece is (thread, start, end). Other hosts may be other programs, which last as long as they do.
        """
        shortened = {}
        hosts = set(self.host_of.values())
        for thread, start, end in sorted(pieces, key=lambda piece: piece[1]):
            shortened.setdefault(self.host(thread), []).append((start, end))
        sums = {}
        for host, list_of in shortened.items():
            total, sums[host] = 0, []
            for start, end in list_of:
                sums[host].append(total)
                total += end - start

        def saved(host, time):
            of = shortened.get(host, [])
            at = bisect.bisect_right(of, (time, float("inf"))) - 1
            return part * (sums[host][at] + min(time, of[at][1]) - of[at][0]) if at >= 0 else 0.0

        moved = {host: [(float("-inf"), 0.0)] for host in hosts}

        def new(host, time):
            at, shift = moved[host][bisect.bisect_right(moved[host], (time, float("inf"))) - 1]
            return time + shift - (saved(host, time) - saved(host, at))

        steps = [(max(of["start"], of["call"][1] if of["call"] else 0), 1, at) for at, of in enumerate(self.work)]
        steps += [(wait[2], 0, at) for at, (wait, _) in enumerate(self.waits)]
        ended = {}
        for _, kind, at in sorted(steps):
            if kind == 1:
                ended[at] = self.begin(at, ended, new) + self.work[at]["end"] - self.work[at]["start"]
                continue
            (thread, start, end, *_), targets = self.waits[at]
            host = self.host_of[thread]
            # Clocks differ: what ended after the wait let it go when it returned.
            ends = [(min(self.work[of]["end"], end), of) for of in targets]
            if ends and max(ends)[0] > start:
                late = lambda of: max(0, self.work[of]["end"] - end)
                ends_new = max(ended.get(of, self.work[of]["end"]) - late(of) for _, of in ends)
                returned = max(new(host, start), ends_new) + end - max(ends)[0]
                bisect.insort(moved[host], (end, returned - end))
        own = [new(of_host, end) for thread, end in self.ends.items() if self.host_of.get(thread) == of_host]
        launched = [end for at, end in ended.items() if self.work[at]["call"] and self.host(self.work[at]["call"][0]) == of_host]
        return max([*own, *launched], default=0)

    def begin(self, at, ended, new):
        of, before = self.work[at], self.before[at]
        launch, follow = self.least.get((of["device"], of["stream"]), (0, 0))
        since = []
        if of["call"]:
            called = of["call"][1]
            since.append((called + launch, new(self.host_of[of["call"][0]], called) + launch))
        if before is not None:
            end = self.work[before]["end"]
            since.append((end + follow, ended.get(before, end) + follow))
        elif not of["call"]:
            since.append((of["start"], of["start"]))
        ready = max((measured for measured, _ in since), default=of["start"])
        if of["start"] - ready >= IDLE_NS:
            soon = max(NEXT_NS, (of["start"] - ready) / 10)
            others = [
                (other["end"], number)
                for number, other in enumerate(self.work)
                if other["device"] == of["device"]
                and other["stream"] != of["stream"]
                and ready < other["end"] <= of["start"] <= other["end"] + soon
            ]
            if others:
                end, number = max(others)
                since.append((end, ended.get(number, end)))
        ready = max((min(measured, of["start"]) for measured, _ in since), default=of["start"])
        begun = max((new_ns - max(0, measured - of["start"]) for measured, new_ns in since), default=of["start"])
        return begun + of["start"] - ready
