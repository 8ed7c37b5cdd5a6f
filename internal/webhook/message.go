package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/jsonvalue"
)

// message is what one request sends.
type message struct {
	id   string // webhook-id, the same with every try
	body []byte
	seq  int64
	kind string // the type of the event
	at   time.Time
}

// resetType is the type of a message that says that events were missed.
const resetType = "reset"

// messageOf is the message of an event. Its form is that of Standard Webhooks: type, timestamp, data.
func messageOf(m events.Message, now time.Time) (message, error) {
	if m.Reset {
		return newMessage(fmt.Sprintf("reset_%d", m.Seq), m.Seq, resetType, now, m.Data)
	}
	var e struct {
		Type string    `json:"type"`
		At   time.Time `json:"at"`
	}
	if err := jsonvalue.Unmarshal(m.Data, &e); err != nil {
		return message{}, fmt.Errorf("event %d: %w", m.Seq, err)
	}
	return newMessage(fmt.Sprintf("event_%d", m.Seq), m.Seq, e.Type, e.At, m.Data)
}

func newMessage(id string, seq int64, kind string, at time.Time, data []byte) (message, error) {
	body, err := json.Marshal(struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{kind, at.UTC(), data})
	return message{id: id, body: body, seq: seq, kind: kind, at: at}, err
}

// testMessage is what shows whether an endpoint takes messages.
func testMessage(name string, now time.Time) (message, error) {
	data, err := json.Marshal(map[string]string{"webhook": name})
	if err != nil {
		return message{}, err
	}
	return newMessage("test_"+uuid.NewString(), 0, "webhook.test", now, data)
}

// sign returns the value of webhook-signature: the HMAC of id, time and body.
func sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range [][]byte{[]byte(id), []byte("."), []byte(strconv.FormatInt(at.Unix(), 10)), []byte("."), body} {
		_, _ = mac.Write(part) // never fails
	}
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
