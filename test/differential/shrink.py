# SPDX-License-Identifier: Apache-2.0
"""Shrinks a program that differs as far as possible."""


def shrunk(program, still_differs):
    """`program` without the statements that the difference does not need."""
    statements = program["statements"]
    size = max(len(statements) // 2, 1)
    while True:
        at, dropped = len(statements), False
        while at > 0:
            start = max(at - size, 0)
            rest = statements[:start] + statements[at:]
            if still_differs({**program, "statements": rest}):
                statements, dropped = rest, True
            at = start
        if size == 1 and not dropped:
            break
        size = max(size // 2, 1)
    for simpler in (without_requires_grad, with_simple_values):
        for i, statement in enumerate(statements):
            if statement["do"] == "leaf":
                trial = statements[:i] + [simpler(statement)] + statements[i + 1:]
                if still_differs({**program, "statements": trial}):
                    statements = trial
    return {**program, "statements": statements}


def without_requires_grad(leaf):
    return {**leaf, "requires_grad": False}


def with_simple_values(leaf):
    return {**leaf, "values": [1.0 if leaf["dtype"].startswith(("f", "bf")) else v
                               for v in leaf["values"]]}
