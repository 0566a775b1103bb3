# SPDX-License-Identifier: Apache-2.0
"""Compares the outcome of a job with the expectation, and lists its faults."""

import re
from dataclasses import dataclass, field

import hosts

NAMED = re.compile(r"rank (\d+) \(host '([^']*)', pid (\d+)\)")
RANK = re.compile(r"\brank (\d+)\b")
# After its error, a rank ends within this many seconds, even on a busy machine. The
# launcher helps after 5 s.
LEAVES_WITHIN = 4.0
WRONGS = ("untold", "wrong", "hangs", "left", "late")


@dataclass
class Judgement:
    until_told: float | None = None  # Seconds until the last survivor had its error.
    launcher_after: float | None = None  # Seconds from the last rank to the launcher's end.
    untold: list = field(default_factory=list)  # Survivors.
    wrong: list = field(default_factory=list)  # Culprits.
    hangs: list = field(default_factory=list)
    left: list = field(default_factory=list)
    late: list = field(default_factory=list)

    def faults(self):
        return [f"{what}: {text}" for what in WRONGS
                for text in getattr(self, what)]


def judge(case, outcome, follows_within=1.0):
    """`follows_within`: the seconds that horovodrun has to end after the last rank."""
    judgement = Judgement()
    if case.inject and not outcome.fault_at:
        judgement.hangs.append("the job did not get to work")
    judgement.left = [*outcome.processes, *outcome.files]
    judge_ends(case, outcome, judgement, follows_within)
    # Another rank is then the first to fail.
    if outcome.was_ended_by_mpi():
        return judgement
    judge_errors(case, outcome, judgement)
    if outcome.returncode is not None:
        judge_verdict(case, outcome, judgement)
    return judgement


def fault_time(case, outcome):
    """The time of the first fault, in seconds; by a victim or by the injector."""
    moments = [event["ns"] / 1e9 for event in outcome.of("fault").values()]
    if outcome.fault_at:
        moments.append(outcome.fault_at)
    return min(moments, default=None)


def culprits_for(rank, case):
    """The ranks that this rank's error may name. Each side of a cut wire blames the other."""
    if not case.expect.across:
        return set(case.expect.ranks)
    here = next(i for i in (0, 1) if rank in hosts.ranks_of(i, case.ranks))
    return set(hosts.ranks_of(1 - here, case.ranks))


def errors_of(outcome):
    """The errors by rank, including those that only the rank's log has."""
    errors = outcome.of("error")
    said = {rank: outcome.last_words(rank) for rank in range(outcome.ranks)
            if rank not in errors}
    return errors | {rank: words for rank, words in said.items() if words}


def judge_errors(case, outcome, judgement):
    errors = errors_of(outcome)
    began = fault_time(case, outcome)
    pids = {rank: (one["host"], one["pid"]) for rank, one in outcome.of("started").items()}
    for rank in sorted(case.survivors()):
        error = errors.get(rank)
        if error is None:
            if case.expect.told:
                judgement.untold.append(f"rank {rank} has no error")
            continue
        text = f"rank {rank} has the error '{error['text']}'"
        named = [(int(r), host, int(pid)) for r, host, pid in NAMED.findall(error["text"])]
        blamed = {r for r, _, _ in named}
        culprits = culprits_for(rank, case)
        if not named and (case.expect.told or case.expect.if_error):
            judgement.wrong.append(f"{text}, which names no rank")
        elif culprits and not blamed <= culprits:
            judgement.wrong.append(f"{text}, but it was {sorted(culprits)}")
        elif any(r in pids and pids[r] != (host, pid) for r, host, pid in named):
            judgement.wrong.append(f"{text}, but that has another host or pid")
        if case.expect.ends_well:
            judgement.wrong.append(f"{text} although no rank was lost")
    times = [errors[rank]["ns"] / 1e9 for rank in case.survivors() if rank in errors]
    must = case.expect.told or case.expect.if_error
    if times and began and must and len(times) == len(case.survivors()):
        judgement.until_told = max(times) - began


def judge_ends(case, outcome, judgement, follows_within):
    """A rank with an error leaves by itself; the launcher ends when all ranks have left."""
    if outcome.returncode is None:
        judgement.hangs.append("horovodrun was still there at the end of the timeout")
    for rank, error in outcome.of("error").items():
        ended = outcome.rank_ends.get(error["pid"])
        took = (ended or outcome.ended_at or float("inf")) - error["ns"] / 1e9
        if rank in case.survivors() and took > LEAVES_WITHIN:
            judgement.hangs.append(
                f"rank {rank} was still there {took:.1f} s after its error")
    began = fault_time(case, outcome)
    if case.expect.ends_in and began and outcome.ended_at:
        took = outcome.ended_at - began
        if took > case.expect.ends_in + follows_within - 1:
            judgement.late.append(f"horovodrun ended {took:.1f} s after the fault")
    started = outcome.of("started")
    ends = [outcome.rank_ends[one["pid"]] for one in started.values()
            if one["pid"] in outcome.rank_ends]
    if outcome.ended_at and ends and len(ends) == len(started):
        judgement.launcher_after = outcome.ended_at - max(ends)
        if judgement.launcher_after > follows_within:
            judgement.late.append(
                f"horovodrun ended {judgement.launcher_after:.1f} s after the last rank")


def judge_verdict(case, outcome, judgement):
    expect = case.expect
    line, code = outcome.last_line(), outcome.returncode
    told = f"the last line is '{line}', the exit code {code}"
    if expect.ends_well:
        if code != 0:
            judgement.wrong.append(f"{told}, although no rank was lost")
        return
    wanted = expect.codes or "any but 0"
    if (code not in expect.codes) if expect.codes else code == 0:
        judgement.wrong.append(f"{told}; the code should be {wanted}")
    elif expect.ranks:
        named = RANK.search(line)
        names_host = expect.host and outcome.second_host and any(
            name in line for name in outcome.second_host)
        if not names_host and (not named or int(named[1]) not in expect.ranks):
            judgement.wrong.append(f"{told}, but it was rank {sorted(expect.ranks)}")
        elif expect.words not in line:
            judgement.wrong.append(f"{told}, without '{expect.words}'")
    elif expect.words not in line:
        judgement.wrong.append(f"{told}, without '{expect.words}'")
