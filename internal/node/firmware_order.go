package node

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// The components of firmware of which each server has one, by the names that Ironic has for them.
const (
	ComponentBIOS = "bios"
	ComponentBMC  = "bmc"
	ComponentNIC  = "nic:" // and the id of the network adapter
)

// FirmwareOrder is an update that the argument of a step names.
type FirmwareOrder struct {
	Component, URL string
	Checksum       string        // of the image, in hex digits; "" = not given
	Wait           time.Duration // after the end of the update
}

// firmwareKeys are what an update is named by.
var firmwareKeys = []string{"component", "url", "checksum", "wait"}

// maxFirmwareWait is how long a request may have a step wait after an update.
const maxFirmwareWait = time.Hour

// FirmwareOrders returns the updates that the argument of a step names.
func FirmwareOrders(arg any) ([]FirmwareOrder, error) {
	list, ok := arg.([]any)
	if !ok || len(list) == 0 {
		return nil, fault.Coded(fault.StepArgumentWrong, "settings must be a list of objects with component and url")
	}
	var out []FirmwareOrder
	for i, one := range list {
		setting, _ := one.(map[string]any)
		for key := range setting {
			if !slices.Contains(firmwareKeys, key) {
				return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: there is no %s, only %s", i, text.Cut(key), strings.Join(firmwareKeys, ", "))
			}
		}
		component, _ := setting["component"].(string)
		image, _ := setting["url"].(string)
		component = strings.TrimSpace(component)
		if lower := strings.ToLower(component); lower == ComponentBIOS || lower == ComponentBMC {
			component = lower
		}
		u, err := url.Parse(image)
		switch {
		case component != ComponentBIOS && component != ComponentBMC && !strings.HasPrefix(component, ComponentNIC):
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: component must be bios, bmc or nic:ID", i)
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: url must be an http or https URL", i)
		case slices.ContainsFunc(out, func(o FirmwareOrder) bool { return o.Component == component }):
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: component %s is there twice", i, component)
		}
		order := FirmwareOrder{Component: component, URL: image}
		if order.Checksum, err = checksumArg(setting["checksum"]); err != nil {
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: %w", i, err)
		}
		if given, ok := setting["wait"]; ok && given != nil {
			seconds, ok := jsonvalue.IntOrText(given)
			if !ok || seconds < 0 || time.Duration(seconds) > maxFirmwareWait/time.Second {
				return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: wait must be a number of seconds, at most %d", i, maxFirmwareWait/time.Second)
			}
			order.Wait = time.Duration(seconds) * time.Second
		}
		out = append(out, order)
	}
	return out, nil
}

// checksumArg returns a checksum, which is one of SHA-256 or SHA-512 in hex digits; "" = none is given.
func checksumArg(given any) (string, error) {
	if given == nil {
		return "", nil
	}
	text, _ := given.(string)
	text = strings.ToLower(strings.TrimSpace(text))
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != sha256.Size && len(raw) != sha512.Size {
		return "", fault.Coded(fault.StepArgumentWrong, "checksum must be one of SHA-256 or SHA-512, in hex digits")
	}
	return text, nil
}
