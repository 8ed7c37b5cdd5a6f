package sqltest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sqltest"
)

func TestWritesAreFound(t *testing.T) {
	for sql, want := range map[string][]string{
		`UPDATE nodes SET driver = 'x', provision_state = @to WHERE id = @id`:                                  {"UPDATE nodes.driver", "UPDATE nodes.provision_state"},
		`WITH a AS (SELECT 1), b AS (UPDATE nodes n SET seen = now() FROM a) SELECT 1`:                         {"UPDATE nodes.seen"},
		`update only public.nodes as n set a = case when x is not distinct from b then 1 end, (b, c) = (1, 2)`: {"UPDATE nodes.a", "UPDATE nodes.b", "UPDATE nodes.c"},
		`UPDATE "operations" SET ("phase", stalled) = ('running', '')`:                                         {"UPDATE operations.phase", "UPDATE operations.stalled"},
		`UPDATE nodes SET a[1] = 2, b['x']['y'] = '1'`:                                                         {"UPDATE nodes.a", "UPDATE nodes.b"},
		`UPDATE nodes SET , owed = 1`:                                                                          {"UPDATE nodes.owed"},
		`UPDATE nodes SET a = coalesce(nullif(@a, ''), b), /* c = 1, */ d = 'it''s, e = 1' -- f = 1`:           {"UPDATE nodes.a", "UPDATE nodes.d"},
		`INSERT INTO nodes AS n (uuid, name) VALUES (1, 2)`:                                                    {"INSERT nodes.uuid", "INSERT nodes.name"},
		`INSERT INTO nodes SELECT * FROM x`:                                                                    {"INSERT nodes."},
		`INSERT INTO nodes (uuid) VALUES (1) ON CONFLICT (uuid) DO UPDATE SET name = 'x'`:                      {"INSERT nodes.uuid", "UPDATE nodes.name"},
		`MERGE INTO nodes n USING x ON x.id = n.id WHEN MATCHED THEN UPDATE SET name = x.name`:                 {"UPDATE nodes.name"},
		`BEGIN NEW.a := 1; SELECT w.id INTO STRICT NEW.b FROM w; IF NEW.c = 1 THEN NEW.d = 2; END IF; END`:     {"UPDATE .a", "UPDATE .b", "UPDATE .d"},
		`SET phase = 'ended'`: {"UPDATE .phase"},
		`asked = CASE WHEN true THEN 'cancel' END, phase = 'x'`:                                    {"UPDATE .asked", "UPDATE .phase"},
		`SELECT 1 FROM nodes WHERE provision_state = 'x'`:                                          nil,
		`n.provision_state = ANY (@states)`:                                                        nil,
		`UPDATE nodes SET a = (SELECT d FROM x WHERE e = '') FROM y WHERE f = '' RETURNING g`:      {"UPDATE nodes.a"},
		`CREATE TABLE a (b bigint REFERENCES c ON DELETE SET NULL, phase text CHECK (phase = ''))`: nil,
		`SELECT 1 FROM nodes FOR NO KEY UPDATE; SET LOCAL lock_timeout = 1`:                        nil,
	} {
		var have []string
		for _, w := range sqltest.Writes(sql) {
			have = append(have, w.String())
		}
		require.Equal(t, want, have, sql)
	}
}

func TestTreeReadsGoAndSQL(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":           "package a\n\nconst set = \" SET phase\"\n\nvar x = \"UPDATE operations\" + set + ` = 'x'`\n\nvar y = f(\"UPDATE nodes SET b = 1\")\n",
		"a/a_test.go":      "package a\n\nconst z = `UPDATE nodes SET c = 1`\n",
		"atest/a.go":       "package atest\n\nconst z = `UPDATE nodes SET c = 1`\n",
		"sql/00001_x.sql":  "-- UPDATE nodes SET c = 1;\nUPDATE nodes SET d = 1;\n",
		"testdata/old.sql": "UPDATE nodes SET c = 1;\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	have, err := sqltest.Tree(root)
	require.NoError(t, err)
	require.Equal(t, map[string][]sqltest.Write{
		"a/a.go":          {{"UPDATE", "operations", "phase"}, {"UPDATE", "nodes", "b"}},
		"sql/00001_x.sql": {{"UPDATE", "nodes", "d"}},
	}, have)
}
