"""The daemon beside a bare C owner, xclip, xsel and two clipboard managers, all in the same run: tables with ratios."""

import time

from holders import MIB

REQUESTORS = (1, 2, 4, 8, 16, 32, 64)
NOT_INSTALLED, UNABLE = "not installed", "fails"


def table(title, head, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def micros(value):
    return f"{value:.0f} µs" if value < 10_000 else f"{value / 1000:.1f} ms"


class Comparison:
    """`holders`: the bare owner first, the daemon second."""

    def __init__(self, stage, holders, quick):
        self.stage, self.holders, self.quick = stage, holders, quick
        self.bare, self.ours = holders[:2]
        self.results = {}
        self.failures = 0

    def result(self, holder, size, requestors, slow=0):
        """Words of paste_latency, or why there are none."""
        return self.results.get((holder.name, size, requestors, slow), UNABLE)

    def measure_pastes(self, size, cases):
        """`cases`: pairs of requestors and milliseconds of a slow one beside them, in one go for each holder."""
        for holder in self.holders:
            if not holder.is_installed():
                for requestors, slow in cases:
                    self.results[holder.name, size, requestors, slow] = NOT_INSTALLED
                continue
            held = holder.hold(size)
            for requestors, slow in cases if held else ():
                count = self.rounds(size, requestors)
                words = [size, count, requestors] + ([slow] if slow else [])
                found = self.stage.measure("paste_latency", *words, limit=120, quiet=holder not in (self.bare, self.ours))
                if not found:
                    break  # whoever fails here fails with more requestors, each time after a long wait
                self.results[holder.name, size, requestors, slow] = found
            holder.end()
        for holder in (self.bare, self.ours):
            self.failures += sum(self.result(holder, size, *case) == UNABLE for case in cases)

    def rounds(self, size, requestors):
        total = {1024: 4000, MIB: 320}.get(size, 10) // (10 if self.quick else 1)
        return max(total // requestors, 2 if self.quick else 5)

    def cells(self, size, requestors, slow=0):
        """Medians with their ratio to the bare owner's."""
        bare = self.result(self.bare, size, requestors, slow)
        for holder in self.holders:
            found = self.result(holder, size, requestors, slow)
            if isinstance(found, str):
                yield found
            elif isinstance(bare, str) or holder is self.bare:
                yield micros(float(found["median_us"]))
            else:
                ratio = float(found["median_us"]) / float(bare["median_us"])
                yield f"{micros(float(found['median_us']))} ({ratio:.2f} ×)"

    def pastes(self):
        self.measure_pastes(1024, [(n, 0) for n in REQUESTORS])
        self.measure_pastes(MIB, [(n, 0) for n in REQUESTORS] + [(8, 100)])
        self.measure_pastes(64 * MIB, [(1, 0)])

    def paste_tables(self):
        head = ["pastes at once"] + [holder.name for holder in self.holders]
        rows = [[f"1 KB, {n}", *self.cells(1024, n)] for n in REQUESTORS]
        rows += [[f"1 MiB, {n}", *self.cells(MIB, n)] for n in REQUESTORS]
        table("Requestors at once: median of one paste, ratio to the bare C owner", head, rows)
        rates = []
        bare = self.result(self.bare, 64 * MIB, 1)
        for holder in self.holders:
            found = self.result(holder, 64 * MIB, 1)
            if isinstance(found, str):
                rates.append(found)
            else:
                rate = float(found["mb_per_s"])
                ratio = "" if isinstance(bare, str) or holder is self.bare else f" ({rate / float(bare['mb_per_s']):.2f} ×)"
                rates.append(f"{rate:.0f} MB/s{ratio}")
        table("64 MiB by INCR: higher is better", ["throughput"] + head[1:], [["one requestor", *rates]])
        rows = []
        for holder in self.holders:
            alone, beside = self.result(holder, MIB, 8), self.result(holder, MIB, 8, 100)
            if isinstance(alone, str) or isinstance(beside, str):
                rows.append([holder.name, alone if isinstance(alone, str) else micros(float(alone["median_us"])),
                             beside if isinstance(beside, str) else "", ""])
                continue
            medians = [float(found["median_us"]) for found in (alone, beside)]
            rows.append([holder.name, micros(medians[0]), f"{micros(medians[1])} (p99 {micros(float(beside['p99_us']))})",
                         f"{medians[1] / medians[0]:.2f}"])
        table("8 requestors of 1 MiB, beside one that lets each chunk lie for 100 ms",
              ["holder", "without it", "with it", "ratio"], rows)

    def storm(self):
        """10,000 copies in a row, and a restore, beside each manager, and beside nobody just before. The daemon's figures."""
        copies, rounds = (1000, 2) if self.quick else (10_000, 10)
        storms, restores, ours = [], [], None
        for holder in (holder for holder in self.holders if holder.manages):
            nobody = self.stage.measure("storm", copies, 64)
            if not holder.is_installed() or not holder.start():
                why = NOT_INSTALLED if not holder.is_installed() else UNABLE
                storms.append([holder.name, why, "", "", "", "", "", ""])
                restores.append([holder.name, why, "", "", ""])
                holder.end()
                continue
            restored = self.stage.measure("restore", rounds, 1024)
            # What is taken once is taken before the memory is measured.
            self.stage.measure("storm", 200, 64)
            before = self.stage.measure("process_idle", holder.process.pid, 1)
            found = self.stage.measure("storm", copies, 64, limit=120)
            after = self.settled(holder, before)
            holder.end()
            if nobody and found and before and after:
                rate = float(found["copies_per_s"])
                figures = {
                    "copies": copies, "rate": rate, "right": found["alive"] == found["after_exit"] == "right",
                    "ratio": rate / float(nobody["copies_per_s"]),
                    "cpu": (float(after["processor_us"]) - float(before["processor_us"])) / copies,
                    "memory": float(after["pss_kb"]) / float(before["pss_kb"]),
                }
                ours = figures if holder is self.ours else ours
                held = "taken over" if found["taken"] == "yes" else "still the app's"
                storms.append([
                    holder.name, f"{float(nobody['copies_per_s']):.0f}", f"{rate:.0f} ({figures['ratio']:.2f} ×)", f"{held}, {found['alive']}", found["after_exit"],
                    f"{figures['cpu']:.0f} µs", f"{float(after['pss_kb']) / 1024:.1f} MB ({figures['memory']:.2f} ×)",
                    found["requests"]])
            else:
                storms.append([holder.name, UNABLE, "", "", "", "", "", ""])
            restores.append([holder.name, *self.restore_cells(restored)])
        head = ["beside", "copies/s beside nobody", "copies/s", "last copy, app alive", "after its exit", "its CPU a copy", "PSS after (of before)", "requests"]
        table(f"A storm of {copies:,} copies of 64 bytes", head, storms)
        table("Takeover and restore of 1 KB; the app ends a second after its copy",
              ["manager", "taken over", "after the copy", "put back", "after the app's end, median; right content"], restores)
        self.failures += ours is None
        return ours

    def settled(self, holder, before):
        """Its memory and processor time once it rests: managers work off what they have read."""
        seen = before
        for _ in range(10):
            time.sleep(0.5)
            now = self.stage.measure("process_idle", holder.process.pid, 0)
            if not now or not seen or float(now["processor_us"]) - float(seen["processor_us"]) < 2_000:
                return now
            seen = now
        return seen

    def restore_cells(self, found):
        if not found:
            return [UNABLE, "", "", ""]
        rounds = found["rounds"]
        taken, restored = int(found["taken"]), int(found["restored"])
        return [f"{taken} of {rounds}", micros(float(found["takeover_median_us"])) if taken else "–", f"{restored} of {rounds}",
                (micros(float(found["restore_median_us"])) if restored else "–") + f"; {found['right']} right"]
