package temper

import (
	"go.temper.dev/temper/api/httpd"
)

func (s *Server) ownRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/healthz", 0, s.getHealth).Open(),
		httpd.Get("/temper/v1/readyz", 0, s.getReady).Open(),
		httpd.Post("/temper/v1/bmc-events/:secret", 0, s.postBMCEvent).Open().Unaudited(),
		httpd.Get("/temper/v1/status", 0, s.getStatus),
		httpd.Get("/temper/v1/why", 0, s.listAttention),
		httpd.GetStream("/temper/v1/events", s.streamEvents),
		httpd.Get("/temper/v1/operations", 0, s.listOperations),
		httpd.Post("/temper/v1/operations/recover", 0, s.recoverOperations),
		httpd.Get("/temper/v1/operations/:operation", 0, s.getOperation),
		httpd.Get("/temper/v1/operations/:operation/timeline", 0, s.getTimeline),
		httpd.Post("/temper/v1/operations/:operation/cancel", 0, s.cancelOperation),
		httpd.Post("/temper/v1/operations/:operation/decision", 0, s.decideOperation),
		httpd.Post("/temper/v1/operations/:operation/unpause", 0, s.unpauseOperation),
		httpd.Post("/temper/v1/operations/:operation/retry", 0, s.retryOperation),
		httpd.Get("/temper/v1/nodes/available", 0, s.listAvailable),
		httpd.Get("/temper/v1/nodes/deleted", 0, s.listDeleted),
		httpd.Get("/temper/v1/nodes/power", 0, s.listPowers),
		httpd.Get("/temper/v1/nodes/health", 0, s.listHealth),
		httpd.Get("/temper/v1/nodes/:node/health", 0, s.getNodeHealth),
		httpd.Get("/temper/v1/nodes/:node/console", 0, s.getNodeConsole),
		httpd.Get("/temper/v1/nodes/:node/logs", 0, s.getLogs),
		httpd.Get("/temper/v1/nodes/:node/history", 0, s.listWholeHistory),
		httpd.Post("/temper/v1/nodes/:node/operations", 0, s.createOperation),
		httpd.Get("/temper/v1/nodes/:node/why", 0, s.getWhy),
		httpd.Get("/temper/v1/nodes/:node/inventory", 0, s.getInventory),
		httpd.Post("/temper/v1/nodes/:node/recover", 0, s.recoverNode),
		httpd.Post("/temper/v1/nodes/:node/waive", 0, s.waiveNode),
	}
}

func (s *Server) discoveryRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/discoveries", 0, s.listDiscoveries),
		httpd.Get("/temper/v1/discoveries/:discovery", 0, s.getDiscovery),
		httpd.Delete("/temper/v1/discoveries/:discovery", 0, s.deleteDiscovery),
	}
}

func (s *Server) webhookRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/webhooks", 0, s.listWebhooks),
		httpd.Post("/temper/v1/webhooks", 0, s.createWebhook),
		httpd.Get("/temper/v1/webhooks/:webhook", 0, s.getWebhook),
		httpd.Patch("/temper/v1/webhooks/:webhook", 0, s.patchWebhook),
		httpd.Delete("/temper/v1/webhooks/:webhook", 0, s.deleteWebhook),
		httpd.Post("/temper/v1/webhooks/:webhook/test", 0, s.testWebhook),
		httpd.Get("/temper/v1/webhooks/:webhook/dead-letters", 0, s.listDeadLetters),
		httpd.Post("/temper/v1/webhooks/:webhook/redeliver", 0, s.redeliverWebhook),
	}
}

func (s *Server) accessRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/audit", 0, s.listAudit),
		httpd.Get("/temper/v1/tokens", 0, s.listTokens),
		httpd.Post("/temper/v1/tokens", 0, s.createToken),
		httpd.Delete("/temper/v1/tokens/:token", 0, s.revokeToken),
	}
}

func (s *Server) fleetRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/conductors", 0, s.listFleet),
		httpd.Get("/temper/v1/conductors/:conductor", 0, s.getConductor),
		httpd.Delete("/temper/v1/conductors/:conductor", 0, s.forgetConductor),
		httpd.Post("/temper/v1/conductors/:conductor/drain", 0, s.drainConductor),
		httpd.Post("/temper/v1/conductors/:conductor/undrain", 0, s.undrainConductor),
		httpd.Get("/temper/v1/coverage", 0, s.getCoverage),
		httpd.Get("/temper/v1/ring", 0, s.getRing),
		httpd.Get("/temper/v1/ring/what-if", 0, s.getWhatIf),
		httpd.Post("/temper/v1/reconcile", 0, s.postReconcile),
	}
}

func (s *Server) computeRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/compute-services", 0, s.listCompute),
		httpd.Get("/temper/v1/compute-services/what-if", 0, s.getComputeWhatIf),
		httpd.Post("/temper/v1/compute-services/move", 0, s.moveCompute),
		httpd.Put("/temper/v1/compute-services/:host", 0, s.putCompute),
		httpd.Delete("/temper/v1/compute-services/:host", 0, s.deleteCompute),
		httpd.Get("/temper/v1/compute-services/:host/nodes", 0, s.getShare),
		httpd.Get("/temper/v1/instances", 0, s.listInstances),
		httpd.Delete("/temper/v1/instances/:instance", 0, s.deleteInstance),
	}
}
