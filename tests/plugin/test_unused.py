"""In a session that names no model the plugin does nothing, and says so at most in one line."""

from __future__ import annotations

import re

import pytest

ONE_LINE = "mmtests: no model is named, so no benchmark test is collected. Run them: pytest --model smollm2-135m"


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_no_benchmark_test_is_collected(quiet: tuple[str, ...], pytester: pytest.Pytester) -> None:
    """Naming the benchmarks without a model collects nothing, and one line says what is missing."""
    result = pytester.runpytest_subprocess("--pyargs", "mmtests", *quiet)

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert result.outlines.count(ONE_LINE) == 1
    assert not (pytester.path / ".mmtests").exists()


def test_an_ordinary_project_sees_no_difference(pytester: pytest.Pytester) -> None:
    """The output of a project that does not use the plugin is the same without it, the list of plugins aside."""
    pytester.makepyfile(
        """
        import pytest

        def test_good():
            print("seen")

        def test_bad():
            assert {"a": 1} == {"a": 2}

        @pytest.mark.skip(reason="later")
        def test_skipped():
            pass
        """
    )

    def lines(*args: str) -> list[str]:
        result = pytester.runpytest_subprocess("-v", "-ra", "-p", "no:cacheprovider", *args)
        assert result.ret == 1
        return [re.sub(r"in \d+\.\d+s", "", line) for line in result.outlines if not line.startswith("plugins: ")]

    assert lines() == lines("-p", "no:mmtests")


def test_nothing_heavy_is_imported(pytester: pytest.Pytester) -> None:
    """An ordinary session pays for none of what evaluation needs."""
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            assert "mmtests.plugin" in sys.modules
            heavy = ("torch", "transformers", "openai", "msgspec", "rich", "sqlite3", "asyncio", "mmtests.dialogue")
            assert [name for name in heavy if name in sys.modules] == []
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:xdist")

    result.assert_outcomes(passed=1)


def test_own_tests_are_skipped(pytester: pytest.Pytester) -> None:
    """A team's tests of its model are skipped, with the reason, where no model is named."""
    pytester.makepyfile(
        """
        def test_chat(chat):
            assert chat("Hello").text

        def test_judge(judge):
            assert judge("Is it good?")
        """
    )

    result = pytester.runpytest_subprocess("-rs")

    assert result.ret == 0
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*needs a model under test (--model MODEL)*"])
