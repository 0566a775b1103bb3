#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Injects faults into jobs under horovodrun and reports the outcomes.

  run.py --kills 1000         all kinds, and the table of docs/testing.md
  run.py --kills 20 --kind 'exit(3)'      one kind; --seed repeats a run
  run.py --matrix 0           each signal at each process of a job, and a table; 20: that many
                              of these cells
  run.py --reform 100         jobs of a minute whose survivors go on, 100 losses in all
  run.py --elastic 200        the same with hvd.elastic.run, by a Python that has PyTorch;
                              with --no-mpi in jobs without MPI
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import sys
import time

import hosts
import job
import judge
import kinds
import leftovers
import matrix
import reform
import table
import training

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def programs_in(build):
    return job.Programs(
        os.environ.get("HOROVODRUN", f"{build}/horovodrun/horovodrun"),
        [os.environ.get("FAULT_PROGRAM", f"{build}/test/faults/fault_program")],
        os.environ.get("HOROVODPP_CACHE_DIR", f"{build}/cache"))


def run_case(case, programs, private, follows_within):
    with contextlib.ExitStack() as stack:
        folders = stack.enter_context(leftovers.Folders(private))
        pair = stack.enter_context(hosts.Hosts(folders)) if case.hosts == 2 else None
        running = stack.enter_context(
            job.Job(programs, folders, case.ranks, case.options, case.environment, pair,
                    launcher=case.launcher, children=case.children))
        if case.inject:
            case.inject(running)
        outcome = running.finish(case.expect.settles_in)
    return case, outcome, judge.judge(case, outcome, follows_within)


def plan(all_kinds, kills, seed):
    """Each kind by its share, and at least once; kinds that mostly wait go first."""
    total = sum(kind.share for kind in all_kinds)
    cases = []
    for kind in all_kinds:
        count = max(1, round(kills * kind.share / total))
        cases += [kinds.case_of(kind, seed + i) for i in range(count)]
    return cases


def show(case, outcome, judgement):
    lines = [f"--- {case.kind}, {case.ranks} ranks, victims {case.victims}, "
             f"--kind '{case.kind}' --seed {case.seed} {case.options} {case.environment}"]
    lines += [f"    {fault}" for fault in judgement.faults()]
    began = judge.fault_time(case, outcome) or 0
    for event in outcome.events:
        lines.append(f"    {event['ns'] / 1e9 - began:8.3f} rank {event['rank']} "
                     f"pid {event['pid']} {event['event']} {event['text']}")
    for pid, when in outcome.rank_ends.items():
        lines.append(f"    {when - began:8.3f} pid {pid} ended")
    lines.append(f"    {outcome.ended_at - began:8.3f} horovodrun ended with "
                 f"{outcome.returncode}; hit {outcome.fault_pids}")
    lines += [f"    | {line}" for line in outcome.stderr.splitlines()[-12:]]
    print("\n".join(lines), flush=True)


def in_parallel(work, queues, at_a_time):
    """The results of work() for each item, in the order of their ends. Each queue has as
    many threads as given."""
    pools = [concurrent.futures.ThreadPoolExecutor(at_a_time) for _ in queues]
    futures = [pool.submit(work, item) for pool, queue in zip(pools, queues)
               for item in queue]
    try:
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    except BaseException:
        # A second signal must not interrupt the cleanup.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        job.STOP.set()
        raise
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)


def run_all(cases, arguments, programs, private):
    """The cases with their outcomes and judgments; shows those with a fault."""
    results = []
    for result in in_parallel(lambda case: run_case(case, programs, private, arguments.late),
                              [[case for case in cases if case.waits],
                               [case for case in cases if not case.waits]],
                              arguments.jobs):
        if result[2].faults():
            show(*result)
        results.append(result)
    return results


def do_faults(arguments, programs, private):
    against = hosts.reason_against()
    if against:
        print(f"no faults between hosts: {against}")
    every = kinds.HERE + ([] if against else kinds.BETWEEN)
    chosen = [kind for kind in every if not arguments.kind or kind.name in arguments.kind]
    cases = plan(chosen, arguments.kills, arguments.seed)
    results = run_all(cases, arguments, programs, private)
    text = table.table([kind.name for kind in chosen], results)
    print(text)
    if arguments.docs:
        table.write(arguments.docs, text)
    return sum(bool(judgement.faults()) for _, _, judgement in results)


def do_matrix(arguments, programs, private):
    against = hosts.reason_against()
    if against:
        print(f"no signals between hosts: {against}")
    chosen = [kind for kind in matrix.cells(1 if against else 2)
              if not arguments.kind or kind.name in arguments.kind]
    if arguments.matrix:
        chance = random.Random(arguments.seed)
        chosen = chance.sample(chosen, min(arguments.matrix, len(chosen)))
    results = run_all([kinds.case_of(kind, arguments.seed) for kind in chosen], arguments,
                      programs, private)
    text = matrix.table(results)
    print(text)
    if arguments.docs:
        table.write(arguments.docs, text, "signals")
    return sum(bool(judgement.faults()) for _, _, judgement in results)


def do_rounds(kind, losses_in_all, arguments, programs, private):
    jobs = -(-losses_in_all // kind.losses)
    losses = -(-losses_in_all // jobs)
    rounds = list(in_parallel(
        lambda seed: reform.run_job(kind, programs, private, arguments.seconds, losses, seed),
        [range(arguments.seed, arguments.seed + jobs)], arguments.jobs))
    for one in rounds:
        if one.faults:
            print(f"--- job of seed {one.seed}", *one.faults,
                  *one.stderr.splitlines()[-8:], sep="\n    ", flush=True)
    took = [time for one in rounds for time in one.took]
    bad = sum(bool(one.faults) for one in rounds)
    print(f"{sum(one.lost for one in rounds)} losses in {jobs} jobs of {arguments.seconds:g} s: "
          f"{jobs - bad} jobs without fault; re-formed after "
          f"{table.milliseconds(table.at(0.5, took))} (median), "
          f"{table.milliseconds(table.at(1, took))} (longest)")
    return bad


def do_elastic(arguments, programs, private):
    against = training.reason_against_torch(arguments.build)
    if against:
        print(f"SKIPPED: {against}")
        sys.exit(77)
    package = pathlib.Path(arguments.build, "bindings")
    kind = reform.elastic(package, ("--no-mpi",) if arguments.no_mpi else ())
    return do_rounds(kind, arguments.elastic, arguments, programs, private)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--matrix", type=int, metavar="CELLS", help="0: all")
    parser.add_argument("--reform", type=int, default=0, metavar="LOSSES")
    parser.add_argument("--elastic", type=int, default=0, metavar="LOSSES")
    parser.add_argument("--no-mpi", action="store_true", help="for --elastic")
    parser.add_argument("--seconds", type=float, default=60,
                        help="of a job of --reform or --elastic")
    parser.add_argument("--kind", action="append", help="of fault; may be repeated")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--build", default=f"{ROOT}/build/dev")
    parser.add_argument("--jobs", type=int, default=3, help="at a time")
    parser.add_argument("--late", type=float, default=1,
                        help="seconds horovodrun may take after the last rank")
    parser.add_argument("--docs", help="the document with the tables; "
                        "docs/testing.md for all kinds and 1,000 faults")
    arguments = parser.parse_args()
    if arguments.kills >= 1000 and not arguments.kind and not arguments.docs:
        arguments.docs = f"{ROOT}/docs/testing.md"
    # On SIGTERM, clean up as at any other end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = programs_in(arguments.build)
    private = leftovers.can_hide_folders()
    print(f"--seed {arguments.seed}", flush=True)
    began = time.monotonic()
    bad = do_faults(arguments, programs, private) if arguments.kills else 0
    if arguments.matrix is not None:
        bad += do_matrix(arguments, programs, private)
    if arguments.reform:
        bad += do_rounds(reform.REFORM, arguments.reform, arguments, programs, private)
    bad += do_elastic(arguments, programs, private) if arguments.elastic else 0
    print(f"{time.monotonic() - began:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
