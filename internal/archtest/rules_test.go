package archtest

const module = "go.temper.dev/temper/"

// Third parties that a layer is kept away from, by what they are for.
const (
	temporal = "go.temporal.io/"
	pgx      = "github.com/jackc/pgx"
	gin      = "github.com/gin-gonic/gin"
	gofish   = "github.com/stmcginnis/gofish"
	zap      = "go.uber.org/zap"
	zitadel  = "github.com/zitadel/"
	// anyThirdParty is everything outside of the standard library and of ours.
	anyThirdParty = "*"
)

// rule says what the packages at and below a path may know.
type rule struct {
	at string // path below the module; the longest that fits is the rule of a package
	// ours: what it may import of ours directly, each with what lies below;
	// what lies below at itself is always allowed. nil = nothing, {"*"} = everything.
	ours []string
	not  []string // except these
	// never: third parties that it must not reach, even through others.
	never []string
	why   string
}

var rules = []rule{
	{at: "internal/mask", never: []string{anyThirdParty}, why: "everything may have to mask"},
	{at: "internal/fault", ours: []string{"internal/mask"}, never: []string{anyThirdParty}, why: "everything imports it"},
	{at: "internal/buildinfo", never: []string{anyThirdParty}, why: "every role and every client has a version"},
	{at: "internal/dial", ours: []string{"internal/fault"}, never: []string{anyThirdParty}, why: "connections, whoever makes them"},
	{at: "internal/tlsfile", never: []string{anyThirdParty}, why: "certificates in files, whoever serves or trusts them"},
	{at: "internal/recording", never: []string{anyThirdParty}, why: "a file, shared with the simulator"},
	{at: "internal/jsonvalue", never: []string{anyThirdParty}, why: "everything decodes JSON"},
	{at: "internal/jsonlimit", never: []string{temporal, pgx, gin, gofish, zap}, why: "whoever reads what strangers send"},
	{at: "internal/origin", ours: []string{"internal/text"}, never: []string{anyThirdParty}, why: "every listener has it"},
	{at: "internal/ring", never: []string{anyThirdParty}, why: "who owns what is pure"},
	{at: "internal/chaos", never: []string{anyThirdParty}, why: "points and how a process stops at them"},
	{at: "internal/chaos/wrap", ours: []string{"activities", "api", "internal/agent", "internal/bmc", "internal/chaos", "internal/node"}, never: []string{pgx, gofish}, why: "it wraps interfaces, whatever is behind them"},
	{at: "internal/share", ours: []string{"internal/ring", "internal/text"}, never: []string{anyThirdParty}, why: "who owns what is pure"},
	{at: "schemas", never: []string{anyThirdParty}, why: "contracts are files"},
	{at: "web", never: []string{anyThirdParty}, why: "the dashboard is files"},
	{at: "internal/text", never: []string{anyThirdParty}, why: "strings in, strings out"},
	{at: "internal/node", ours: []string{"internal/fault", "internal/text"}, never: []string{anyThirdParty}, why: "the domain is pure, and its nouns know none of its rules' packages"},
	{at: "internal/secret", ours: []string{"internal/fault", "internal/mask", "internal/node", "internal/text"}, never: []string{anyThirdParty}, why: "the domain is pure"},
	{at: "internal/inventory", ours: []string{"internal/text"}, never: []string{anyThirdParty}, why: "what inventories say is pure"},
	{at: "internal/plan", ours: []string{"internal/fault", "internal/mask", "internal/node", "internal/text"}, never: []string{anyThirdParty}, why: "the domain is pure"},
	{at: "internal/rootdevice", never: []string{anyThirdParty}, why: "the choice of a disk is pure"},
	{at: "internal/audit/sink", ours: []string{"internal/audit", "internal/events"}, never: []string{pgx, gin, gofish, temporal}, why: "it sends rows, wherever they are stored"},
	{at: "internal/tokens", ours: []string{"internal/access"}, never: []string{pgx, gin, gofish, temporal}, why: "tokens, wherever they are kept"},
	{at: "internal/audit", ours: []string{"internal/access"}, never: []string{pgx, gin, gofish, temporal}, why: "who has changed what, whoever writes it"},
	{at: "internal/admission", ours: []string{"internal/fault", "internal/node", "internal/plan", "internal/rootdevice", "internal/text"}, never: []string{anyThirdParty}, why: "the domain is pure"},
	{at: "internal/closing", ours: []string{"internal/fault", "internal/node"}, never: []string{anyThirdParty}, why: "the domain is pure"},
	{at: "internal/finding", ours: []string{"internal/fault", "internal/help", "internal/node", "internal/text"}, never: []string{anyThirdParty}, why: "words for what was found, whoever found it"},
	{at: "internal/help", ours: []string{"internal/fault", "internal/node", "internal/rootdevice", "internal/text"}, never: []string{anyThirdParty}, why: "what actions are called, whoever advises them"},
	{at: "internal/status", ours: []string{"internal/coverage", "internal/fault", "internal/finding", "internal/help", "internal/node", "internal/text"}, never: []string{anyThirdParty}, why: "how the parts of Temper do is pure"},
	{at: "internal/timeline", ours: []string{"internal/finding", "internal/node", "internal/text"}, never: []string{anyThirdParty}, why: "the line of time is pure"},
	{at: "internal/explain", ours: []string{"internal/admission", "internal/coverage", "internal/fault", "internal/finding", "internal/help", "internal/inventory", "internal/node", "internal/status", "internal/text"}, never: []string{anyThirdParty}, why: "the domain is pure"},

	{at: "internal/coverage", ours: []string{"internal/ring"}, never: []string{anyThirdParty}, why: "who can serve what is pure"},

	{at: "internal/events", ours: []string{"internal/fault", "internal/mask", "internal/node"}, never: []string{temporal, pgx, gin, gofish}, why: "the order of events, wherever they are stored"},

	{at: "internal/lockwait", ours: []string{"internal/node"}, never: []string{temporal, pgx, gin, gofish}, why: "who waits in which order, whoever hears of the ends"},

	{at: "internal/webhook", ours: []string{"internal/dial", "internal/events", "internal/fault", "internal/mask", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "events go out, wherever they are stored"},

	{at: "internal/bmc", ours: []string{"internal/dial", "internal/fault", "internal/node"}, never: []string{temporal, pgx, gin, gofish}, why: "a vocabulary, not a protocol"},
	{at: "internal/bmc/bmctest", ours: []string{"internal/bmc", "internal/fault", "internal/node"}, never: []string{temporal, pgx, gin, gofish}, why: "the suite knows no driver"},
	{at: "internal/bmc/fake", ours: []string{"internal/bmc", "internal/fault"}, never: []string{temporal, pgx, gin, gofish}, why: "a driver speaks to BMCs only"},
	{at: "internal/bmc/ipmi", ours: []string{"internal/bmc", "internal/dial", "internal/fault", "internal/node", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "a driver speaks to BMCs only"},
	{at: "internal/bmc/redfish", ours: []string{"internal/bmc", "internal/dial", "internal/fault", "internal/jsonlimit", "internal/node", "internal/recording", "internal/text"}, never: []string{temporal, pgx, gin}, why: "a driver speaks to BMCs only"},
	{at: "internal/console", ours: []string{"internal/bmc"}, never: []string{temporal, pgx, gin, gofish}, why: "consoles and their clients, whoever owns the nodes"},
	{at: "internal/agent", ours: []string{"internal/dial", "internal/fault", "internal/jsonlimit", "internal/node", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "a protocol, shared with the simulator"},
	{at: "internal/agent/agentcmd", ours: []string{"internal/agent", "internal/buildinfo", "internal/log"}, never: []string{temporal, pgx, gin, gofish}, why: "a ramdisk has a program with this command only, which must stay small"},
	{at: "internal/agent/bootloader", never: []string{temporal, pgx, gin, gofish, zap}, why: "files of an image, whoever has it"},
	{at: "internal/agent/lldp", never: []string{temporal, pgx, gin, gofish, zap}, why: "what switches send, whoever listens"},
	{at: "internal/agent/softraid", ours: []string{"internal/agent/imagewriter", "internal/node", "internal/rootdevice"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "disks and arrays of one machine"},
	{at: "internal/agent/selferase", never: []string{temporal, pgx, gin, gofish, zap}, why: "disks and their commands"},
	{at: "internal/agent/daemon", ours: []string{"internal/agent", "internal/image", "internal/mask", "internal/rootdevice"}, never: []string{temporal, pgx, gin, gofish}, why: "it works on one machine, for whoever speaks the protocol"},
	{at: "internal/agent/failure", ours: []string{"internal/agent"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "errors of the agent, shared with the simulator"},
	{at: "internal/agent/hardware", ours: []string{"internal/agent", "internal/rootdevice"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "it reads what the kernel and the BMC tell"},
	{at: "internal/agent/imagewriter", ours: []string{"internal/agent", "internal/mask", "internal/qcow2"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "images and disks, whoever asks for them"},
	{at: "internal/networkdata", ours: []string{"internal/node"}, never: []string{anyThirdParty}, why: "a document, whoever follows it"},
	{at: "internal/qcow2", ours: nil, never: []string{temporal, pgx, gin, gofish, zap}, why: "bytes in, bytes out"},
	{at: "internal/iso9660", never: []string{anyThirdParty}, why: "bytes in, bytes out"},
	{at: "internal/medium", ours: []string{"internal/iso9660", "internal/mask"}, never: []string{anyThirdParty}, why: "bytes in, bytes out"},
	{at: "internal/netboot", ours: nil, never: []string{temporal, pgx, gin, gofish}, why: "boot loaders by TFTP, whoever asks"},
	{at: "internal/medium/mediumtest", ours: []string{"internal/iso9660", "internal/medium", "internal/ramdisk"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "tests' images are written as the ramdisk's are"},
	{at: "internal/bootimage", ours: []string{"internal/dial", "internal/fault", "internal/iso9660", "internal/mask", "internal/medium", "internal/ramdisk/iso"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "it makes CDs of files, whoever boots from them"},
	{at: "internal/ramdisk", ours: []string{"internal/iso9660", "internal/medium"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "it is built from Debian's packages and boots servers; it knows nothing of nodes"},
	{at: "internal/ramdisk/init", ours: []string{"internal/networkdata", "internal/ramdisk/module"}, never: []string{temporal, pgx, gin, gofish, zap}, why: "the first process of a server that boots"},
	{at: "internal/configdrive", ours: []string{"internal/fault", "internal/iso9660"}, never: []string{temporal, pgx, gin, gofish}, why: "bytes in, bytes out"},
	{at: "internal/image", ours: []string{"internal/medium", "internal/dial", "internal/fault", "internal/mask", "internal/node", "internal/agent"}, never: []string{temporal, pgx, gin, gofish}, why: "images, not how they are asked for"},
	{at: "internal/imagecache", ours: []string{"internal/qcow2", "internal/agent", "internal/dial", "internal/fault", "internal/image", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "images from wherever they are, whoever writes them"},
	{at: "internal/store", ours: []string{"internal/node", "internal/inventory", "internal/events", "internal/fault", "internal/mask", "internal/admission", "internal/closing", "internal/coverage", "internal/mask", "internal/plan", "internal/secret", "schemas", "internal/share", "internal/text", "internal/webhook", "internal/audit", "internal/tokens"}, never: []string{temporal, gin, gofish}, why: "SQL and nothing else"},
	{at: "internal/pgserver", never: []string{temporal, gin, gofish}, why: "it starts PostgreSQL and knows nothing of us"},
	{at: "internal/access", ours: []string{"internal/node"}, never: []string{anyThirdParty}, why: "who may do what is pure"},
	{at: "internal/grants", ours: []string{"internal/access"}, never: []string{temporal, pgx, gin, gofish}, why: "who has which role, whatever the roles may do"},
	{at: "internal/basicauth", ours: []string{"internal/access", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "who somebody is, whatever they want"},
	{at: "internal/oidclogin", ours: []string{"internal/access", "internal/dial", "internal/tlsfile"}, never: []string{temporal, pgx, gin, gofish, zitadel}, why: "who somebody is, whatever they want; an issuer is for tests"},
	{at: "internal/oidclogin/issuertest", never: []string{temporal, pgx, gin, gofish}, why: "an issuer knows none of its clients"},
	{at: "internal/keystone", ours: []string{"internal/access", "internal/dial"}, never: []string{temporal, pgx, gin, gofish}, why: "who somebody is, whatever they want"},
	{at: "internal/config", ours: []string{"internal/node", "internal/origin"}, never: []string{temporal, gin, gofish}, why: "settings are read before anything is there; pgx reads what a database URL means"},
	{at: "internal/log", ours: []string{"internal/mask"}, never: []string{pgx, gin, gofish}, why: "everything may log"},
	{at: "internal/metrics", ours: []string{"internal/origin"}, never: []string{temporal, pgx, gin, gofish}, why: "it serves what others count"},
	{at: "internal/sim", ours: []string{"internal/bmc", "internal/agent", "internal/node", "internal/fault", "internal/origin", "internal/recording", "internal/rootdevice"}, never: []string{temporal, pgx}, why: "a rack knows no operations"},

	{
		at: "activities", ours: []string{"internal/node", "internal/fault"},
		never: []string{pgx, gofish, gin}, why: "what the activities of all roles share",
	},
	{
		at: "activities/conductor", ours: []string{"activities", "internal/admission", "internal/console", "internal/node", "internal/coverage", "internal/mask", "internal/plan", "internal/rootdevice", "internal/secret", "internal/fault", "internal/bmc", "internal/agent", "internal/configdrive", "internal/medium", "internal/text"},
		not:   []string{"activities/orchestrator", "activities/reconcile", "internal/bmc/redfish", "internal/bmc/ipmi", "internal/bmc/fake", "internal/bmc/bmctest"},
		never: []string{pgx, gofish, gin}, why: "it takes interfaces; worker hands in the real ones",
	},
	{
		at: "activities/orchestrator", ours: []string{"activities", "internal/node", "internal/admission", "internal/plan", "internal/fault", "internal/audit"},
		not:   []string{"activities/conductor", "activities/reconcile"},
		never: []string{pgx, gofish, gin}, why: "it touches the database only, through an interface",
	},
	{
		at: "activities/reconcile", ours: []string{"activities", "internal/node", "internal/admission", "internal/plan", "internal/coverage", "internal/fault", "internal/share", "internal/audit"},
		not:   []string{"activities/conductor", "activities/orchestrator"},
		never: []string{pgx, gofish, gin}, why: "it compares the database with Temporal, through interfaces",
	},
	{
		at: "workflows", ours: []string{"activities", "internal/node", "internal/bmc", "internal/agent", "internal/fault", "internal/finding", "internal/help", "internal/text"},
		not: []string{"internal/bmc/redfish", "internal/bmc/ipmi", "internal/bmc/fake", "internal/bmc/bmctest"}, never: []string{pgx, gofish, gin},
		why: "workflows decide; activities do",
	},
	{
		at: "api", ours: []string{"internal/access", "internal/dial", "internal/imagecache", "internal/agent", "internal/events", "internal/explain", "internal/status", "internal/image", "internal/node", "web", "internal/webhook"},
		never: []string{temporal, pgx, gofish}, why: "it fits its parts together",
	},
	{
		at: "api/format", ours: []string{"internal/fault", "internal/help", "internal/jsonlimit", "internal/node", "internal/text", "internal/audit"},
		never: []string{temporal, pgx, gofish}, why: "shapes of requests and answers, whatever the resource",
	},
	{
		at: "api/httpd", ours: []string{"internal/access", "api/format", "internal/basicauth", "internal/fault", "internal/help", "internal/jsonlimit", "internal/node", "internal/origin", "internal/audit"},
		never: []string{temporal, pgx, gofish}, why: "a server of routes, whatever is behind them",
	},
	{
		at: "api/intent", ours: []string{"internal/access", "internal/closing", "internal/lockwait", "api/format", "api/httpd", "internal/admission", "internal/coverage", "internal/events", "internal/explain", "internal/fault", "internal/help", "internal/image", "internal/inventory", "internal/mask", "internal/medium", "internal/node", "internal/plan", "internal/ring", "internal/rootdevice", "internal/secret", "internal/share", "internal/text", "internal/webhook", "internal/audit", "internal/tokens"},
		never: []string{temporal, pgx, gofish}, why: "what is asked of a node, not how it is carried out",
	},
	{
		at: "api/boot", ours: []string{"api/httpd", "internal/bootimage", "internal/fault", "internal/medium", "internal/netboot", "internal/node", "internal/ramdisk/initrd"},
		never: []string{temporal, pgx, gofish}, why: "what servers boot from, wherever it is stored",
	},
	{
		at: "api/images", ours: []string{"api/format", "api/httpd", "internal/fault", "internal/image", "internal/imagecache", "internal/mask", "internal/node", "internal/secret"},
		never: []string{temporal, pgx, gofish}, why: "what agents write, wherever it comes from",
	},
	{
		at: "api/ironic", ours: []string{"internal/access", "internal/rootdevice", "internal/lockwait", "internal/networkdata", "api/format", "api/httpd", "api/intent", "internal/admission", "internal/agent", "internal/configdrive", "internal/coverage", "internal/fault", "internal/jsonlimit", "internal/mask", "internal/node", "internal/plan", "internal/share", "internal/text", "internal/audit"},
		never: []string{temporal, pgx, gofish}, why: "Ironic's resources know nothing of Temper's own",
	},
	{
		at: "api/temper", ours: []string{"internal/access", "internal/lockwait", "api/format", "api/httpd", "api/intent", "internal/admission", "internal/closing", "internal/configdrive", "internal/coverage", "internal/events", "internal/explain", "internal/fault", "internal/finding", "internal/help", "internal/inventory", "internal/node", "internal/plan", "internal/share", "internal/status", "internal/timeline", "internal/webhook", "internal/mask", "internal/text", "internal/audit", "internal/tokens"},
		never: []string{temporal, pgx, gofish}, why: "Temper's own resources know nothing of Ironic's",
	},
	{
		at: "api/apitest", ours: []string{"internal/access", "api", "internal/agent", "internal/coverage", "internal/fault", "internal/node", "internal/store", "internal/testenv", "schemas", "internal/dial", "internal/webhook", "internal/audit"},
		never: []string{temporal, gofish}, why: "a whole API over a database, for tests",
	},
	{at: "worker", ours: []string{"*"}, not: []string{"api", "web", "internal/sim", "cmd", "test"}, never: []string{gin}, why: "it fits the real things together"},

	{at: "internal/client", ours: []string{"internal/tlsfile", "internal/fault"}, never: []string{temporal, pgx, gin, gofish}, why: "a client knows the API and nothing behind it"},
	{at: "internal/cli", ours: []string{"internal/access", "internal/client", "internal/configdrive", "internal/dev/devfile", "internal/fault", "internal/mask", "internal/node", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "the command line is a client of the API"},
	{at: "internal/cli/exit", never: []string{anyThirdParty}, why: "exit codes are a contract with scripts"},
	{at: "internal/cli/input", never: []string{temporal, pgx, gin, gofish}, why: "it reads files and terminals only"},
	{at: "internal/cli/table", ours: []string{"internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "it prints what others have read"},
	{at: "internal/cli/terminal", ours: []string{"internal/cli/exit", "internal/cli/input"}, never: []string{temporal, pgx, gin, gofish}, why: "it connects streams"},
	{at: "internal/cli/watch", ours: []string{"internal/cli/exit", "internal/cli/table", "internal/client", "internal/node", "internal/text"}, never: []string{temporal, pgx, gin, gofish}, why: "it follows operations over the API"},
	{at: "internal/cli/clitest", never: []string{anyThirdParty}, why: "answers of an API, for tests"},
	{at: "internal/compute", ours: []string{"internal/client"}, never: []string{temporal, pgx, gin, gofish}, why: "a compute service knows the API only"},
	{at: "deploy", ours: []string{"*"}, why: "its tests hold the files against the program"},

	{at: "internal/dev/devfile", never: []string{anyThirdParty}, why: "whoever looks for a stack reads its files"},
	{at: "internal/dev", ours: []string{"*"}, not: []string{"cmd", "test"}, why: "the whole stack on one machine"},
	{at: "internal/sqltest", never: []string{anyThirdParty}, why: "it reads source, whoever's"},
	{at: "internal/testenv", ours: []string{"*"}, not: []string{"cmd", "test"}, why: "what tests start"},
	{at: "cmd", ours: []string{"*"}, not: []string{"test"}, never: []string{module + "internal/chaos", zitadel}, why: "nobody imports it; only the tag chaos lets a test stop the program"},
	{at: "test", ours: []string{"*"}, not: []string{"cmd"}, why: "nobody imports it"},
	{at: "test/soak/oracle", never: []string{anyThirdParty}, why: "who judges the code shares none with it"},
	{at: "internal/archtest", why: "it looks at the others from outside"},
}

// direct are packages of the standard library that a package may not import
// itself. (fmt alone reaches time and os, so reaching them means nothing.)
var direct = map[string][]string{
	"internal/node":      {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io", "bufio", "testing"},
	"internal/admission": {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/closing":   {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/plan":      {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/secret":    {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/explain":   {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/status":    {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/timeline":  {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/finding":   {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/help":      {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/text":      {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/coverage":  {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/ring":      {"os", "net", "time", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"internal/share":     {"os", "net", "math/rand", "math/rand/v2", "context", "sync", "log", "log/slog", "io"},
	"workflows":          {"os", "net", "math/rand", "math/rand/v2", "log", "log/slog", "sync"},
}

// clocks are the functions of package time that read or wait for the clock. The
// domain and the workflows may use its types only.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

var noClock = []string{"internal/node", "internal/admission", "internal/closing", "internal/plan", "internal/secret", "internal/explain", "internal/finding", "internal/help", "internal/status", "internal/timeline", "internal/text", "internal/ring", "internal/coverage", "internal/share", "workflows"}
