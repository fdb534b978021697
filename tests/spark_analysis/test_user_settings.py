"""Settings of Spark that the user made override those of this project."""

import pytest

from checker.errors import InputError
from spark_analysis import session as sessions
from spark_analysis import user_settings as user_settings_module
from spark_analysis.user_settings import user_settings


@pytest.fixture
def defaults(monkeypatch, tmp_path):
    """Return the file of the user's defaults, which is empty."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return tmp_path / "spark-defaults.conf"


def test_defaults_are_read_as_spark_reads_them(defaults):
    defaults.write_text("# a comment\n\nspark.driver.memory   9g\nspark.ui.enabled=true\n  spark.a:b c=d  \n!no\n")
    assert user_settings() == {"spark.driver.memory": "9g", "spark.ui.enabled": "true", "spark.a": "b c=d"}


def test_arguments_override_the_defaults(defaults, monkeypatch, tmp_path):
    defaults.write_text("spark.driver.memory 9g\nspark.ui.port 4050\n")
    words = "--driver-memory 3g --conf spark.ui.port=4060 -c 'spark.x=a b' --jars x.jar pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words)
    assert user_settings() == {"spark.driver.memory": "3g", "spark.ui.port": "4060", "spark.x": "a b"}
    other = tmp_path / "other.conf"
    other.write_text("spark.y 1\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {other} pyspark-shell")
    assert user_settings() == {"spark.y": "1"}
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell --conf")
    with pytest.raises(InputError, match=r"PYSPARK_SUBMIT_ARGS: .*expected one argument"):
        user_settings()
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-java-options=-Xss9m")
    assert user_settings()["spark.driver.extraJavaOptions"] == "-Xss9m"


def test_the_file_of_an_installation_is_read_without_a_folder_of_settings(defaults, monkeypatch, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / defaults.name).write_text("spark.z 1\n")
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert user_settings() == {"spark.z": "1"}
    monkeypatch.delenv("SPARK_HOME")
    assert user_settings_module._default_file().parts[-3:] == ("pyspark", "conf", defaults.name)


def test_settings_of_spark_submit_replace_all_others(defaults, monkeypatch):
    defaults.write_text("spark.ui.port 4050\n")
    monkeypatch.setattr(user_settings_module, "settings_of_submit", lambda: {"spark.master": "yarn"})
    assert user_settings() == {"spark.master": "yarn"}


def test_a_missing_file_has_no_settings(defaults):
    assert user_settings() == {}


def test_arguments_with_an_open_quote_are_refused(defaults, monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'spark.x=1")
    with pytest.raises(InputError, match="PYSPARK_SUBMIT_ARGS cannot be split into words"):
        user_settings()


def test_settings_of_the_user_are_kept_but_for_the_required_ones(defaults):
    defaults.write_text("spark.driver.memory 9g\nspark.ui.enabled true\nspark.sql.session.timeZone CET\n")
    made = sessions._configuration("local[2,4]", "tidemark", "2g")
    kept = sessions._without_user_settings(made)
    assert set(made) - set(kept) == {"spark.driver.memory", "spark.ui.enabled"}
    assert kept["spark.sql.session.timeZone"] == "UTC"
    assert set(made) >= sessions.REQUIRED
