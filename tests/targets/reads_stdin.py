"""Reads stdin to its end and prints how much it was, and its digest."""
import hashlib
import json
import sys

data = sys.stdin.buffer.read()
print(json.dumps({"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}))
