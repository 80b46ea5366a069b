"""What ``git`` does: which of its commands, with which options, only look.

Options are listed by name, because git accepts shortened ones and many lead to programs (pagers, filters, drivers).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from zidane_lab.approvals.shell_rules import Effect, names_in
from zidane_lab.approvals.shell_words import Word

__all__ = ["git_effect"]

_CHANGES: Final = Effect("execute", "git", "changes a repository")
_RUNS: Final = Effect("execute", "runs-other", "lets git run other programs")
_NETWORK: Final = Effect("network", "network", "uses the network")
_DESTROYS: Final = Effect("execute", "git-destroys", "throws away work or history")


_SHOWING: Final = names_in(
    """--oneline --stat --shortstat --numstat --name-only --name-status --graph --all --decorate --no-color --color
    --pretty --format --abbrev-commit --abbrev --no-merges --merges --first-parent --reverse --follow --patch --no-patch
    --cached --staged --word-diff --color-words --summary --since --until --after --before --author --committer --grep
    --max-count --skip --date --relative-date --branches --tags --remotes --no-pager --no-ext-diff --no-textconv --raw
    --ignore-all-space --ignore-space-change --ignore-blank-lines --minimal --patience --histogram --unified --check
    --diff-filter --find-renames --find-copies --full-index --binary --text --exit-code --quiet --relative --cherry-pick
    --left-right --topo-order --date-order --decorate-refs --simplify-by-decoration --merge-base
    --dirstat --function-context --inter-hunk-context --compact-summary --no-renames --source --left-only --right-only
    --cherry --no-walk --do-walk --full-history --ancestry-path --no-notes --name-rev --count"""
)
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "status": names_in(
        "--short --branch --porcelain --long --verbose --ignored --untracked-files --show-stash --column"
    ),
    "log": _SHOWING,
    "diff": _SHOWING,
    "show": _SHOWING,
    "shortlog": _SHOWING | names_in("--summary --numbered --email"),
    "whatchanged": _SHOWING,
    "rev-list": _SHOWING,
    "diff-tree": _SHOWING | names_in("--root --no-commit-id"),
    "blame": names_in("--date --porcelain --line-porcelain --show-email --show-name --show-number --since --root"),
    "grep": names_in(
        """--line-number --ignore-case --count --files-with-matches --name-only --cached --untracked --word-regexp
        --extended-regexp --fixed-strings --perl-regexp --heading --break --and --or --not --max-depth
        --recurse-submodules --context --after-context --before-context --show-function --invert-match --no-index
        --text"""
    ),
    "ls-files": names_in(
        """--cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard --full-name
        --error-unmatch"""
    ),
    "ls-tree": names_in("--name-only --full-tree --full-name --long --name-status"),
    "rev-parse": names_in(
        """--show-toplevel --abbrev-ref --short --verify --git-dir --is-inside-work-tree --show-prefix --show-cdup
        --is-bare-repository --quiet --symbolic-full-name --git-common-dir --absolute-git-dir"""
    ),
    "describe": names_in("--tags --always --dirty --all --long --abbrev --match --contains --exact-match"),
    "for-each-ref": names_in("--format --sort --count --merged --no-merged --contains --points-at"),
    "merge-base": names_in("--is-ancestor --all --fork-point --octopus"),
    "name-rev": names_in("--name-only --tags"),
    "count-objects": names_in("--verbose --human-readable"),
    "check-ignore": names_in("--verbose --no-index --quiet"),
    "check-attr": names_in("--all"),
    "version": frozenset(),
    "cat-file": names_in("--batch-check"),
    "var": frozenset(),
}
"""Commands that only look, with their harmless long options."""

_LETTERS: Final[Mapping[str, tuple[str, str]]] = {
    "status": ("sbvz", "u"),
    "grep": ("nilcwvEFPGhHpW", "ABCe"),
    "cat-file": ("tsep", ""),
    "ls-files": ("cdmosiuvtzk", ""),
    "ls-tree": ("rdtlz", ""),
    "blame": ("lswtefpn", "LCM"),
    "shortlog": ("snec", ""),
    "count-objects": ("vH", ""),
}
"""Letters of options without and with a value that only look."""
_LETTERS_SHOWING: Final = ("pusabwzRiEFPcmtrq", "nSGLUMCB")
"""The same for ``log``, ``diff`` and their like."""

_EXACT: Final = re.compile(
    r"branch(?: (?:-a|-r|-v|-vv|-av|-avv|--all|--list|--remotes|--verbose|--show-current|--merged|--no-merged"
    r"|--sort=-?\w+))*"
    r"|tag(?: (?:-l|--list|-n\d*|--sort=-?[\w:]+))*(?<!tag)|tag"
    r"|remote(?: -v| --verbose)?|remote get-url \w+"
    r"|stash (?:list|show(?: -p| --stat)?(?: stash@\{\d+\})?)"
    r"|config (?:--global |--local )?(?:--get |get )?(?:user\.(?:name|email)|core\.(?:editor|autocrlf|filemode)"
    r"|remote\.\w+\.url|init\.defaultBranch|branch\.[\w/.-]+\.(?:remote|merge))"
    r"|worktree list(?: --porcelain)?|reflog(?: show)?(?: -n? ?\d+)?|submodule status"
    r"|--version|notes list|bisect log|sparse-checkout list|symbolic-ref (?:--short )?HEAD"
)
_ON_NETWORK: Final = names_in(
    "push pull fetch clone ls-remote remote submodule archive send-email request-pull p4 svn lfs"
)
_OPENS: Final = names_in(
    "bisect filter-branch difftool mergetool rebase instaweb gui gitk hook daemon credential config help"
)
_DESTRUCTIVE: Final = re.compile(
    r"reset\b.* --(?:h|me|k)\w*"
    r"|clean\b"
    r"|push\b.*(?: -\w*[fd]\w*\b| --(?:for|mi|de|pru)\w*| \+\S| :\S)"
    r"|checkout\b.*(?: -\w*f\w*\b| --fo\w*| --ou\w*| --th\w*| \.$| -- )|checkout \.|checkout -- "
    r"|switch\b.*(?: -\w*[fC]\w*\b| --fo\w*| --di\w*)"
    r"|branch\b.* (?:-\w*[DdfMC]\w*\b|--del\w*|--fo\w*)"
    r"|stash (?:drop|clear)|reflog (?:expire|delete)|gc\b|prune\b|update-ref\b|symbolic-ref\b.* -d"
    r"|filter-branch|filter-repo|restore\b|rm\b|read-tree\b|checkout-index\b|commit\b.* --am\w*"
    r"|tag\b.* (?:-\w*[df]\w*\b|--del\w*|--fo\w*)|worktree (?:remove|prune)|submodule (?:deinit|absorb)|lfs prune"
    r"|remote (?:remove|rm|prune)|notes (?:remove|prune)|replace\b"
    r"|(?:am|merge|rebase|cherry-pick|revert) --(?:abort|skip|quit)"
)
"""Commands that throw away work or history; git takes shortened names of long options, and letters in one word."""


def git_effect(argv: Sequence[Word]) -> Effect | None:
    """Say what ``git`` with these words does beyond looking; ``None`` when it only looks."""
    given = list(argv)
    if given and given[0].is_known and given[0].text == "--no-pager":
        given = given[1:]
    if not given or not given[0].is_known:
        return _CHANGES
    command = given[0].text
    if command.startswith("-") and command != "--version":
        return _RUNS  # -c core.pager=…, -C another/repository, --exec-path, --git-dir
    text = " ".join(word.text for word in given)
    if all(word.is_known for word in given) and _EXACT.fullmatch(text):
        return None
    if _DESTRUCTIVE.match(text):
        return _DESTROYS
    if command not in _OPTIONS:
        if command in _OPENS:
            return _RUNS
        return _NETWORK if command in _ON_NETWORK else _CHANGES
    return None if all(_is_harmless(command, word) for word in _before_paths(given[1:])) else _RUNS


def _before_paths(given: Sequence[Word]) -> Sequence[Word]:
    end = next((index for index, word in enumerate(given) if word.is_known and word.text == "--"), len(given))
    return given[:end]


def _is_harmless(command: str, word: Word) -> bool:
    if not word.may_be_option:
        return True
    if not word.start.startswith("-"):
        return False
    name = word.text.partition("=")[0]
    if name.startswith("--"):
        return name in _OPTIONS[command] and (word.is_known or "=" in word.start)
    if not word.is_known:
        return False
    flags, valued = _LETTERS.get(command, _LETTERS_SHOWING if _OPTIONS[command] >= _SHOWING else ("", ""))
    cluster = rf"-[{flags or '-'}]*" + (rf"(?:[{valued}][\w,:./^-]*)?" if valued else "")
    return re.fullmatch(rf"-\d+|{cluster}", word.text) is not None
