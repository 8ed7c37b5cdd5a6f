package imagecache

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

// Clouds says where credentials for Glance are: in a clouds.yaml, as of all clients of OpenStack.
type Clouds struct {
	File string // "" = there are none
	Name string // of the cloud in the file
}

// glance fetches images of OpenStack by their ids.
type glance struct {
	clouds Clouds
	web    *web
	policy image.Policy

	mu     sync.Mutex
	client *gophercloud.ServiceClient // nil = not logged in yet
}

func newGlance(c Clouds, w *web, p image.Policy) *glance {
	return &glance{clouds: c, web: w, policy: p}
}

func (g *glance) close() error { return nil }

// login returns a client of Glance. It logs in again by itself when its token has expired.
func (g *glance) login(ctx context.Context) (*gophercloud.ServiceClient, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client != nil {
		return g.client, nil
	}
	if g.clouds.File == "" {
		return nil, fault.Coded(fault.ImageInvalid, "images of Glance can't be fetched: the setting clouds_file, which has the credentials, is not set")
	}
	auth, endpoint, tls, err := clouds.Parse(clouds.WithLocations(g.clouds.File), clouds.WithCloudName(g.clouds.Name))
	if err != nil {
		return nil, fault.New(fault.Internal, "read cloud %q in the file of clouds_file, which has no such cloud or is none", g.clouds.Name)
	}
	auth.AllowReauth = true
	web := config.WithHTTPClient(*g.web.client)
	if tls != nil { // the file names authorities of the cloud's certificates
		web = config.WithTLSConfig(tls)
	}
	provider, err := config.NewProviderClient(ctx, auth, web)
	if err != nil {
		return nil, glanceError(ctx, err)
	}
	if g.client, err = openstack.NewImageV2(provider, endpoint); err != nil {
		return nil, glanceError(ctx, err)
	}
	return g.client, nil
}

// describe asks Glance for the digest, the size and the format of an image.
func (g *glance) describe(ctx context.Context, i image.Info) (image.Info, error) {
	client, err := g.login(ctx)
	if err != nil {
		return image.Info{}, err
	}
	found, err := images.Get(ctx, client, i.GlanceID()).Extract()
	if err != nil {
		return image.Info{}, glanceError(ctx, err)
	}
	if found.Status != images.ImageStatusActive {
		return image.Info{}, fault.Coded(fault.ImageInvalid, "the image is %s in Glance, and not active", found.Status)
	}
	algo, _ := found.Properties["os_hash_algo"].(string)
	digest, _ := found.Properties["os_hash_value"].(string)
	if digest == "" {
		algo, digest = "md5", found.Checksum
	}
	return i.Described(algo, digest, found.SizeBytes, found.DiskFormat, g.policy)
}

// open reads an image from an offset on.
func (g *glance) open(ctx context.Context, i image.Info, at int64) (*content, error) {
	client, err := g.login(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, client.ServiceURL("images", i.GlanceID(), "file"), nil)
	if err != nil {
		return nil, fault.Coded(fault.ImageInvalid, "image_source is no id of an image")
	}
	for name, value := range client.AuthenticatedHeaders() {
		r.Header.Set(name, value)
	}
	web := client.HTTPClient
	web.CheckRedirect = g.withoutToken
	found, err := get(ctx, &web, r, at)
	var answer *statusOf
	if errors.As(err, &answer) && answer.status == http.StatusUnauthorized { // the token has expired: the next try logs in
		g.mu.Lock()
		g.client = nil
		g.mu.Unlock()
		err = fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "%w", err)
	}
	return found, err
}

// withoutToken keeps the token from other hosts than Glance's, to which it may redirect.
func (g *glance) withoutToken(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host {
		r.Header.Del("X-Auth-Token")
	}
	return g.web.client.CheckRedirect(r, via)
}

// glanceError is an error of Keystone or Glance, without what they say in words of their own.
func glanceError(ctx context.Context, err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		return statusError(answer.Actual)
	}
	return image.RequestError(ctx, err)
}
