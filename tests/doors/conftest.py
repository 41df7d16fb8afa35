"""The command over the stand-in of its own tests."""

from tests.cli.conftest import calls

__all__ = ["calls"]
