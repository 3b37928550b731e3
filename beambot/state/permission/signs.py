"""The tables behind warnings and rules: what commands look like that can do harm, and which run other commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct


def listed(text: str) -> frozenset[str]:
    """The words of a table that is written as one line."""
    return frozenset(text.split())


SHELLS = listed("sh bash zsh dash ksh mksh ash csh tcsh fish pwsh powershell cmd nu elvish xonsh")
INTERPRETERS = listed("python pypy node nodejs deno bun ruby perl php lua luajit rscript osascript tclsh")
RUNNERS = SHELLS | listed(
    "eval exec source . command builtin alias trap coproc xargs parallel env sudo su doas pkexec runas gsudo "
    "chroot unshare nsenter setpriv runuser systemd-run firejail nohup nice ionice chrt taskset timeout time watch "
    "entr setsid stdbuf unbuffer script expect flock strace gdb lldb ssh mosh rsh tmux screen busybox toybox "
    "npx bunx pnpx uvx pipx dotenv direnv watchexec nodemon concurrently nix-shell awk gawk mawk nawk vi vim nvim "
    "ex ed emacs nano less more man at batch crontab open xdg-open wsl"
)
RUNNING_SUBCOMMANDS = {
    "git": listed("bisect submodule difftool mergetool filter-branch for-each-repo hook send-email"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), listed("exec x explore dlx node")),
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "heroku"), listed("run shell tool")),
    **dict.fromkeys(("docker", "podman"), listed("run exec compose container")),
    "deno": listed("eval run task"),
    "nix": listed("run develop shell"),
    "bundle": listed("exec"),
    "kubectl": listed("exec run debug cp"),
    "vagrant": listed("ssh"),
    "go": listed("run generate tool"),
    "gh": listed("alias extension codespace"),
}
RUNNING_OPTIONS = listed(
    "-exec -execdir -ok -okdir --exec --exec-batch --command --rsh --upload-pack --receive-pack --pre --ext-diff "
    "--use-compress-program --compress-program --checkpoint-action --to-command --open-files-in-pager --textconv "
    "--eval --config-env --init-file --rcfile --require --import --loader --pager --editor --shell --script-shell "
    "--node-options --init-command --rsync-path --toolexec -toolexec --vettool -vettool --preload"
)
RUNNING_LETTERS = {
    "rsync": ("-e",),
    "scp": ("-S", "-o"),
    "sftp": ("-S", "-o"),
    "zip": ("-T",),
    "fd": ("-x", "-X"),
    "tar": ("-I", "-F"),
    "git": ("-x", "-O"),
    "cargo": ("--config",),
}

RiskKind = Literal[
    "pipe",
    "root",
    "secrets",
    "history",
    "publishes",
    "deletes",
    "machine",
    "widens",
    "config",
    "hidden",
    "unclear",
    "leaves",
    "network",
]


class Kind(Struct, frozen=True):
    """A kind of risk: its words on a card, its words when it is grave, and what is looked for beside the tables."""

    words: str
    grave_words: str
    looked_for: str = ""


class Sign(Struct, frozen=True):
    """A command that is a risk: with one of the subcommands and one of the options, where there are such."""

    kind: RiskKind
    grave: bool
    commands: tuple[str, ...]
    subcommands: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class Pattern(Struct, frozen=True):
    """A text that is a risk wherever it stands in a command or in code."""

    kind: RiskKind
    grave: bool
    what: str
    regex: str


KINDS: dict[RiskKind, Kind] = {
    "pipe": Kind(
        "",
        "Runs text as a program",
        "a shell or an interpreter behind a pipe or with nothing to run; a substitution in the words of a shell",
    ),
    "root": Kind("", "Takes or gives away rights on this machine", "`chmod` so that everyone may write, or setuid"),
    "secrets": Kind("", "Touches secrets", "names of keys and credentials, and patterns that match such names"),
    "history": Kind("Rewrites history", "Throws away history or work"),
    "publishes": Kind(
        "Changes what others see",
        "Publishes or deploys",
        "`deploy`, `publish` or `release` as a command's first word or as a task; a tool of such a name; "
        "`git push` to a branch such as `main`",
    ),
    "deletes": Kind(
        "Deletes",
        "Deletes much, for ever, or outside of the project",
        "a tool that deletes; grave: any deletion in a call that also leaves the project",
    ),
    "machine": Kind("Changes what runs on this machine", "Changes this machine", "`mkfs.*`"),
    "widens": Kind("", "Asks for more rights than it has", "a change of mode; input that asks to leave a sandbox"),
    "config": Kind(
        "Touches settings",
        "Changes settings that decide what may run",
        "writing into a hidden folder, a start file of a shell, or a file of beambot",
    ),
    "hidden": Kind("", "Contains characters that cannot be seen", "invisible, reordering and control characters"),
    "unclear": Kind(
        "Runs code that is not judged here",
        "What it runs cannot be known beforehand",
        "code in the words of an interpreter; a request that is told only by its title; grave: a command with a "
        "computed name, or too long to be read",
    ),
    "leaves": Kind(
        "Leaves the project",
        "",
        "a path outside of the session's folder, also behind `..`, `~`, a variable or a symlink; `cd` home or back",
    ),
    "network": Kind("Uses the network", "", "an address; a tool that fetches"),
}

# Kind (with `!` when grave) | commands | one of these subcommands | one of these options. `x*` is any word that
# begins with `x`; `-f` is also found in `-uf`, and `--force` also in `--force=x` and `--forc`.
_SIGNS = """
pipe!      | eval
root!      | sudo su doas pkexec runas gsudo chown chgrp setcap setfacl visudo usermod passwd
secrets!   | printenv env vault op pass bw gopass security ssh-add ssh-keygen secret-tool keyctl
secrets!   | export declare typeset | | -p -x
secrets!   | gh | auth token, auth status, secret set, secret list
secrets!   | gcloud | auth print-access-token, auth print-identity-token
secrets!   | aws | configure get, configure export-credentials, secretsmanager get-secret-value
secrets!   | git | credential, credential fill
secrets!   | kubectl oc | get secret, get secrets, describe secret, describe secrets
secrets!   | gpg | | --export-secret-keys --export-secret-subkeys
secrets!   | npm | token, token create, token list
history!   | git | push | --force -f --force-with-lease --force-if-includes --mirror --delete -d --prune +* :*
history!   | git | reset | --hard --merge --keep
history!   | git | filter-branch, filter-repo, replace, update-ref, reflog expire, reflog delete
history!   | git | gc, prune | --prune* --expire*
history!   | git | stash drop, stash clear, restore, worktree remove
history!   | git | checkout, switch | -f --force --discard-changes -- . -B -C
history!   | git | branch | -D -f --force -M -C
history!   | git-filter-repo bfg
history    | git | rebase, am, cherry-pick, replay
history    | git | commit | --amend --fixup*
publishes  | git | push
publishes! | git | push | --tags --all --mirror --follow-tags
publishes! | npm pnpm yarn bun cargo gem poetry uv hatch flit | publish, push, yank, unpublish, dist-tag
publishes! | twine docker podman helm nuget dotnet | upload, push, nuget push, install, upgrade, uninstall
publishes  | gh glab | pr create, pr edit, pr comment, pr review, issue create, issue comment, issue close
publishes! | gh glab | api, pr merge, mr merge, release create, release upload, release delete, workflow run
publishes! | gh glab | repo create, repo delete, repo edit, repo rename, repo archive, gist create
publishes! | terraform tofu pulumi cdk sst serverless sam | apply, destroy, up, import, taint, state rm
publishes! | kubectl oc | apply, delete, create, replace, patch, scale, drain, rollout, edit, set, exec
publishes! | vercel netlify fly flyctl heroku wrangler firebase eb ansible-playbook ansible rclone gsutil
publishes! | aws | s3 cp, s3 sync, s3 mv, s3 rm, s3 rb, lambda update-function-code
deletes    | rm rmdir unlink trash del erase rd remove-item
deletes!   | rm del rd remove-item | | -r -R --recursive -recurse /s --no-preserve-root
deletes!   | shred srm rimraf truncate dropdb wipefs
deletes!   | find fd | | -delete
deletes!   | git | clean
deletes    | git | rm
deletes    | git | branch, tag | -d -D --delete
deletes!   | git | branch | -D
deletes!   | rsync robocopy | | --delete* --remove-source-files /mir /purge
deletes!   | docker podman | rm, rmi, volume rm, volume prune, system prune, image prune, container prune
deletes!   | kubectl oc gh gcloud az | delete, repo delete, release delete
deletes!   | redis-cli | flushall, flushdb, FLUSHALL, FLUSHDB
machine!   | systemctl service launchctl crontab at batch shutdown reboot halt poweroff init telinit mkfs dd mount
machine!   | umount fdisk parted sgdisk mkswap swapoff swapon iptables nft ufw firewall-cmd sysctl modprobe insmod
machine!   | rmmod useradd userdel groupadd killall pkill hostnamectl timedatectl nvram defaults networksetup scutil
machine!   | diskutil csrutil spctl update-alternatives update-rc.d chsh reg sc schtasks netsh format diskpart
machine!   | apt apt-get aptitude yum dnf pacman apk zypper brew port snap flatpak choco winget scoop
machine    | kill
machine!   | kill | | -9 -KILL -SIGKILL
machine!   | npm pnpm yarn bun | install, i, add, uninstall, link | -g --global --location*
machine!   | pip | install, uninstall | --user --break-system-packages --target
machine!   | docker podman | run, create, exec, compose | --privileged --pid --cap-add --device --userns /:*
machine!   | docker podman | run, create, exec, compose | --net=host* --network=host* /var/run/docker.sock*
config     | git | config
config!    | git | config | --global --system alias.* core.* credential* url.* filter.* diff.* include* gpg.*
config!    | git | config | http.* safe.* uploadpack.* remote.* protocol.* pager.* init.*
config     | alias trap
config     | npm pnpm yarn pip | config, config set
widens!    | beambot
network    | curl wget aria2c nc ncat netcat telnet ssh scp sftp rsync ftp socat ping dig nslookup host whois http
network    | https xh mosh npx bunx pnpx uvx pipx gh glab aws gcloud az kubectl oc helm terraform tofu twine rclone
network    | gsutil heroku vercel netlify fly invoke-webrequest iwr
network    | apt apt-get aptitude yum dnf pacman apk zypper brew port snap flatpak choco winget scoop
network    | git | push, fetch, pull, clone, ls-remote, submodule, remote, lfs
network    | npm pnpm yarn bun | install, i, ci, add, update, upgrade, up, publish, exec, x, dlx, create, init
network    | npm pnpm yarn bun | audit, login, view, info, outdated
network    | pip | install, download, index, search
network    | python pypy | pip install, pip download, http.server
network    | uv poetry pipenv pdm rye hatch | add, sync, install, lock, update, publish, pip, tool, run
network    | cargo gem go bundle composer deno | install, add, fetch, update, publish, get, push, mod, require
network    | docker podman | pull, push, build, run, login, compose, buildx
"""

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "deletes",
        True,
        "`drop table`, `truncate table`, `delete from`",
        r"\b(?:drop|truncate)\s+(?:table|database|schema|index|view)\b|\bdelete\s+from\b",
    ),
    Pattern(
        "deletes",
        True,
        "`rmtree`, `os.remove`, `fs.rm`, `unlinkSync` and their like",
        r"\brmtree\b|\b(?:unlink|rm|rmdir)Sync\b|\bfs\.(?:promises\.)?(?:rm|unlink|rmdir)\b"
        r"|\bos\.(?:remove|unlink|rmdir|removedirs)\b|\bFileUtils\.rm|\bFile\.delete\b",
    ),
    Pattern(
        "secrets",
        True,
        "a variable such as `$API_TOKEN`",
        r"(?:\$\{?|environ\W{1,3}|getenv\W{1,3}|env\.)\w*"
        r"(?:TOKEN|SECRET|PASSW|API_?KEY|PRIVATE_?KEY|CREDENTIAL)",
    ),
    Pattern("secrets", True, "`kubectl … secret`", r"\b(?:kubectl|oc)\b.*\bsecrets?\b"),
    Pattern("secrets", True, "`/etc/shadow`, `/proc/…/environ`", r"/etc/(?:shadow|sudoers)|/proc/[^\s/]+/environ"),
    Pattern(
        "widens",
        True,
        "options with which a program stops asking, such as `--yolo` or `--no-sandbox`",
        r"--(?:dangerously|yolo|no-sandbox|full-auto|trust-all|allow-all|bypass|skip-permissions|auto-approve)",
    ),
    Pattern(
        "network",
        False,
        "`https://…`, `git@host:…`, `/dev/tcp/…`",
        r"\b(?:https?|ftps?|wss?|ssh|git|sftp|s3|gs)://|\bgit@[\w.-]+:|/dev/(?:tcp|udp)/",
    ),
    Pattern("machine", True, "writing to a disk", r">\s*/dev/(?:sd|nvme|disk|hd|vd|mem)"),
)


def _read(table: str) -> Iterator[Sign]:
    known: dict[str, RiskKind] = {kind: kind for kind in KINDS}
    for row in table.strip().splitlines():
        kind, commands, subcommands, options = ([cell.strip() for cell in row.split("|")] + ["", ""])[:4]
        names = tuple(filter(None, subcommands.split(", ")))
        yield Sign(
            known[kind.rstrip("!")], kind.endswith("!"), tuple(commands.split()), names, tuple(options.split())
        )


SIGNS: tuple[Sign, ...] = tuple(_read(_SIGNS))
