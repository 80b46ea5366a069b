"""Judge one program of a shell command by its words: whether it only looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.approvals.shell_git import git_effect
from zidane_lab.approvals.shell_parse import Head
from zidane_lab.approvals.shell_rules import (
    EFFECTS,
    HARMLESS,
    OPAQUE,
    OPTIONS,
    SYSTEM_FOLDERS,
    Effect,
    Options,
    names_in,
)
from zidane_lab.approvals.shell_texts import awk_effect, sed_is_harmless
from zidane_lab.approvals.shell_words import Word

__all__ = ["Judged", "fits", "is_own_variable", "judge_head", "plain_name"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a program does; ``effect`` is ``None`` where it only looks.

    ``is_opaque``: it runs something that its name does not tell. ``inner`` is a program that it starts in plain sight.
    """

    effect: Effect | None
    is_opaque: bool = False
    inner: Head | None = None


_LOOKS: Final = Judged(None)


def plain_name(name: str) -> str:
    """Return a program's name without the folder, where that is one of the system's."""
    for folder in SYSTEM_FOLDERS:
        if name.startswith(folder) and "/" not in name[len(folder) :]:
            return name[len(folder) :]
    return name


def judge_head(head: Head) -> Judged:
    """Judge a program by its name and words."""
    name = plain_name(head.name)
    if name in HARMLESS:
        return _LOOKS
    if name in _SPECIAL:
        judged = _SPECIAL[name](head)
        if judged is not None:
            return judged
    elif name in OPTIONS and fits(OPTIONS[name], head.argv):
        return _LOOKS
    return _other(name, head)


def _other(name: str, head: Head) -> Judged:
    """Judge a program that is not used in a harmless way."""
    bare = name.rpartition("/")[2]
    if bare in OPAQUE:
        return Judged(Effect("execute", "runs-other", OPAQUE[bare]), is_opaque=True)
    if _versioned(bare) in _INTERPRETERS:
        return _interpreter(_versioned(bare), head)
    if bare.startswith("mkfs"):
        return Judged(EFFECTS["mkfs"])
    if name in EFFECTS:
        return Judged(EFFECTS[name])
    if "/" in name:
        return Judged(Effect("execute", "runs-program", f"runs the file {name}"))
    if name in OPTIONS or name in _SPECIAL:
        return Judged(Effect("execute", "options", f"uses {name} with words that may do more than look"))
    return Judged(Effect("execute", "runs-program", f"runs {name}, which is not known to only look"))


# --- options --------------------------------------------------------------------------------------------


def fits(options: Options, argv: Sequence[Word]) -> bool:
    """Whether all words are harmless options and operands of a program."""
    operands: list[Word] = []
    words = iter(argv)
    for word in words:
        text = word.text
        if word.may_be_option and not word.is_known:
            return False
        if text == "--":
            operands += words
            break
        if text.startswith("-") and len(text) > 1:
            if not _option(options, word, words):
                return False
        else:
            operands.append(word)
    if options.operands is not None and (
        len(operands) > options.operands or any(word.splits for word in operands if options.operands)
    ):
        return False
    return not options.prefix or all(word.start.startswith(options.prefix) for word in operands)


def _option(options: Options, word: Word, rest: Iterator[Word]) -> bool:
    """Whether a word is a harmless option; takes its value from the rest."""
    name, equals, _ = word.text.partition("=")
    if word.text in options.long or name in options.long_valued or (equals and name in options.long):
        return bool(equals) or name not in options.long_valued or _value(rest)
    if word.text.startswith("--"):
        return False
    for index, letter in enumerate(word.text[1:], 1):
        if letter in options.attached:
            return True
        if letter in options.valued:
            return index + 1 < len(word.text) or not word.is_known or _value(rest)
        if letter not in options.flags:
            return False
    return word.is_known


def _value(rest: Iterator[Word]) -> bool:
    """Whether the next word can only be one option's value: parsers disagree about one that looks like an option."""
    value = next(rest, None)
    return value is not None and not value.splits and not value.may_be_option


# --- programs with rules of their own -------------------------------------------------------------------


def _transparent(skip: Callable[[Sequence[Word]], int | None]) -> Callable[[Head], Judged | None]:
    """Judge a program that starts another in plain sight, after the words that ``skip`` counts."""

    def judge(head: Head) -> Judged | None:
        start = skip(head.argv)
        if start is None or start >= len(head.argv):
            return Judged(Effect("execute", "runs-other", "runs another command"), is_opaque=True)
        name = head.argv[start]
        if not name.is_known or not name.text or name.text.startswith("-"):
            return Judged(Effect("execute", "runs-other", "runs another command"), is_opaque=True)
        return Judged(None, inner=Head(name.text, head.argv[start + 1 :], head.line, head.text, head.assignments))

    return judge


def _timeout(argv: Sequence[Word]) -> int | None:
    return 1 if argv and argv[0].is_known and re.fullmatch(r"\d+(?:\.\d+)?[smhd]?", argv[0].text) else None


def _nice(argv: Sequence[Word]) -> int | None:
    texts = [word.text for word in argv[:2]]
    if texts[:1] == ["-n"]:
        return 2 if len(texts) > 1 and re.fullmatch(r"\d+", texts[1]) else None
    return 0


def _command(head: Head) -> Judged | None:
    if head.argv and head.argv[0].text in {"-v", "-V"} and head.argv[0].is_known:
        return _LOOKS
    return _transparent(lambda _: 0)(head)


def _printf(head: Head) -> Judged | None:
    return _LOOKS if head.argv and not head.argv[0].may_be_option else None


def _test(head: Head) -> Judged | None:
    """Judge ``test``, which runs what an array's index holds when it is asked whether a variable is set."""
    for word in head.argv:
        if word.splits or (word.is_known and word.text in {"-v", "-R", "-a", "-o"}):
            return None
    return _LOOKS


def _set(head: Head) -> Judged | None:
    texts = [word.text for word in head.argv if word.is_known]
    safe = re.compile(r"[-+][euxvf]+|[-+][eux]*o|pipefail|errexit|nounset|xtrace")
    return _LOOKS if texts and len(texts) == len(head.argv) and all(map(safe.fullmatch, texts)) else None


def _read(head: Head) -> Judged | None:
    """Judge the shell's ``read``: into variables of a script's own."""
    words = iter(head.argv)
    for word in words:
        if not word.is_known:
            return None
        if re.fullmatch(r"-[rs]*[dn]", word.text):
            if not _value(words):
                return None
        elif not re.fullmatch(r"-[rs]+", word.text) and not is_own_variable(word.text):
            return None
    return _LOOKS


def is_own_variable(name: str) -> bool:
    """Whether no program goes by a variable of this name: lower-case, and none that a shell knows."""
    known = name in SHELL_NAMES or name.endswith("_proxy")
    return re.fullmatch(r"[a-z_][a-z0-9_]*", name) is not None and not known


SHELL_NAMES: Final = frozenset({"path", "cdpath", "fpath", "manpath", "module_path", "mailpath", "argv", "status"})
"""Lower-case names that mean something to some shell."""


def _ps(head: Head) -> Judged | None:
    for word in head.argv:
        if not word.is_known or ("e" in word.text and re.fullmatch(r"[acefghjklmnorstuvwxLNOSTUXZ]+", word.text)):
            return None  # `ps axe` shows the environment of processes
        if re.match(r"-\w*E", word.text) or "environ" in word.text:
            return None
    return _LOOKS


_FIND: Final = names_in(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -empty -mtime -mmin -atime
    -amin -ctime -cmin -newer -newermt -newerct -anewer -cnewer -maxdepth -mindepth -mount -xdev -print -print0 -printf
    -ls -prune -o -or -a -and -not -user -group -uid -gid -nouser -nogroup -perm -executable -readable -writable -follow
    -depth -daystart -true -false -quit -links -inum -samefile -regextype -noleaf -ignore_readdir_race -L -H -P -E -s
    -lname -ilname"""
)


def _find(head: Head) -> Judged | None:
    for word in head.argv:
        if word.may_be_option and not (word.is_known and word.text in _FIND):
            if word.is_known and re.fullmatch(r"[-+]\d+\w?", word.text):  # -mtime -7, -size +10M
                continue
            if word.text == "-exec" and _looks_at_each(head.argv[head.argv.index(word) + 1 :]):
                return _LOOKS
            if word.text in {"-exec", "-execdir", "-ok", "-okdir"}:
                return Judged(Effect("execute", "runs-other", "runs another command on files"), is_opaque=True)
            why = "deletes files" if word.text == "-delete" else "may do more than find files"
            return Judged(Effect("execute", "deletes" if word.text == "-delete" else "options", why))
    return _LOOKS


_EACH: Final = names_in("wc ls stat du basename dirname realpath readlink")
"""Programs that tell about files whatever their names are."""


def _looks_at_each(words: Sequence[Word]) -> bool:
    """Whether these words, to their end, run a program that tells about the files found, which begin with no dash."""
    plain = all(word.is_known and not word.text.startswith(("--f", "-exec")) for word in words[:-2])
    ends = [word.raw for word in words[-2:-1]] == ["{}"] and words[-1].text in {"+", ";"}
    return plain and ends and words[0].text in _EACH


def _xargs(head: Head) -> Judged | None:
    """Judge ``xargs -n1 basename``: programs that tell about files, and take no file for its content."""
    words = iter(head.argv)
    for word in words:
        if word.raw in {"-n", "-I", "-L", "-P"}:
            next(words, None)
        elif not re.fullmatch(r"-0|-r|-n\d+|-I(?:\{\}|%)|-L\d+", word.raw):
            plain = word.is_known and all(each.is_known or each.raw == "{}" for each in words)
            return _LOOKS if plain and word.text in _EACH - {"wc", "du"} else None
    return None


def _jq(head: Head) -> Judged | None:
    filters = [word for word in head.argv if not word.text.startswith("-")]
    if not filters or not filters[0].is_known or re.search(r"env\b|ENV|include|import|input_filename", filters[0].text):
        return None
    return _LOOKS if fits(OPTIONS["jq"], head.argv) else None


def _sed(head: Head) -> Judged | None:
    scripts: list[Word] = []
    operands: list[Word] = []
    words = iter(head.argv)
    for word in words:
        if word.text.startswith("-") and len(word.text) > 1:
            if not word.is_known or not re.fullmatch(r"-[nErszu]*e?|--quiet|--silent|--regexp-extended", word.text):
                return None
            if word.text.endswith("e") and not word.text.startswith("--"):
                scripts.append(next(words, word))
        elif word.may_be_option:
            return None
        else:
            operands.append(word)
    if not scripts:
        scripts = operands[:1]
    safe = scripts and all(word.is_known and sed_is_harmless(word.text) for word in scripts)
    return _LOOKS if safe else None


def _awk(head: Head) -> Judged | None:
    words = iter(head.argv)
    for word in words:
        if word.is_known and re.fullmatch(r"-F.+|-v[A-Za-z_]\w*=[\s\S]*", word.text):
            continue
        if word.is_known and word.text in {"-F", "-v"}:
            if not _value(words):
                return None
            continue
        if not word.is_known or word.text.startswith("-"):
            return None
        why = awk_effect(word.text)
        if why is None:
            return _LOOKS
        runs = why in {"runs commands", "reads files it names itself"}
        return Judged(Effect("execute", "runs-other" if runs else "writes", why), is_opaque=runs)
    return None


_INTERPRETERS: Final = names_in("python node deno ruby perl php lua Rscript julia R osascript tclsh ipython")
_INLINE: Final = re.compile(r"-[A-Za-z]*[ceEprB]\b|-[A-Za-z]*[ceE].*|--(?:eval|print|expression|execute|command).*|-")


def _versioned(name: str) -> str:
    return re.sub(r"[\d.]+$", "", name)


def _interpreter(name: str, head: Head) -> Judged:
    """Judge an interpreter: its version is harmless, a file is a program, code in its words or its input is opaque."""
    words = head.argv
    if len(words) == 1 and words[0].is_known and words[0].text in {"--version", "-V"}:
        return _LOOKS
    first = next((word for word in words if not word.text.startswith("-") or not word.is_known), None)
    before = words[: words.index(first)] if first is not None else words
    inline = any(_INLINE.fullmatch(word.text) for word in before)
    module = name == "python" and any(word.text.startswith("-m") for word in before)
    if module and first is not None and first.text in {"pip", "ensurepip", "venv", "conda"}:
        return Judged(EFFECTS["pip"])
    if first is None or inline or not first.is_known:
        return Judged(Effect("execute", "runs-code", f"runs code given to {name}"), is_opaque=True)
    return Judged(Effect("execute", "runs-program", "runs a program of its own"))


_LISTINGS: Final[Mapping[str, re.Pattern[str]]] = {
    "pip": re.compile(r"(?:list|freeze|check)(?: --format=\w+)?|show(?: (?!-)[\w.\[\]-]+)+|--version|-V"),
    "conda": re.compile(r"list|info|env list|--version|list (?!-)[\w.-]+"),
    "npm": re.compile(r"(?:ls|list)(?: --depth=\d+)?|--version|-v"),
    "uv": re.compile(r"pip (?:list|freeze|show(?: (?!-)[\w.-]+)+)|--version"),
    "node": re.compile(r"--version|-v"),
    "cargo": re.compile(r"--version|-V"),
    "docker": re.compile(r"--version"),
    "make": re.compile(r"--version"),
    "gcc": re.compile(r"--version"),
    "java": re.compile(r"-?-version"),
    "go": re.compile(r"version|env GOPATH"),
    "jupyter": re.compile(r"--version|kernelspec list"),
    "pytest": re.compile(r"--version"),
}


def _listing(head: Head) -> Judged | None:
    """Judge a program that looks only with exactly these words."""
    if not all(word.is_known for word in head.argv):
        return None
    text = " ".join(word.text for word in head.argv)
    name = plain_name(head.name)
    return _LOOKS if _LISTINGS["pip" if name == "pip3" else name].fullmatch(text) else None


def _git(head: Head) -> Judged | None:
    effect = git_effect(head.argv)
    return Judged(effect, is_opaque=effect is not None and effect.code == "runs-other")


_SPECIAL: Final[Mapping[str, Callable[[Head], Judged | None]]] = {
    "time": _transparent(lambda _: 0),
    "timeout": _transparent(_timeout),
    "nice": _transparent(_nice),
    "command": _command,
    "printf": _printf,
    "test": _test,
    "set": _set,
    "read": _read,
    "ps": _ps,
    "find": _find,
    "xargs": _xargs,
    "jq": _jq,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "git": _git,
    **dict.fromkeys((*_LISTINGS, "pip3"), _listing),
}
