"""What spark-submit is given for an application, as a file of its own: it finds this package, which was sent with it, and hands over.

Usage: ``application.py JOB [ARGUMENT …]``, with the file of a `SubmittedJob`. Nothing is imported here but Python's own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile

ARCHIVE = "airflow_lineage_provider.zip"


def unpack() -> None:
    """Have the package from a folder where it was sent as an archive: what it reads beside its modules is in no archive found."""
    for at, place in enumerate(sys.path):
        if os.path.basename(place) == ARCHIVE and os.path.isfile(place):
            folder = tempfile.mkdtemp(prefix="airflow-lineage-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            with zipfile.ZipFile(place) as archive:
                archive.extractall(folder)
            sys.path[at] = folder
            return


if __name__ == "__main__":
    unpack()
    from airflow_lineage_provider.submitted.driver import main

    main(sys.argv[1:])
