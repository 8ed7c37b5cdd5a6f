package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	logServices = "/LogServices" // below a system or a manager
	logEntries  = "/Entries"     // below a log
	skipQuery   = "$skip"
	logPage     = 50 // entries
)

// logModel is a log of a persona.
type logModel struct {
	owner, id   string            // of which resource it is a log, and its id
	kinds       []machine.LogKind // what is in it; nil = everything
	newestFirst bool
	links       bool // the collection has only links to the entries
	clears      bool // it has the action ClearLog
	clearType   bool // the action wants a ClearType
	from        Origin
	source      string
}

// Kinds of logs: what the server does, and who logs in.
var (
	serverKinds = []machine.LogKind{machine.LogPoweredOn, machine.LogPoweredOff, machine.LogRestarted, machine.LogInterrupted, machine.LogCleared}
	loginKinds  = []machine.LogKind{machine.LogLoginFailed, machine.LogCleared}
)

var (
	genericLogs = []logModel{{owner: manager, id: "Log", clears: true}}
	dellLogs    = []logModel{
		{owner: manager, id: "Sel", kinds: serverKinds, newestFirst: true, clears: true, from: Reported, source: "dell/iDRAC-Redfish-Scripting"},
		{owner: manager, id: "Lclog", newestFirst: true, from: Reported, source: "dell/iDRAC-Redfish-Scripting"},
	}
	hpeLogs = []logModel{
		{owner: system, id: "IML", kinds: serverKinds, links: true, clears: true, from: Reported, source: "HPEDevCom/redfishdocs, resource maps"},
		{owner: manager, id: "IEL", kinds: loginKinds, links: true, clears: true, from: Reported, source: "HPEDevCom/redfishdocs, resource maps"},
	}
	openbmcLogs = []logModel{{owner: system, id: "EventLog", clears: true, from: Reported, source: "openbmc/bmcweb, redfish-core"}}
	amiLogs     = []logModel{{owner: manager, id: "SEL", clears: true, clearType: true, from: Reported, source: "dyulu/bmc_redfish"}}
)

// logParts say where the logs of a persona are known from.
func logParts(logs []logModel) (parts []Part) {
	for _, l := range logs {
		what := fmt.Sprintf("the log %s of the %s", l.id, map[string]string{system: "system", manager: "manager"}[l.owner])
		if l.clearType {
			what += ", whose ClearLog wants a ClearType"
		}
		parts = append(parts, Part{what, l.from, l.source})
	}
	if len(logs) > 0 {
		how := "the oldest entry first"
		if logs[0].newestFirst {
			how = "the newest entry first"
		}
		if logs[0].links {
			how += ", as links only"
		}
		parts = append(parts, Part{"order and form of the entries (" + how + "), and what is written into them", Guessed, ""})
	}
	return parts
}

func (l logModel) path() string { return l.owner + logServices + "/" + l.id }

// logRoutes has the logs of a persona.
func logRoutes(r map[string]resource, logs []logModel) {
	for _, owner := range []string{system, manager} {
		var paths []string
		for _, l := range logs {
			if l.owner == owner {
				paths = append(paths, l.path())
				l.routes(r)
			}
		}
		if paths == nil {
			continue
		}
		r[owner] = r[owner].edited(func(_ *call, body m) { body["LogServices"] = ref(owner + logServices) })
		r[owner+logServices] = resource{get: func(*call) (m, error) {
			return collection(owner+logServices, "LogService", "Log Services", paths...), nil
		}}
	}
}

func (l logModel) routes(r map[string]resource) {
	const action = "/Actions/LogService.ClearLog"
	r[l.path()] = resource{get: func(*call) (m, error) {
		body := m{
			"@odata.type": "#LogService.v1_5_0.LogService", "@odata.id": l.path(), "Id": l.id, "Name": l.id + " log", "ServiceEnabled": true,
			"OverWritePolicy": "WrapsWhenFull", "Status": enabled, "Entries": ref(l.path() + logEntries),
		}
		if l.clears {
			body["Actions"] = m{"#LogService.ClearLog": m{"target": l.path() + action}}
		}
		return body, nil
	}}
	r[l.path()+logEntries] = resource{get: l.getEntries}
	r[l.path()+logEntries+"/{id}"] = resource{get: l.getEntry}
	if l.clears {
		r[l.path()+action] = resource{post: l.clear}
	}
}

// entries are those of the log in its order.
func (l logModel) entries(c *call) []machine.LogEntry {
	all := c.s.Log.Entries()
	if l.kinds != nil {
		all = slices.DeleteFunc(all, func(e machine.LogEntry) bool { return !slices.Contains(l.kinds, e.Kind) })
	}
	if l.newestFirst {
		slices.Reverse(all)
	}
	return all
}

func (l logModel) getEntries(c *call) (m, error) {
	all := l.entries(c)
	skip, err := strconv.Atoi(c.URL.Query().Get(skipQuery))
	if text := c.URL.Query().Get(skipQuery); text != "" && (err != nil || skip < 0) {
		return nil, problem(http.StatusBadRequest, "QueryParameterValueTypeError", text, skipQuery)
	}
	page := all[min(skip, len(all)):min(skip+logPage, len(all))]
	members := make([]any, len(page))
	for i, e := range page {
		members[i] = l.entry(e)
		if l.links {
			members[i] = ref(l.entryPath(e))
		}
	}
	body := collection(l.path()+logEntries, "LogEntry", "Log Entries")
	body["Members"], body["Members@odata.count"] = members, len(all)
	if skip+logPage < len(all) {
		body["Members@odata.nextLink"] = fmt.Sprintf("%s%s?%s=%d", l.path(), logEntries, skipQuery, skip+logPage)
	}
	return body, nil
}

func (l logModel) getEntry(c *call) (m, error) {
	for _, e := range l.entries(c) {
		if strconv.Itoa(e.ID) == c.PathValue("id") {
			return l.entry(e), nil
		}
	}
	return nil, missing(c)
}

func (l logModel) entryPath(e machine.LogEntry) string {
	return l.path() + logEntries + "/" + strconv.Itoa(e.ID)
}

// said is how each kind of entry is told.
var said = map[machine.LogKind]struct{ severity, sensor, message string }{
	machine.LogPoweredOn:   {"OK", "System ACPI PowerState", "The server was switched on."},
	machine.LogPoweredOff:  {"OK", "System ACPI PowerState", "The server was switched off."},
	machine.LogRestarted:   {"OK", "System Boot/Restart Initiated", "The server was restarted."},
	machine.LogInterrupted: {"Critical", "Critical Interrupt", "A non-maskable interrupt was sent to the server."},
	machine.LogLoginFailed: {"Warning", "Session Audit", "A login was refused."},
	machine.LogCleared:     {"OK", "Event Logging Disabled", "The log was cleared."},
}

func (l logModel) entry(e machine.LogEntry) m {
	words := said[e.Kind]
	return m{
		"@odata.type": "#LogEntry.v1_16_1.LogEntry", "@odata.id": l.entryPath(e), "Id": strconv.Itoa(e.ID), "Name": "Log Entry " + strconv.Itoa(e.ID),
		"EntryType": "SEL", "EntryCode": "Assert", "Created": e.At.UTC().Format(time.RFC3339), "Severity": words.severity,
		"SensorType": words.sensor, "Message": words.message,
	}
}

func (l logModel) clear(c *call, body m) (reply, error) {
	if l.clearType && body["ClearType"] != "ClearAll" {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", "LogService.ClearLog", "ClearType")
	}
	c.s.Log.Clear(l.kinds...)
	return reply{}, nil
}
