package worker

import (
	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

var (
	nodesByHealth = prometheus.NewDesc("temper_nodes_by_health",
		"Nodes of this conductor, by the health that their BMC reports.", []string{"status"}, nil)
	nodesByComponentHealth = prometheus.NewDesc("temper_nodes_by_component_health",
		"Nodes of this conductor, by kind of component and the worst health of their components of that kind.", []string{"component", "status"}, nil)
	hottest = prometheus.NewDesc("temper_temperature_celsius_max",
		"The highest temperature of the nodes of this conductor, by where it is measured.", []string{"place"}, nil)
	drawnPower = prometheus.NewDesc("temper_power_watts",
		"Power in watts that the nodes of this conductor draw together, as far as their BMCs report it.", nil, nil)

	nodeHealthStatus = prometheus.NewDesc("temper_node_health_status",
		"Health of a node: 0 unknown, 1 ok, 2 warning, 3 critical.", []string{"node"}, nil)
	nodeTemperature = prometheus.NewDesc("temper_node_temperature_celsius_max",
		"The highest temperature in a node, by where it is measured.", []string{"node", "place"}, nil)
	nodePower = prometheus.NewDesc("temper_node_power_watts",
		"Power in watts that a node draws.", []string{"node"}, nil)
	nodeFanSpeed = prometheus.NewDesc("temper_node_fan_speed_rpm_min",
		"Revolutions a minute of the slowest fan of a node.", []string{"node"}, nil)
	nodeFanPercent = prometheus.NewDesc("temper_node_fan_speed_percent_min",
		"Speed of the slowest fan of a node in percent of its highest speed, if the BMC reports no revolutions.", []string{"node"}, nil)
)

// healthCollector makes metrics of the health that a conductor read last. Their labels have few fixed values; perNode adds
// series for each node.
type healthCollector struct {
	read    func() []conductor.ReadHealth
	perNode bool
}

// Describe implements prometheus.Collector.
func (c healthCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		nodesByHealth, nodesByComponentHealth, hottest, drawnPower, nodeHealthStatus, nodeTemperature, nodePower, nodeFanSpeed, nodeFanPercent,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c healthCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	status := map[node.HealthStatus]int{}
	parts := map[node.ComponentKind]map[node.HealthStatus]int{}
	all := sensors{}
	for _, h := range c.read() {
		status[h.Status]++
		for kind, s := range h.Parts {
			if parts[kind] == nil {
				parts[kind] = map[node.HealthStatus]int{}
			}
			parts[kind][s]++
		}
		s := sensorsOf(h.Readings)
		for place, v := range s.hottest {
			all.heat(place, v)
		}
		if s.watts != nil {
			all.draw(*s.watts)
		}
		if c.perNode {
			c.node(gauge, h, s)
		}
	}
	for _, s := range node.HealthStatuses {
		gauge(nodesByHealth, float64(status[s]), string(s))
		for kind, by := range parts {
			gauge(nodesByComponentHealth, float64(by[s]), string(kind), string(s))
		}
	}
	for place, v := range all.hottest {
		gauge(hottest, v, string(place))
	}
	if all.watts != nil {
		gauge(drawnPower, *all.watts)
	}
}

// node makes the series of one node: at most 4, and one for each place.
func (c healthCollector) node(gauge func(*prometheus.Desc, float64, ...string), h conductor.ReadHealth, s sensors) {
	for i, status := range node.HealthStatuses {
		if status == h.Status {
			gauge(nodeHealthStatus, float64(i), h.UUID)
		}
	}
	for place, v := range s.hottest {
		gauge(nodeTemperature, v, h.UUID, string(place))
	}
	for d, v := range map[*prometheus.Desc]*float64{nodePower: s.watts, nodeFanSpeed: s.rpm, nodeFanPercent: s.percent} {
		if v != nil {
			gauge(d, *v, h.UUID)
		}
	}
}

// sensors is what the sensors of one or more nodes come to; nil = no sensor tells it.
type sensors struct {
	hottest             map[bmc.Place]float64
	watts, rpm, percent *float64
}

func sensorsOf(readings []bmc.Reading) (s sensors) {
	slower := func(than *float64, v float64) *float64 {
		if than == nil || v < *than {
			return &v
		}
		return than
	}
	for _, r := range readings {
		switch r.Quantity {
		case bmc.Temperature:
			s.heat(r.Place, r.Value)
		case bmc.PowerDraw:
			s.draw(r.Value)
		case bmc.FanSpeed:
			s.rpm = slower(s.rpm, r.Value)
		case bmc.FanPercent:
			s.percent = slower(s.percent, r.Value)
		}
	}
	return s
}

func (s *sensors) heat(place bmc.Place, celsius float64) {
	if s.hottest == nil {
		s.hottest = map[bmc.Place]float64{}
	}
	if was, ok := s.hottest[place]; !ok || celsius > was {
		s.hottest[place] = celsius
	}
}

func (s *sensors) draw(watts float64) {
	if s.watts != nil {
		watts += *s.watts
	}
	s.watts = &watts
}

// Health registers the metrics of the health that a conductor reads.
func (m *Metrics) Health(read func() []conductor.ReadHealth, perNode bool) {
	m.registerer.MustRegister(healthCollector{read, perNode})
}
