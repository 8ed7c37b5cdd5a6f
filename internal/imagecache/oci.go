package imagecache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/jsonvalue"
)

// artifacts fetches images that are artifacts in registries (OCI distribution specification 1.1): the only layer of a manifest, or that of
// the manifest for amd64 in an index, as Ironic reads them.
type artifacts struct{ *web }

func newArtifacts(w *web) artifacts { return artifacts{w} }

// architecture is that of the servers.
const architecture = "amd64"

// diskType is the annotation of a manifest in an index that says in which format its disk is; Podman's machine images have it, and
// Ironic reads it.
const diskType = "disktype"

// fileName is the annotation of a layer that is a file (OCI image specification, annotations).
const fileName = "org.opencontainers.image.title"

// diskFormats are the values of diskType that servers can boot, the best first.
var diskFormats = []string{agent.FormatRaw, agent.FormatQCOW2}

// describe finds the image's layer.
func (r artifacts) describe(ctx context.Context, i image.Info) (image.Info, error) {
	layer, format, err := r.layer(ctx, i)
	if err != nil {
		return image.Info{}, err
	}
	i.Blob = layer.Digest.String()
	return i.Described(layer.Digest.Algorithm, layer.Digest.Hex, layer.Size, format, image.Policy{})
}

// layer returns the layer with the disk, and its format if the index says it.
func (r artifacts) layer(ctx context.Context, i image.Info) (layer v1.Descriptor, format string, err error) {
	ref, auth, err := referenceOf(i)
	if err != nil {
		return v1.Descriptor{}, "", err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuth(auth), remote.WithTransport(r.client.Transport), remote.WithRetryBackoff(remote.Backoff{Steps: 1})} // who waits asks again
	found, err := remote.Get(ref, options...)
	if err != nil {
		return v1.Descriptor{}, "", registryError(ctx, err)
	}
	if found.MediaType.IsIndex() {
		var of v1.Descriptor
		if of, format, err = chosen(found.Manifest); err != nil {
			return v1.Descriptor{}, "", err
		}
		if found, err = remote.Get(ref.Context().Digest(of.Digest.String()), options...); err != nil {
			return v1.Descriptor{}, "", registryError(ctx, err)
		}
	}
	var m v1.Manifest
	if err := jsonvalue.Unmarshal(found.Manifest, &m); err != nil {
		return v1.Descriptor{}, "", fault.Coded(fault.ImageInvalid, "the registry sends no manifest")
	}
	if len(m.Layers) != 1 {
		return v1.Descriptor{}, "", fault.Coded(fault.ImageInvalid, "the artifact has %d layers, and only one with a disk image in it can be deployed", len(m.Layers))
	}
	// A file that oras pushes without a media type is called a tar, too, but has a name.
	if layer = m.Layers[0]; strings.Contains(string(layer.MediaType), ".tar") && layer.Annotations[fileName] == "" {
		return v1.Descriptor{}, "", fault.Coded(fault.ImageInvalid, "the artifact is a container's image (%s), and not that of a disk", layer.MediaType)
	}
	return layer, format, nil
}

// chosen returns the manifest of an index that servers can boot.
func chosen(index []byte) (v1.Descriptor, string, error) {
	var all v1.IndexManifest
	if err := jsonvalue.Unmarshal(index, &all); err != nil {
		return v1.Descriptor{}, "", fault.Coded(fault.ImageInvalid, "the registry sends no index")
	}
	for _, format := range append(diskFormats, "") {
		for _, m := range all.Manifests {
			if m.Annotations[diskType] == format && (m.Platform == nil || m.Platform.Architecture == architecture || m.Platform.Architecture == "x86_64") {
				return m, format, nil
			}
		}
	}
	return v1.Descriptor{}, "", fault.Coded(fault.ImageInvalid, "the index has no manifest for %s with a raw or a qcow2 image", architecture)
}

// open reads a blob from an offset on. The client follows a registry that redirects to its storage, and net/http leaves the credentials
// out then.
func (r artifacts) open(ctx context.Context, i image.Info, at int64) (*content, error) {
	ref, auth, err := referenceOf(i)
	if err != nil {
		return nil, err
	}
	t, err := transport.NewWithContext(ctx, ref.Context().Registry, auth, r.client.Transport, []string{ref.Scope(transport.PullScope)})
	if err != nil {
		return nil, registryError(ctx, err)
	}
	url := fmt.Sprintf("%s://%s/v2/%s/blobs/%s", ref.Context().Scheme(), ref.Context().RegistryStr(), ref.Context().RepositoryStr(), i.Blob)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fault.Coded(fault.ImageInvalid, "image_source is no URL")
	}
	return get(ctx, &http.Client{Transport: t, CheckRedirect: r.client.CheckRedirect}, req, at)
}

// referenceOf parses image_source, and what logs in at its registry.
func referenceOf(i image.Info) (name.Reference, authn.Authenticator, error) {
	_, rest, _ := strings.Cut(i.Source, "://")
	ref, err := name.ParseReference(rest, name.StrictValidation)
	if err != nil {
		return nil, nil, fault.Coded(fault.ImageInvalid, "want an artifact as oci://HOST/NAME:TAG or oci://HOST/NAME@sha256:DIGEST; image %s", i.Shown())
	}
	if i.PullSecret == "" {
		return ref, authn.Anonymous, nil
	}
	return ref, authn.FromConfig(authn.AuthConfig{Auth: i.PullSecret}), nil
}

// registryError is an error of a registry, without what it says in words of its own, which may quote credentials.
func registryError(ctx context.Context, err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return statusError(answer.StatusCode)
	}
	return image.RequestError(ctx, err)
}
