"""The words of line_profiler's two commands: switches that take yes or no, and what they share."""
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError

from cairn import _lpconfig

YES = ("1", "on", "true", "t", "yes", "y")
NO = ("", "0", "off", "false", "f", "no", "n")


def boolean(word):
    if word.lower() in YES:
        return True
    if word.lower() in NO:
        return False
    raise ArgumentTypeError(f"neither yes nor no: {word!r}")


def negated(word):
    return not boolean(word)


def positive(word):
    value = float(word)
    if not value > 0:
        raise ArgumentTypeError(f"not above 0: {word!r}")
    return value


class Words(ArgumentParser):
    """What is not said stays None, so that a file may say it (`settle`)."""

    def __init__(self, version, *config, **options):
        super().__init__(allow_abbrev=False, **options)
        self.yes_or_no = {}  # how a switch is written: (how argparse has it with a value, its type)
        self.add_argument("-V", "--version", action="version", version=version)
        self.add_argument(*config, metavar="FILE", help="a TOML file with other defaults")
        self.add_argument("--no-config", action="store_const", dest="config", const=False,
                          help="read no such file")  # fmt: skip
        self.add_argument("-u", "--unit", type=positive, metavar="SECONDS",
                          help="unit of the times that are shown (1e-6)")  # fmt: skip
        self.switch("-r", "--rich", help="accepted; the text is plain")
        self.switch("-z", "--skip-zero", help="leave out functions that were not called")

    def switch(self, *names, **options):
        """--name, --name=yes, --no-name; a letter by itself can stand with others."""
        long = names[-1]
        name = long[2:].replace("-", "_")
        self.add_argument(*names[:-1], long, dest=name, action="store_const", const=True, **options)
        self.yes_or_no[long] = ("--is-" + name, boolean)
        self.yes_or_no["--no-" + long[2:]] = ("--is-not-" + name, negated)
        for hidden, kind in (self.yes_or_no[long], self.yes_or_no["--no-" + long[2:]]):
            self.add_argument(hidden, dest=name, type=kind, help=SUPPRESS)

    def one(self, words, at):
        """The words of the option at `at`, as argparse is to have them, and where the next begins."""
        word, end = words[at], at + 1
        if not word.startswith("--"):
            return self.letters(words, at)
        name, equals, value = word.partition("=")
        name = self.whole(name)
        if name not in self.yes_or_no:
            action = self._option_string_actions.get(name)
            if equals or action is None or action.nargs == 0:
                return [name + equals + value], end
            return self.with_value(action, name, words, end)
        if not equals:
            value = "yes"
            if words[end : end + 1] and words[end] and words[end].lower() in YES + NO:
                value, end = words[end], end + 1
        return [f"{self.yes_or_no[name][0]}={value}"], end

    def letters(self, words, at):
        """-lvo FILE, -ofile."""
        word = words[at]
        for i, letter in enumerate(word[1:], 1):
            action = self._option_string_actions.get("-" + letter)
            if action is None or action.nargs == 0:
                continue
            if i + 1 < len(word):
                return [word], at + 1
            before = [word[:i]] if i > 1 else []
            taken, end = self.with_value(action, "-" + letter, words, at + 1)
            return before + taken, end
        return [word], at + 1

    def with_value(self, action, name, words, end):
        given = words[end : end + 1]
        if not given or (action.nargs == "?" and not given[0].isdigit()):
            return [name], end
        # Joined, so that argparse takes what begins with a dash for a value.
        return [name + ("=" if name.startswith("--") else "") + given[0]] if given[0] else [name, ""], end + 1

    def whole(self, name):
        """The option that a beginning of it stands for."""
        known = {*self._option_string_actions, *self.yes_or_no}
        fit = [one for one in known if one.startswith(name) and not one.startswith("--is-")]
        return fit[0] if name not in known and len(fit) == 1 else name

    def settle(self, chosen, table, defaults):
        """Puts the defaults, or what a file says instead, where nothing was said."""
        try:
            found = _lpconfig.load(chosen.config, table)
        except _lpconfig.NoConfig as failure:
            self.exit(1, f"{self.prog}: {failure}\n")
        for key, value in _lpconfig.merged(defaults, found).items():
            if getattr(chosen, key, None) is None:
                setattr(chosen, key, value)
