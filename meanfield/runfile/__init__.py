"""From a TOML run file to a validated `Config`: every error names file, section and key."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from meanfield.runfile.keys import ConfigError

__all__ = ["Config", "ConfigError", "Output", "load_config", "with_defaults"]

if TYPE_CHECKING:
    from meanfield.runfile.config import Config, load_config, with_defaults
    from meanfield.runfile.output import Output
else:

    def __getattr__(name: str) -> Any:
        # Loaded at first use: a run in memory only writes a document.
        return getattr(import_module(f"{__name__}.config"), name)
