"""`from cairn.line_profiler.autoprofile import autoprofile`: what kernprof -p does, in a program."""
