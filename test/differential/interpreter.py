# SPDX-License-Identifier: Apache-2.0
"""The C++ interpreter as a process that gets programs and answers in order."""

import json
import os
import subprocess
import tempfile

TIMEOUT = 900  # Seconds for a batch of programs; each takes milliseconds.
# Tensors are small, and idle threads would take a third of the time.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


class Interpreter:
    def __init__(self, command):
        self.command = command

    def start(self, programs):
        """Starts run(programs) in the background; returns an object with result()."""
        return _Running(self, programs)

    def run(self, programs):
        """The outcomes of each program, or {"crash": …} if it ended the process."""
        return self.start(programs).result() if programs else []


class _Running:
    def __init__(self, interpreter, programs):
        self.interpreter, self.programs = interpreter, programs
        self.given, self.output, self.errors = (tempfile.TemporaryFile() for _ in range(3))
        self.given.write("".join(json.dumps(p) + "\n" for p in programs).encode())
        self.given.seek(0)
        self.process = subprocess.Popen(interpreter.command, stdin=self.given,
                                        stdout=self.output, stderr=self.errors,
                                        env=ENVIRONMENT)

    def result(self):
        how = self.end()
        self.output.seek(0)
        answers = [json.loads(line) for line in self.output if line.endswith(b"\n")]
        if len(answers) < len(self.programs):
            answers.append({"crash": how})
            answers += self.interpreter.run(self.programs[len(answers):])
        return answers

    def end(self):
        try:
            how = f"exit code {self.process.wait(TIMEOUT)}"
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            how = f"did not end within {TIMEOUT} s"
        self.errors.seek(0)
        return f"{how}: {self.errors.read().decode(errors='replace')[-3000:]}"
