"""From a TOML run file to a validated `Config`: every error names file, section and key."""

from meanfield.config.config import Config, load_config, with_defaults
from meanfield.config.keys import ConfigError
from meanfield.config.output import Output

__all__ = ["Config", "ConfigError", "Output", "load_config", "with_defaults"]
