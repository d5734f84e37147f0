"""A sudoku solved by trying: `solve` calls itself up to 81 deep.

Shows a recursive function: its total time counts once, however deep it is.

    cairn run examples/puzzle.py
"""
import builtins

PUZZLE = (
    "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9"
)
DIGITS = "123456789"

# Line profilers put `profile` among the builtins; without one it does nothing.
profile = getattr(builtins, "profile", lambda function: function)


def peers(square):
    row, column = divmod(square, 9)
    same = {row * 9 + i for i in range(9)} | {i * 9 + column for i in range(9)}
    top, left = row // 3 * 3, column // 3 * 3
    same |= {(top + i) * 9 + left + j for i in range(3) for j in range(3)}
    return tuple(sorted(same - {square}))


PEERS = [peers(square) for square in range(81)]


def candidates(board, square):
    used = {board[peer] for peer in PEERS[square]}
    return [digit for digit in DIGITS if digit not in used]


def hardest_square(board):
    """The empty square with the fewest candidates, or None when the board is full."""
    best, fewest = None, 10
    for square in range(81):
        if board[square] == ".":
            count = len(candidates(board, square))
            if count < fewest:
                best, fewest = square, count
    return best


@profile
def solve(board, steps):
    steps[0] += 1
    square = hardest_square(board)
    if square is None:
        return True
    for digit in candidates(board, square):
        board[square] = digit
        if solve(board, steps):
            return True
        board[square] = "."
    return False


def main():
    board, steps = list(PUZZLE), [0]
    solved = solve(board, steps)
    print(f"{'solved' if solved else 'no solution'} in {steps[0]} steps")
    print("".join(board))


if __name__ == "__main__":
    main()
