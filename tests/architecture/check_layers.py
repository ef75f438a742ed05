#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every include and source, and fails where a rule of docs/architecture.md is broken.

    check_layers.py ROOT         checks the tree and lists what it finds as path:line: rule: text
    check_layers.py --self-test  plants one offence of every kind in a small tree and expects each to be found
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

# An include points down: a file of a layer may include its own layer and those listed.
SIM = ("sim/core", "sim/work", "sim/play")
LAYERS = {
    "sim/core": (),
    "sim/work": ("sim/core",),
    "sim/play": ("sim/core", "sim/work"),
    "hw_models": SIM,
    "network": SIM,
    "traces": SIM,
    "workloads": SIM + ("hw_models", "network", "traces"),
    "bindings/report": SIM + ("hw_models", "network", "traces", "workloads"),
    "bindings/cli": SIM + ("hw_models", "network", "traces", "workloads", "bindings/report"),
    "bindings/python": SIM + ("hw_models", "network", "traces", "workloads", "bindings/report"),
}
PRODUCT = ("sim", "hw_models", "network", "traces", "workloads", "bindings")

# Foreign headers: the paths (regular expressions) of the product files that may include them.
# Tests may include them where they need a second opinion.
FOREIGN = {
    r"fmt/": r".*",
    r"yaml-cpp/": r"sim/core/config_value\.cpp",
    r"boost/": r"network/.*\.cpp",
    r"systemc(\.h)?$|tlm": r"hw_models/systemc/.*",
    r"google/protobuf/|.*\.pb\.h$": r"traces/(.*\.cpp|perfetto_packets\.hpp)",
    r"simdjson": r"traces/.*\.cpp",
    r"sqlite3": r"traces/.*\.cpp",
    r"zlib": r"traces/byte_source\.cpp",
    r"emmintrin": r"traces/json_scan\.cpp",
    r"nlohmann/": r"(bindings/report/.*|workloads/models/.*|bindings/cli/schemas\.cpp|workloads/captured/setting_text\.cpp)",
    r"pybind11/": r"bindings/python/.*",
    r"CLI/": r"bindings/cli/.*",
    r"pugixml": r"network/collectives/msccl_read\.cpp",
}
TEST_ONLY = r"(gtest|gmock|rapidcheck|benchmark)[/.]"
STANDARD = r"[a-z_]+$"  # <vector>: no folder, no extension
SYSTEM = r"(sys/\w+|unistd|fcntl|dlfcn|pthread|signal|spawn|malloc)(\.h)$"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
EXIT = re.compile(r"(?<![\w.>])(?:std\s*::\s*|::\s*)?(?:_exit|exit|quick_exit|_Exit)\s*\(")
PRINT = re.compile(r"\bstd\s*::\s*(?:cout|cerr|clog)\b|(?<![\w.>])(?:std::)?v?f?(?:printf|puts)\s*\(|\bfmt\s*::\s*print\b")
# Comments and literals, so that a rule about code does not read prose. Raw strings come first.
NOT_CODE = re.compile(
    r'R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S
)
# The word is spelled in two parts, so that this file keeps its own rule.
SHARED = re.compile(r"\.\./shar" + r"ed\b|(?<![\w.])/wor" + r"k/|(?<![\w/-])shar" + r"ed/(?:data|facts|hooks|DESIGN|STYLE|SCENARIOS)")
MAY_NAME_SHARED = {"Makefile", ".ci/run"}
MAX_LINES = 600
SOURCE_SUFFIXES = {".cpp", ".hpp", ".py", ".pyi", ".sh", ".proto", ".cmake"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


def code_of(text):
    """The text with comments and literals blanked; line numbers stay."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def layer_of(path):
    """The layer a root-relative path belongs to, or None."""
    return next((layer for layer in LAYERS if path.startswith(layer + "/")), None)


def is_product(path):
    return path.split("/")[0] in PRODUCT


def files_of(root):
    """Root-relative paths of what git would keep; of everything but build folders where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if (root / ".git").exists() and found.returncode == 0:
        names = [name for name in found.stdout.split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [name for name in names if not re.match(r"(\.git|build)/|.*__pycache__/", name)]
    return sorted(name for name in names if (root / name).is_file())


def check_own_include(path, target, present):
    """What is wrong with including our own file `target` from `path`, or None."""
    if target.startswith("tests/"):
        return None if path.startswith("tests/") else "the product includes a test"
    if target not in present and not (target.endswith(".pb.h") and target[: -len(".pb.h")] + ".proto" in present):
        return "no such file; includes are relative to the root"
    if target.endswith(".cpp"):
        return "a .cpp file is included"
    if not is_product(path):
        return None
    layer, below = layer_of(path), layer_of(target)
    if layer is None:
        return f"`{path}` belongs to no layer"
    if below is None:
        return f"`{target}` belongs to no layer"
    if below != layer and below not in LAYERS[layer]:
        return f"{layer} may not include {below}"
    return None


def check_foreign_include(path, target):
    """What is wrong with including the library header `target` from `path`, or None."""
    if re.match(TEST_ONLY, target):
        return "a test library in the product" if is_product(path) else None
    for header, allowed in FOREIGN.items():
        if re.match(header, target):
            if is_product(path) and not re.fullmatch(allowed, path):
                return f"only {allowed} may include <{target}>"
            return None
    if re.match(STANDARD, target) or re.match(SYSTEM, target):
        return None
    return "an unknown library: add it to DESIGN's and this file's lists, or use what is there"


def check_includes(path, text, present, graph):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        own = match.group(1) == '"' or target.split("/")[0] in PRODUCT
        if own:
            graph.setdefault(path, []).append(target)
        wrong = check_own_include(path, target, present) if own else None
        # Generated headers are ours by path and protobuf's by content: both rules hold.
        if wrong is None and (not own or target.endswith(".pb.h")):
            wrong = check_foreign_include(path, target)
        if wrong:
            yield Finding(path, number, "include", f"{target}: {wrong}")


# The detailed model never learns from the analytic one, however far round (DETAILED is what must not see ANALYTIC).
DETAILED = ("hw_models/programs/", "hw_models/systemc/")
ANALYTIC = re.compile(
    r"hw_models/(analytic_timer|kernels|kernel_model|streaming|detailed_timer)\.hpp$"
    r"|hw_models/kernels/(attention_cost|attention_forward|streaming_family)\.hpp$"
)


def check_detailed(graph):
    """Chains of includes from the detailed model to the analytic one."""
    for path in sorted(graph):
        if not path.startswith(DETAILED):
            continue
        came_from, to_visit = {path: None}, [path]
        for at in to_visit:
            if ANALYTIC.search(at):
                chain = [at]
                while came_from[chain[0]] is not None:
                    chain.insert(0, came_from[chain[0]])
                yield Finding(path, 1, "detailed", " -> ".join(chain) + ": the detailed model sees the analytic one")
                break
            for target in graph.get(at, ()):
                if target not in came_from:
                    came_from[target] = at
                    to_visit.append(target)


def check_code(path, text):
    """Rules about what product code may call."""
    code = code_of(text)
    rules = []
    if path != "bindings/cli/main.cpp":
        rules.append(("exit", EXIT, "exit() outside main: throw, so that callers can go on"))
    if not path.startswith("bindings/cli/"):
        rules.append(("print", PRINT, "a library does not print: return the text"))
    for rule, pattern, text_of_rule in rules:
        for match in pattern.finditer(code):
            yield Finding(path, code.count("\n", 0, match.start()) + 1, rule, text_of_rule)


def check_form(path, text):
    """Licence line, purpose line, length."""
    lines = text.splitlines()
    cpp = path.endswith((".cpp", ".hpp"))
    head = lines[:1] if cpp else lines[:3]
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
        yield Finding(path, 1, "spdx", "the SPDX line is missing at the top")
    elif cpp and not (len(lines) > 1 and re.match(r"// \S", lines[1])):
        yield Finding(path, 2, "purpose", "the second line says what the file is")
    if path.endswith(".hpp") and "#pragma once" not in text:
        yield Finding(path, 1, "pragma", "#pragma once is missing")
    if len(lines) > MAX_LINES:
        yield Finding(path, len(lines), "length", f"{len(lines)} lines, more than {MAX_LINES}: two ideas?")


def check_cycles(graph):
    """Headers that include each other, however far round."""
    done, on_path = set(), []

    def visit(path):
        if path in on_path:
            cycle = on_path[on_path.index(path):] + [path]
            yield Finding(path, 1, "cycle", " -> ".join(cycle))
        if path in done or path in on_path:
            return
        on_path.append(path)
        for target in graph.get(path, ()):
            yield from visit(target)
        on_path.pop()
        done.add(path)

    for path in sorted(graph):
        yield from visit(path)


def check(root):
    """All findings in the tree under `root`."""
    paths = files_of(root)
    present = set(paths)
    graph, findings = {}, []
    for path in paths:
        data = (root / path).read_bytes()
        if b"\0" in data[:8192]:
            continue  # binary
        text = data.decode("utf-8", errors="replace")
        if path not in MAY_NAME_SHARED:
            for number, line in enumerate(text.splitlines(), 1):
                if SHARED.search(line):
                    findings.append(Finding(path, number, "shared", "only Makefile and .ci/run know where tables lie"))
        if Path(path).suffix in SOURCE_SUFFIXES or Path(path).name == "CMakeLists.txt":
            findings += check_form(path, text)
        if path.endswith((".cpp", ".hpp")):
            findings += check_includes(path, text, present, graph)
            if is_product(path):
                findings += check_code(path, text)
    return findings + list(check_cycles(graph)) + list(check_detailed(graph))


# ---- The proof that the rules bite -----------------------------------------------------------------------------------

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// What this file is.\n"
GOOD = {
    "Makefile": "X = ../shar" + "ed/data\n",
    "sim/core/units.hpp": HEAD + "#pragma once\n#include <vector>\n#include <fmt/format.h>\n",
    "sim/core/config_value.cpp": HEAD + "#include <yaml-cpp/yaml.h>\n",
    "sim/work/program.hpp": HEAD + '#pragma once\n#include "sim/core/units.hpp"\n',
    "sim/play/executor.hpp": HEAD + '#pragma once\n#include "sim/work/program.hpp"\n',
    "network/ring.hpp": HEAD + '#pragma once\n#include "sim/play/executor.hpp"\n',
    "network/ring.cpp": HEAD + '#include "network/ring.hpp"\n#include <boost/graph/graph_traits.hpp>\n',
    "hw_models/gemm.hpp": HEAD + "#pragma once\n",
    "hw_models/analytic_timer.hpp": HEAD + "#pragma once\n",
    "hw_models/by_the_way.hpp": HEAD + '#pragma once\n#include "hw_models/analytic_timer.hpp"\n',
    "hw_models/programs/gemm.cpp": HEAD + '#include "hw_models/gemm.hpp"\n',
    "traces/perfetto.proto": HEAD,
    "traces/perfetto.cpp": HEAD + '#include "traces/perfetto.pb.h"\n',
    "workloads/step.cpp": HEAD + '#include "network/ring.hpp"\n#include "hw_models/gemm.hpp"\n',
    "bindings/report/json.cpp": HEAD + "#include <nlohmann/json.hpp>\n",
    "bindings/cli/main.cpp": HEAD + "#include <CLI/CLI.hpp>\nint main() { std::exit(2); std::cout << 1; }\n",
    "bindings/cli/run.cpp": HEAD + "int run(App& app) { return app.exit(3); }\n",
    "tests/unit/core/units_test.cpp": HEAD + '#include <gtest/gtest.h>\n#include "sim/core/units.hpp"\n',
    "sim/core/prose.cpp": HEAD + '// exit(1) and std::cout\nauto t = "printf(1) exit(2)"; int n = 1\'000; snprintf(b, 1, "");\n'
    'auto r = R"(std::cerr " exit(1))"; void on_exit(int);\n',
}
# What is planted, and the rule that must answer.
BAD = [
    ("sim/core/a.hpp", HEAD + '#pragma once\n#include "sim/work/program.hpp"\n', "include"),
    ("sim/work/a.cpp", HEAD + '#include "sim/play/executor.hpp"\n', "include"),
    ("sim/play/a.cpp", HEAD + '#include "network/ring.hpp"\n', "include"),
    ("sim/loose.cpp", HEAD + '#include "sim/core/units.hpp"\n', "include"),
    ("network/a.cpp", HEAD + '#include "hw_models/gemm.hpp"\n', "include"),
    ("traces/a.cpp", HEAD + '#include "network/ring.hpp"\n', "include"),
    ("hw_models/a.cpp", HEAD + "#include <network/ring.hpp>\n", "include"),
    ("hw_models/b.cpp", HEAD + '#include "gemm.hpp"\n', "include"),
    ("workloads/a.cpp", HEAD + '#include "bindings/report/json.hpp"\n', "include"),
    ("workloads/b.cpp", HEAD + '#include "tests/unit/helper.hpp"\n', "include"),
    ("workloads/c.cpp", HEAD + '#include "network/ring.cpp"\n', "include"),
    ("workloads/d.cpp", HEAD + '#include "traces/perfetto.pb.h"\n', "include"),
    ("sim/core/b.cpp", HEAD + "#include <yaml-cpp/yaml.h>\n", "include"),
    ("network/b.hpp", HEAD + "#pragma once\n#include <boost/graph/graph_traits.hpp>\n", "include"),
    ("sim/play/b.cpp", HEAD + "#include <google/protobuf/message.h>\n", "include"),
    ("workloads/e.cpp", HEAD + "#include <nlohmann/json.hpp>\n", "include"),
    ("workloads/writer.cpp", HEAD + "#include <simdjson.h>\n", "include"),
    ("bindings/cli/a.cpp", HEAD + "#include <pybind11/pybind11.h>\n", "include"),
    ("bindings/report/a.cpp", HEAD + "#include <CLI/CLI.hpp>\n", "include"),
    ("sim/core/c.cpp", HEAD + "#include <gtest/gtest.h>\n", "include"),
    ("sim/core/d.cpp", HEAD + "#include <absl/time/time.h>\n", "include"),
    ("hw_models/programs/a.cpp", HEAD + '#include "hw_models/analytic_timer.hpp"\n', "detailed"),
    ("hw_models/systemc/a.cpp", HEAD + '#include "hw_models/by_the_way.hpp"\n', "detailed"),
    ("sim/core/loop.hpp", HEAD + '#pragma once\n#include "sim/core/loop.hpp"\n', "cycle"),
    ("sim/core/e.cpp", HEAD + "void f() { std::exit(1); }\n", "exit"),
    ("bindings/cli/b.cpp", HEAD + "void f() { exit (1); }\n", "exit"),
    ("sim/core/f.cpp", HEAD + "void f() { std::cout << 1; }\n", "print"),
    ("network/g.cpp", HEAD + 'void f() { printf("x"); }\n', "print"),
    ("workloads/g.cpp", HEAD + 'void f() { std::fprintf(stderr, "x"); }\n', "print"),
    ("bindings/report/g.cpp", HEAD + 'void f() { fmt::print("x"); }\n', "print"),
    ("sim/core/h.cpp", "// What this file is.\n", "spdx"),
    ("scripts/x.sh", "#!/bin/sh\necho\n", "spdx"),
    ("sim/core/i.cpp", "// SPDX-License-Identifier: Apache-2.0\nint x;\n", "purpose"),
    ("sim/core/i.hpp", HEAD, "pragma"),
    ("sim/core/j.cpp", HEAD + "\n" * MAX_LINES, "length"),
    ("README.md", "see ../shar" + "ed/DESIGN.md\n", "shared"),
    ("tests/golden/a.txt", "$ WARPLOOM_DATA=/wo" + "rk/x\n", "shared"),
]


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test():
    """Every planted offence is found, alone; the clean tree is clean. Returns what failed."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, GOOD)
        failures += [f"a clean tree: {finding}" for finding in check(root)]
        for name, text, rule in BAD:
            write(root, {name: text})
            found = {(finding.path, finding.rule) for finding in check(root)}
            if found != {(name, rule)}:
                failures.append(f"{name}: expected only {rule}, found {sorted(found)}")
            (root / name).unlink()
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        problems, what = self_test(), f"{len(BAD)} planted offences"
    elif len(arguments) == 1 and Path(arguments[0]).is_dir():
        problems, what = check(Path(arguments[0]).resolve()), "the tree"
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    print(f"architecture: {what}: {'ok' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
