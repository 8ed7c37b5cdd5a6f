package cli

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// recordKind is what sets those resources apart of which the command line only shows and sets fields.
type recordKind struct {
	use  string // the command: "port-group"
	of   string // the command above it; "" = none
	noun string // "port group"
	many string // "port groups"
	in   client.Collection

	columns []recordColumn // of the table of a list
	fields  []field        // that a client sets
	created []field        // that a client sets when it creates one, besides these
	filters []field        // of a list, besides --node
	ofNode  bool           // each belongs to a node
	require []string       // flags without which none can be created

	create, set string // examples, behind "temper USE create" and "temper USE set"
	one         string // an example of one
}

type recordColumn struct{ head, field string }

func (k *recordKind) arg() string { return strings.ToUpper(k.use) }

// article returns the noun with its article.
func (k *recordKind) article() string {
	if strings.ContainsRune("aeiou", rune(k.noun[0])) {
		return "an " + k.noun
	}
	return "a " + k.noun
}

func (k *recordKind) commands(s *session) []*cobra.Command {
	return []*cobra.Command{k.newList(s), k.newShow(s), k.newCreate(s), k.newSet(s), k.newDelete(s)}
}

// path returns how the command is called, in examples.
func (k *recordKind) path(c, rest string) string {
	return "  temper " + strings.TrimSpace(k.of+" "+k.use+" "+c+" "+rest)
}

func (k *recordKind) newList(s *session) *cobra.Command {
	var of string
	var limit int
	c := &cobra.Command{Use: "list", Short: "List " + k.many, Args: cobra.NoArgs, Example: k.path("list", "")}
	filters := addFields(c, k.filters)
	if k.ofNode {
		c.Example = k.path("list", "--node n1")
		c.Flags().StringVar(&of, "node", "", "only "+k.many+" of this `node`")
		must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	}
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		q := nonEmpty(map[string]string{"detail": "true", "node": of})
		for name, v := range filters.values() {
			if text, ok := v.(string); ok {
				q.Set(name, text)
			}
		}
		list, err := s.Records(ctx, k.in, q, limit)
		if err != nil {
			return withAdvice(err)
		}
		s.reportMore(list.More, limit, k.many)
		return s.show(map[string]any{strings.ReplaceAll(k.many, " ", "_"): orEmpty(list.Items)}, func(w io.Writer) error {
			return k.table(list.Items).Print(w)
		})
	})
	return c
}

func (k *recordKind) table(all []client.Record) table.Table {
	var heads []string
	for _, c := range k.columns {
		heads = append(heads, c.head)
	}
	t := table.New(heads...)
	for i := range all {
		fields := all[i].Fields()
		var cells []string
		for _, c := range k.columns {
			cells = append(cells, recordCell(fields[c.field]))
		}
		t.Add(cells...)
	}
	return t
}

// recordCell is a field in a list. Of steps it has the names, and of other lists the items.
func recordCell(v any) string {
	items, ok := v.([]any)
	if !ok {
		return table.Cell(v)
	}
	var names []string
	for _, s := range items {
		if step, ok := s.(map[string]any); ok {
			s = table.Cell(step["interface"]) + "." + table.Cell(step["step"])
		}
		names = append(names, table.Cell(s))
	}
	return strings.Join(names, ", ")
}

// show shows all fields of one.
func (k *recordKind) show(s *session, r *client.Record) error {
	var first []string
	for _, c := range k.columns {
		first = append(first, c.field)
	}
	return s.show(r, func(w io.Writer) error { return table.Fields(r.Fields(), first, hiddenFields, false).Print(w) })
}

func (k *recordKind) newShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show " + k.arg(), Short: "Show " + k.article(), Args: cobra.ExactArgs(1),
		Example: k.path("show", k.one), ValidArgsFunction: k.complete(s, 1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			r, err := s.Record(ctx, k.in, args[0])
			if err != nil {
				return err
			}
			return k.show(s, r)
		}),
	}
}

func (k *recordKind) newCreate(s *session) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use: "create", Short: "Create " + k.article(), Args: cobra.NoArgs,
		Example: k.path("create", k.create), ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := addFields(c, slices.Concat(k.fields, k.created))
	for _, name := range k.require {
		must(c.MarkFlagRequired(name))
	}
	if k.ofNode {
		c.Flags().StringVar(&of, "node", "", "the `node` it belongs to (required)")
		must(c.MarkFlagRequired("node"))
		must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	}
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		fields := flags.values()
		if k.ofNode {
			uuid, err := s.uuidOf(ctx, of)
			if err != nil {
				return err
			}
			fields["node_uuid"] = uuid
		}
		r, err := s.CreateRecord(ctx, k.in, fields)
		if err != nil {
			return err
		}
		return k.show(s, r)
	})
	return c
}

func (k *recordKind) newSet(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "set " + k.arg(), Short: "Set fields of " + k.article() + "; an empty value takes one away", Args: cobra.ExactArgs(1),
		Example: k.path("set", k.set), ValidArgsFunction: k.complete(s, 1),
	}
	flags := addFields(c, k.fields)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		changes, err := flags.patch()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return errors.New("say what is to change: --help shows which flags there are")
		}
		r, err := s.PatchRecord(ctx, k.in, args[0], changes)
		if err != nil {
			return err
		}
		return k.show(s, r)
	})
	return c
}

func (k *recordKind) newDelete(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "delete " + k.arg() + "...", Short: "Delete " + k.many, Args: cobra.MinimumNArgs(1),
		Example: k.path("delete", k.one), ValidArgsFunction: k.complete(s, 0),
		RunE: s.run(func(ctx context.Context, args []string) error {
			return s.deleteEach(ctx, args, func(ctx context.Context, name string) error { return s.DeleteRecord(ctx, k.in, name) })
		}),
	}
}

func (k *recordKind) complete(s *session, most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Records(ctx, k.in, url.Values{}, client.DefaultLimit)
		var out []string
		for i := range list.Items {
			out = append(out, list.Items[i].Label())
		}
		return out, err
	})
}
