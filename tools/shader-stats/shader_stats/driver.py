# SPDX-License-Identifier: Apache-2.0
"""Compiles SPIR-V modules with the targets' driver compilers: in batches, on all cores, with a time limit for each module
and a cache on disk by the module's hash and the version of Mesa."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = ("adreno-840", "mali-g76", "mali-g610")
BATCH = 32
TIME_LIMIT = 120  # seconds a module; what spills may take minutes


class NotSetUp(Exception):
    """The folder that tools/shader-stats/setup fills is not there."""


def tool_folder():
    return os.environ.get("LLMC_SHADER_STATS_DIR") or os.path.join(FOLDER, "..", "..", "build", "shader-stats")


class Driver:
    """The driver compilers, with what they said about modules before."""

    def __init__(self, folder=None, time_limit=TIME_LIMIT):
        self.folder = os.path.abspath(folder or tool_folder())
        self.time_limit = time_limit
        if not os.path.isfile(os.path.join(self.folder, "stamp")):
            raise NotSetUp(f"{self.folder} is not set up; run tools/shader-stats/setup, or name its folder in LLMC_SHADER_STATS_DIR")
        with open(os.path.join(self.folder, "mesa-version"), encoding="utf-8") as file:
            self.mesa_version = file.read().strip()
        with open(os.path.join(self.folder, "stamp"), encoding="utf-8") as file:
            self.cache_key = file.read().strip() + self.mesa_version

    def _cache_path(self, target, code):
        key = hashlib.sha256(f"{self.cache_key} {target} ".encode() + code).hexdigest()
        return os.path.join(self.folder, "cache", target, key + ".json")

    def _read_cache(self, target, code):
        path = self._cache_path(target, code)
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def _write_cache(self, target, code, result):
        if "error" in result:
            return
        path = self._cache_path(target, code)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}.{threading.get_ident()}", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.replace(file.name, path)

    def compile_all(self, modules, progress=None):
        """modules: {key: (target, SPIR-V bytes)}. Returns {key: result}; a result is {"error": text} or {"statistics": what the driver
        says, "assembly": disassembly}. Equal modules are compiled once. progress(done, all) is called after each."""
        results, todo = {}, {}
        for key, (target, code) in modules.items():
            cached = self._read_cache(target, code)
            if cached:
                results[key] = cached
            else:
                todo.setdefault((target, code), []).append(key)
        lock, total, done = threading.Lock(), len(todo), [0]

        def finish(target, code, result):
            self._write_cache(target, code, result)
            with lock:
                for key in todo[(target, code)]:
                    results[key] = result
                done[0] += 1
                if progress:
                    progress(done[0], total)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            futures = [pool.submit(self._compile_batch, target, codes, finish) for target, codes in make_batches(todo)]
            for future in futures:
                future.result()
        return results

    def _compile_batch(self, target, codes, finish):
        """Compiles modules in one process; a module that takes too long or ends the process fails, and the rest go on in another."""
        folder = tempfile.mkdtemp(prefix="shader-stats-")
        try:
            names = []
            for index, code in enumerate(codes):
                names.append(os.path.join(folder, f"{index}.spv"))
                with open(names[-1], "wb") as file:
                    file.write(code)
            first = 0
            while first < len(codes):
                lines, why = self._run(target, names[first:], folder)
                for name, code, line in zip(names[first:], codes[first:], lines):
                    finish(target, code, read_result(line, name))
                first += len(lines)
                if first < len(codes):
                    finish(target, codes[first], {"error": why})
                    first += 1
        finally:
            shutil.rmtree(folder)

    def _run(self, target, names, folder):
        """Runs gpustat; returns the lines that it wrote, one for each module it finished, and why there are no more."""
        environment = dict(os.environ, LLMC_SHADER_STATS_DIR=self.folder)
        lines, errors, timed_out = [], [], threading.Event()
        with subprocess.Popen([os.path.join(FOLDER, "gpustat"), target, *names, "--ir", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment, encoding="utf-8") as process:
            reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
            reader.start()

            def stop():
                timed_out.set()
                process.kill()

            while True:
                timer = threading.Timer(self.time_limit, stop)
                timer.start()
                line = process.stdout.readline()
                timer.cancel()
                if not line:
                    break
                lines.append(line)
            reader.join()
        if timed_out.is_set():
            return lines, f"the driver's compiler took longer than {self.time_limit} s"
        message = errors[0].strip().splitlines()[-1:] if errors else []
        return lines, f"the driver's compiler ended with {process.returncode}: {' '.join(message)}"


def make_batches(modules):
    """(target, [code…]) of modules (target, code). The Malis' are first: their compiler is the slow one."""
    for target in reversed(TARGETS):
        codes = [code for t, code in modules if t == target]
        for begin in range(0, len(codes), BATCH):
            yield target, codes[begin:begin + BATCH]


def read_result(line, name):
    statistics = json.loads(line)
    if "error" in statistics:
        return {"error": statistics["error"]}
    folder, stem = os.path.split(name)
    assembly = next((f for f in sorted(os.listdir(folder)) if f.startswith(f"{stem}.0.") and f.endswith("Assembly.txt")), None)
    if not assembly:
        return {"error": "the driver gives no disassembly"}
    with open(os.path.join(folder, assembly), encoding="utf-8", errors="replace") as file:
        text = file.read()
    return {"statistics": statistics["executables"][0], "assembly": text}


def figures(target, result):
    """The few figures that are compared, under one name on all targets: registers (Adreno: of four 32-bit words), occupancy (waves or
    threads), spills, fills, tls (bytes per invocation), instructions."""
    statistics = result["statistics"]
    if target == "adreno-840":
        return {"registers": statistics["Registers used"], "occupancy": statistics["Max Waves Per Core"],
                "spills": statistics["STP Count"], "fills": statistics["LDP Count"], "tls": 0,
                "instructions": statistics["Instruction Count"]}
    return {"registers": statistics["Registers used"], "occupancy": statistics["Threads"],
            "spills": statistics["Spills"], "fills": statistics["Fills"],
            "tls": statistics["TLS bytes per thread (from the assembly)"], "instructions": statistics["Instructions"]}
