package networkdata

import (
	"fmt"
	"net/netip"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// object is an object of the document. Its methods name the field in their errors.
type object map[string]any

// each calls add with every object of a list, which may be left out.
func (o object) each(list string, add func(object) error) error {
	all, given := o[list]
	if !given || all == nil {
		return nil
	}
	items, isList := all.([]any)
	if !isList {
		return fmt.Errorf("%s is not of type 'array'", list)
	}
	for i, item := range items {
		one, isObject := item.(map[string]any)
		if !isObject {
			return fmt.Errorf("%s[%d] is not of type 'object'", list, i)
		}
		if err := add(one); err != nil {
			return fmt.Errorf("%s[%d]: %w", list, i, err)
		}
	}
	return nil
}

func (o object) text(name string) (string, error) {
	v, given := o[name]
	if !given {
		return "", fmt.Errorf("'%s' is a required property", name)
	}
	s, isText := v.(string)
	if !isText {
		return "", fmt.Errorf("%s is not of type 'string'", name)
	}
	return s, nil
}

// number reads a whole number from least to most. If otherwise is not 0 it may be left out, and is that.
func (o object) number(name string, least, most int64, otherwise int) (int, error) {
	if otherwise != 0 && o[name] == nil {
		return otherwise, nil
	}
	n, isNumber := jsonvalue.IntOrText(o[name])
	if !isNumber || n < least || n > most {
		return 0, fmt.Errorf("%s must be an integer from %d to %d", name, least, most)
	}
	return int(n), nil
}

func (o object) address(name string) (netip.Addr, error) {
	s, err := o.text(name)
	if err != nil {
		return netip.Addr{}, err
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%s: %q is no IP address", name, s)
	}
	return a.Unmap(), nil
}

func (o object) mac(name string) (string, error) {
	s, err := o.text(name)
	if err != nil {
		return "", err
	}
	mac, err := node.ValidMAC(s)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return mac, nil
}

// server adds the address of a service, of which only DNS exists.
func (o object) server(to *[]netip.Addr) error {
	a, err := o.address("address")
	if err != nil {
		return err
	}
	if kind, err := o.text("type"); err != nil {
		return err
	} else if kind != "dns" {
		return fmt.Errorf("type: %q is not one of [dns]", kind)
	}
	*to = append(*to, a)
	return nil
}
