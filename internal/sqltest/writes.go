// Package sqltest reads SQL for tests of the source: which columns a text of SQL writes, and
// which files have such texts.
//
// It is no parser of SQL. It knows the statements that write columns (INSERT, UPDATE, MERGE, and
// in triggers NEW.column := ...), and where it can't tell the table, it leaves that open.
package sqltest

import (
	"regexp"
	"slices"
	"strings"
)

// Write is a column that a text of SQL writes.
type Write struct {
	Verb   string // INSERT or UPDATE
	Table  string // without its schema; "" = the text does not say
	Column string // "" = an INSERT without a list of columns
}

func (w Write) String() string { return w.Verb + " " + w.Table + "." + w.Column }

// What belongs to the place of a node in its life cycle, and to the state of an operation, in the
// tables nodes and operations. Each has one writer (TestOnlyTransitionsWriteTheProvisionState,
// TestAnOperationsStateIsWrittenInOneFile).
var (
	LifeColumns = []string{
		"provision_state", "target_provision_state", "provision_updated_at", "inspection_started_at", "inspection_finished_at",
	}
	OperationColumns = []string{
		"phase", "state", "version", "waiting_for", "waiting_until", "stalled", "stalled_at", "kept_for", "kept_left", "paused", "orphaned", "handed_over", "temporal_pause", "step_wait",
		"late_at", "late_cause", "late_cause_at", "late_since",
		"asked", "asked_end", "asked_by", "asked_reason", "asked_power", "asked_at",
		"run_id", "begun_at", "ended_at", "outcome",
		"claim_seq", "claim_attempt", "claim_started", "claimed_at", "conductor", "claim_incarnation", "claim_empty", "claim_lost_at",
	}
)

// The verbs of Write.
const (
	Insert = "INSERT"
	Update = "UPDATE"
)

// Comments are matched so that nothing is read in them. A name may be qualified.
var tokenOf = regexp.MustCompile(`'(?:[^']|'')*'|--[^\n]*|(?s:/\*.*?\*/)|[A-Za-z_@][A-Za-z0-9_.]*|\S`)

var statementWords = []string{"select", "insert", "update", "delete", "merge", "with", "create", "alter", "where", "set", "from", "values"}

// Writes returns the columns that a text of SQL writes. The text may be a part of a statement, such
// as "SET phase = 'ended'" or "phase = 'ended'".
func Writes(sql string) (out []Write) {
	tokens := slices.DeleteFunc(tokenOf.FindAllString(strings.ToLower(strings.ReplaceAll(sql, `"`, "")), -1), func(t string) bool {
		return strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*")
	})
	if !slices.ContainsFunc(tokens, func(t string) bool { return slices.Contains(statementWords, t) }) {
		return written(Update, "", assigned(tokens))
	}
	var into string // the table of the statement around
	for i, word := range tokens {
		before, rest := tokens[:i], tokens[i+1:]
		switch {
		case word == "into" && (last(before) == "insert" || last(before) == "merge"):
			into = unqualified(at(rest, 0))
			if last(before) == "insert" {
				out = append(out, written(Insert, into, listed(rest))...)
			}
		case word == "into": // SELECT ... INTO a variable
			target := at(rest, 0)
			if target == "strict" {
				target = at(rest, 1)
			}
			if column, isNew := strings.CutPrefix(target, "new."); isNew {
				out = append(out, Write{Update, "", column})
			}
		case word == "set":
			out = append(out, written(Update, updated(before, into), assigned(rest))...)
		case strings.HasPrefix(word, "new.") && (at(rest, 0) == ":" || at(rest, 0) == "=") && (last(before) == ";" || last(before) == "begin" || last(before) == "then" || last(before) == "else"):
			out = append(out, Write{Update, "", strings.TrimPrefix(word, "new.")})
		}
	}
	return out
}

func written(verb, table string, columns []string) (out []Write) {
	for _, c := range columns {
		out = append(out, Write{verb, table, c})
	}
	return out
}

// updated returns the table of UPDATE table SET, from the tokens before SET. Behind ON CONFLICT
// and in MERGE the statement around has the table.
func updated(before []string, into string) string {
	for back := 1; back <= min(6, len(before)); back++ {
		if before[len(before)-back] != "update" {
			continue
		}
		name := before[len(before)-back+1:]
		if len(name) > 0 && name[0] == "only" {
			name = name[1:]
		}
		if len(name) == 0 {
			return into
		}
		return unqualified(name[0])
	}
	return ""
}

// listed returns the columns of INSERT INTO table [AS alias] (columns), from the tokens behind INTO.
func listed(rest []string) (out []string) {
	i := 1
	if at(rest, i) == "as" {
		i += 2
	}
	if at(rest, i) != "(" {
		return []string{""}
	}
	for _, word := range rest[i+1:] {
		switch word {
		case ")":
			return out
		case ",":
		default:
			out = append(out, word)
		}
	}
	return out
}

// assigned returns the columns on the left sides of the assignments that the tokens begin with:
// a = 1, (b, c) = (2, 3).
func assigned(tokens []string) (out []string) {
	for len(tokens) > 0 {
		var left []string
		left, tokens = target(tokens)
		if at(tokens, 0) == "=" {
			out = append(out, left...)
		} else if len(left) > 0 {
			return out
		}
		var more bool
		if tokens, more = behind(tokens); !more {
			return out
		}
	}
	return out
}

// target returns the columns of one left side, and the tokens behind it.
func target(tokens []string) (columns, rest []string) {
	switch first := at(tokens, 0); {
	case first == "(":
		end := slices.Index(tokens, ")")
		if end < 0 {
			return nil, nil
		}
		return slices.DeleteFunc(slices.Clone(tokens[1:end]), func(t string) bool { return t == "," }), tokens[end+1:]
	case first == "" || first == "," || first == "=": // what a Go expression gives is missing here
		return nil, tokens
	case strings.Contains(first, ".") || strings.HasPrefix(first, "'") || strings.HasPrefix(first, "@"): // no column is written under such a name
		return nil, nil
	}
	columns, rest = tokens[:1], tokens[1:]
	for at(rest, 0) == "[" { // an element of an array
		end := slices.Index(rest, "]")
		rest = rest[end+1:]
		if end < 0 {
			return columns, nil
		}
	}
	return columns, rest
}

// behind returns the tokens behind the comma that ends the expression which they begin with; false
// = there is none, because the list of assignments ends.
func behind(tokens []string) ([]string, bool) {
	depth := 0
	for i, word := range tokens {
		switch word {
		case "(", "[":
			depth++
		case ")", "]":
			if depth--; depth < 0 {
				return nil, false
			}
		case ",":
			if depth == 0 {
				return tokens[i+1:], true
			}
		case "from":
			if depth == 0 && last(tokens[:i]) != "distinct" {
				return nil, false
			}
		case "where", "returning", ";":
			if depth == 0 {
				return nil, false
			}
		}
	}
	return nil, false
}

func unqualified(name string) string { return name[strings.LastIndex(name, ".")+1:] }

func last(tokens []string) string { return at(tokens, len(tokens)-1) }

func at(tokens []string, i int) string {
	if i < 0 || i >= len(tokens) {
		return ""
	}
	return tokens[i]
}
