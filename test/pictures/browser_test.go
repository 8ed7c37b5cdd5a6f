package pictures

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const (
	width, height = 1280, 900
	patience      = 2 * time.Minute // for what a page shows, on a machine that may be busy
	poll          = 250 * time.Millisecond
)

// browser is one tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
	ui  string // address of Temporal's UI
}

// chromium returns the program, and skips the test if there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: install the package chromium")
	return ""
}

// openBrowser starts a browser with a new profile. It ends with the test.
func openBrowser(t *testing.T, path, ui string) *browser {
	t.Helper()
	alloc, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height))...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(alloc)
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx, ui: ui}
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, height)))
	return b
}

func (b *browser) open(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, chromedp.Navigate(b.ui+path)))
}

// shown is the text of the page and of its frames, in which the UI shows Markdown, without Markdown's signs.
const shown = "(document.body.innerText + [...document.querySelectorAll('iframe')].map(f => f.contentDocument && f.contentDocument.body ? " +
	"f.contentDocument.body.innerText : decodeURIComponent((f.src || '').replace(/\\+/g, ' ')) + (f.srcdoc || '')).join(' ')).replace(/[*`\\\\]/g, '')"

// see waits until the page shows all words.
func (b *browser) see(words ...string) {
	b.t.Helper()
	for _, w := range words {
		b.await("the page shows "+w, shows(w), nil)
	}
}

// seeRead is see for what the page has to read again, which the key R makes it do.
func (b *browser) seeRead(words ...string) {
	b.t.Helper()
	for _, w := range words {
		b.await("the page shows "+w, shows(w), func() { b.write("r") })
	}
}

func shows(words string) string { return shown + ".includes(" + strconv.Quote(words) + ")" }

// await waits until a JavaScript expression is true. After each fortieth look at it, it calls again, unless that is nil:
// a busy machine needs some seconds to show a page.
func (b *browser) await(what, expression string, again func()) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for looks := 1; ; looks++ {
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if yes && err == nil {
			return
		}
		if again != nil && looks%40 == 0 {
			again()
		}
		if chromedp.Do(ctx, chromedp.Sleep(poll)) != nil {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](shown))
			require.FailNow(b.t, fmt.Sprintf("it never was so that %s (%v). The page: %.3000s", what, err, text))
		}
	}
}

// click clicks with the mouse on the first element for which a JavaScript expression of e is true, and which the mouse
// reaches: nothing covers it, and it does not move any more.
func (b *browser) click(which string) {
	b.t.Helper()
	find := "[...document.querySelectorAll('button,[role=menuitem],[role=option],[role=textbox],li,a,label')].find(e => " + which +
		" && !e.disabled && e.getClientRects().length)"
	reach := "(e => { if (!e) return ''; e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(), " +
		"x = r.x + r.width / 2, y = r.y + r.height / 2; return e.contains(document.elementFromPoint(x, y)) ? x + ' ' + y : '' })(" + find + ")"
	b.await("the mouse reaches "+which, "window.reached == (window.reached = "+reach+") && window.reached", nil)
	at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("window.reached"))
	require.NoError(b.t, err)
	var x, y float64
	_, err = fmt.Sscan(at, &x, &y)
	require.NoError(b.t, err)
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.MouseClickXY(x, y)))
}

// id clicks the visible element with a data-testid.
func (b *browser) id(id string) { b.t.Helper(); b.click("e.dataset.testid == " + strconv.Quote(id)) }

// action opens the menu of a workflow's page and clicks one of its entries.
func (b *browser) action(id string) {
	b.t.Helper()
	b.click("e.innerText.trim() == 'More Actions'")
	b.id(id)
}

// inDialog is click in the dialog that is open.
func (b *browser) inDialog(which string) {
	b.t.Helper()
	b.click(which + " && e.closest('dialog[open]')")
}

// confirm clicks the button that confirms the dialog that is open.
func (b *browser) confirm() {
	b.t.Helper()
	b.inDialog("e.dataset.testid == 'confirm-modal-button'")
}

// columns sets the columns of the list of workflows, as the button for them does: the browser has them.
func (b *browser) columns(namespace string, labels ...string) {
	b.t.Helper()
	var list []map[string]string
	for _, l := range labels {
		list = append(list, map[string]string{"label": l})
	}
	value, err := json.Marshal(map[string]any{namespace: list})
	require.NoError(b.t, err)
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool]("localStorage.setItem('namespace-workflow-table-columns', "+strconv.Quote(string(value))+") || true"))
	require.NoError(b.t, err)
}

// write types text into what has the focus.
func (b *browser) write(text string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.KeyEvent(text)))
}

// picture returns what the window shows, as PNG.
func (b *browser) picture() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	return png
}
