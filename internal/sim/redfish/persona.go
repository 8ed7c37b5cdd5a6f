package redfish

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/recording"
	"go.temper.dev/temper/internal/sim/machine"
)

// Persona is how the BMCs of one make of server answer: what is different from the
// standard's service. The zero value, but for its name, is that service.
type Persona struct {
	Name  string
	About string // the machine
	Parts []Part
	Make  machine.Make

	moves      []move   // where the resources are; the longest paths first
	registry   string   // name and version of the Base registry, such as Base.1.12
	slashes    bool     // links end with a slash
	targets    []string // boot targets
	enables    []string // values of BootSourceOverrideEnabled
	continuous bool     // the override can be neither one-time nor disabled
	gzip       bool     // answers are compressed for clients that allow it, and ETags are then others; bodies have none
	noMatch    bool     // a PATCH with an ETag is refused, also with the resource's own
	full       *Problem // the answer to a login if there are too many sessions
	change     func(routes map[string]resource)
	sensors    sensorModel
	events     eventModel
	logs       []logModel
	gpuBoard   bool                 // the GPUs are processors of a second system
	recorded   *recording.Recording // nil = the standard's service with the changes above
}

// Part says where a part of a persona comes from.
type Part struct {
	What   string
	From   Origin
	Source string // "" if it is guessed
}

// Origin is how well a part of a persona is known.
type Origin string

// Origins.
const (
	Recorded Origin = "recorded" // follows a published answer of such a BMC
	Reported Origin = "reported" // follows a report or the code of a client
	Guessed  Origin = "guessed"  // what seems likely
)

// move is a resource that has another path than in the standard's service.
type move struct{ from, to string }

// personas are all personas by name.
var personas = byName(
	generic, idrac9, idrac9Before6, idrac10, ilo5, ilo6, supermicroX11, supermicroX13, xcc, openbmc, dgx, ami, asrock, sushyTools,
)

// generic is the standard's service.
var generic = Persona{
	Name: "generic", logs: genericLogs, About: "no real machine: what the standard describes",
	Parts: []Part{{"everything", Reported, "DSP0266 and DSP8010, schema bundle 2023.3"}},
}

func byName(list ...Persona) map[string]*Persona {
	all := map[string]*Persona{}
	for _, p := range list {
		p.Make.Persona = p.Name
		if p.Name != generic.Name {
			p.Parts = append(slices.Clip(p.Parts), p.sensors.part())
			if p.events != noEvents {
				p.Parts = append(p.Parts, p.events.part())
			}
			p.Parts = append(p.Parts, logParts(p.logs)...)
		}
		all[p.Name] = &p
	}
	return all
}

// Personas returns all personas in the order of their names.
func Personas() []*Persona {
	return slices.SortedFunc(maps.Values(personas), func(a, b *Persona) int { return cmp.Compare(a.Name, b.Name) })
}

// AllPersonas is the name that stands for all personas.
const AllPersonas = "all"

// FindPersonas returns the personas of these names, generic if there are none. The name all
// stands for every persona. A name that ends with .json is the file of a recording.
func FindPersonas(names []string) ([]*Persona, error) {
	if len(names) == 0 {
		names = []string{generic.Name}
	}
	var found []*Persona
	for _, name := range names {
		p, ok := personas[name]
		switch {
		case name == AllPersonas:
			found = append(found, Personas()...)
		case strings.HasSuffix(name, recordingSuffix):
			p, err := recordedPersona(name)
			if err != nil {
				return nil, fmt.Errorf("the recording %s: %w", name, err)
			}
			found = append(found, p)
		case !ok:
			return nil, fmt.Errorf("no persona is called %q, only %s, %s, or a file of a recording, whose name ends with %s",
				name, strings.Join(slices.Sorted(maps.Keys(personas)), ", "), AllPersonas, recordingSuffix)
		default:
			found = append(found, p)
		}
	}
	return found, nil
}

// mux returns the handler of the persona's resources, by the standard's paths.
func (p *Persona) mux() *http.ServeMux {
	all := routes()
	if p.recorded != nil {
		all = p.recordedRoutes()
	}
	if p.recorded == nil {
		sensorRoutes(all, p.sensors)
		eventRoutes(all, p.events)
		logRoutes(all, p.logs)
	}
	if p.change != nil {
		p.change(all)
	}
	mux := http.NewServeMux()
	for path, r := range all {
		mux.Handle(path, r)
	}
	mux.HandleFunc("GET "+monitors+"/{id}", monitor)
	mux.HandleFunc("POST "+pushFirmware, push)
	mux.HandleFunc("POST "+pushMultipart, pushParts)
	mux.HandleFunc("GET "+root+"/$metadata", metadata)
	return mux
}

func (p *Persona) bootTargets() []string {
	if p.targets != nil {
		return p.targets
	}
	return machine.BootTargets
}

func (p *Persona) bootEnables() []string {
	if p.enables != nil {
		return p.enables
	}
	return machine.BootEnables
}

// sessionsFull returns the answer to a login if there are too many sessions.
func (p *Persona) sessionsFull() error {
	if p.full != nil {
		return p.full
	}
	return problem(http.StatusServiceUnavailable, "SessionLimitExceeded")
}

// edited returns the resource with edit applied to what GET shows.
func (res resource) edited(edit func(c *call, body m)) resource {
	get := res.get
	res.get = func(c *call) (m, error) {
		body, err := get(c)
		if err == nil {
			edit(c, body)
		}
		return body, err
	}
	return res
}

// checked returns the resource with check called before a PATCH or POST.
func (res resource) checked(check func(c *call, body m) error) resource {
	patch, post := res.patch, res.post
	if patch != nil {
		res.patch = func(c *call, body m) error {
			if err := check(c, body); err != nil {
				return err
			}
			return patch(c, body)
		}
	}
	if post != nil {
		res.post = func(c *call, body m) (reply, error) {
			if err := check(c, body); err != nil {
				return reply{}, err
			}
			return post(c, body)
		}
	}
	return res
}

// bootOf returns the Boot in the body of a PATCH, nil if there is none.
func bootOf(body m) m {
	o, _ := body["Boot"].(m)
	return o
}

// reset is the path of the action that changes the power.
const reset = system + "/Actions/ComputerSystem.Reset"

// refuseDone returns a check that refuses a reset to the state in which the server already is.
func refuseDone(refusal func(now machine.Power) *Problem) func(c *call, body m) error {
	return func(c *call, body m) error {
		now, t := c.s.PowerState(), body["ResetType"]
		if t == "On" && now == machine.On || (t == "ForceOff" || t == "GracefulShutdown") && now == machine.Off {
			return refusal(now)
		}
		return nil
	}
}
