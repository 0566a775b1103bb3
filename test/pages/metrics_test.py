# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes, and holds metrics.py to finding them."""

import json
import pathlib
import tempfile
import unittest

import metrics

SOURCE = '''
series.counter("horovodpp_steps_total", "Steps.", steps_);
series.histogram(
    "horovodpp_step_seconds", "Seconds.", step_seconds_);
'''
PAGE = """
| `horovodpp_steps_total` | counter | steps |
| `horovodpp_step_seconds` | histogram | seconds |
"""
QUERIES = ('sum by (rank) (rate(horovodpp_steps_total{job=~"$job"}[1m]))',
           "sum by (le) (horovodpp_step_seconds_bucket)")


class Metrics(unittest.TestCase):
    def mistakes(self, page=PAGE, queries=QUERIES):
        dashboard = {
            "panels": [{"targets": [{"expr": query} for query in queries]}],
            "templating": {"list": [
                {"type": "datasource"},
                {"type": "query", "query": {"query": "label_values(horovodpp_steps_total, rank)"}},
            ]}}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in ((metrics.SOURCE, SOURCE), (metrics.PAGE, page),
                               (metrics.DASHBOARD, json.dumps(dashboard))):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return list(metrics.mistakes(root))

    def test_what_agrees_passes(self):
        self.assertEqual(self.mistakes(), [])

    def test_the_page_lists_what_exists(self):
        found, = self.mistakes(page=PAGE.replace("steps_total", "steps"))[:1]
        self.assertIn("horovodpp_steps is only in docs", found)
        self.assertEqual(len(self.mistakes(page=PAGE + "| `horovodpp_x` | gauge | x |\n")), 1)

    def test_the_page_has_the_types(self):
        found, = self.mistakes(page=PAGE.replace("counter", "gauge"))
        self.assertIn("it is a counter", found)

    def test_a_panel_queries_series(self):
        found, = self.mistakes(queries=QUERIES + ("horovodpp_step_seconds",))
        self.assertIn("no series", found)

    def test_a_panel_uses_labels(self):
        found, = self.mistakes(queries=QUERIES + ("sum by (tensor) (horovodpp_steps_total)",))
        self.assertIn("tensor", found)

    def test_each_metric_is_shown(self):
        found, = self.mistakes(queries=QUERIES[:1])
        self.assertIn("does not show horovodpp_step_seconds", found)


if __name__ == "__main__":
    unittest.main()
