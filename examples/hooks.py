"""The decorators of profilehooks: which calls a function makes, how long it takes, which lines run."""
from cairn.profilehooks import coverage, profile, timecall


@timecall
def primes(most):
    return [n for n in range(2, most) if is_prime(n)]


def is_prime(n):
    return all(n % divisor for divisor in range(2, int(n**0.5) + 1))


@profile(entries=5)
def twins(numbers):
    known = set(numbers)
    return [n for n in numbers if n + 2 in known]


@coverage
def widest(numbers):
    gap = 0
    for one, other in zip(numbers, numbers[1:]):
        if other < one:
            raise ValueError("not sorted")
        gap = max(gap, other - one)
    return gap


found = primes(5000)
print(len(found), "primes,", len(twins(found)), "twins, at most", widest(found), "apart")
