# SPDX-License-Identifier: Apache-2.0
"""The table of recipes: functions that add one operation with fitting operands to a
program under construction."""

RECIPES = {}


def recipe(*names, weight=1.0):
    """Registers a function of the builder and the name as the recipe of these operations."""

    def enter(function):
        for name in names:
            RECIPES[name] = (function, weight)
        return function

    return enter
