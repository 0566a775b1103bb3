# SPDX-License-Identifier: Apache-2.0
"""Runs short commands, under the name of horovod.runner.common.util.tiny_shell_exec."""
import subprocess
import sys


def execute(command, env=None):
    """(output and errors together, exit code) of a command line; None if it cannot be started."""
    try:
        done = subprocess.run(command, shell=True, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    except OSError as error:
        print(f"could not run '{command}': {error}", file=sys.stderr)
        return None
    return done.stdout, done.returncode
