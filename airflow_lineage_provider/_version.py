"""The version: of the package, of the provider, of what runs record."""

__version__ = "0.1.0"
