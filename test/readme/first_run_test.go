//go:build unix

package readme_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// firstRun is what somebody does who has just installed Durward: no
// configuration, no state, no service.
const firstRun = `mkdir "$HOME/files" && echo 'the first guarded call' > "$HOME/files/a.txt"
durward server add files -- node %q "$HOME/files"
durward tools
durward call files__read_text_file path="$HOME/files/a.txt"
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read_text_file","arguments":{"path":"'"$HOME"'/files/a.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' | durward stdio`

// From an empty home to a guarded call, without the network; the time is printed.
func TestFirstRun(t *testing.T) {
	p := newPerson(t)
	server := root() + "/test/peers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
	begun := time.Now()
	printed, status := p.run(fmt.Sprintf(firstRun, server))
	fmt.Printf("first-run: seconds=%.1f\n", time.Since(begun).Seconds())
	if status != 0 || strings.Count(printed, "the first guarded call") < 2 || !strings.Contains(printed, `"id":1,"result":`) {
		t.Errorf("exit status %d, and it printed\n%s", status, printed)
	}
}

// A port that somebody else has is told with the command that takes another.
func TestFirstRunWithThePortTaken(t *testing.T) {
	p := newPerson(t)
	printed, status := p.run(`node -e 'require("net").createServer().listen(8484, "127.0.0.1", () => console.log("listens"))' > "$HOME/listens" &
trap "kill $!" EXIT
until grep -q listens "$HOME/listens"; do sleep 0.05; done
durward tools 2> "$HOME/told" && exit 1
cat "$HOME/told"
command="$(sed -n 's/^durward: hint: .*take any free port instead: //p' "$HOME/told")"
eval "$command"
durward tools`)
	if status != 0 || !strings.Contains(printed, "another program listens there") || !strings.Contains(printed, "local__echo") {
		t.Errorf("exit status %d, and it printed\n%s", status, printed)
	}
}
