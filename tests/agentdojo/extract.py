#!/usr/bin/env python3
"""Writes traces.json: AgentDojo's ground-truth calls and where an injection is read.

Source: agentdojo 0.1.35 (PyPI), benchmark version v1.2.2, MIT licence,
Copyright (c) 2024 Edoardo Debenedetti, Jie Zhang, Mislav Balunovic, Luca Beurer-Kellner, Marc Fischer, and Florian Tramèr.

    python3 -m venv venv && venv/bin/pip install agentdojo==0.1.35 && venv/bin/python extract.py
    venv/bin/python extract.py --check    # fails if traces.json would change

No model is called. Every call is executed in AgentDojo's own environment.
"""

import copy
import importlib.metadata
import json
import pathlib
import sys

PACKAGE_VERSION = "0.1.35"
BENCHMARK_VERSION = "v1.2.2"
OUTPUT = pathlib.Path(__file__).with_name("traces.json")

if (installed := importlib.metadata.version("agentdojo")) != PACKAGE_VERSION:
    sys.exit(f"agentdojo {PACKAGE_VERSION} is needed, {installed} is installed")

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402


def marker(vector):
    return f"---CANARY_{vector}---"


def prepared(suite, task, injections):
    environment = suite.load_and_inject_default_environment(injections)
    return task.init_environment(environment) if hasattr(task, "init_environment") else environment


def ground_truth(task, environment):
    """The calls, computed from a copy so that the environment stays as it is."""
    calls = task.ground_truth(environment.model_copy(deep=True))
    for call in calls:
        nested = [k for k, v in call.args.items() if isinstance(v, FunctionCall)]
        if nested:
            raise ValueError(f"{task.ID}: {call.function} has nested calls in {nested}")
    return calls


def run(suite, environment, calls):
    """The text of each call's result, or the error, as an agent would see it."""
    runtime = FunctionsRuntime(suite.tools)
    texts, errors = [], []
    for call in calls:
        result, error = runtime.run_function(environment, call.function, copy.deepcopy(dict(call.args)))
        texts.append(error or tool_result_to_str(result))
        errors.append(error)
    return texts, errors


def plain(calls):
    return [{"function": c.function, "args": json.loads(json.dumps(dict(c.args), default=str))} for c in calls]


def user_task(suite, task):
    environment = prepared(suite, task, {})
    calls = ground_truth(task, environment)
    _, errors = run(suite, environment, calls)

    # The same task with a marker in each injection vector. The arguments can contain
    # markers (a channel's name is a vector), so only the functions are compared.
    vectors = sorted(suite.get_injection_vector_defaults())
    environment = prepared(suite, task, {v: marker(v) for v in vectors})
    marked = ground_truth(task, environment)
    if [c.function for c in marked] != [c.function for c in calls]:
        raise ValueError(f"{suite.name}/{task.ID}: other calls with markers than without")
    texts, marked_errors = run(suite, environment, marked)
    if [bool(e) for e in errors] != [bool(e) for e in marked_errors]:
        raise ValueError(f"{suite.name}/{task.ID}: other errors with markers than without")

    data = plain(calls)
    for call, text, error in zip(data, texts, errors):
        if seen := [v for v in vectors if marker(v) in text]:
            call["shows"] = seen
        if error:
            call["error"] = error
    after = next((i for i, call in enumerate(data) if "shows" in call), None)
    return calls, {"prompt": task.PROMPT.strip(), "inject_after": after, "calls": data}


def injection_task(suite, task):
    environment = prepared(suite, task, {})
    calls = ground_truth(task, environment)
    _, errors = run(suite, environment, calls)
    data = plain(calls)
    for call, error in zip(data, errors):
        if error:
            call["error"] = error
    return calls, {"goal": task.GOAL.strip(), "calls": data}


def number(task_id):
    return int(task_id.rsplit("_", 1)[1])


def extract():
    suites = {}
    for name, suite in sorted(get_suites(BENCHMARK_VERSION).items()):
        users, injections, pairs = {}, {}, []
        user_calls, injection_calls = {}, {}
        for key in sorted(suite.user_tasks, key=number):
            user_calls[key], users[key] = user_task(suite, suite.user_tasks[key])
        for key in sorted(suite.injection_tasks, key=number):
            injection_calls[key], injections[key] = injection_task(suite, suite.injection_tasks[key])
            first = min(suite._injection_tasks[key])
            injections[key]["since"] = "v" + ".".join(map(str, first))
        for user in users:
            after = users[user]["inject_after"]
            for injection in injections:
                pair = {"user": user, "injection": injection, "after": after}
                if after is not None:
                    # The whole sequence in one environment: user's calls up to the read, injection, rest.
                    environment = prepared(suite, suite.user_tasks[user], {})
                    calls = user_calls[user][: after + 1] + injection_calls[injection] + user_calls[user][after + 1 :]
                    _, errors = run(suite, environment, calls)
                    if failed := [i for i, e in enumerate(errors) if e]:
                        pair["fails"] = failed
                pairs.append(pair)
        suites[name] = {"user_tasks": users, "injection_tasks": injections, "pairs": pairs}
    return suites


def write(suites):
    """One task's call a line, one pair a line."""
    one = lambda value: json.dumps(value, ensure_ascii=False, sort_keys=False)  # noqa: E731
    out = ["{"]
    out.append('"source": ' + one({
        "package": f"agentdojo=={PACKAGE_VERSION}",
        "benchmark": BENCHMARK_VERSION,
        "licence": "MIT, Copyright (c) 2024 Edoardo Debenedetti, Jie Zhang, Mislav Balunovic, Luca Beurer-Kellner, Marc Fischer, and Florian Tramèr",
        "written_by": "extract.py",
    }) + ",")
    out.append('"suites": {')
    for s, (name, suite) in enumerate(suites.items()):
        out.append(f"{one(name)}: {{")
        for kind in ("user_tasks", "injection_tasks"):
            out.append(f'"{kind}": {{')
            tasks = suite[kind]
            for t, (key, task) in enumerate(tasks.items()):
                head = ", ".join(f"{one(k)}: {one(v)}" for k, v in task.items() if k != "calls")
                calls = ",\n".join("  " + one(c) for c in task["calls"])
                body = f"\n{calls}\n" if calls else ""
                out.append(f'{one(key)}: {{{head}, "calls": [{body}]}}' + ("," if t + 1 < len(tasks) else ""))
            out.append("},")
        out.append('"pairs": [')
        out.append(",\n".join(one(p) for p in suite["pairs"]))
        out.append("]}" + ("," if s + 1 < len(suites) else ""))
    out.append("}}")
    text = "\n".join(out) + "\n"
    if json.loads(text)["suites"] != suites:
        raise ValueError("the written text does not parse to the same data")
    return text


if __name__ == "__main__":
    text = write(extract())
    if sys.argv[1:] == ["--check"]:
        if OUTPUT.read_text() != text:
            sys.exit("traces.json is not what extract.py writes")
        print("traces.json is up to date")
    else:
        OUTPUT.write_text(text)
        print(f"{OUTPUT.name}: {len(text.encode())} bytes")
