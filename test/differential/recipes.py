# SPDX-License-Identifier: Apache-2.0
"""The table of recipes: functions that add one operation, on fitting operands, to
a program under construction."""

RECIPES = {}


def recipe(*names, weight=1.0):
    """Enters a function as what makes the operations of these names. It is called
    with the builder and the name."""

    def enter(function):
        for name in names:
            RECIPES[name] = (function, weight)
        return function

    return enter
