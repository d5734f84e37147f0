"""Ends with the status it is told: exits.py STATUS [SECONDS]."""
import sys
import time

until = time.perf_counter() + (float(sys.argv[2]) if len(sys.argv) > 2 else 0.2)
while time.perf_counter() < until:
    pass
sys.exit(int(sys.argv[1]))
