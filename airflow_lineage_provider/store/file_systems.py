"""Whether a folder lies on a file system that several hosts share: data are safe there only with locks that all hosts see."""

from __future__ import annotations

import re
from pathlib import Path

# As Linux names them. Those of virtual machines and containers (9p, virtiofs, …) are shared with other guests of the host.
SHARED = frozenset(
    [
        "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "drvfs", "fakeowner", "fuse.beegfs-mount", "fuse.ceph", "fuse.cephfs",
        "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.grpcfuse", "fuse.juicefs", "fuse.mount-s3", "fuse.rclone",
        "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
        "orangefs", "prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs.split(",
    ]
)  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")


def shared_file_system(folder: Path) -> str | None:
    """The type of the shared file system that a folder lies on (``nfs4``); None where it is local, or where the system does not say."""
    try:
        found = file_system(folder, _MOUNTS.read_text())
    except OSError:
        return None
    return found if found in SHARED else None


def file_system(folder: Path, mounts: str) -> str:
    """The type of the file system of a folder, by the text of ``/proc/self/mountinfo``; empty when no mount has it."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split(" ")[4]))
        # Of two mounts on one point the later one hides the earlier.
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), source.split(" ")[0]
    return kind
