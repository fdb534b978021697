"""The imports between packages and the lines of each package, as a table and as a figure.

    python -m bench.architecture                                    print the tables of this checkout
    python -m bench.architecture --svg docs/pictures/packages.svg   draw the figure, too
    python -m bench.architecture --root DIR                         measure another checkout, such as an older revision

An arrow leads from a package to one that it imports; the table counts the importing modules. A red arrow is part of a
circle: the packages at its two ends import each other, directly or through others. The figure leaves an arrow out if a
longer path of arrows leads to the same package. It needs Graphviz's `dot`.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

import graphviz
import grimp

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = ("checker", "kafka_tools", "spark_analysis", "specs", "traces")
SUBDIVIDED = ("checker", "checker.engines")
"""Packages that are shown by their parts."""


def main() -> None:
    """Print the tables, and draw the figure if a file is named."""
    parser = argparse.ArgumentParser(description="Imports between packages, lines by package.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to measure (default: this one)")
    parser.add_argument("--svg", type=Path, help="draw the figure to this file")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    imports = imports_between_packages(root)
    circular = circular_imports(imports)
    print_lines(lines_by_package(root))
    print()
    print_classes(*repeated_class_names(root))
    print()
    print_imports(imports, circular)
    if arguments.svg:
        draw(imports, circular, arguments.svg)


def package_of(module: str) -> str:
    """Return the package that a module is counted in: `checker.engines.native` for the modules below it."""
    parts = module.split(".")
    package = parts[0]
    for part in parts[1:]:
        if package not in SUBDIVIDED:
            break
        package = f"{package}.{part}"
    return package


def imports_between_packages(root: Path) -> Counter[tuple[str, str]]:
    """Return for each pair of packages (importer, imported) the number of importing modules."""
    sys.path.insert(0, str(root))
    present = [name for name in TOP_LEVEL if (root / name / "__init__.py").exists()]
    graph = grimp.build_graph(*present, cache_dir=None, exclude_type_checking_imports=True)
    modules: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            pair = package_of(importer), package_of(imported)
            if pair[0] != pair[1]:
                modules[pair].add(importer)
    return Counter({pair: len(importers) for pair, importers in modules.items()})


def circular_imports(imports: Counter[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs (importer, imported) in which the imported package also reaches the importer."""
    return {(importer, imported) for importer, imported in imports if importer in reachable_from(imported, imports)}


def reachable_from(start: str, pairs: Collection[tuple[str, str]]) -> set[str]:
    """Return the packages that a package imports, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        package = waiting.pop()
        following = {imported for importer, imported in pairs if importer == package} - found
        found |= following
        waiting += following
    return found


def without_shortcuts(pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs (importer, imported) that no longer path connects; `pairs` has no circles."""
    return {
        (importer, imported)
        for importer, imported in pairs
        if imported not in reachable_from(importer, [pair for pair in pairs if pair != (importer, imported)])
    }


def lines_by_package(root: Path) -> dict[str, tuple[int, int]]:
    """Return for each package the number of its Python modules and of their lines."""
    counts: dict[str, tuple[int, int]] = {}
    for top in (*TOP_LEVEL, "tests", "bench"):
        for path in sorted((root / top).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            package = package_of(module) if top in TOP_LEVEL else top
            modules, lines = counts.get(package, (0, 0))
            counts[package] = modules + 1, lines + len(path.read_text(encoding="utf-8").splitlines())
    return counts


def repeated_class_names(root: Path) -> tuple[int, Counter[str]]:
    """Return the number of classes outside `specs` and `tests`, and the names that several modules define."""
    names: Counter[str] = Counter()
    for top in TOP_LEVEL:
        if top == "specs":
            continue
        for path in (root / top).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return names.total(), Counter({name: count for name, count in names.items() if count > 1})


def print_lines(counts: dict[str, tuple[int, int]]) -> None:
    """Print the modules and lines of each package, and their sum."""
    print(f"{'package':<26} {'modules':>7} {'lines':>7}")
    for package, (modules, lines) in sorted(counts.items()):
        print(f"{package:<26} {modules:>7,} {lines:>7,}")
    total_modules, total_lines = (sum(column) for column in zip(*counts.values(), strict=True))
    print(f"{'all':<26} {total_modules:>7,} {total_lines:>7,}")


def print_classes(classes: int, repeated: Counter[str]) -> None:
    """Print how many classes share their name with another module's class."""
    print(f"{classes} classes; {repeated.total()} share their name with a class of another module")


def print_imports(imports: Counter[tuple[str, str]], circular: set[tuple[str, str]]) -> None:
    """Print the imports between packages, with a mark at those that are part of a circle."""
    print(f"{len(imports)} pairs of packages, {imports.total()} imports, {len(circular)} pairs in circles")
    for (importer, imported), count in sorted(imports.items()):
        mark = "  circle" if (importer, imported) in circular else ""
        print(f"{importer:<26} -> {imported:<26} {count:>3}{mark}")


def arrows(imports: Counter[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs (importer, imported) that the figure shows."""
    circular = circular_imports(imports)
    return without_shortcuts(imports.keys() - circular) | circular


def draw(imports: Counter[tuple[str, str]], circular: set[tuple[str, str]], path: Path) -> None:
    """Write the figure as SVG."""
    graph = graphviz.Digraph(graph_attr={"rankdir": "TB", "nodesep": "0.2", "ranksep": "0.25"})
    graph.attr("node", shape="box", style="rounded,filled", fillcolor="white", fontname="Helvetica", fontsize="11")
    graph.attr("edge", color="#7a869a", arrowsize="0.6")
    for importer, imported in sorted(arrows(imports)):
        graph.edge(importer, imported, **({"color": "#c0392b"} if (importer, imported) in circular else {}))
    path.write_bytes(graph.pipe("svg"))


if __name__ == "__main__":
    main()
