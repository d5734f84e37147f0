"""What may be chance and what may not: limits such that a right answer fails less than once in ten
million comparisons, by exact binomial tails.
"""
import math

FALSE_ALARM = 1e-7


def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def upper_tail(n, p, k):
    """P(X >= k) for X ~ Binomial(n, p)."""
    if k <= 0 or p >= 1:
        return 1.0
    terms = [log_choose(n, i) + i * math.log(p) + (n - i) * math.log1p(-p) for i in range(k, n + 1)]
    return math.fsum(map(math.exp, terms))


def may_be(n, p, share, slack=0.0):
    """Whether `share` of n samples can be seen where the truth is p, or up to `slack` off it."""
    p = min(max(share, p - slack), p + slack)
    k = round(share * n)
    tail = upper_tail(n, p, k) if k >= n * p else upper_tail(n, 1 - p, n - k)
    return tail > FALSE_ALARM / 2


# Share of samples: impossible, torn. Frames of functions lie in one piece of memory, of which one
# moment is read; those of generators do not, and a program that does nothing but hand over between
# them still gets some wrong (docs/DESIGN.md, "What is not good enough yet").
MOST_IMPOSSIBLE, MOST_TORN = 0.00002, 0.01

# Frames are objects of their own until 3.10, and no read takes two of them at one instant.
MOST_IMPOSSIBLE_OLD, MOST_TORN_OLD = 0.0001, 0.05


def check_churn(interpreter, n, torn, wrong, wrong_lines):
    qualified = interpreter.has_qualnames
    most_impossible = MOST_IMPOSSIBLE if qualified else MOST_IMPOSSIBLE_OLD
    most_torn = MOST_TORN if qualified else MOST_TORN_OLD
    for bad in (wrong, wrong_lines):
        assert upper_tail(n, most_impossible, sum(bad.values())) > FALSE_ALARM, bad
    assert upper_tail(n, most_torn, torn) > FALSE_ALARM, f"torn {torn} of {n}"
