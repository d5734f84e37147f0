"""Statistics of paired rounds."""
import math
import random
from statistics import median

RESAMPLES = 2000


def paired_ratio(ours, theirs):
    """Median over the rounds of theirs / ours, and its 95 % bootstrap interval; None when no round
    has both, or ours is 0. Rounds in which one of them has no number are left out."""
    ratios = [b / a for a, b in zip(ours, theirs) if a and b is not None]
    if not ratios:
        return None
    rng = random.Random(len(ratios))
    medians = sorted(median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    edge = int(RESAMPLES * 0.025)
    return median(ratios), medians[edge], medians[RESAMPLES - 1 - edge]


def wilson(hits, n):
    """95 % interval of a share of which `hits` in `n` were seen."""
    if n == 0:
        return 0.0, 1.0
    z, p = 1.96, hits / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))
