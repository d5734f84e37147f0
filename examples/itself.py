"""A program that has a part of itself profiled: the middle one of three."""
import cairn


def read():
    return [str(number * 7919 % 10007) for number in range(300_000)]


def sort(words):
    return sorted(words, key=lambda word: (len(word), word[::-1]))


def count(words):
    return len(set(words))


words = read()
with cairn.profile() as profile:
    words = sort(words)
print(count(words), "words")
print("the profile of sort() is in", profile.path)
