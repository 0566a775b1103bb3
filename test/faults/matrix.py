# SPDX-License-Identifier: Apache-2.0
"""The matrix of signals: each process of a job gets each signal that ends a process, with
each engine, on one host and on two. The job ends with a cause, or goes on as if unharmed; it
leaves no process and no file in either case."""

import re
import signal
from dataclasses import replace

import hosts
import kinds

SIGNALS = ("TERM", "KILL", "INT", "HUP")
# The engines by their number of hosts.
ENGINES = {1: ("direct", "mpirun"), 2: ("direct", "mpirun")}
RANKS = 3
# The seconds in which horovodrun ends, on any machine.
ENDS_IN = 15

# Finds a process of the running job; called with the job and the victim's rank.
EVERYWHERE = {
    "launcher": lambda job, rank: job.process.pid,
    "starter": lambda job, rank: job.starter(),
    "agent": lambda job, rank: job.agent_of(rank),
    "supervisor": lambda job, rank: job.supervisor_of(rank),
    "rank": lambda job, rank: job.pid_of(rank),
    "rank's child": lambda job, rank: job.child_of(rank)}
BETWEEN = {
    "direct": {
        "ssh": lambda job, rank: job.ssh(),
        "starter there": lambda job, rank: job.running("--start-ranks-of-host")},
    "mpirun": {
        "remote shell": lambda job, rank: job.running("--remote-shell"),
        "ssh": lambda job, rank: job.ssh(),
        "node keeper": lambda job, rank: job.running("--node"),
        "daemon": lambda job, rank: job.daemon_of(rank)}}
STARTERS = {"direct": "the process that starts the ranks", "mpirun": "mpirun"}


def processes(engine, count):
    return EVERYWHERE | (BETWEEN[engine] if count == 2 else {})


def goes_on(engine, process, name):
    """Whether the job does without the process, or the process ignores the signal."""
    if process == "starter":
        # The launcher passes on the signals that a terminal sends to both.
        return name in ("INT", "HUP")
    # Open MPI's daemons have connections of their own. An ssh that a signal asks to end reports a
    # broken connection instead.
    if (engine, process, name) == ("mpirun", "ssh", "KILL"):
        return True
    return process == "rank's child"


def victims_of(engine, process):
    """The ranks that end with the process. mpirun ends all if it loses the way to a host."""
    if process in ("launcher", "starter", "remote shell") or (engine, process) == ("mpirun", "ssh"):
        return list(range(RANKS))
    return [RANKS - 1] if process in EVERYWHERE else hosts.ranks_of(1, RANKS)


def expectation(engine, process, name):
    """The end of a job whose process was ended."""
    number = signal.Signals["SIG" + name]
    if process == "launcher":
        if name == "KILL":
            return kinds.Expectation(codes={-number}, told=False, settles_in=10)
        return kinds.Expectation(codes={128 + number}, told=False,
                                 words=f"stopped by signal {int(number)}")
    if process == "starter" or (process, name) == ("remote shell", "KILL"):
        return kinds.Expectation(words=STARTERS[engine], told=False, settles_in=5)
    if process not in EVERYWHERE:
        return kinds.Expectation(set(hosts.ranks_of(1, RANKS)), None, if_error=True,
                                 told=False, host=True, settles_in=5)
    victims = set(victims_of(engine, process))
    # Agent and supervisor pass a signal on.
    if process == "rank" or name != "KILL":
        return kinds.Expectation(victims, {128 + number}, f"signal {int(number)}")
    return kinds.Expectation(victims, None)


def cell(engine, count, process, name):
    """The kind of fault that is one cell of the matrix."""
    def make(case, chance):
        case.launcher = ("--launcher", engine)
        case.children = True
        victim = RANKS - 1
        case.victims = victims_of(engine, process)
        if goes_on(engine, process, name):
            case.options["seconds"] = 1
            case.victims = []
            case.expect = kinds.Expectation(told=False, ends_well=True)
        else:
            case.expect = replace(expectation(engine, process, name), ends_in=ENDS_IN)
        find = processes(engine, count)[process]

        def act(job, case):
            job.hit([find(job, victim)], signal.Signals["SIG" + name], process)
        kinds.trained(act)(case, chance)
    return kinds.Kind(name_of(engine, count, process, name), 1, make, waits=True,
                      hosts=count, ranks=(RANKS,))


def name_of(engine, count, process, name):
    return f"{engine}, {count} host{'s'[:count - 1]}: {process} SIG{name}"


def cells(most_hosts=2):
    return [cell(engine, count, process, name)
            for count in range(1, most_hosts + 1) for engine in ENGINES[count]
            for process in processes(engine, count) for name in SIGNALS]


def end_of(outcome):
    """How the job ended, in a few words."""
    code = outcome.returncode
    if code == 0:
        return "goes on"
    cause = re.search(r"\b(ranks? \d+|host '|stopped by signal)", outcome.last_line())
    words = {None: "no cause", "h": "names the host", "r": "names the rank",
             "s": "names the signal"}
    return f"{code}, {words[cause and cause[0][0]]}" if code != -signal.SIGKILL else "killed"


def table(results):
    """The end of each job, by process and signal."""
    ends = {case.kind: f"**{end_of(outcome)}**" if judgement.faults() else end_of(outcome)
            for case, outcome, judgement in results}
    rows = [f"| engine, hosts, process | {' | '.join('SIG' + name for name in SIGNALS)} |",
            "|---" * (1 + len(SIGNALS)) + "|"]
    for count, engines in ENGINES.items():
        for engine in engines:
            for process in processes(engine, count):
                cells = [ends.get(name_of(engine, count, process, name), "")
                         for name in SIGNALS]
                if any(cells):
                    rows.append(f"| {engine}, {count}, {process} | {' | '.join(cells)} |")
    return "\n".join(rows)
