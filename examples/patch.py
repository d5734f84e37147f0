"""Statistics of a 2,345 x 2,345 patch of a large image: as a view of it, and contiguous.

Shows what strides cost: column by column, neighbours in the view lie 12,345 bytes apart; one
contiguous copy pays for itself at once.

    cairn run examples/patch.py
"""
import time

import numpy as np

SIDE = 12_345
FIRST, LAST = 10_000, 12_345
ROUNDS = 20


def large_image():
    """A gradient in the rows that are used; the other rows never take memory."""
    image = np.zeros((SIDE, SIDE), dtype=np.uint8)
    image[FIRST:LAST] = np.arange(SIDE, dtype=np.uint32).astype(np.uint8)
    return image


def statistics(patch):
    """Mean and contrast of the columns, one by one, as a page scanner wants them."""
    total, contrast = 0, 0
    for column in patch:
        total += int(column.sum())
        contrast += int(column.max()) - int(column.min())
    return total, contrast


def of_the_view(image):
    patch = image[FIRST:LAST, FIRST:LAST].T
    return [statistics(patch) for _ in range(ROUNDS)][-1]


def of_a_contiguous_copy(image):
    patch = np.ascontiguousarray(image[FIRST:LAST, FIRST:LAST].T)
    return [statistics(patch) for _ in range(ROUNDS)][-1]


def seconds(work, image):
    start = time.perf_counter()
    result = work(image)
    return time.perf_counter() - start, result


def main():
    image = large_image()
    view_s, of_view = seconds(of_the_view, image)
    copy_s, of_copy = seconds(of_a_contiguous_copy, image)
    assert of_view == of_copy
    print(f"a view {view_s:.2f} s, a contiguous copy {copy_s:.2f} s, sum {of_view[0]}")


if __name__ == "__main__":
    main()
