# SPDX-License-Identifier: Apache-2.0
"""Jobs that lose one rank after the other, and whose survivors go on each time."""

import contextlib
import random
import re
import signal
from dataclasses import dataclass, field

import job
import leftovers
from judge import NAMED

RANKS = 6
LOSSES = RANKS - 1  # One of each job is left in the end.


@dataclass
class Rounds:
    """What became of one job."""
    seed: int
    lost: int = 0  # Rounds.
    took: list = field(default_factory=list)  # From each loss until all had re-formed.
    faults: list = field(default_factory=list)
    stderr: str = ""


def run_job(programs, private, seconds, losses, seed):
    """A job of `seconds` after start, in which `losses` ranks are killed in turn."""
    chance = random.Random(f"reform {seed}")
    options = {"survivors": "reform", "seconds": seconds,
               "work": chance.choice(("cycle", "changing", "single"))}
    environment = chance.choice(({}, {"HOROVODPP_RANKS_PER_NODE": "2"}))
    rounds = Rounds(seed)
    with contextlib.ExitStack() as stack:
        folders = stack.enter_context(leftovers.Folders(private))
        running = stack.enter_context(
            job.Job(programs, folders, RANKS, options, environment,
                    patience=seconds + 60))
        living = set(range(RANKS))
        if not running.wait_for("training", RANKS):
            rounds.faults.append("the job did not get to work")
            living = set()
        for _ in range(losses if living else 0):
            running.pause(seconds / (losses + 1) * chance.uniform(0.5, 1))
            victim = chance.choice(sorted(living))
            living.discard(victim)
            if not lose(running, victim, living, rounds):
                break
        outcome = running.finish()
    judge(outcome, living, rounds)
    rounds.stderr = outcome.stderr
    return rounds


def lose(running, victim, living, rounds):
    """False if the others do not go on."""
    pid = running.pid_of(victim)
    if running.over():
        rounds.faults.append("the job ended before its time")
        return False
    known = len(running.outcome.events)
    running.outcome.fault_at = 0
    running.hit([pid], signal.SIGKILL)

    def new(kind):
        return {event["rank"]: event for event in running.outcome.events[known:]
                if event["event"] == kind}
    while set(new("formed")) < living and not running.over():
        running.look(running.deadline)
    missing = living - set(new("formed"))
    if missing:
        rounds.faults.append(f"after the loss of rank {victim}, ranks {sorted(missing)} "
                             "did not form a new job")
        return False
    for rank, error in new("error").items():
        if str(pid) not in {named[2] for named in NAMED.findall(error["text"])}:
            rounds.faults.append(f"rank {rank} lost pid {pid}, but its error is "
                                 f"'{error['text']}'")
    rounds.lost += 1
    rounds.took.append(max(event["ns"] / 1e9 for event in new("formed").values())
                       - running.outcome.fault_at)
    return True


def judge(outcome, living, rounds):
    finished = set(outcome.of("finished"))
    if finished != living:
        rounds.faults.append(f"ranks {sorted(living)} should have finished, and "
                             f"{sorted(finished)} did")
    if outcome.returncode != 0:
        rounds.faults.append(f"horovodrun ended with {outcome.returncode}")
    for rank in sorted(set(range(RANKS)) - living):
        if not re.search(rf"(?m)^horovodrun: .*\branks? .*\b{rank}\b", outcome.stderr):
            rounds.faults.append(f"horovodrun does not say that rank {rank} was lost")
    rounds.faults += [f"left: {one}" for one in outcome.processes + outcome.files]
