# SPDX-License-Identifier: Apache-2.0
"""Jobs that lose one rank after the other, and whose survivors go on each time."""

import contextlib
import os
import random
import re
import signal
import sys
from dataclasses import dataclass, field, replace

import job
import leftovers
from judge import NAMED

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Kind:
    """The program of the jobs, and how they are started."""
    ranks: int
    options: dict = field(default_factory=dict)
    works: tuple = ()  # Each job gets one as the option "work".
    environments: tuple = ({},)  # Each job gets one.
    launcher: tuple = ()  # Options of horovodrun.
    program: list | None = None  # None: the fault program.
    # The most seconds from a death to a second one, while survivors re-form. 0: no second death.
    second_death: float = 0
    timeout: float = 60  # Seconds for start and end.
    ends_by_itself: bool = False  # After the last loss, not at a set time.

    @property
    def losses(self):
        return self.ranks - 1  # One rank of each job survives.


REFORM = Kind(6, {"survivors": "reform"}, ("cycle", "changing", "single"),
              ({}, {"HOROVODPP_RANKS_PER_NODE": "2"}))


def elastic(package, launcher):
    """hvd.elastic.run of the Python package in that folder."""
    return Kind(6, environments=({"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"},),
                launcher=launcher, program=[sys.executable, f"{HERE}/elastic_program.py"],
                second_death=0.05, timeout=150, ends_by_itself=True)


@dataclass
class Rounds:
    """The outcome of one job."""
    seed: int
    ranks: int
    lost: int = 0  # Ranks.
    took: list = field(default_factory=list)  # Seconds from each loss until all had re-formed.
    faults: list = field(default_factory=list)
    stderr: str = ""


def run_job(kind, programs, private, seconds, losses, seed):
    """Runs a job for `seconds` after its start, and kills `losses` ranks in turn."""
    chance = random.Random(f"reform {seed}")
    options = dict(kind.options)
    if kind.ends_by_itself:
        options["left"] = kind.ranks - losses
    else:
        options["seconds"] = seconds
    if kind.works:
        options["work"] = chance.choice(kind.works)
    environment = chance.choice(kind.environments)
    if kind.program:
        programs = replace(programs, fault_program=kind.program)
    rounds = Rounds(seed, kind.ranks)
    with contextlib.ExitStack() as stack:
        folders = stack.enter_context(leftovers.Folders(private))
        running = stack.enter_context(
            job.Job(programs, folders, kind.ranks, options, environment,
                    timeout=seconds + kind.timeout, launcher=kind.launcher))
        living = set(range(kind.ranks))
        if not running.wait_for("training", kind.ranks):
            rounds.faults.append("the job did not get to work")
            living = set()
        while living and rounds.lost < losses:
            running.pause(seconds / (losses + 1) * chance.uniform(0.5, 1))
            several = kind.second_death > 0 and rounds.lost + 2 <= losses and chance.random() < 0.5
            victims = chance.sample(sorted(living), 2 if several else 1)
            living.difference_update(victims)
            pauses = [0.0] + [chance.uniform(0, kind.second_death) for _ in victims[1:]]
            if not lose(running, dict(zip(victims, pauses)), living, rounds):
                break
        outcome = running.finish()
    judge(outcome, living, rounds)
    rounds.stderr = outcome.stderr
    return rounds


def lose(running, victims, living, rounds):
    """Kills each victim after its pause. False if the others do not go on."""
    pids = {running.pid_of(victim) for victim in victims}
    if running.over():
        rounds.faults.append("the job ended before its time")
        return False
    known = len(running.outcome.events)
    running.outcome.fault_at = 0
    for victim, pause in victims.items():
        running.pause(pause)
        running.hit([running.pid_of(victim)], signal.SIGKILL)

    def new(kind, *texts):
        return {event["rank"]: event for event in running.outcome.events[known:]
                if event["event"] == kind and (not texts or event["text"] in texts)}

    def formed():
        return new("formed", str(len(living)))
    while not living <= set(formed()) and not running.over():
        running.look(running.deadline)
    missing = living - set(formed())
    if missing:
        rounds.faults.append(f"after the loss of ranks {sorted(victims)}, ranks {sorted(missing)} "
                             "did not form a new job")
        return False
    for rank, error in new("error").items():
        named = {int(named[2]) for named in NAMED.findall(error["text"])}
        if not named & pids:
            rounds.faults.append(f"rank {rank} lost pids {pids}, but its error is "
                                 f"'{error['text']}'")
    rounds.lost += len(victims)
    rounds.took.append(max(event["ns"] / 1e9 for event in formed().values())
                       - running.outcome.fault_at)
    return True


def judge(outcome, living, rounds):
    finished = set(outcome.of("finished"))
    if finished != living:
        rounds.faults.append(f"ranks {sorted(living)} should have finished, and "
                             f"{sorted(finished)} did")
    if outcome.returncode != 0:
        rounds.faults.append(f"horovodrun ended with {outcome.returncode}")
    for rank in sorted(set(range(rounds.ranks)) - living):
        if not re.search(rf"(?m)^horovodrun: .*\branks? .*\b{rank}\b", outcome.stderr):
            rounds.faults.append(f"horovodrun does not say that rank {rank} was lost")
    rounds.faults += [f"left: {one}" for one in outcome.processes + outcome.files]
