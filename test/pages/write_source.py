# SPDX-License-Identifier: Apache-2.0
"""Makes one source of the pages' snippets in C++ or C: a function for each, and a table of them.

    write_source.py <root> --language cpp|c|libtorch --context HEADER --output SOURCE

A snippet with a main is a program; others are statements of a function. The context declares the
names that such statements use. In C++ these are members of a struct of the snippet's name, or of
the struct `Common`; each snippet has its own object. The compiler names file and line of the page.
Snippets with libtorch are cases of the program of test/libtorch.
"""

import argparse
import pathlib
import re
import sys

import pages

INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
MAIN = re.compile(r"\bint main\(")


def cpp_function(block, contexts):
    """The definition of `int run_NAME()`."""
    code = INCLUDE.sub("", block.code)
    where = f'#line {block.line} "{block.page}"\n'
    if MAIN.search(code):
        code = code.rstrip().removesuffix("}") + "return 0;\n}\n"  # As only ::main does by itself.
        return (f"namespace program_{block.name} {{\n{where}{code}}}\n"
                f"int run_{block.name}() {{ return program_{block.name}::main(); }}\n")
    context = block.name if block.name in contexts else "Common"
    return (f"struct Snippet_{block.name} : {context} {{\nvoid run() {{\n{where}{code}}}\n}};\n"
            f"int run_{block.name}() {{ Snippet_{block.name}().run(); return 0; }}\n")


def c_function(block, _):
    """The same in C."""
    code = INCLUDE.sub("", block.code)
    where = f'#line {block.line} "{block.page}"\n'
    if MAIN.search(code):
        return f"#define main run_{block.name}\n{where}{code}\n#undef main\n"
    return f"static int run_{block.name}(void) {{\n{where}{code}return 0;\n}}\n"


def libtorch_case(block, contexts):
    """A case that runs it."""
    return f"{cpp_function(block, contexts)}TEST(Snippet_of_{block.name}_runs) {{ run_{block.name}(); }}\n"


def source(found, context, language):
    includes = dict.fromkeys(line for block in found for line in INCLUDE.findall(block.code))
    contexts = set(re.findall(r"^struct (\w+)", context.read_text(), re.MULTILINE))
    if language == "libtorch":
        return "\n".join([*includes, f'#include "{context}"',
                          *(libtorch_case(block, contexts) for block in found)])
    function = cpp_function if language == "cpp" else c_function
    rows = [f'  {{"{block.place} {block.name}", run_{block.name}, '
            f"{'0' if 'init(' in block.code else '1'}}},\n" for block in found]
    return "\n".join([
        *includes, f'#include "{context}"', *(function(block, contexts) for block in found),
        "static const struct snippet snippets[] = {", *rows, "};",
        "int main(void) { return run_snippets(snippets, sizeof snippets / sizeof *snippets); }",
        ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--language", choices=("cpp", "c", "libtorch"), required=True)
    parser.add_argument("--context", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    found = pages.snippets(args.root, args.language)
    if not found:
        print(f"{args.root}: no page has a block of {args.language}")
        return 1
    text = source(found, args.context, args.language)
    # A source that is the same keeps its age: there is nothing to compile.
    if not args.output.exists() or args.output.read_text() != text:
        args.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
