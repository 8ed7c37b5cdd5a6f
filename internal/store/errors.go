package store

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// oneOpenPerNode is the constraint that allows a node one open operation only.
const oneOpenPerNode = "operations_one_open_per_node"

// taken has the message for each unique constraint that a request can violate, by the constraint's
// name. %s is the value that another row has; if the constraint has several columns, the first ones stand for the first values.
var taken = map[string]string{
	"nodes_uuid_taken":                "A node with UUID %s already exists.",
	"nodes_name_taken":                "A node with name %s already exists.",
	"nodes_instance_uuid_taken":       node.InstanceTaken,
	"nodes_allocation_uuid_taken":     "Allocation %s is already associated with another node.",
	"ports_uuid_taken":                "A port with UUID %s already exists.",
	"ports_address_taken":             "A port with MAC address %s already exists.",
	"ports_name_taken":                "A port with name %s already exists.",
	"portgroups_uuid_taken":           "A portgroup with UUID %s already exists.",
	"portgroups_address_taken":        "A portgroup with MAC address %s already exists.",
	"portgroups_name_taken":           "A portgroup with name %s already exists.",
	"volume_connectors_uuid_taken":    "A volume connector with UUID %s already exists.",
	"volume_connectors_id_taken":      "A volume connector with type %s and connector ID %s already exists.",
	"volume_targets_uuid_taken":       "A volume target with UUID %s already exists.",
	"volume_targets_boot_index_taken": "A volume target with boot index '%s' for the same node already exists.",
	"deploy_templates_uuid_taken":     "A deploy template with UUID %s already exists.",
	"deploy_templates_name_taken":     "A deploy template with name %s already exists.",
	"runbooks_uuid_taken":             "A runbook with UUID %s already exists.",
	"runbooks_name_taken":             "A runbook with name %s already exists.",
	"chassis_uuid_taken":              "A chassis with UUID %s already exists.",
	"allocations_uuid_taken":          "An allocation with UUID %s already exists.",
	"allocations_name_taken":          "An allocation with name %s already exists.",
	"allocations_node_taken":          "The node has an allocation already.",
	oneOpenPerNode:                    "The node is locked by another operation, please retry after the current operation is completed.",
}

// inUse has the message for each row that can't be deleted, or given to another node, while others refer to it, by the name of the
// constraint of those. %s is its uuid.
var inUse = map[string]string{
	"chassis_have_nodes":    "Cannot complete the requested action because chassis %s contains nodes.",
	"portgroups_have_ports": "Cannot complete the requested action because portgroup %s contains ports.",
}

// refused has the message for each check that fails because of the present state of other rows, not
// because a value is wrong, by the check's name.
var refused = map[string]string{
	"instances_claimed_from_share": "The node is not in the current share of the compute service that claims it.",
}

// mapError returns an error of the database with a kind (package fault). An error that has a kind is
// returned as it is.
func mapError(what string, err error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fromServer(what, pg)
	}
	if isTimeout(err) {
		return fault.Coded(fault.DatabaseTimeout, "%s: it took too long: %w", what, err)
	}
	if isAway(err) {
		return fault.Coded(fault.DatabaseUnavailable, "%s: the database is away: %w", what, cause(err))
	}
	return fault.New(fault.Internal, "%s: %w", what, err)
}

// fromServer chooses the kind by the SQLSTATE (PostgreSQL manual, appendix A). It leaves the detail
// of the error out, because that quotes the row, and a user may have typed a secret into the wrong
// field.
func fromServer(what string, pg *pgconn.PgError) error {
	class := pg.Code[:min(2, len(pg.Code))]
	switch {
	case pg.Code == "23505":
		if text, ok := taken[pg.ConstraintName]; ok {
			code := fault.AlreadyExists
			if pg.ConstraintName == oneOpenPerNode {
				code = fault.NodeLocked
			}
			return fault.Coded(code, "%s", named(text, pg.Detail))
		}
		return fault.New(fault.Conflict, "%s: taken already (%s)", what, pg.ConstraintName)
	case pg.Code == "23514" && refused[pg.ConstraintName] != "":
		return fault.New(fault.Conflict, "%s", refused[pg.ConstraintName])
	case pg.Code == "23514":
		return fault.New(fault.Invalid, "%s: a value is not allowed (%s)", what, pg.ConstraintName)
	case pg.Code == "23503" && inUse[pg.ConstraintName] != "" && strings.Contains(pg.Detail, "is still referenced"):
		return fault.New(fault.Invalid, inUse[pg.ConstraintName], referredTo(pg.Detail))
	case pg.Code == "23503":
		return fault.New(fault.NotFound, "%s: what it belongs to is gone (%s)", what, pg.ConstraintName)
	case class == "22":
		return fault.New(fault.Invalid, "%s: %s", what, pg.Message)
	case pg.Code == queryCanceled, pg.Code == lockNotAvailable:
		return fault.Coded(fault.DatabaseTimeout, "%s: %w", what, stopped{pg})
	case class == "08", class == "53", class == "57", class == "40", pg.Code == "25006", pg.Code == "25P03":
		return fault.Coded(fault.DatabaseUnavailable, "%s: the database says: %s", what, pg.Message)
	}
	return fault.New(fault.Internal, "%s: the database says: %s (%s)", what, pg.Message, pg.Code)
}

// The SQLSTATEs of a statement that PostgreSQL stopped because it took too long. query_canceled is also that of an
// operator who cancels it.
const (
	queryCanceled    = "57014"
	lockNotAvailable = "55P03"
)

// stopped is why PostgreSQL stopped a statement, without the detail.
type stopped struct{ *pgconn.PgError }

func (s stopped) Error() string { return "the database says: " + s.Message }

// named puts the values of the detail "Key (type, id)=(iqn, x) already exists." in the places of text. Only unique columns appear in it,
// and those contain no secrets.
func named(text, detail string) string {
	columns, v, _ := strings.Cut(detail, ")=(")
	v, _, _ = strings.Cut(v, ") already exists")
	values := []string{v}
	if n := strings.Count(columns, ", "); n > 0 {
		values = strings.SplitN(v, ", ", n+1)
	}
	for _, v := range values {
		text = strings.Replace(text, "%s", v, 1)
	}
	return text
}

// referredTo returns 4f... from the detail "Key (uuid, node_id)=(4f..., 7) is still referenced from table ...".
func referredTo(detail string) string {
	_, v, _ := strings.Cut(detail, ")=(")
	v, _, _ = strings.Cut(v, ")")
	v, _, _ = strings.Cut(v, ",")
	return v
}

// isUndefinedTable reports whether the statement failed because nobody has migrated the database yet.
func isUndefinedTable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01"
}

// isTimeout reports whether the caller's deadline, or that of the method, has passed. A database to which no connection
// could be made is away.
func isTimeout(err error) bool {
	var connect *pgconn.ConnectError
	return errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &connect)
}

func isAway(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, puddle.ErrClosedPool) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed") // pgx exports no value for this error
}

// cause returns the innermost reason of a failed connection. The text of pgconn's own error would
// name each address, user and database that was tried.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	return err
}

// redact removes the address of the database, which contains a password, from an error.
func redact(err error, address string) error {
	text := strings.ReplaceAll(err.Error(), address, "the url given")
	if u, e := url.Parse(address); e == nil && u.User != nil {
		if pw, ok := u.User.Password(); ok && pw != "" {
			text = strings.ReplaceAll(text, pw, "******")
		}
	}
	return errors.New(text)
}
