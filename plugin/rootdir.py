"""Undo a known trap: pytest takes the value of an option that a plugin adds for a test path.

``pytest --data ../data`` makes pytest look for the project's root in ``../data``, since it does so before any plugin has
said that ``--data`` takes a value (pytest issue 8846). The project's own settings are then silently not read: its pytest
options, its test paths, and our thresholds and models. ``--data=../data`` is not affected. Here the root is worked out
again once the options are known.
"""

from __future__ import annotations

import pytest


def find_again(config: pytest.Config, args: list[str]) -> None:
    """Correct the root, the configuration file, and the options that come from it.

    Raises:
        pytest.UsageError: the root is wrong and this version of pytest does not let us correct it.
    """
    from _pytest.config.findpaths import determine_setup

    known = config.known_args_namespace
    rootpath, inipath, inicfg, *rest = determine_setup(
        inifile=known.inifilename,
        override_ini=known.override_ini,
        args=known.file_or_dir,
        rootdir_cmd_arg=known.rootdir or None,
        invocation_dir=config.invocation_params.dir,
    )
    if (rootpath, inipath) == (config.rootpath, config.inipath):
        return
    if not hasattr(config, "_inicfg") or not hasattr(config, "_inicache"):
        raise pytest.UsageError(
            f"pytest took the value of an option for a test path, and {config.rootpath} for the project's root instead of "
            f"{rootpath}. Write the option with an equals sign, as --data=DIR."
        )
    config._rootpath, config._inipath, config._inicfg = rootpath, inipath, inicfg
    if rest:
        config._ignored_config_files = rest[0]
    config._inicache.clear()
    config._parser.extra_info.update(rootdir=str(rootpath), inifile=str(inipath))
    from_file = config._validate_args(config.getini("addopts"), "via addopts config")
    args[:] = from_file + args
    config.pluginmanager.consider_preparse(from_file, exclude_only=False)
    config._configure_python_path()
    config.known_args_namespace = config._parser.parse_known_args(args)
    if config.known_args_namespace.confcutdir is None:
        config.known_args_namespace.confcutdir = str(inipath.parent if inipath else rootpath)
