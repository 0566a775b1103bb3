# SPDX-License-Identifier: Apache-2.0
"""Puts runs of a program's statements into checkpointed regions; see regions.h.

A region may not hold statements about gradients or writes to tensors from outside.
Leaves are made before the region, like parameters. A scope is left in the region
where it was entered.
"""

import random

from views import VIEWS

OUTSIDE = {"backward", "grad", "get_grad", "set_grad", "retain_grad", "scaling_hook",
           "requires_grad_", "detach_"}
LONGEST = 12  # Statements of a region.
BUDGETS = (0, 200, 2000, 20000)  # Bytes; tensors have up to 150 elements.
# The policies of horovodpp/checkpoint/policies/policy.h, used in turn for the
# operations' results.
POLICIES = ("must_save", "prefer_save", "must_recompute", "prefer_recompute", "must_offload",
            "prefer_offload")
# Statements about the gradient of a tensor.
ASKING = {"retain_grad", "scaling_hook", "get_grad", "set_grad"}


def noticeable(program):
    """The same program with a generator's seed, and without writes that a region cannot
    notice. These keep the version, or are detach_() of a recorded tensor."""
    statements = [{**s, "do": "detach"} if s["do"] == "data" else s
                  for s in program["statements"] if s["do"] != "detach_"]
    return {**program, "chance": program["seed"], "statements": statements}


def with_chance(program):
    """The same program, also with operations that draw random numbers."""
    rng = random.Random(program["seed"])
    program = noticeable(program)
    statements = []
    for statement in program["statements"]:
        statement = dict(statement)
        if "p" in statement and rng.random() < 0.8:
            statement.update(p=rng.choice((0.25, 0.5)), training=True)
        if statement.get("dropout_p") == 0.0 and rng.random() < 0.4:
            statement["dropout_p"] = 0.25
        if statement["do"] == "bernoulli_":
            statement["number"] = 0.5
        statements.append(statement)
    return {**program, "statements": statements}


def checkpointed(program, form):
    """The same program with regions of this form."""
    rng = random.Random(f"{program['seed']} {form}")
    result = dict(program)
    if form == "online":
        result["budget"] = rng.choice(BUDGETS)
    maker = _Maker(program["statements"], form, rng)
    result["statements"] = maker.statements()
    return result


def names_in(statement):
    """All tensors that a statement names or makes."""
    names = [n for key in ("of", "as", "gradients", "inputs") for n in statement.get(key) or []]
    return {n for n in names if n}


class _Maker:
    def __init__(self, statements, form, rng):
        self.given, self.form, self.rng = statements, form, rng
        self.trained = {n for s in statements if s["do"] == "leaf" and s["requires_grad"]
                        for n in s["as"]}
        self.asked = {n for s in statements for n in s.get("inputs") or []} | {
            s["of"][0] for s in statements if s["do"] in ASKING}
        for s in reversed(statements):  # Views may be the operand itself.
            if s["do"] in VIEWS and self.asked.intersection(s.get("as") or []):
                self.asked.add(s["of"][0])
        self.restricted = any(s.get("inputs") for s in statements)
        self.changed = {s["of"][0] for s in statements if s["do"] == "requires_grad_"}

    def statements(self):
        result, at = [], 0
        while at < len(self.given):
            end = self.end_of_run(self.given, at)
            if self.rng.random() < 0.8 and end > at:
                end = at + self.rng.randint(1, end - at)
                end = self.end_of_run(self.given[:end], at)
            if end > at:
                result += self.region_of(at, end)
                at = end
            else:
                result.append(self.given[at])
                at += 1
        return result

    def end_of_run(self, statements, start):
        """The last place up to which the statements from `start` on can form a region."""
        made, roots, depth, end = set(), {}, 0, start
        for at in range(start, min(start + LONGEST, len(statements))):
            s = statements[at]
            if s["do"] in OUTSIDE or s.get("scope") == "inference_mode":
                break
            if self.form == "reentrant" and self.is_beyond_reentrant(s, made):
                break
            depth += {"enter": 1, "leave": -1}.get(s["do"], 0)
            if depth < 0:
                break
            target = s["of"][0] if s.get("of") else None
            if s["do"].endswith("_") and roots.get(target) not in made:
                break
            if s["do"] != "leaf":
                for name in s.get("as") or []:
                    roots[name] = roots.get(target, target) if s["do"] in VIEWS else name
                    made.add(name)
            if depth == 0:
                end = at + 1
        return end

    def is_beyond_reentrant(self, s, made):
        """Whether a reentrant region, which made these tensors, must end before a statement.
        Its arguments are leaves, its results are not views, all require grad, and none
        depends on another. Questions about a result's gradient thus have other answers."""
        return (s["do"] in VIEWS or s["do"] == "asking"
                or any(n in self.changed for n in s.get("as") or [])
                or any(n in made and n in self.asked for n in s.get("of") or []))

    def region_of(self, start, end):
        run = self.given[start:end]
        leaves = [s for s in run if s["do"] == "leaf"]
        inner = [s for s in run if s["do"] != "leaf"]
        if not any(s.get("as") for s in inner):
            return run
        if self.form in ("sequential", "planned"):
            return leaves + self.chains(inner, end)
        if self.form == "nested" and len(inner) > 1:
            inner = self.split(inner)
        return leaves + [self.region(inner)]

    def split(self, statements):
        """The statements, with some of them in a region."""
        start = self.rng.randrange(len(statements))
        end = self.end_of_run(statements, start)
        inner = statements[start:end]
        if not any(s.get("as") for s in inner):
            return statements
        if len(inner) > 1 and self.rng.random() < 0.5:
            inner = self.split(inner)
        return statements[:start] + [self.region(inner)] + statements[end:]

    def region(self, inner):
        made = [n for s in inner for n in s.get("as") or []]
        used = self.used_by(inner, made)
        # Running statistics are written, so the function captures them.
        statistics = {n for s in inner if s["do"] == "batch_norm" for n in s["of"][1:3]}
        form = self.form if self.form in ("reentrant", "selective", "offload") else "region"
        captured = [n for n in used if n in statistics
                    or self.may_capture(n, used) and self.rng.random() < 0.3]
        return {"do": "region", "form": form, "of": [n for n in used if n not in captured],
                "captured": captured, "statements": inner, "as": made, **self.options()}

    def may_capture(self, name, used):
        """Always true except for the reentrant form. In that form, an inner backward would
        free the history of captured tensors. No backward runs unless an argument requires
        grad, and grad() finds no path to captured tensors."""
        return self.form != "reentrant" or (
            name in self.trained and not self.restricted
            and any(n in self.trained for n in used[:used.index(name)]))

    def options(self):
        result = {"early_stop": self.rng.random() < 0.7, "checksum": self.rng.random() < 0.3}
        if self.form == "selective":
            result["policies"] = self.rng.choices(POLICIES, k=self.rng.randint(1, 5))
            result["keep_copies"] = self.rng.random() < 0.6
        if self.form == "offload":
            result["within"] = self.rng.choice(("nothing", "region", "both"))
            result["least_bytes"] = self.rng.choice((0, 32, 256))
        if self.form in ("selective", "offload"):
            result["fits"] = "must_offload" in result.get("policies", ()) or (
                self.rng.random() < 0.7)
        return result

    @staticmethod
    def used_by(statements, made):
        used = dict.fromkeys(n for s in statements for key in ("of", "captured")
                             for n in s.get(key) or [] if n)
        return [n for n in used if n not in made]

    def chains(self, inner, end):
        """The statements in chains, where each link's results are used only by the next."""
        later = [n for s in self.given[end:] for n in names_in(s)]
        result, at = [], 0
        while at < len(inner):
            links = self.links_from(inner, at, later)
            if len(links) < 2:
                result.append(inner[at])
                at += 1
                continue
            at += len(links)
            result.append(self.chain(links))
        return result

    @staticmethod
    def links_from(inner, at, later):
        links = []
        for s in inner[at:]:
            if s["do"].endswith("_") or len(s.get("as") or []) != 1 or not s["of"] or (
                    s["of"][0] is None):
                break
            if links:
                last = links[-1]["as"][0]
                others = [n for other in inner if other is not s for n in names_in(other)
                          if other is not links[-1]]
                if s["of"][0] != last or last in later or last in others:
                    break
            links.append(s)
        return links

    def chain(self, links):
        made = [s["as"][0] for s in links]
        first = links[0]["of"][0]
        captured = [n for n in self.used_by(links, made) if n != first]
        if first in [n for s in links for n in s["of"][1:]]:
            captured.append(first)
        parts = [{"of": [s["of"][0]], "statements": [s], "as": s["as"]} for s in links]
        which = {"segments": self.rng.randint(1, len(links))} if self.form == "sequential" else {
            "fraction": self.rng.choice((0.3, 0.5, 0.7, 0.9))}
        return {"do": "chain", "form": self.form, "of": [first], "captured": captured,
                "links": parts, "as": [made[-1]], **which, **self.options()}
