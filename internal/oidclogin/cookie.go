package oidclogin

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"go.temper.dev/temper/internal/jsonvalue"
)

// maxCookie bounds the value of a cookie. Browsers keep 4096 bytes with its name and its attributes.
const maxCookie = 3800

// errTooLong means that a value does not fit a cookie.
var errTooLong = errors.New("it does not fit a cookie")

// jar seals values into cookies that only this API can make and read. XChaCha20-Poly1305, because its nonces may be random however
// many cookies there are.
type jar struct {
	aead  cipher.AEAD
	bound string // to what all cookies are bound, besides their names
	base  func(*http.Request) string
}

func newJar(key [32]byte, bound string, base func(*http.Request) string) (*jar, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	return &jar{aead, bound, base}, err
}

// secure reports whether the browser speaks https to this API.
func (j *jar) secure(r *http.Request) bool { return strings.HasPrefix(j.base(r), "https://") }

// name is a cookie's name for the browser. By the prefix it takes the cookie from this very host only, and not from a neighbour of
// its domain.
func (j *jar) name(r *http.Request, name string) string {
	if j.secure(r) {
		return "__Host-" + name
	}
	return name
}

func (j *jar) additional(name string) []byte { return []byte(name + "\x00" + j.bound) }

// seal returns the cookie with a value.
func (j *jar) seal(r *http.Request, name string, value any, lifetime time.Duration) (*http.Cookie, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, j.aead.NonceSize(), j.aead.NonceSize()+len(plain)+j.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	text := base64.RawURLEncoding.EncodeToString(j.aead.Seal(nonce, nonce, plain, j.additional(name)))
	if len(text) > maxCookie {
		return nil, errTooLong
	}
	return j.cookie(r, name, text, lifetime), nil
}

// cookie is one that scripts can't read, and that the browser sends for pages of other sites only when it goes to ours.
func (j *jar) cookie(r *http.Request, name, value string, lifetime time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: j.name(r, name), Value: value, Path: "/", MaxAge: int(lifetime.Seconds()),
		HttpOnly: true, Secure: j.secure(r), SameSite: http.SameSiteLaxMode,
	}
}

// gone is the cookie that takes another one out of the browser.
func (j *jar) gone(r *http.Request, name string) *http.Cookie {
	c := j.cookie(r, name, "", 0)
	c.MaxAge = -1
	return c
}

// open reads a cookie of the request into value. It returns http.ErrNoCookie if there is none.
func (j *jar) open(r *http.Request, name string, value any) error {
	c, err := r.Cookie(j.name(r, name))
	if err != nil {
		return err
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(c.Value)
	if err != nil || len(c.Value) > maxCookie || len(sealed) < j.aead.NonceSize() {
		return errors.New("the cookie is not one of this API")
	}
	plain, err := j.aead.Open(nil, sealed[:j.aead.NonceSize()], sealed[j.aead.NonceSize():], j.additional(name))
	if err != nil {
		return err
	}
	return jsonvalue.Unmarshal(plain, value)
}
