package redfish

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxCA is the largest CA file in bytes. Mozilla's whole list is a quarter of it.
const maxCA = 1 << 20

type verifyMode string

const (
	verifySystem verifyMode = "system" // the CAs of the operating system
	verifyCA     verifyMode = "ca"     // only the CAs in pem
	verifyOff    verifyMode = "off"    // any certificate is accepted
)

// verify is how a BMC's certificate is verified.
type verify struct {
	mode verifyMode
	pem  []byte
}

// parseVerify reads redfish_verify_ca: a boolean or a word for one, PEM text, or
// the name of a PEM file in dir, which is read each time so that a new CA is noticed.
func parseVerify(value any, dir string) (verify, error) {
	text, isText := value.(string)
	switch {
	case value == nil || value == true || isText && text == "":
		return verify{mode: verifySystem}, nil
	case value == false:
		return verify{mode: verifyOff}, nil
	case !isText:
		return verify{}, fmt.Errorf("%s is neither a boolean nor a string", propVerifyCA)
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "yes", "y", "on", "1":
		return verify{mode: verifySystem}, nil
	case "false", "f", "no", "n", "off", "0":
		return verify{mode: verifyOff}, nil
	}
	pem := []byte(text)
	if !strings.Contains(text, "-----BEGIN") {
		var err error
		if pem, err = readCA(dir, text); err != nil {
			return verify{}, err
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return verify{}, fmt.Errorf("%s holds no certificate in PEM form", propVerifyCA)
	}
	return verify{mode: verifyCA, pem: pem}, nil
}

// errNoCA is the error for every file that can't be read, whatever the reason, so that
// users can't find out which files this machine has.
var errNoCA = fmt.Errorf("%s names no file in the folder of CA files (setting bmc_ca_dir of the API and the conductors)", propVerifyCA)

// readCA reads a file in dir. name is relative to dir, or an absolute path in it. A
// path that leaves dir, by ".." or a symbolic link, is errNoCA.
func readCA(dir, name string) ([]byte, error) {
	if dir == "" {
		return nil, errNoCA
	}
	if filepath.IsAbs(name) {
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, errNoCA
		}
		name = below
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errNoCA
	}
	defer func() { _ = root.Close() }()
	if st, err := root.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, errNoCA
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, errNoCA
	}
	defer f.Close()
	pem, err := io.ReadAll(io.LimitReader(f, maxCA+1))
	if err != nil {
		return nil, errNoCA
	}
	if len(pem) > maxCA {
		return nil, fmt.Errorf("%s: %.80q is larger than %d bytes", propVerifyCA, name, maxCA)
	}
	return pem, nil
}

// tlsConfig returns a new configuration for each call, so that nothing shares it.
func (v verify) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch v.mode {
	case verifyOff:
		c.InsecureSkipVerify = true // #nosec G402: redfish_verify_ca is false, and Insecure tells
	case verifyCA:
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(v.pem)
	}
	return c
}

// Insecure explains why somebody else could read or answer a conversation with this
// driver_info, "" if nobody could. The caller logs it, so that it is visible that
// verification was switched off.
func (d *Driver) Insecure(driverInfo map[string]any) string {
	i, err := parseInfo(driverInfo, d.conf.Settings)
	switch {
	case err != nil:
		return ""
	case i.base.Scheme == "http":
		return propAddress + " is http: nothing is encrypted"
	case i.verify.mode == verifyOff:
		return propVerifyCA + " is false: any certificate is accepted"
	}
	return ""
}

// certificateProblem explains what is wrong with a BMC's certificate, or with its TLS, and
// what to do about it, "" if err is about something else.
func certificateProblem(err error) string {
	var (
		failed  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	var leaf *x509.Certificate
	if errors.As(err, &failed) && len(failed.UnverifiedCertificates) > 0 {
		leaf = failed.UnverifiedCertificates[0]
	}
	var what, mend string
	switch {
	case errors.As(err, &unknown):
		what = "is not signed by a trusted CA"
		mend = "set " + propVerifyCA + " to the CA that signed it, or to false to accept any certificate"
	case errors.As(err, &host):
		what = "is for another host: " + printable(host.Error(), maxMessage)
		mend = "use a name from the certificate in " + propAddress + ", or set " + propVerifyCA + " to false to accept any certificate"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		what = "is not valid at this time: " + printable(invalid.Error(), maxMessage)
		mend = "renew it, check both clocks, or set " + propVerifyCA + " to false to accept any certificate"
	case errors.As(err, &invalid) || failed != nil:
		what = "does not verify: " + printable(err.Error(), maxMessage)
		mend = "replace it, or set " + propVerifyCA + " to false to accept any certificate"
	default:
		return legacyTLS(err)
	}
	return fmt.Sprintf("its certificate%s %s; %s", describe(leaf), what, mend)
}

// legacyTLS explains a handshake that failed because the BMC has only versions or ciphers of
// TLS that Go no longer offers, "" if err is about something else. Such are iLO 4 and
// Supermicro X10. Package crypto/tls has no types for these errors.
func legacyTLS(err error) string {
	text := err.Error()
	for _, sign := range []string{"tls: handshake failure", "protocol version not supported", "unsupported protocol version", "insufficient security level"} {
		if strings.Contains(text, sign) {
			return fmt.Sprintf("it has no version and cipher of TLS that is safe (%s); update its firmware, "+
				"or set %s to its http:// address if nobody else can reach that network", sign, propAddress)
		}
	}
	return ""
}

func describe(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" (subject %q, issuer %q, until %s, SHA-256 %x)",
		printable(c.Subject.String(), 80), printable(c.Issuer.String(), 80), c.NotAfter.UTC().Format(time.DateOnly), sha256.Sum256(c.Raw))
}
