# SPDX-License-Identifier: Apache-2.0
"""Makes random programs. A program depends only on its seed."""

import random

import recipes_composed
import recipes_distances
import recipes_elements
import recipes_elementwise
import recipes_graphs
import recipes_images
import recipes_medians
import recipes_more_shapes
import recipes_networks
import recipes_reductions
import recipes_scatter
import recipes_orders
import recipes_shapes
from builder import Builder
from recipes import RECIPES

DTYPES = ["float32"] * 10 + ["float64"] * 5 + ["float16"] * 2 + ["bfloat16"] * 2 + ["int64"]
NAMES = sorted(RECIPES)
WEIGHTS = [RECIPES[name][1] for name in NAMES]
LEAVING = 0.3  # The probability, within a scope, of leaving it next.


def generate(seed):
    rng = random.Random(seed)
    b = Builder(rng, dtype=rng.choice(DTYPES), mixing=rng.choice((0.0, 0.0, 0.0, 0.05)),
                promoting=rng.choice((0.0, 0.0, 0.1, 0.3)),
                spoiling=rng.choice((0.0, 0.0, 0.05, 0.1)))
    for _ in range(rng.randint(4, 16)):
        if b.scopes and b.chance(LEAVING):
            add(b, "leave")
        else:
            add(b, rng.choices(NAMES, WEIGHTS)[0])
    while b.scopes and b.chance(0.8):
        add(b, "leave")
    if b.chance(0.6):
        add(b, "backward")
    return {"seed": seed, "statements": b.statements}


def add(b, name):
    function, _ = RECIPES[name]
    function(b, name)
