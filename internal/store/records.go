package store

import (
	"context"
	"reflect"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// records is a table of rows that clients create, change and delete one by one (node.Record). Statements call the table r and, if
// its rows belong to nodes, those n.
type records[T any] struct {
	name    string     // of the table in the database
	what    string     // one row, in the store's own errors: "port group"
	missing string     // the error for one that does not exist; %s is its uuid or name
	code    fault.Code // of that error; "" = that of its kind
	columns *table[T]
	record  func(*T) *node.Record
	node    func(*T) *string      // uuid of the node that it belongs to; nil = it belongs to none
	named   bool                  // it may be found by its name, too
	hidden  func(*T) *node.Hidden // the secrets of a record; nil = it has none
	event   string                // what the types of its events call it: baremetal.EVENT.create.end
	told    []string              // columns that are data of its events, besides the uuid

	sorts                      map[string]string
	selected                   string
	insertSQL, updateSQL, lock string
}

// newRecords adds to the columns of a table those that all records have.
func newRecords[T any](r records[T], columns ...column[T]) *records[T] {
	all := []column[T]{
		number("id", func(t *T) *int64 { return &r.record(t).ID }),
		text("uuid", func(t *T) *string { return &r.record(t).UUID }).by(onCreate).sorted("r"),
	}
	if r.node != nil {
		all = append(all, unread[T]("node_id"))
	}
	all = append(all, columns...)
	if r.hidden != nil {
		all = append(all, sealedColumns(r.hidden)...)
	}
	all = append(all,
		column[T]{name: "created_at", into: func(t *T) any { return nullTime{&r.record(t).CreatedAt} }}.sorted("r"),
		column[T]{name: "updated_at", null: "'-infinity'", into: func(t *T) any { return &r.record(t).UpdatedAt }}.sorted("r"),
	)
	r.columns = newTable(all...)
	r.sorts = r.columns.sorts()
	names, values, changes := r.columns.names(onCreate), r.columns.values(onCreate), r.columns.assignments(onPatch)
	r.selected = "SELECT r.* FROM " + r.name + " r"
	insert := "INSERT INTO " + r.name + " (" + names + ") VALUES (" + values + ") RETURNING *"
	update := "UPDATE " + r.name + " SET " + changes + ", updated_at = clock_timestamp() WHERE id = @id RETURNING *"
	if r.node != nil {
		r.sorts["node_uuid"] = "r.node_id"
		r.selected = "SELECT r.*, n.uuid::text FROM " + r.name + " r JOIN nodes n ON n.id = r.node_id"
		insert = "INSERT INTO " + r.name + " (node_id, " + names + ") SELECT n.id, " + values + " FROM nodes n WHERE n.uuid = @node_uuid RETURNING *"
		update = "UPDATE " + r.name + " r SET " + changes + ", node_id = n.id, updated_at = clock_timestamp() FROM nodes n WHERE r.id = @id AND n.uuid = @node_uuid RETURNING r.*"
	}
	r.insertSQL = r.telling(insert, "create") + " SELECT r.id, r.created_at FROM r"
	r.updateSQL = r.telling(update, "update") + " SELECT r.updated_at FROM r"
	r.lock = "SELECT r.id FROM " + r.name + " r"
	return &r
}

// telling returns the beginning of a statement that writes records and tells of it. An update that has changed nothing (@changed is false) has no event.
func (r *records[T]) telling(write, verb string) string {
	t := telling{eventType: ofType("baremetal." + r.event + "." + verb + ".end"), data: "'" + r.event + "_uuid', r.uuid"}
	for _, column := range r.told {
		t.data += ", '" + column + "', r." + column
	}
	if r.node != nil {
		t.of = ofNode
	}
	if verb == "update" {
		t.where = " WHERE @changed"
	}
	return t.with(write)
}

// deleteSQL deletes the record whose uuid or name is ident.
func (r *records[T]) deleteSQL(ident string) string {
	return r.telling(r.where("DELETE FROM "+r.name+" r", ident)+" RETURNING r.*", "delete") + " SELECT r.id FROM r"
}

// where completes a statement about the record whose uuid or name is ident.
func (r *records[T]) where(statement, ident string) string {
	return statement + byIdent(ident, " WHERE r.uuid = @ident", " WHERE r.name = @ident")
}

// known reports whether ident can be a uuid or name of such a record.
func (r *records[T]) known(ident string) bool { return r.named || node.IsHyphenatedUUID(ident) }

// each returns a scan of rows of the table and, if they belong to nodes, the uuid of the node.
func (r *records[T]) each() func(pgx.Row) (T, error) {
	if r.node == nil {
		return eachRow(r.columns)
	}
	var uuid string
	scan := eachRow(r.columns, &uuid)
	return func(row pgx.Row) (T, error) {
		t, err := scan(row)
		*r.node(&t) = uuid
		return t, err
	}
}

// nodeOf returns the uuid of the node that t belongs to; "" = to none.
func (r *records[T]) nodeOf(t *T) string {
	if r.node == nil {
		return ""
	}
	return *r.node(t)
}

// noun is what the audit calls a record.
func (r *records[T]) noun() string { return strings.ReplaceAll(r.what, " ", "_") }

func (r *records[T]) notFound(ident string) error {
	if r.code != "" {
		return fault.Coded(r.code, r.missing, words(ident, 255))
	}
	return fault.New(fault.NotFound, r.missing, words(ident, 255))
}

func (r *records[T]) doing(verb, ident string) string {
	return verb + " " + r.what + " " + words(ident, 64)
}

// list returns a page of the records that q selects, in order of age without a sort key.
func (r *records[T]) list(ctx context.Context, s *Store, q *query, p node.Page) ([]T, error) {
	if err := q.page(r.name, "r", r.sorts, p); err != nil {
		return nil, err
	}
	if r.node != nil {
		if err := ownedByNode(r).marker(ctx, s, p, r.missing); err != nil {
			return nil, err
		}
		q.only(p.Only, "n")
	}
	out, err := list(ctx, s, "list "+r.what+"s", r.selected+q.String(), q.args, r.each())
	if err == nil && len(out) == 0 && p.Marker != "" {
		err = s.needMarker(ctx, "SELECT true FROM "+r.name+" WHERE uuid = @marker", p.Marker, r.missing)
	}
	return out, err
}

// find returns the record whose uuid or name is ident. Secrets that do not open are no error (node.Hidden).
func (r *records[T]) find(ctx context.Context, s *Store, ident string) (*T, error) {
	if !r.known(ident) {
		return nil, r.notFound(ident)
	}
	var t T
	found, err := s.one(ctx, r.doing("read", ident), r.where(r.selected, ident), args{"ident": ident}, func(row pgx.Row) (err error) {
		t, err = r.each()(row)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, r.notFound(ident)
	}
	r.open(s, &t)
	return &t, nil
}

// args are the arguments of a statement that writes t, with its secrets sealed.
func (r *records[T]) args(s *Store, t *T, w writers) (args, error) {
	if err := r.seal(s, t); err != nil {
		return nil, err
	}
	a, err := r.columns.args(t, w)
	if err != nil || r.node == nil {
		return a, err
	}
	if uuid := *r.node(t); node.IsHyphenatedUUID(uuid) {
		a["node_uuid"] = uuid
		return a, nil
	}
	return nil, node.NotFound(words(*r.node(t), 64))
}

// create inserts t. It fills in UUID where there is none, ID and CreatedAt.
func (r *records[T]) create(ctx context.Context, s *Store, t *T) error {
	record := r.record(t)
	if record.UUID == "" {
		record.UUID = uuid.NewString()
	}
	a, err := r.args(s, t, onCreate)
	if err != nil {
		return err
	}
	audit.Of(ctx).On(r.noun(), record.UUID)
	audit.Of(ctx).OnNode(r.nodeOf(t), "")
	found, err := s.changeOne(ctx, r.doing("create", record.UUID), r.insertSQL, a, func(row pgx.Row) error { return row.Scan(&record.ID, &record.CreatedAt) })
	if err == nil && !found {
		err = node.NotFound(*r.node(t))
	}
	return err
}

// update has edit change the record whose uuid or name is ident, while its row is locked.
func (r *records[T]) update(ctx context.Context, s *Store, ident string, edit func(*T) error) (*T, error) {
	return r.updateUnder(ctx, s, ident, &underNode{}, func(_ *node.Node, t *T) error { return edit(t) })
}

// updateUnder is update while the row of a node is locked, too, to which the record belongs before or after the change.
func (r *records[T]) updateUnder(ctx context.Context, s *Store, ident string, u *underNode, edit func(*node.Node, *T) error) (*T, error) {
	if !r.known(ident) {
		return nil, r.notFound(ident)
	}
	var t T
	var locked int64 // while the lock was waited for, the name may have gone to another record
	err := s.inTx(ctx, r.doing("update", ident), func(b *pgx.Batch) {
		u.queueLock(b)
		a := args{"ident": ident}
		b.Queue(r.where(r.lock, ident)+" FOR NO KEY UPDATE", a).QueryRow(maybe(new(bool), func(row pgx.Row) error { return row.Scan(&locked) }))
		b.Queue(r.where(r.selected, ident), a).QueryRow(maybe(new(bool), func(row pgx.Row) (err error) {
			t, err = r.each()(row)
			return err
		}))
	}, func(b *pgx.Batch) error {
		had := *r.record(&t)
		if locked == 0 || locked != had.ID {
			return r.notFound(ident)
		}
		if err := u.missing(); err != nil {
			return err
		}
		before := r.nodeOf(&t)
		r.open(s, &t)
		was, err := r.patched(&t)
		if err != nil {
			return err
		}
		if err := edit(&u.Node, &t); err != nil {
			return err
		}
		if err := u.concerns(r.doing("The", ident), before, r.nodeOf(&t)); err != nil {
			return err
		}
		*r.record(&t) = had
		audit.Of(ctx).On(r.noun(), had.UUID)
		audit.Of(ctx).OnNode(r.nodeOf(&t), "")
		now, err := r.patched(&t)
		if err != nil {
			return err
		}
		a, err := r.args(s, &t, onPatch)
		if err != nil {
			return err
		}
		a["id"], a["changed"] = had.ID, !reflect.DeepEqual(was, now)
		written := false
		b.Queue(r.updateSQL, a).QueryRow(func(row pgx.Row) error {
			err := maybe(&written, func(row pgx.Row) error { return row.Scan(&r.record(&t).UpdatedAt) })(row)
			if err == nil && !written {
				err = node.NotFound(*r.node(&t))
			}
			return err
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// patched returns what a user may change of t: all values that an update writes, and its secrets before they are sealed.
func (r *records[T]) patched(t *T) (args, error) {
	a, err := r.columns.args(t, onPatch)
	if err == nil && r.node != nil {
		a["node_uuid"] = *r.node(t)
	}
	if err == nil && r.hidden != nil {
		a["hidden"], err = jsonb(r.hidden(t).Clear)
	}
	return a, err
}

// deleteUnder removes the record whose uuid or name is ident, while the row of its node is locked, if allow says so.
func (r *records[T]) deleteUnder(ctx context.Context, s *Store, ident string, u *underNode, allow func(*node.Node) error) error {
	if !r.known(ident) {
		return r.notFound(ident)
	}
	a, found := args{"ident": ident}, false
	var t T
	return s.inTx(ctx, r.doing("delete", ident), func(b *pgx.Batch) {
		u.queueLock(b)
		b.Queue(r.where(r.lock, ident)+" FOR UPDATE", a).QueryRow(maybe(&found, func(row pgx.Row) error { return row.Scan(new(int64)) }))
		b.Queue(r.where(r.selected, ident), a).QueryRow(maybe(new(bool), func(row pgx.Row) (err error) {
			t, err = r.each()(row)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found {
			return r.notFound(ident)
		}
		if err := u.missing(); err != nil {
			return err
		}
		if err := u.concerns(r.doing("The", ident), r.nodeOf(&t), ""); err != nil {
			return err
		}
		if err := allow(&u.Node); err != nil {
			return err
		}
		audit.Of(ctx).OnNode(r.nodeOf(&t), "")
		b.Queue(r.deleteSQL(ident), a)
		return nil
	})
}

// delete removes the record whose uuid or name is ident.
func (r *records[T]) delete(ctx context.Context, s *Store, ident string) error {
	if !r.known(ident) {
		return r.notFound(ident)
	}
	found, err := s.changeOne(ctx, r.doing("delete", ident), r.deleteSQL(ident), args{"ident": ident}, func(row pgx.Row) error { return row.Scan(new(int64)) })
	if err == nil && !found {
		err = r.notFound(ident)
	}
	return err
}

// ofNode is list for the records of a node, a uuid or name, or of all nodes (nil).
func (r *records[T]) ofNode(ctx context.Context, s *Store, ident *string, p node.Page) ([]T, error) {
	q := &query{args: args{}}
	if err := s.ofNode(ctx, q, ident); err != nil {
		return nil, err
	}
	return r.list(ctx, s, q, p)
}

// ofNode selects the records of the node ident, a uuid or name, unless that is nil.
func (s *Store) ofNode(ctx context.Context, q *query, ident *string) error {
	if ident == nil {
		return nil
	}
	id, _, err := s.nodeID(ctx, *ident)
	if err != nil {
		return err
	}
	q.and("r.node_id = @node")
	q.args["node"] = id
	return nil
}
