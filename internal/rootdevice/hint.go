package rootdevice

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a hint's value.
type kind int

const (
	ofText kind = iota
	ofNumber
	ofBool
)

// names are the hints that there are (ironic-python-agent, device_hints.py).
var names = map[string]kind{
	"size": ofNumber, "model": ofText, "wwn": ofText, "wwn_with_extension": ofText, "wwn_vendor_extension": ofText, "serial": ofText,
	"vendor": ofText, "name": ofText, "rotational": ofBool, "hctl": ofText, "by_path": ofText, "tran": ofText,
}

// The operators, of which the longer ones come first, because a shorter one may be their beginning (oslo.utils, specs_matcher.py).
var operators = []string{
	"<all-in>", "<range-in>", "<or>", "<in>", "s==", "s!=", "s<=", "s>=", "s<", "s>", "==", "!=", "<=", ">=", "=", "<", ">",
}

// condition is a hint: an operator, and one value or several with <or>.
type condition struct {
	name     string
	kind     kind
	operator string
	texts    []string // lower case; Ironic compares without case
	numbers  []float64
	yes      bool
}

func parse(name string, hint any) (condition, error) {
	kind, known := names[name]
	if !known {
		return condition{}, fmt.Errorf("there is no root device hint %q; the hints are model, vendor, serial, size, rotational, wwn, "+
			"wwn_with_extension, wwn_vendor_extension, name, hctl, by_path and tran", name)
	}
	c := condition{name: name, kind: kind}
	words := strings.ToLower(strings.TrimSpace(fmt.Sprint(hint)))
	if words == "" || hint == nil {
		return c, fmt.Errorf("the root device hint %s is empty", name)
	}
	if kind == ofBool {
		yes, err := boolean(words)
		if err != nil {
			return c, fmt.Errorf("the root device hint %s is %q: it must be true or false", name, words)
		}
		c.yes = yes
		return c, nil
	}
	if _, ok := hint.(string); !ok && kind == ofText {
		return c, fmt.Errorf("the root device hint %s is %v: it must be a text", name, hint)
	}
	if err := c.read(words); err != nil {
		return c, fmt.Errorf("the root device hint %s is %q: %w", name, words, err)
	}
	return c, nil
}

// read takes an expression apart into its operator and values. Without an operator the whole text is the value.
func (c *condition) read(words string) error {
	for _, o := range operators {
		rest, found := strings.CutPrefix(words, o)
		if !found {
			continue
		}
		c.operator = o
		values := []string{rest}
		if o == "<or>" {
			values = strings.Split(rest, o)
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); v == "" {
				return fmt.Errorf("there is no value after %s", o)
			}
			c.texts = append(c.texts, v)
		}
		return c.check()
	}
	c.texts = []string{words}
	return c.check()
}

// check says whether the operator fits the type of the hint. Ironic's <all-in> and <range-in> compare with lists and fractions, which
// no hint is.
func (c *condition) check() error {
	switch {
	case c.operator == "<all-in>", c.operator == "<range-in>":
		return fmt.Errorf("%s can't be used here", c.operator)
	case c.kind == ofNumber && (c.operator == "<in>" || strings.HasPrefix(c.operator, "s")):
		return fmt.Errorf("%s compares texts, and this is a number", c.operator)
	case c.kind == ofText && !numeric(c.operator):
		return nil
	}
	for _, text := range c.texts {
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil && c.kind == ofText:
			return fmt.Errorf("%s compares numbers; %s compares texts", c.operator, textual(c.operator))
		case c.kind == ofNumber && (err != nil || n <= 0 || n != float64(int64(n))):
			return errors.New("it must be a whole number of GiB above 0")
		}
		c.numbers = append(c.numbers, n)
	}
	return nil
}

// textual returns the operator for texts that means what operator means for numbers.
func textual(operator string) string {
	if operator == "=" {
		return "s=="
	}
	return "s" + operator
}

func numeric(operator string) bool {
	return slices.Contains([]string{"=", "==", "!=", "<", "<=", ">", ">="}, operator)
}

// fit says whether the disk satisfies this condition.
func (c condition) fit(d Disk) Fit {
	switch c.name {
	case "size":
		return fit(c.size(float64(d.Size) / (1 << 30)))
	case "name":
		return fit(slices.ContainsFunc(append([]string{d.Name}, d.Aliases...), c.text))
	}
	have, known := d.Facts[c.name]
	if !known {
		return Unknown
	}
	if c.kind == ofBool {
		yes, err := boolean(strings.ToLower(have))
		return fit(err == nil && yes == c.yes)
	}
	return fit(c.text(have))
}

func fit(yes bool) Fit {
	if yes {
		return Yes
	}
	return No
}

// size compares a size in GiB. No disk has a whole number of GiB, so that one is equal to those that begin with its number; Ironic's
// hint of a disk of 447.1 GiB has been 447 since there are hints.
func (c condition) size(have float64) bool {
	if c.operator == "<or>" || c.operator == "" || c.operator == "==" {
		return slices.Contains(c.numbers, float64(int64(have)))
	}
	if c.operator == "!=" {
		return c.numbers[0] != float64(int64(have))
	}
	return compare(c.operator, have, c.numbers[0])
}

// compare compares numbers. "=" means at least, for numbers.
func compare(operator string, have, want float64) bool {
	switch operator {
	case "=", ">=":
		return have >= want
	case "==":
		return have == want
	case "!=":
		return have != want
	case "<":
		return have < want
	case "<=":
		return have <= want
	}
	return have > want
}

// text compares a text. A text that is empty satisfies nothing, as in Ironic.
func (c condition) text(have string) bool {
	have = strings.ToLower(strings.TrimSpace(have))
	if have == "" {
		return false
	}
	want := c.texts[0]
	switch c.operator {
	case "", "s==":
		return have == want
	case "s!=":
		return have != want
	case "s<":
		return have < want
	case "s<=":
		return have <= want
	case "s>":
		return have > want
	case "s>=":
		return have >= want
	case "<in>":
		return strings.Contains(have, want)
	case "<or>":
		return slices.Contains(c.texts, have)
	}
	n, err := strconv.ParseFloat(have, 64)
	return err == nil && compare(c.operator, n, c.numbers[0])
}

// boolean reads what oslo.utils takes for a truth value (strutils.py, bool_from_string, strict).
func boolean(text string) (bool, error) {
	switch text {
	case "1", "t", "true", "on", "y", "yes":
		return true, nil
	case "0", "f", "false", "off", "n", "no":
		return false, nil
	}
	return false, errors.New("not a truth value")
}
