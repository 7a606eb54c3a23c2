#!/usr/bin/env python3
"""Prints the counts of README.md from the data files. Needs Python 3.11, no packages.

A consequential call has permission write or connect (labels.toml).
A pair is cross-server if at least one consequential call of its injection is at another server
than the call that brought the injection. That call is one of two:
  marker: the first whose result really contains an injection (traces.json: "after")
  label:  the first whose tool is labelled untrusted (what the design's figures used)
"""

import collections
import json
import pathlib
import tomllib

here = pathlib.Path(__file__).parent
traces = json.loads((here / "traces.json").read_text())["suites"]
servers = json.loads((here / "servers.json").read_text())
labels = tomllib.loads((here / "labels.toml").read_text())["tools"]

columns = ["pairs", "pairs with a read", "and a consequential call", "cross-server"]


def first(calls, test):
    return next((i for i, call in enumerate(calls) if test(call)), None)


def table(title, by_label, versions):
    print(f"## {title}\n\n| suite | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    totals = collections.Counter()
    for name, suite in traces.items():
        at = {tool: server for server, tools in servers[name].items() for tool in tools}
        label = lambda call: labels[f"{at[call['function']]}/{call['function']}"]  # noqa: E731
        row = collections.Counter()
        for pair in suite["pairs"]:
            injection = suite["injection_tasks"][pair["injection"]]
            if injection["since"] not in versions:
                continue
            calls = suite["user_tasks"][pair["user"]]["calls"]
            untrusted = first(calls, lambda call: label(call)["untrusted"])
            read = untrusted if by_label else pair["after"]
            row["pairs"] += 1
            if read is None:
                continue
            row["pairs with a read"] += 1
            acts = [at[c["function"]] for c in injection["calls"] if {"write", "connect"} & set(label(c)["permission"])]
            if acts:
                row["and a consequential call"] += 1
                row["cross-server"] += any(server != at[calls[read]["function"]] for server in acts)
                row["early"] += untrusted is None or untrusted > read
        print(f"| {name} | " + " | ".join(str(row[c]) for c in columns) + " |")
        totals += row
    print("| all | " + " | ".join(str(totals[c]) for c in columns) + " |\n")
    print(f"In {totals['early']} of the {totals['and a consequential call']} pairs no tool labelled untrusted was called when the injection begins.\n")


table("read by marker, all injection tasks of v1.2.2", False, {"v1.0.0", "v1.2.0"})
table("read by marker, injection tasks since v1", False, {"v1.0.0"})
table("read by label, injection tasks since v1 (the design's definition)", True, {"v1.0.0"})

print("## tasks\n")
for name, suite in traces.items():
    users, injections = suite["user_tasks"], suite["injection_tasks"]
    at = {tool: server for server, tools in servers[name].items() for tool in tools}
    tool = lambda call: f"{at[call['function']]}/{call['function']}"  # noqa: E731
    print(f"- {name}: {len(users)} user tasks with {sum(len(u['calls']) for u in users.values())} calls, "
          f"{len(injections)} injection tasks with {sum(len(i['calls']) for i in injections.values())} calls")
    print("  - injection tasks without calls:", ", ".join(k for k, i in injections.items() if not i["calls"]) or "none")
    reads = collections.Counter(tool(u["calls"][u["inject_after"]]) for u in users.values() if u["inject_after"] is not None)
    print("  - the call that brings the injection:", ", ".join(f"{t} {n}" for t, n in sorted(reads.items())))
    shown = {tool(c) for u in users.values() for c in u["calls"] if "shows" in c and not labels[tool(c)]["untrusted"]}
    print("  - tools that show an injection, labelled untrusted = false:", ", ".join(sorted(shown)) or "none")
    print("  - pairs in which a call fails:", sum("fails" in p for p in suite["pairs"]))
