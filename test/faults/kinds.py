# SPDX-License-Identifier: Apache-2.0
"""The kinds of fault: how each disturbs a job, and how the job must end."""

import random
import signal
from dataclasses import dataclass, field

import hosts


@dataclass
class Expectation:
    """The required last line and exit code, and the ranks that must get an error."""
    ranks: set = field(default_factory=set)  # The last line must name one of these.
    codes: set | None = None  # None: any but 0.
    words: str = ""  # The last line must also match this.
    told: bool = True  # Every survivor has an error that names one of the ranks...
    if_error: bool = False  # ... or at least no error names another rank.
    across: bool = False  # Each host's ranks blame the other's; the last line blames the second's.
    host: bool = False  # The last line may name the second host instead of a rank.
    ends_well: bool = False  # No rank fails: exit code 0, no last line.
    ends_in: float = 0  # Seconds from the fault to the end of horovodrun; 0: any.
    settles_in: float = 1  # Seconds in which leftovers must end after horovodrun.


@dataclass
class Case:
    """One job with one fault."""
    kind: str
    ranks: int
    victims: list
    seed: int
    options: dict = field(default_factory=dict)  # Of the fault program.
    environment: dict = field(default_factory=dict)
    expect: Expectation = field(default_factory=Expectation)
    inject: object = None  # Called with the running job; None: the fault program does it.
    hosts: int = 1
    waits: bool = False  # As of its kind.
    launcher: tuple = ()  # Options of horovodrun.
    children: bool = False  # Each rank has a child.

    def survivors(self):
        return set(range(self.ranks)) - set(self.victims)


@dataclass
class Kind:
    name: str
    share: int  # Of 1,000 faults.
    make: object  # Called with a Case and its random numbers; completes the Case.
    waits: bool = False  # Most of its time is sleep.
    hosts: int = 1
    ranks: tuple = (3, 3, 3, 3, 2, 4, 6)


def trained(act):
    """The fault comes from outside, at some moment after all ranks have begun to work."""
    def make(case, chance):
        delay = chance.random() * 0.03

        def inject(job):
            if job.wait_for("training", case.ranks):
                job.pause(delay)
                act(job, case)
        case.inject = inject
    return make


def signalled(number, many=1):
    def make(case, chance):
        case.victims = chance.sample(range(case.ranks), min(many, case.ranks - 1))
        case.expect = Expectation(set(case.victims), {128 + number},
                                  words=f"signal {int(number)}")
        trained(lambda job, case: job.hit(map(job.pid_of, case.victims),
                                          number))(case, chance)
    return make


def without_pidfd(case, chance):
    """The ranks are not notified of a death, and must poll."""
    signalled(signal.SIGKILL)(case, chance)
    case.options["refuse"] = "pidfd"


def held_by_mpi(case, chance):
    """A rank dies on one of two or three nodes, and an MPI call holds another rank forever.
    The held rank cannot give its program an error, but it prints the error."""
    signalled(signal.SIGKILL)(case, chance)
    case.environment["HOROVODPP_RANKS_PER_NODE"] = str(chance.choice((1, case.ranks - 1)))
    case.environment["HOROVODPP_HEARTBEAT_SECONDS"] = "1"
    held = chance.choice(sorted(case.survivors()))
    case.options["held"] = held

    def act(job, case):
        job.hit(map(job.pid_of, case.victims), signal.SIGKILL)
        job.hit([job.pid_of(held)], signal.SIGUSR1)
    trained(act)(case, chance)


def at_group(case, chance):
    signalled(signal.SIGKILL)(case, chance)
    trained(lambda job, case: job.hit([-job.pid_of(case.victims[0])],
                                      signal.SIGKILL))(case, chance)


def at_keeper(who):
    """The rank's agent or supervisor dies, and the rank with it."""
    def make(case, chance):
        case.expect = Expectation(set(case.victims), None)

        def act(job, case):
            pids = {"agent": job.agent_of, "supervisor": job.supervisor_of}
            job.hit([pids[who](case.victims[0])], signal.SIGKILL, who)
        trained(act)(case, chance)
    return make


def by_itself(fault, codes, number=0, words=""):
    def make(case, chance):
        case.options |= {"victims": case.victims[0], "fault": fault, "code": number,
                         "step": chance.randrange(2, 40)}
        case.expect = Expectation(set(case.victims), codes, words)
    return make


def short_stall(case):
    case.expect.ends_in = 1 + 3  # The limit, plus the usual time after it.
    case.environment |= {"HOROVOD_STALL_CHECK_TIME_SECONDS": "0.5",
                         "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "1"}


def stuck(case, chance):
    by_itself("stuck", None)(case, chance)
    short_stall(case)


def stopped(case, chance):
    case.expect = Expectation(set(case.victims), None)
    short_stall(case)
    trained(lambda job, case: job.hit([job.pid_of(case.victims[0])],
                                      signal.SIGSTOP))(case, chance)


def stopped_for_a_while(case, chance):
    case.options["seconds"] = 1
    case.expect = Expectation(ends_well=True, told=False)
    pause = chance.random() * 0.3

    def act(job, case):
        job.hit([job.pid_of(case.victims[0])], signal.SIGSTOP)
        job.pause(pause)
        job.hit([job.pid_of(case.victims[0])], signal.SIGCONT)
    trained(act)(case, chance)


def at_launcher(who, number):
    """mpirun or horovodrun is ended; all ranks end, and no rank is to blame."""
    def make(case, chance):
        case.victims = list(range(case.ranks))
        killed = who == "horovodrun" and number == signal.SIGKILL
        if who == "horovodrun":
            case.expect = Expectation(
                codes={-number} if killed else {128 + number},
                words="" if killed else "stopped by", told=False,
                settles_in=10 if killed else 1)
        elif number in (signal.SIGINT, signal.SIGHUP):
            # Only horovodrun reacts to these signals; mpirun ignores them.
            case.options["seconds"] = 0.5
            case.expect = Expectation(told=False, ends_well=True)
        else:
            case.expect = Expectation(words="mpirun", told=False)

        def act(job, case):
            pid = job.process.pid if who == "horovodrun" else job.starter()
            job.hit([pid], number, f"{who} {signal.Signals(number).name}")
        trained(act)(case, chance)
    return make


def at_terminal(case, chance):
    """Ctrl-C: every process in the launcher's process group gets the signal."""
    at_launcher("horovodrun", signal.SIGINT)(case, chance)
    trained(lambda job, case: job.hit([-job.process.pid], signal.SIGINT))(case, chance)


def during(phase, longest):
    def make(case, chance):
        case.options |= {"victims": case.victims[0], "fault": "kill", "when": phase,
                         "delay_us": chance.randrange(longest)}
        case.expect = Expectation(set(case.victims), {137}, "signal 9", told=False,
                                  if_error=True)
        if phase == "shutdown":
            case.options["seconds"] = 0.1
    return make


def at_other_host(hit, codes, words=""):
    """`hit` ends all ranks of the second host; it is called with the job and these ranks."""
    def make(case, chance):
        case.victims = hosts.ranks_of(1, case.ranks)
        case.expect = Expectation(set(case.victims), codes, words, if_error=True,
                                  host=True, settles_in=5)
        trained(lambda job, case: hit(job, case.victims))(case, chance)
    return make


def ssh_killed(case, chance):
    """The job no longer needs ssh: the daemons have their own connections."""
    case.victims = []
    case.options["seconds"] = 1
    case.expect = Expectation(ends_well=True, told=False)
    trained(lambda job, case: job.hit([job.ssh()], signal.SIGKILL, "ssh"))(case, chance)


def link_cut(case, chance):
    case.victims = []
    case.expect = Expectation(set(hosts.ranks_of(1, case.ranks)), across=True, host=True,
                              settles_in=10)

    def act(job, case):
        job.hit([], 0, "link")
        job.hosts.cut()
    trained(act)(case, chance)


def link_away(case, chance):
    """For less time than a host may be silent: no rank is lost, although TCP waits longer
    before it resends."""
    case.victims = []
    case.environment["HOROVODPP_HEARTBEAT_SECONDS"] = "2"
    case.options["seconds"] = 2
    case.expect = Expectation(ends_well=True, told=False)

    def act(job, case):
        job.hit([], 0, "link")
        job.hosts.cut()
        job.pause(1.5)
        job.hosts.mend()
    trained(act)(case, chance)


HERE = [
    Kind("SIGKILL", 320, signalled(signal.SIGKILL)),
    Kind("SIGKILL, no pidfd_open()", 20, without_pidfd),
    Kind("SIGKILL, one held by MPI", 10, held_by_mpi, waits=True, ranks=(2, 3, 3)),
    Kind("SIGSEGV", 40, signalled(signal.SIGSEGV)),
    Kind("two at once", 80, signalled(signal.SIGKILL, 2), ranks=(3, 3, 3, 4, 6)),
    Kind("its process group", 30, at_group),
    Kind("abort", 50, by_itself("abort", {134}, words="signal 6")),
    Kind("throw", 60, by_itself("throw", {134}, words="signal 6")),
    Kind("exit(0)", 40, by_itself("exit", None)),
    Kind("exit(3)", 60, by_itself("exit", {3}, 3, "code 3")),
    Kind("_exit(4)", 40, by_itself("quick_exit", {4}, 4, "code 4")),
    Kind("stuck", 20, stuck, waits=True),
    Kind("SIGSTOP", 10, stopped, waits=True),
    Kind("SIGSTOP, SIGCONT", 20, stopped_for_a_while),
    Kind("agent SIGKILL", 25, at_keeper("agent")),
    Kind("supervisor SIGKILL", 25, at_keeper("supervisor")),
    *(Kind(f"mpirun SIG{name}", 8, at_launcher("mpirun", signal.Signals["SIG" + name]))
      for name in ("TERM", "INT", "HUP", "KILL")),
    *(Kind(f"horovodrun SIG{name}", 8,
           at_launcher("horovodrun", signal.Signals["SIG" + name]))
      for name in ("TERM", "INT", "HUP", "KILL")),
    Kind("Ctrl-C", 8, at_terminal),
    Kind("before init()", 15, during("start", 100_000), waits=True),
    Kind("during init()", 15, during("init", 400_000), waits=True),
    Kind("init() without threads", 10, by_itself("no_threads", None), waits=True),
    Kind("during shutdown()", 30, during("shutdown", 3_000)),
]

BETWEEN = [Kind(name, share, make, waits=True, hosts=2, ranks=(2, 3, 4))
           for name, share, make in (
    ("two hosts: link cut", 6, link_cut),
    ("two hosts: link away", 4, link_away),
    ("two hosts: orted SIGKILL", 8, at_other_host(
        lambda job, ranks: job.hit([job.daemon_of(ranks[0])], signal.SIGKILL, "orted"),
        None)),
    ("two hosts: ssh SIGKILL", 8, ssh_killed),
    ("two hosts: a host's ranks SIGKILL", 10, at_other_host(
        lambda job, ranks: job.hit(map(job.pid_of, ranks), signal.SIGKILL), {137},
        "signal 9")),
    ("two hosts: SIGKILL", 10, signalled(signal.SIGKILL)),
    ("two hosts: exit(3)", 8, by_itself("exit", {3}, 3, "code 3")),
    ("two hosts: horovodrun SIGTERM", 4, at_launcher("horovodrun", signal.SIGTERM)),
    ("two hosts: horovodrun SIGKILL", 4, at_launcher("horovodrun", signal.SIGKILL)))]


def case_of(kind, seed):
    """Equal for equal seeds."""
    chance = random.Random(f"{kind.name} {seed}")
    ranks = chance.choice(kind.ranks)
    case = Case(kind.name, ranks, [chance.randrange(ranks)], seed, hosts=kind.hosts,
                waits=kind.waits)
    case.options["work"] = chance.choice(("cycle", "cycle", "changing", "single"))
    case.options["survivors"] = chance.choice(
        ("return", "return", "return", "throw", "quick_exit"))
    if kind.hosts == 1 and ranks % 2 == 0 and chance.random() < 0.25:
        case.environment["HOROVODPP_RANKS_PER_NODE"] = str(ranks // 2)
    kind.make(case, chance)
    return case
