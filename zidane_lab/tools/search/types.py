"""Kinds of files by name, for a search in one of them only."""

from __future__ import annotations

from typing import Final

__all__ = ["TYPES"]

TYPES: Final[dict[str, tuple[str, ...]]] = {
    "c": ("*.c", "*.h"),
    "config": ("*.cfg", "*.conf", "*.config", "*.ini", "*.toml", "*.yaml", "*.yml"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp", "*.hxx"),
    "cs": ("*.cs",),
    "css": ("*.css", "*.less", "*.scss"),
    "csv": ("*.csv", "*.tsv"),
    "docker": ("Dockerfile*", "*.dockerfile", "docker-compose*.yml", "docker-compose*.yaml"),
    "go": ("*.go",),
    "html": ("*.htm", "*.html"),
    "java": ("*.java",),
    "js": ("*.cjs", "*.js", "*.jsx", "*.mjs"),
    "json": ("*.json", "*.jsonl", "*.ndjson"),
    "julia": ("*.jl",),
    "kotlin": ("*.kt", "*.kts"),
    "log": ("*.log",),
    "lua": ("*.lua",),
    "make": ("GNUmakefile", "Makefile", "makefile", "*.mk"),
    "md": ("*.markdown", "*.md", "*.mdx"),
    "notebook": ("*.ipynb",),
    "php": ("*.php",),
    "py": ("*.py", "*.pyi"),
    "r": ("*.R", "*.r", "*.Rmd", "*.qmd"),
    "rst": ("*.rst",),
    "ruby": ("*.rb", "Gemfile", "Rakefile"),
    "rust": ("*.rs",),
    "scala": ("*.scala", "*.sbt"),
    "sh": ("*.bash", "*.fish", "*.sh", "*.zsh"),
    "sql": ("*.sql",),
    "stan": ("*.stan",),
    "swift": ("*.swift",),
    "tex": ("*.bib", "*.cls", "*.sty", "*.tex"),
    "toml": ("*.toml",),
    "ts": ("*.cts", "*.mts", "*.ts", "*.tsx"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl"),
    "yaml": ("*.yaml", "*.yml"),
}
"""Our own table: ripgrep's changes from version to version."""
