package image

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
)

// PathPrefix is what the paths of images begin with that Temper serves to agents.
const PathPrefix = "/images/"

// digestHeader has the SHA-256 of the whole image (RFC 9530).
const digestHeader = "Repr-Digest"

// ServedKey is the secret part of the path of an image for the agent with a token: whoever has it can read the image that the agent is to
// write, and does not have the token.
func ServedKey(token string) string { return medium.Key("image of the agent with the token " + token) }

// ServedURL returns where an agent fetches the image i from Temper, whose URL for agents is base.
func (i Info) ServedURL(base, token string) string {
	return strings.TrimRight(base, "/") + PathPrefix + ServedKey(token) + "/" + i.NodeUUID + "/" + url.PathEscape(path.Base(i.name()))
}

// Digest is the value of the header Repr-Digest for a SHA-256 in hexadecimal digits.
func Digest(sha256 string) (name, value string) {
	b, err := hex.DecodeString(sha256)
	if err != nil { // impossible: we computed it
		return digestHeader, ""
	}
	return digestHeader, "sha-256=:" + base64.StdEncoding.EncodeToString(b) + ":"
}

// AsServed returns i as the agent fetches it from Temper at a URL: with that source, and the digest that Temper has computed after it had
// checked the one of instance_info. resp is the answer to a request for the first agent.FormatBytes.
func (i Info) AsServed(at string, resp *http.Response) (Info, error) {
	first, err := io.ReadAll(io.LimitReader(resp.Body, agent.FormatBytes))
	if err != nil {
		return i, RequestError(resp.Request.Context(), err)
	}
	_, digest, _ := strings.Cut(resp.Header.Get(digestHeader), "sha-256=:")
	sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(digest, ":"))
	if err != nil || len(sum) == 0 {
		return i, fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "what answers at agent_url does not tell the image's digest: it is no temper boot of this version")
	}
	i.Source, i.Algo, i.Checksum = at, "sha256", hex.EncodeToString(sum)
	i.Authorization, i.PullSecret = "", ""
	if i.Format != agent.FormatRaw { // Temper may have taken the raw disk out of a qcow2 image
		i.Format = ""
	}
	return i.detected(first, sizeOf(resp))
}
