package mask_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/mask"
)

func TestPath(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"https://h":                           "https://h",
		"https://h:8443/":                     "https://h:8443/",
		"https://h/services/SECRET":           "https://h/******",
		"https://u:SECRET@h:8443/x":           "https://h:8443/******",
		"https://h?sig=SECRET":                "https://h/******",
		"https://h#SECRET":                    "https://h/******",
		"https://[fd00::1]:8443/SECRET":       "https://[fd00::1]:8443/******",
		"https://u:SE/CRET@h/x":               "******",
		"https://u:SE CRET@h/x":               "******",
		"/SECRET":                             "******",
		"mailto:SECRET@h":                     "******",
		"https://h/%zzSECRET":                 "******",
		"see https://h/SECRET for the events": "******",
	} {
		got := mask.Path(text)
		require.Equal(t, want, got, text)
		require.Equal(t, got, mask.Path(got), "twice is the same as once")
	}
}
