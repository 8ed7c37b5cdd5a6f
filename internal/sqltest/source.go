package sqltest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree returns what the SQL in each file of the program below root writes, by the file's path from
// root: in Go files, and in files of SQL. Tests, and packages that only tests import, are left out.
func Tree(root string) (map[string][]Write, error) {
	out := map[string][]Write{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || name == "testenv" || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		folder, err := Folder(path)
		for file, writes := range folder {
			short, _ := filepath.Rel(root, filepath.Join(path, file))
			out[filepath.ToSlash(short)] = writes
		}
		return err
	})
	return out, err
}

// Folder is Tree for the files of one folder, by their names.
func Folder(path string) (map[string][]Write, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	out := map[string][]Write{}
	files := map[string]*ast.File{}
	for _, e := range entries {
		switch name := e.Name(); {
		case filepath.Ext(name) == ".sql":
			text, err := os.ReadFile(filepath.Join(path, name))
			if err != nil {
				return nil, err
			}
			if w := Writes(string(text)); len(w) > 0 {
				out[name] = w
			}
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			if files[name], err = parser.ParseFile(token.NewFileSet(), filepath.Join(path, name), nil, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
		}
	}
	values := declared(files)
	for name, f := range files {
		if w := inFile(f, values); len(w) > 0 {
			out[name] = w
		}
	}
	return out, nil
}

// declared are the values of a package's constants and variables, by name.
func declared(files map[string]*ast.File) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					out[name.Name] = v.Values[i]
				}
			}
			return true
		})
	}
	return out
}

// inFile returns what the texts of a file write. Texts that + joins are read as one.
func inFile(f *ast.File, values map[string]ast.Expr) (out []Write) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			text := textOf(n.(ast.Expr), values, 0)
			out = append(out, Writes(text)...)
			return text == ""
		}
		return true
	})
	return out
}

// textOf is the text of an expression of strings. What is not known of it is left out.
func textOf(e ast.Expr, values map[string]ast.Expr, depth int) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return textOf(e.X, values, depth) + textOf(e.Y, values, depth)
		}
	case *ast.ParenExpr:
		return textOf(e.X, values, depth)
	case *ast.Ident:
		if value, known := values[e.Name]; known && depth < 20 {
			return textOf(value, values, depth+1)
		}
	case *ast.CallExpr:
		var text strings.Builder
		for _, a := range e.Args {
			text.WriteString(" " + textOf(a, values, depth) + " ")
		}
		return text.String()
	}
	return ""
}
