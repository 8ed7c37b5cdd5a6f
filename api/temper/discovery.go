package temper

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// showDiscovery is a discovery as lists show it: without its inventory.
func showDiscovery(d *node.Discovery) any {
	return gin.H{
		"uuid": d.UUID, "macs": format.List(d.MACs), "boot_mac": format.OrNull(d.BootMAC), "manufacturer": format.OrNull(d.Manufacturer), "product": format.OrNull(d.Product),
		"serial": format.OrNull(d.Serial), "bmc_address": format.OrNull(d.BMCAddress), "cpu_arch": format.OrNull(d.Arch), "boot_mode": format.OrNull(d.BootMode),
		"cpus": d.CPUs, "memory_mb": d.MemoryMB, "local_gb": d.DiskGB, "source": d.Source, "found_at": format.Timestamp(&d.FoundAt), "last_at": format.Timestamp(&d.LastAt),
		"times": d.Times,
	}
}

// listDiscoveries answers GET /temper/v1/discoveries: servers that are not enrolled, in the order in which they were found.
func (s *Server) listDiscoveries(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "limit", "marker")
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	if q.Err != nil {
		return 0, nil, q.Err
	}
	found, err := s.Store.Discoveries(c.Request.Context(), p.Marker, p.Limit)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.Discovery]{
		Name: "discoveries", Path: "/temper/v1/discoveries", Marker: func(d *node.Discovery) string { return d.UUID }, Show: showDiscovery,
	}.Body(q, p, found), nil
}

// discoveryOf is the uuid in the path.
func discoveryOf(c *gin.Context) (string, error) {
	id := c.Param("discovery")
	if !node.IsUUID(id) {
		return "", fault.New(fault.NotFound, "There is no discovery %s.", format.Clip(id))
	}
	return id, nil
}

// getDiscovery answers GET /temper/v1/discoveries/UUID, with the inventory.
func (s *Server) getDiscovery(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c)
	if q.Err != nil {
		return 0, nil, q.Err
	}
	id, err := discoveryOf(c)
	if err != nil {
		return 0, nil, err
	}
	d, err := s.Store.Discovery(c.Request.Context(), id)
	if err != nil {
		return 0, nil, err
	}
	shown, _ := showDiscovery(&d).(gin.H)
	shown["inventory"] = d.Inventory
	return http.StatusOK, shown, nil
}

// deleteDiscovery answers DELETE /temper/v1/discoveries/UUID. When the server boots again it is found anew.
func (s *Server) deleteDiscovery(c *gin.Context) (int, any, error) {
	id, err := discoveryOf(c)
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.DeleteDiscovery(c.Request.Context(), id); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("discovery deleted", zap.String("discovery", id), zap.String("user", httpd.By(c)))
	return http.StatusNoContent, nil, nil
}
