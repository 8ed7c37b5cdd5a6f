package mask

import "net/url"

// Path returns the scheme, host and port of a URL, with everything else masked: the path of a webhook is often what admits its caller.
// A text that is no URL with a host is masked whole.
func Path(text string) string {
	if text == "" || text == Masked {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return Masked
	}
	shown := u.Scheme + "://" + u.Host
	if text == shown || text == shown+"/" {
		return text
	}
	return shown + "/" + Masked
}
