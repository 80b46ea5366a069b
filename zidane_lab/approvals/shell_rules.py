"""What programs of the shell do: which only look, with which options, and what the others do.

Programs without a single option that writes, starts or sends anything are listed by name. Where there is such an
option, the harmless ones are listed, because programs accept shortened names of options and get new ones. Everything
that is not listed asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = [
    "EFFECTS",
    "HARMLESS",
    "NAMES_ONLY",
    "OPAQUE",
    "OPTIONS",
    "SYSTEM_FOLDERS",
    "Effect",
    "Level",
    "Options",
    "names_in",
]

Level: TypeAlias = Literal["read", "write", "network", "execute"]
"""How far a command goes."""

SYSTEM_FOLDERS: Final = ("/bin/", "/usr/bin/")
"""Where a program is taken for the one of its name."""


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text: a set, written so that it can be read."""
    return frozenset(text.split())


HARMLESS: Final = names_in(
    """ls cat head tail wc nl tac rev od strings cut tr paste join comm fold fmt expand unexpand basename dirname
    realpath readlink pwd echo true false : uptime whoami id groups nproc lscpu lsblk free df du stat which
    whereis seq sleep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum cmp grep egrep fgrep
    type cd exit return break continue uname pgrep pidof getconf locale tty who w numfmt factor tsort
    lsmod vmstat"""
)
"""Programs that only look, whatever their options."""

NAMES_ONLY: Final = names_in(
    "ls cd stat du df which type basename dirname realpath readlink test find tree wc echo printf"
)
"""Of the harmless, those that show no file's content: a secret's name may stand among their words."""


@dataclass(frozen=True, slots=True)
class Options:
    """The harmless options of a program.

    Parameters
    ----------
    flags
        Letters of options without a value.
    valued
        Letters of options with one, which is the rest of the word or the next.
    long
        Long options (also single-dash words, for programs that have them), without a value or with ``=``.
    long_valued
        Long options whose value may be the next word.
    operands
        How many operands there may be; ``None`` for any number.
    prefix
        What each operand must begin with.
    attached
        Letters of options whose value, if they have one, is the rest of the word.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int | None = None
    prefix: str = ""
    attached: str = ""


OPTIONS: Final[Mapping[str, Options]] = {
    "sort": Options(
        "bdfghiMnRrVcCmsuz",
        "kt",
        names_in(
            """--reverse --numeric-sort --unique --ignore-case --human-numeric-sort --general-numeric-sort --stable
            --version-sort --check --zero-terminated --month-sort --random-sort"""
        ),
        names_in("--key --field-separator"),
    ),
    "uniq": Options(
        "cdDiuz",
        "fsw",
        names_in("--count --repeated --unique --ignore-case --all-repeated"),
        names_in("--skip-fields --skip-chars --check-chars"),
        operands=1,
    ),
    "file": Options("bhiLkNnprsv", "Fm", names_in("--brief --mime --mime-type --mime-encoding --dereference")),
    "tree": Options(
        "adflpsuhgDFqNQrtUvcixJSnCAX",
        "LPI",
        names_in("--dirsfirst --noreport --du --si --gitignore --prune --charset=ascii"),
        names_in("--filelimit --timefmt --sort"),
    ),
    "date": Options(
        "uR",
        "dr",
        names_in("--utc --universal --iso-8601 --rfc-3339 --rfc-email --iso-8601=seconds"),
        names_in("--date --reference"),
        prefix="+",
        attached="I",
    ),
    "hostname": Options("fsIidA", operands=0),
    "diff": Options(
        "abBcdeEinNqrstTuwyZp",
        "UCIFxXW",
        names_in(
            """--brief --unified --side-by-side --recursive --ignore-all-space --ignore-blank-lines --color --no-color
            --ignore-case --report-identical-files --suppress-common-lines --new-file --text --minimal --context
            --ignore-space-change --strip-trailing-cr"""
        ),
        names_in("--exclude --label --width"),
    ),
    "xxd": Options("abeup", "cglos", operands=1),
    "hexdump": Options("bcCdovx", "ns"),
    "column": Options("txe", "scoN", names_in("--table"), names_in("--separator --columns")),
    "rg": Options(
        "abcFhHiIlLnNoPqsSUuvVwx0p.",
        "ABCeEfgjmMrtTd",
        names_in(
            """--files --hidden --no-ignore --line-number --no-heading --heading --files-with-matches --count --json
            --ignore-case --smart-case --fixed-strings --word-regexp --only-matching --multiline --invert-match --stats
            --files-without-match --no-filename --with-filename --count-matches --type-list --no-line-number --column
            --vimgrep --pcre2 --null --trim --no-messages --multiline-dotall --version --no-config --follow --text"""
        ),
        names_in(
            """--glob --iglob --type --type-not --max-count --max-depth --after-context --before-context --context
            --regexp --replace --sort --sortr --color --colors --max-columns --max-filesize --encoding --threads"""
        ),
    ),
    "fd": Options(
        "HIsigaLp0F",
        "deEtSc",
        names_in("--hidden --no-ignore --absolute-path --glob --follow --full-path --case-sensitive --ignore-case"),
        names_in(
            "--max-depth --min-depth --extension --exclude --type --size --changed-within --changed-before --color"
        ),
    ),
    "lsof": Options("abhlnNoPRtU", "cdpu", attached="ig"),
    "ss": Options("anltupemoi4610s", "f"),
    "netstat": Options("anltuprsiv46"),
    "top": Options("bicS", "nopud", operands=0, attached="w"),
    "nvidia-smi": Options("Lq", "i", names_in("--list-gpus --query")),
    "cal": Options("13jmyw"),
    "umask": Options("S", operands=0),
    "wait": Options(operands=0),
    "jobs": Options("lp", operands=0),
    "popd": Options(operands=0),
    "pushd": Options(operands=1),
    "jq": Options(
        "acCejMnrRsS",
        "",
        names_in(
            """--raw-output --compact-output --slurp --raw-input --null-input --exit-status --sort-keys --tab
            --color-output --monochrome-output --stream --join-output --ascii-output"""
        ),
    ),
    "arch": Options(operands=0),
    "zcat": Options(),
    "bzcat": Options(),
    "xzcat": Options(),
}
"""Programs that only look with these options."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a program does: how far it goes, a short code for it, and words for the person."""

    level: Level
    code: str
    why: str


def _table(*groups: tuple[Level, str, str, str]) -> dict[str, Effect]:
    return {name: Effect(level, code, why) for level, code, why, names in groups for name in names.split()}


EFFECTS: Final[Mapping[str, Effect]] = _table(
    ("execute", "deletes", "deletes files", "rm rmdir unlink shred srm trash git-clean"),
    ("execute", "disk", "writes to disks", "dd mkfs fdisk parted mount umount swapon mkswap wipefs losetup sgdisk"),
    ("write", "writes", "writes files", "touch mkdir cp tee install truncate split csplit mktemp mkfifo mknod patch"),
    ("execute", "moves", "moves or links files", "mv ln rename link"),
    ("execute", "rights", "changes who may do what with files", "chmod chown chgrp chattr setfacl umask"),
    ("execute", "unpacks", "packs or unpacks files", "tar zip unzip gzip gunzip bzip2 xz 7z cpio ar zstd unar rar"),
    ("network", "network", "uses the network", "curl wget ssh scp sftp rsync nc ncat netcat telnet ftp ping dig"),
    (
        "network",
        "network",
        "uses the network",
        "nslookup host traceroute whois aria2c socat openssl gh glab aws gcloud",
    ),
    (
        "network",
        "network",
        "uses the network",
        "az kubectl helm terraform heroku flyctl vercel ab nmap mosh rclone s3cmd",
    ),
    (
        "network",
        "installs",
        "installs software",
        "pip pip3 pipx conda mamba micromamba uv poetry pdm npm npx yarn pnpm",
    ),
    (
        "network",
        "installs",
        "installs software",
        "bun apt apt-get dpkg yum dnf brew snap gem cargo go composer apk rpm",
    ),
    ("network", "installs", "installs software", "pacman port nix easy_install bundle pre-commit uvx corepack"),
    ("execute", "processes", "steers other processes", "kill killall pkill xkill renice taskset disown fg bg"),
    ("execute", "system", "changes the system", "shutdown reboot halt poweroff systemctl service crontab at batch"),
    ("execute", "system", "changes the system", "useradd userdel usermod passwd sysctl iptables ufw modprobe insmod"),
    ("execute", "system", "changes the system", "launchctl defaults hostnamectl timedatectl loginctl init telinit"),
    ("execute", "containers", "steers containers", "docker podman nerdctl docker-compose lxc vagrant buildah"),
    ("execute", "secrets", "shows secrets", "env printenv history security gpg pass op vault keyring secret-tool"),
    (
        "execute",
        "changes-shell",
        "changes the shell itself",
        "alias unalias trap shopt enable hash bind complete ulimit",
    ),
    ("execute", "changes-shell", "changes the shell itself", "let mapfile readarray getopts unset local"),
    ("execute", "git", "changes a repository", "git hg svn jj bzr fossil"),
    ("execute", "runs-program", "runs a program of its own", "python python3 node deno ruby perl php lua java Rscript"),
    ("execute", "runs-program", "runs a program of its own", "julia R make cmake ninja just task rake gradle mvn tox"),
    (
        "execute",
        "runs-program",
        "runs a program of its own",
        "pytest nox jupyter ipython gcc cc clang g++ rustc vim vi",
    ),
    ("execute", "runs-program", "runs a program of its own", "nano emacs ed ex less more man sed awk gawk mawk find"),
)
"""What well-known programs do when they are not used in a harmless way."""

OPAQUE: Final[Mapping[str, str]] = {
    name: why
    for why, names in (
        ("runs a command as another user", "sudo su doas pkexec runuser chroot unshare nsenter"),
        ("runs a text as commands", "eval source . fc"),
        ("runs another command", "xargs parallel exec env nohup setsid watch entr script expect strace ltrace gdb"),
        (
            "runs another command",
            "builtin coproc stdbuf ionice chrt flock busybox toybox unbuffer screen tmux systemd-run",
        ),
        ("runs another command", "firejail bwrap proot fakeroot faketime catchsegv rlwrap timelimit perf valgrind"),
        ("starts another shell", "sh bash zsh dash ksh fish ash csh tcsh pwsh powershell cmd rbash"),
        ("runs code later", "crontab at batch trap"),
    )
    for name in names.split()
}
"""Programs that run what their words say: what it is cannot be told by their name, so no entry covers them."""
