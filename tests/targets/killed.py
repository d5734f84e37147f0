"""Works a while, then kills itself by the signal it is told: killed.py NUMBER."""
import os
import sys
import time

until = time.perf_counter() + 0.3
while time.perf_counter() < until:
    pass
os.kill(os.getpid(), int(sys.argv[1]))
time.sleep(30)
