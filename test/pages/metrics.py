# SPDX-License-Identifier: Apache-2.0
"""Holds the page and Grafana's dashboard to the metrics of the sources.

    metrics.py <root>

The table of docs/observability.md lists each metric, with its labels. Panels query only metrics
that exist, by the names and labels that Prometheus has for them, and each metric is in a panel.
"""

import json
import pathlib
import re
import sys

SOURCE = "horovodpp/telemetry/metrics/job_metrics_snapshot.cc"
PAGE = "docs/observability.md"
DASHBOARD = "packaging/grafana/horovodpp.json"
CALL = re.compile(r'\.(counter|gauge|histogram)\(\s*"(horovodpp_\w+)"')
ROW = re.compile(r"^\| `(horovodpp_\w+)` \| (\w+) \|", re.MULTILINE)
PARTS = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
LABELS = {"rank", "kind", "plane", "le", "job"}  # The last is Prometheus' own.


def queries(dashboard):
    """The query of each panel and each variable."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def mistakes(root):
    types = {name: kind for kind, name in CALL.findall((root / SOURCE).read_text())}
    if not types:
        yield f"{SOURCE} has no metric"
    listed = dict(ROW.findall((root / PAGE).read_text()))
    for name in sorted(types.keys() ^ listed.keys()):
        yield f"{name} is only in {SOURCE if name in types else PAGE}"
    for name in sorted(types.keys() & listed.keys()):
        if types[name] != listed[name]:
            yield f"{PAGE} says {name} is a {listed[name]}: it is a {types[name]}"
    series = {name + part: name for name, kind in types.items() for part in PARTS[kind]}
    unused = set(types)
    for query in queries(json.loads((root / DASHBOARD).read_text())):
        for name in re.findall(r"\bhorovodpp_\w+", query):
            if name not in series:
                yield f"{DASHBOARD} queries {name}, which is no series"
            unused.discard(series.get(name))
        grouped = " ".join(re.findall(r"by \(([^)]*)\)", query))
        for label in re.findall(r"(\w+)=~", query) + re.findall(r"\w+", grouped):
            if label not in LABELS:
                yield f"{DASHBOARD} uses {label}, which is no label"
    for name in sorted(unused):
        yield f"{DASHBOARD} does not show {name}"


def main():
    found = list(mistakes(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
