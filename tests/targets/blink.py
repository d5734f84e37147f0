"""Over after about 5 ms: too short to rank anything."""
import time

until = time.perf_counter() + 0.005
while time.perf_counter() < until:
    pass
print("blink")
