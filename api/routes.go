package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
)

func init() { gin.SetMode(gin.ReleaseMode) }

// route is one line of the table of the API.
type route struct {
	method, path string
	since        int // microversion; 0 = not versioned
	handler      handler
}

// table is every route. openapi.yaml describes the same, and a test compares.
func (s *Server) table() []route {
	return slices.Concat(s.ironicRoutes(), s.nodeRoutes(), s.allocationRoutes(), s.ownRoutes(), s.fleetRoutes(), s.computeRoutes())
}

func (s *Server) ironicRoutes() []route {
	return []route{
		{"GET", "/", 0, s.getRoot},
		{"GET", "/v1", 1, s.getV1},
		{"GET", "/v1/ports", 1, s.listPorts},
		{"POST", "/v1/ports", 1, s.createPort},
		{"GET", "/v1/ports/detail", 1, s.listPortsDetail},
		{"GET", "/v1/ports/:port", 1, s.getPort},
		{"PATCH", "/v1/ports/:port", 1, s.patchPort},
		{"DELETE", "/v1/ports/:port", 1, s.deletePort},
		{"GET", "/v1/drivers", 1, s.listDrivers},
		{"GET", "/v1/drivers/:driver", 1, s.getDriver},
		{"GET", "/v1/drivers/:driver/properties", 1, s.getDriverProperties},
		{"GET", "/v1/conductors", minorConductors, s.listConductors},
		{"GET", "/v1/conductors/:conductor", minorConductors, s.getConductor},
		{"GET", "/v1/lookup", 22, s.getLookup},
		{"POST", "/v1/heartbeat/:node", 22, s.postHeartbeat},
		{"POST", "/v1/continue_inspection", 1, s.postInspection},
	}
}

func (s *Server) nodeRoutes() []route {
	return []route{
		{"GET", "/v1/nodes", 1, s.listNodes},
		{"POST", "/v1/nodes", 1, s.createNode},
		{"GET", "/v1/nodes/detail", 1, s.listNodesDetail},
		{"GET", "/v1/nodes/:node", 1, s.getNode},
		{"PATCH", "/v1/nodes/:node", 1, s.patchNode},
		{"DELETE", "/v1/nodes/:node", 1, s.deleteNode},
		{"GET", "/v1/nodes/:node/validate", 1, s.getValidate},
		{"GET", "/v1/nodes/:node/states", 1, s.getStates},
		{"PUT", "/v1/nodes/:node/states/power", 1, s.putPower},
		{"PUT", "/v1/nodes/:node/states/provision", 1, s.putProvision},
		{"PUT", "/v1/nodes/:node/maintenance", 1, s.putMaintenance},
		{"DELETE", "/v1/nodes/:node/maintenance", 1, s.deleteMaintenance},
		{"GET", "/v1/nodes/:node/ports", 1, s.listNodePorts},
		{"GET", "/v1/nodes/:node/ports/detail", 1, s.listNodePortsDetail},
		{"GET", "/v1/nodes/:node/traits", 37, s.listTraits},
		{"PUT", "/v1/nodes/:node/traits", 37, s.putTraits},
		{"DELETE", "/v1/nodes/:node/traits", 37, s.deleteTraits},
		{"PUT", "/v1/nodes/:node/traits/:trait", 37, s.putTrait},
		{"DELETE", "/v1/nodes/:node/traits/:trait", 37, s.deleteTrait},
		{"GET", "/v1/nodes/:node/history", 78, s.listHistory},
		{"GET", "/v1/nodes/:node/history/:event", 78, s.getHistory},
		{"GET", "/v1/nodes/:node/inventory", 81, s.getInventory},
		{"GET", "/v1/nodes/:node/vifs", 28, s.listVIFs},
		{"POST", "/v1/nodes/:node/vifs", 28, s.attachVIF},
		{"DELETE", "/v1/nodes/:node/vifs/:vif", 28, s.detachVIF},
		{"GET", "/v1/nodes/:node/management/boot_device", 1, s.getBootDevice},
		{"PUT", "/v1/nodes/:node/management/boot_device", 1, s.putBootDevice},
		{"GET", "/v1/nodes/:node/management/boot_device/supported", 1, s.getBootDevice},
		{"GET", "/v1/nodes/:node/states/console", 1, s.getConsole},
		{"PUT", "/v1/nodes/:node/states/console", 1, s.putConsole},
		{"GET", "/v1/nodes/:node/vmedia", 93, s.getMedia},
		{"POST", "/v1/nodes/:node/vmedia", 89, s.attachMedia},
		{"DELETE", "/v1/nodes/:node/vmedia", 89, s.detachMedia},
	}
}

func (s *Server) allocationRoutes() []route {
	return []route{
		{"GET", "/v1/allocations", minorAllocations, s.listAllocations},
		{"POST", "/v1/allocations", 1, writes(minorAllocations, noAllocations, s.createAllocation)},
		{"GET", "/v1/allocations/:allocation", minorAllocations, s.getAllocation},
		{"PATCH", "/v1/allocations/:allocation", 1, writes(minorAllocationEdit, noAllocationUp, s.patchAllocation)},
		{"DELETE", "/v1/allocations/:allocation", 1, writes(minorAllocations, noAllocations, s.deleteAllocation)},
		{"GET", "/v1/nodes/:node/allocation", minorAllocations, s.getNodeAllocation},
		{"DELETE", "/v1/nodes/:node/allocation", minorAllocations, s.deleteNodeAllocation},
	}
}

func (s *Server) ownRoutes() []route {
	return []route{
		{"GET", "/temper/v1/healthz", 0, s.getHealth},
		{"GET", "/temper/v1/readyz", 0, s.getReady},
		{"GET", "/temper/v1/operations", 0, s.listOperations},
		{"POST", "/temper/v1/operations/recover", 0, s.recoverOperations},
		{"GET", "/temper/v1/operations/:operation", 0, s.getOperation},
		{"POST", "/temper/v1/operations/:operation/cancel", 0, s.cancelOperation},
		{"POST", "/temper/v1/operations/:operation/decision", 0, s.decideOperation},
		{"POST", "/temper/v1/operations/:operation/unpause", 0, s.unpauseOperation},
		{"POST", "/temper/v1/operations/:operation/retry", 0, s.retryOperation},
		{"GET", "/temper/v1/nodes/available", 0, s.listAvailable},
		{"GET", "/temper/v1/nodes/deleted", 0, s.listDeleted},
		{"GET", "/temper/v1/nodes/:node/history", 0, s.listWholeHistory},
		{"POST", "/temper/v1/nodes/:node/operations", 0, s.createOperation},
		{"GET", "/temper/v1/nodes/:node/why", 0, s.getWhy},
		{"POST", "/temper/v1/nodes/:node/recover", 0, s.recoverNode},
		{"POST", "/temper/v1/nodes/:node/waive", 0, s.waiveNode},
	}
}

func (s *Server) fleetRoutes() []route {
	return []route{
		{"GET", "/temper/v1/conductors", 0, s.listFleet},
		{"DELETE", "/temper/v1/conductors/:conductor", 0, s.forgetConductor},
		{"POST", "/temper/v1/conductors/:conductor/drain", 0, s.drainConductor},
		{"GET", "/temper/v1/coverage", 0, s.getCoverage},
		{"GET", "/temper/v1/ring", 0, s.getRing},
		{"GET", "/temper/v1/ring/what-if", 0, s.getWhatIf},
		{"POST", "/temper/v1/reconcile", 0, s.postReconcile},
	}
}

func (s *Server) computeRoutes() []route {
	return []route{
		{"GET", "/temper/v1/compute-services", 0, s.listCompute},
		{"GET", "/temper/v1/compute-services/what-if", 0, s.getComputeWhatIf},
		{"POST", "/temper/v1/compute-services/move", 0, s.moveCompute},
		{"PUT", "/temper/v1/compute-services/:host", 0, s.putCompute},
		{"DELETE", "/temper/v1/compute-services/:host", 0, s.deleteCompute},
		{"GET", "/temper/v1/compute-services/:host/nodes", 0, s.getShare},
		{"GET", "/temper/v1/instances", 0, s.listInstances},
		{"DELETE", "/temper/v1/instances/:instance", 0, s.deleteInstance},
	}
}

func (s *Server) routes() *gin.Engine {
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	// Addresses in headers are what a stranger says: only the connection's counts.
	if err := e.SetTrustedProxies(nil); err != nil {
		panic(err) // nil is always valid
	}
	e.Use(s.identified, s.observed, s.recovered, s.bounded, s.guarded, s.heldBodies, s.versioned, s.authenticated)
	for _, r := range s.table() {
		e.Handle(r.method, r.path, s.answer(since(r.since, r.handler)))
	}
	e.NoRoute(s.answer(s.noRoute))
	e.NoMethod(s.answer(noMethod))
	return e
}

// lateWrites are resources whose POST, PATCH and DELETE Ironic answers with 405
// before the version that added them. None is built.
var lateWrites = map[string]int{"deploy_templates": 55, "runbooks": 92, "inspection_rules": 96}

// noRoute answers what is not there, or not built.
func (s *Server) noRoute(c *gin.Context) (int, any, error) {
	if rest, ok := strings.CutPrefix(c.Request.URL.Path, "/v1/"); ok {
		resource, _, _ := strings.Cut(rest, "/")
		if first, late := lateWrites[resource]; late && minor(c) < first && c.Request.Method != http.MethodGet {
			return noMethod(c)
		}
	}
	return 0, nil, fault.New(fault.NotFound, "The resource could not be found.")
}

func noMethod(*gin.Context) (int, any, error) {
	return http.StatusMethodNotAllowed, errorBody("Client", "The method is not allowed for this resource.", fault.MethodNotAllowed, nil), nil
}
