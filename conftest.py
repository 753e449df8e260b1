"""What a run from the clone needs: ``pytester``, for the tests of mmtests itself."""

pytest_plugins = ["pytester"]
