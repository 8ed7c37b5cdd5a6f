package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
)

// part is one part of an answer, which no buffer between the server and a client hides.
var part = bytes.Repeat([]byte("x"), 8<<20)

// answered is the answer of a server that makes it in these parts.
func answered(t *testing.T, parts format.Parts) *http.Response {
	t.Helper()
	web, _ := served(t, 0, Config{}, Get("/temper/v1/list", 1, func(*gin.Context) (int, any, error) { return http.StatusOK, parts, nil }))
	return get(t, web.URL+"/temper/v1/list")
}

func TestAnAnswerInPartsIsWhole(t *testing.T) {
	t.Parallel()
	some := part[:1<<10]
	for name, count := range map[string]int{"one part": 1, "many parts": 3 * partsWaiting} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := answered(t, func(b []byte, send func([]byte) ([]byte, error)) (err error) {
				for i := 0; i < count && err == nil; i++ {
					b, err = send(append(b, some...))
				}
				return err
			})
			require.Equal(t, http.StatusOK, answer.StatusCode)
			require.Equal(t, "application/json; charset=utf-8", answer.Header.Get("Content-Type"))
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Equal(t, string(bytes.Repeat(some, count)), string(body))
			require.Equal(t, count == 1, answer.ContentLength >= 0)
		})
	}
}

func TestAnErrorBeforeAnythingWasSentIsAnswered(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]format.Parts{
		"at once": func([]byte, func([]byte) ([]byte, error)) error { return fault.New(fault.NotFound, "gone") },
		"after the only part": func(b []byte, send func([]byte) ([]byte, error)) error {
			_, _ = send(b)
			return fault.New(fault.NotFound, "gone")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := answered(t, parts)
			require.Equal(t, http.StatusNotFound, answer.StatusCode)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), "gone")
		})
	}
	require.Equal(t, http.StatusInternalServerError, answered(t, func([]byte, func([]byte) ([]byte, error)) error { panic("wrong") }).StatusCode)
}

// A client must not take what was sent of a list for the whole.
func TestAnErrorInTheMiddleEndsTheConnection(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	web, _ := served(t, 0, Config{Log: zap.New(core)}, Get("/temper/v1/list", 1, func(*gin.Context) (int, any, error) {
		return http.StatusOK, format.Parts(func(_ []byte, send func([]byte) ([]byte, error)) error {
			for range 2 {
				if _, err := send(part); err != nil {
					return err
				}
			}
			return errors.New("the database went away")
		}), nil
	}))
	answer := get(t, web.URL+"/temper/v1/list")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	_, err := io.Copy(io.Discard, answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, 1, logs.FilterMessage("answer broken off").Len())
}

// Else it would hold a connection of the database as long as it likes.
func TestAnAnswerIsMadeWhileItsClientDoesNotRead(t *testing.T) {
	t.Parallel()
	made := make(chan struct{})
	answer := answered(t, func(b []byte, send func([]byte) ([]byte, error)) (err error) {
		for i := 0; i < partsWaiting && err == nil; i++ {
			b, err = send(append(b, part[:format.PartSize]...))
		}
		close(made)
		return err
	})
	<-made
	read, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.EqualValues(t, partsWaiting*format.PartSize, read)
}

func TestAClientThatHangsUpEndsWhatIsMadeForIt(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	answer := answered(t, func(_ []byte, send func([]byte) ([]byte, error)) (err error) {
		for err == nil {
			_, err = send(part)
		}
		ended <- err
		return err
	})
	require.NoError(t, answer.Body.Close())
	require.ErrorIs(t, <-ended, errClientGone)
}
