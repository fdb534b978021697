"""Data files are opened by `checker.data_files` alone: every other call that opens a file is listed with its reason."""

import ast

import pytest

from tests.support.source_trees import ROOT, modules, tree_of

PACKAGES = ("checker", "kafka_tools", "spark_analysis", "traces")
CALLS = {"open", "fdopen", "FileIO"}
"""Names of functions and methods that open a file when they are called."""

READS = {
    *("read_text", "read_bytes", "fromfile", "memmap", "open_code", "FileInput", "loadtxt", "genfromtxt", "read_csv"),
    *("read_json", "read_parquet", "ParquetFile", "memory_map", "open_input_file", "open_input_stream", "ZipFile"),
    *("TarFile", "copyfile", "copytree", "json.load", "tomllib.load", "yaml.load", "pickle.load", "numpy.load"),
    *("np.load", "shutil.copy"),
    *(f"{module}.{name}" for module in ("pq", "parquet") for name in ("read_table", "read_schema", "read_metadata")),
}
"""Names that nothing may mention: a library opens the file. Those that mean more than this have their module."""

ENDS = {name.rpartition(".")[2] for name in READS}

OTHERS = {
    "own files of the installation": {
        *("checker/explorer/page.py", "checker/output/page/render.py", "checker/execution/start_project.py"),
        *("kafka_tools/advise/configuration_keys.py", "kafka_tools/pages/museum/entries.py", "traces/json_schema.py"),
        *("traces/validate/behaviour_coverage.py", "checker/engines/native/cache/compiler_sources.py"),
        *("kafka_tools/advise/answer_cache.py", "kafka_tools/audit/audit_page.py"),
        *("kafka_tools/audit/audit_text.py", "kafka_tools/matrix/matrix_page.py"),
        "checker/playground/site_files.py",
    },
    "source files, which are code": {"checker/language/source_digest.py"},
    "pages that the command updates": {
        *("kafka_tools/pages/markdown.py", "kafka_tools/pages/write_pages.py", "kafka_tools/site/links.py"),
        *("kafka_tools/site/site_builder.py", "kafka_tools/site/staged_docs.py", "checker/execution/run_tables.py"),
    },
    "files of the system": {"checker/run/memory.py", "kafka_tools/lab/cluster/process.py"},
    "checks of their own: the owner, permissions and digest": {"checker/engines/native/llvm/code_cache.py"},
    "packages and jars, compared with their digests": {
        *("kafka_tools/lab/cluster/distribution.py", "checker/playground/pyodide_package.py"),
    },
    "folders, locks, and files that are written": {
        *("checker/run/process_pool.py", "checker/run/scratch_folders.py", "checker/cli/app.py"),
        *("checker/engines/native/explore/checkpoint.py", "spark_analysis/explore/checkpoint.py"),
        *("checker/output/output_files.py", "kafka_tools/lab/cluster/proxy_process.py"),
        *("kafka_tools/lab/cluster/traffic.py", "kafka_tools/lab/cluster/producer_process.py"),
        *("kafka_tools/lab/cluster/harness_notes.py", "spark_analysis/explore/row_files.py"),
        *("checker/run/endings.py", "spark_analysis/session.py"),
    },
    "settings of Spark, by its own rules": {"spark_analysis/user_settings.py"},
    "parts of Parquet, which the store has found to be regular files": {
        *(
            "spark_analysis/walks/records.py",
            "spark_analysis/walks/state_tallies.py",
            "spark_analysis/walks/walk_totals.py",
        ),
        *("spark_analysis/report/walk_queries.py", "spark_analysis/validate/validation.py"),
        "spark_analysis/validate/verdict_parts.py",
    },
    "a log that the command writes": {"kafka_tools/lab/recording/bootstrap_command.py"},
    "the door, and the store behind it": {"checker/data_files.py", "traces/storage.py"},
    "no files: browsers, ports and clusters": {
        *("checker/explorer/serving.py", "kafka_tools/lab/cluster/cluster_command.py", "kafka_tools/pages/demo.py"),
        *("kafka_tools/lab/recording/passing_producers.py", "kafka_tools/lab/recording/record_command.py"),
        *("kafka_tools/lab/recording/recorder.py",),
    },
}
"""Modules that open files otherwise, by the reason."""


def opening(path):
    """Return the lines of a module that call one of `CALLS`, or name one of `READS`: `map(Path.read_text, paths)`."""
    return [node.lineno for node in ast.walk(tree_of(path)) if opens(node)]


def opens(node):
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in CALLS
    if isinstance(node, ast.ImportFrom):
        return any({name.name, f"{node.module}.{name.name}"} & READS for name in node.names)
    if isinstance(node, ast.Attribute):
        return node.attr in ENDS and bool({node.attr, ast.unparse(node)} & READS)
    return isinstance(node, ast.Name) and node.id in READS


def test_no_module_opens_a_data_file_otherwise():
    known = set().union(*OTHERS.values())
    lines_of = {str(path.relative_to(ROOT)): opening(path) for path in modules(*PACKAGES)}
    assert {name: lines for name, lines in lines_of.items() if lines and name not in known} == {}
    assert {name for name in known if not lines_of.get(name)} == set()


@pytest.mark.parametrize(
    "call",
    [
        *("path.read_text()", "open(path)", "os.open(path, 0)", "numpy.fromfile(path)", "map(Path.read_text, paths)"),
        *("pd.read_csv(path)", "json.load(file)", "pq.read_table(path)", "zipfile.ZipFile(path)"),
    ],
)
def test_a_call_is_found(tmp_path, call):
    (tmp_path / "module.py").write_text(f"def read(path):\n    return {call}\n")
    assert list(opening(tmp_path / "module.py")) == [2]
