"""From a TOML run file to a validated `Config`: every error names file, section and key."""

from meanfield.runfile.config import Config, load_config, with_defaults
from meanfield.runfile.keys import ConfigError
from meanfield.runfile.output import Output

__all__ = ["Config", "ConfigError", "Output", "load_config", "with_defaults"]
