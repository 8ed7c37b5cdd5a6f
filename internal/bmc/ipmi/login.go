package ipmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// logIn opens a session with the first cipher suite that the BMC accepts. If the BMC refuses
// the credentials, they are not tried again for DeniedFor.
func (e *endpoint) logIn(ctx context.Context) error {
	if err := e.shared.Denials.Recent(e.info.credentials(), time.Now()); err != nil {
		return err
	}
	suites := e.info.suites
	if i := slices.Index(suites, e.suite); i > 0 { // the one that the BMC took last comes first
		suites = append([]types.CipherSuiteID{e.suite}, slices.Delete(slices.Clone(suites), i, i+1)...)
	}
	var err error
	for _, suite := range suites {
		if err = e.logInWith(ctx, suite); err == nil {
			e.suite = suite
			return nil
		}
		var no *loginRefusal
		if !errors.As(err, &no) || !no.ofSuite() {
			break
		}
	}
	if fault.Is(err, fault.Denied) {
		e.shared.Denials.Record(e.info.credentials(), time.Now().Add(e.conf.DeniedFor), err)
	}
	return err
}

// maxLogins is how often a login is begun because a repeated packet may have confused the BMC.
const maxLogins = 3

// logInWith opens a session with one cipher suite.
func (e *endpoint) logInWith(ctx context.Context, suite types.CipherSuiteID) error {
	for try := 1; ; try++ {
		l, err := e.handshake(ctx, suite, try > 1)
		if err == nil {
			e.link = l
			if err = e.raisePrivilege(ctx); err == nil {
				return nil
			}
			e.forget()
			return err
		}
		var no *loginRefusal
		if try == maxLogins || !errors.As(err, &no) || !no.confused() {
			return err
		}
	}
}

// raisePrivilege asks for the privilege level: sessions begin at USER (IPMI 2.0, 22.18).
func (e *endpoint) raisePrivilege(ctx context.Context) error {
	if e.info.privilege <= types.PrivilegeLevelUser {
		return nil
	}
	c := call{request: &app.SetSessionPrivilegeLevelRequest{PrivilegeLevel: e.info.privilege}, own: true}
	m, err := e.link.ask(ctx, c, 0, e.pause())
	switch {
	case err != nil:
		return err
	case m.code != types.CodeOK:
		err := (&refusal{command: c.request.Command(), code: m.code}).fault()
		return fault.New(fault.KindOf(err), "the account has no privilege level %s (set %s to a lower one): %w", e.info.privilege, propPrivLevel, err)
	}
	return nil
}

// handshake opens a session (IPMI 2.0, 13.15): Open Session, then RAKP messages 1 to 4. A
// packet without an answer is sent again as it is. With patience it waits for a second RAKP
// message 2: BMCs that get message 1 twice expect a proof for their last answer.
func (e *endpoint) handshake(ctx context.Context, suite types.CipherSuiteID, patience bool) (_ *link, err error) {
	conn, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	h := &rakp{info: e.info, suite: suite, link: &link{conn: conn, bridge: e.info.bridge, consoleID: random32()}, pause: e.pause()}
	if patience {
		h.settle = e.pause() / 4
	}
	h.auth, h.link.integrity, h.crypt, _ = types.GetCipherSuiteAlgorithms(suite)
	if err := h.openSession(ctx); err != nil {
		return nil, err
	}
	if err := h.exchangeKeys(ctx); err != nil {
		return nil, err
	}
	return h.link, nil
}

// rakp is the state of a login.
type rakp struct {
	info  info
	suite types.CipherSuiteID
	link  *link
	auth  types.AuthAlg
	crypt types.CryptAlg
	pause time.Duration
	// settle is how long it waits for another RAKP message 2.
	settle time.Duration
	proven bool  // the BMC has proven that it knows the password
	tag    uint8 // of the last packet
}

// unpacker is an answer of a login.
type unpacker interface {
	Unpack([]byte) error
}

// send sends one packet of the login and reads its answer. mine reports whether an answer is for
// this login. The error is that of the answer's status, which some BMCs send with nothing behind it
// (OpenIPMI's simulator).
func (h *rakp) send(ctx context.Context, what string, typ types.PayloadType, payload []byte, answer unpacker, mine func() bool) error {
	status := types.RmcpStatusCodeNoErrors
	packet := protocol.BuildRMCPPlusPacket(uint8(typ), 0, 0, 0, payload)
	err := converse(ctx, h.link.conn, conversation{
		what: what, pause: h.pause,
		next: func() ([]byte, error) { return packet, nil },
		take: func(packet []byte) bool {
			payload, ok := setupPayload(packet, typ+1) // each answer's type is that of the request + 1
			if !ok || len(payload) < 2 || payload[0] != h.tag {
				return false
			}
			status = types.RmcpStatusCode(payload[1])
			return status != types.RmcpStatusCodeNoErrors || answer.Unpack(payload) == nil && mine()
		},
	})
	if err == nil && status != types.RmcpStatusCodeNoErrors {
		err = (&loginRefusal{status: status, proven: h.proven, suite: h.suite}).fault()
	}
	return err
}

// openSession agrees on the algorithms and the session's numbers.
func (h *rakp) openSession(ctx context.Context) error {
	h.tag++
	request := &rmcpplus.OpenSessionRequest{
		MessageTag: h.tag, RequestedMaximumPrivilegeLevel: h.info.privilege, RemoteConsoleSessionID: h.link.consoleID,
	}
	request.AuthenticationPayload, request.IntegrityPayload, request.ConfidentialityPayload = rmcpplus.NewAlgorithmPayloads(h.auth, h.link.integrity, h.crypt)
	var answer rmcpplus.OpenSessionResponse
	err := h.send(ctx, "Open Session", types.PayloadTypeRmcpOpenSessionRequest, request.Pack(), &answer, func() bool {
		return answer.RemoteConsoleSessionID == h.link.consoleID
	})
	if err != nil {
		return err
	}
	// A BMC, or whoever answers for it, must not choose weaker algorithms.
	if answer.AuthAlg != uint8(h.auth) || answer.IntegrityAlg != uint8(h.link.integrity) || answer.CryptAlg != uint8(h.crypt) {
		return fault.New(fault.Refused, "the BMC opens a session with other algorithms than those of cipher suite %d", h.suite)
	}
	h.link.bmcID = answer.ManagedSystemSessionID
	return nil
}

// exchangeKeys proves to each side that the other one knows the password, and derives the keys.
func (h *rakp) exchangeKeys(ctx context.Context) error {
	h.tag++
	first := &rmcpplus.RAKPMessage1{
		MessageTag: h.tag, ManagedSystemSessionID: h.link.bmcID, RemoteConsoleRandomNumber: [16]byte(crypto.RandomBytes(16)),
		NameOnlyLookup: true, RequestedMaximumPrivilegeLevel: h.info.privilege,
		UsernameLength: uint8(len(h.info.username)), Username: []byte(h.info.username), //nolint:gosec // at most 16
	}
	second := rmcpplus.RAKPMessage2{AuthAlg: h.auth}
	err := h.send(ctx, "RAKP Message 1", types.PayloadTypeRAKPMessage1, first.Pack(), &second, func() bool {
		return second.RemoteConsoleSessionID == h.link.consoleID
	})
	if err != nil {
		return err
	}
	if !h.proves(first, second) {
		// The BMC has not seen our proof, so that it counts no failed login.
		return fault.Coded(fault.BMCWrongPassword, "the BMC has another password for this account")
	}
	h.proven = true
	if h.settle > 0 {
		c := conversation{take: func(packet []byte) bool {
			later := rmcpplus.RAKPMessage2{AuthAlg: h.auth}
			if payload, ok := setupPayload(packet, types.PayloadTypeRAKPMessage2); ok && later.Unpack(payload) == nil && h.proves(first, later) {
				second = later
			}
			return false
		}}
		_ = c.receive(ctx, h.link.conn, time.Now().Add(h.settle)) // it ends with the time; what ctx says is seen by prove
	}
	return h.prove(ctx, first, second)
}

// proves reports whether RAKP message 2 was made with the account's password.
func (h *rakp) proves(first *rmcpplus.RAKPMessage1, second rmcpplus.RAKPMessage2) bool {
	code, err := crypto.RAKP2AuthCode(h.auth, h.link.consoleID, h.link.bmcID, first.RemoteConsoleRandomNumber[:], second.ManagedSystemRandomNumber[:],
		second.ManagedSystemGUID[:], first.Role(), h.info.username, h.info.kuid())
	return err == nil && crypto.Equal(code, second.KeyExchangeAuthenticationCode)
}

// prove sends RAKP message 3 and checks message 4.
func (h *rakp) prove(ctx context.Context, first *rmcpplus.RAKPMessage1, second rmcpplus.RAKPMessage2) error {
	random, bmcRandom, guid := first.RemoteConsoleRandomNumber[:], second.ManagedSystemRandomNumber[:], second.ManagedSystemGUID[:]
	key := h.info.kg
	if key == nil {
		key = h.info.kuid()
	}
	sik, k1, k2, err := crypto.DeriveSessionKeys(h.auth, random, bmcRandom, first.Role(), h.info.username, key)
	if err != nil {
		return fault.New(fault.Internal, "derive session keys: %w", err)
	}
	proof, err := crypto.RAKP3AuthCode(h.auth, bmcRandom, h.link.consoleID, first.Role(), h.info.username, h.info.kuid())
	if err != nil {
		return fault.New(fault.Internal, "RAKP Message 3: %w", err)
	}
	want, err := crypto.RAKP4ICV(h.auth, random, h.link.bmcID, guid, sik)
	if err != nil {
		return fault.New(fault.Internal, "RAKP Message 4: %w", err)
	}
	h.tag++
	third := &rmcpplus.RAKPMessage3{MessageTag: h.tag, ManagedSystemSessionID: h.link.bmcID, KeyExchangeAuthenticationCode: proof}
	fourth := rmcpplus.RAKPMessage4{AuthAlg: h.auth}
	err = h.send(ctx, "RAKP Message 3", types.PayloadTypeRAKPMessage3, third.Pack(), &fourth, func() bool {
		return fourth.MgmtConsoleSessionID == h.link.consoleID
	})
	if err != nil {
		return err
	}
	if !crypto.Equal(want, fourth.IntegrityCheckValue) {
		return fault.Coded(fault.BMCWrongPassword, "the BMC has another key of the channel (K_G) than %s says", propKgKey)
	}
	h.link.k1, h.link.k2 = k1, k2
	return nil
}

// loginRefusal is an answer of a login with a status that is not 0.
type loginRefusal struct {
	status types.RmcpStatusCode
	proven bool                // the BMC has proven that it knows the password
	suite  types.CipherSuiteID // the one that was asked for
}

func (r *loginRefusal) Error() string {
	return fmt.Sprintf("the BMC refuses the login with status %#02x (%s)", uint8(r.status), r.status)
}

// ofSuite reports whether the BMC does not have the cipher suite (IPMI 2.0, table 13-15).
func (r *loginRefusal) ofSuite() bool {
	switch r.status {
	case types.RmcpStatusCodeInvalidAuthAlg, types.RmcpStatusCodeInvalidIntegrityAlg, types.RmcpStatusCodeInvalidConfidentAlg,
		types.RmcpStatusCodeNoMatchingAuthPayload, types.RmcpStatusCodeNoMatchingIntegrityPayload, types.RmcpStatusCodeNoCipherSuiteMatch:
		return true
	}
	return false
}

// confused reports whether the refusal may come from a packet that the BMC got twice: then it has
// another random number than the one that was answered, or has ended the login already. A BMC that
// knows the password does not refuse it for another reason.
func (r *loginRefusal) confused() bool {
	switch r.status {
	case types.RmcpStatusCodeInvalidSessionID, types.RmcpStatusCodeInactiveSessionID:
		return true
	case types.RmcpStatusCodeInvalidIntegrityCheckValue, types.RmcpStatusCodeUnauthorizedName:
		return r.proven
	}
	return false
}

func (r *loginRefusal) fault() error {
	switch {
	case r.ofSuite():
		return fault.New(fault.Refused, "%w; it has no cipher suite %d (%s)", r, r.suite, propCipherSuite)
	case r.confused():
		return fault.New(fault.Unreachable, "%w", r)
	}
	switch r.status {
	case types.RmcpStatusCodeNoResToCreateSess, types.RmcpStatusCodeNoResToCreateSessAtRole:
		return bmc.Busy(sessionLimitPause, "%w; its sessions are all in use", r)
	case types.RmcpStatusCodeInvalidNameLength, types.RmcpStatusCodeUnauthorizedName, types.RmcpStatusCodeUnauthorizedGUID,
		types.RmcpStatusCodeInvalidIntegrityCheckValue:
		return fault.Coded(fault.BMCWrongPassword, "%w", r)
	case types.RmcpStatusCodeInvalidRole, types.RmcpStatusCodeUnauthorizedRoleOfPriLevel:
		return fault.New(fault.Refused, "%w; set %s to a level that the account has", r, propPrivLevel)
	}
	return fault.New(fault.Refused, "%w", r)
}

// sessionLimitPause is after which time a BMC whose sessions are all in use is asked again.
const sessionLimitPause = 5 * time.Second
